//! `fabproj plot`: the set, what the projector does, and its latent space.

mod axes;
mod bars;
mod canvas;
mod figure;
mod gather;
mod graph;
mod histogram;
mod latent;
mod legend;
mod letters;
mod plane;
mod style;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fabproj::file::write_atomically;
use fabproj::set::Set;
use serde_json::json;

use crate::failure::wrong_usage;
use crate::opened::Opened;
use crate::options::Common;
use crate::show;

#[derive(clap::Args)]
#[command(
    after_help = "Two dimensions: the set, decodes of the latent set, and arrows from infeasible points \
                  to their projections, beside the latent space. More dimensions: planes through the \
                  model's centre, some inputs with their projections, and distances. Input-dependent sets: several x.\n\n\
                  Example:\n  fabproj plot moons.safetensors -o moons.svg\n  \
                  fabproj plot moons.safetensors -o moons.png --width 2000"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// The set that decides; the model's own by default
    set: Option<String>,

    /// Allow another set than the one that the model was trained for
    #[arg(long)]
    other_set: bool,

    /// Where the figure goes, as SVG or PNG by its ending; the model's name with .svg by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Width of a PNG in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = WIDTH)]
    width: u32,
}

/// The usual width of a PNG.
pub const WIDTH: u32 = 1600;
/// Larger pictures would need more memory than a picture is worth.
const MAX_WIDTH: u32 = 16_000;

/// The formats of figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    if !(64..=MAX_WIDTH).contains(&arguments.width) {
        let width = arguments.width;
        return Err(wrong_usage(format!(
            "--width {width}: choose from 64 to {MAX_WIDTH} pixels"
        )));
    }
    let opened = Opened::load(&arguments.model)?;
    let output = match &arguments.output {
        Some(output) => output.clone(),
        None => arguments.model.with_extension("svg"),
    };
    check(&output)?;
    let set = opened.set(arguments.set.as_deref(), arguments.other_set)?;
    write(&opened, set.as_ref(), &output, arguments.width, common)?;
    if common.json {
        return show::print_json(&json!({ "written": output.display().to_string() }));
    }
    common.note(format_args!("{} written", output.display()));
    Ok(())
}

/// Whether a figure can be written to such a file; wrong usage if not.
pub fn check(output: &Path) -> Result<()> {
    format(output).map(|_| ())
}

/// Draws the model's figure into a file.
pub fn write(
    opened: &Opened,
    set: &dyn Set,
    output: &Path,
    width: u32,
    common: &Common,
) -> Result<()> {
    let format = format(output)?;
    let svg = figure::draw(opened, set, common.seed)?;
    let bytes = match format {
        Format::Svg => svg.into_bytes(),
        Format::Png => canvas::rasterise(&svg, width)?,
    };
    write_atomically(output, &bytes).with_context(|| format!("cannot write {}", output.display()))
}

fn format(output: &Path) -> Result<Format> {
    let ending = output
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        _ => Err(wrong_usage(format!(
            "{}: a figure's file ends in .svg or .png",
            output.display()
        ))),
    }
}
