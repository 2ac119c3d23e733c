//! `fabproj plot`: the set, what the projector does, and its latent space.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fabproj::Model;
use fabproj::set::Set;
use fabproj::support::write_atomically;
use serde_json::json;

use crate::failure::{missing_feature, wrong_usage};
use crate::find;
use crate::options::Common;
use crate::{output, show};

#[derive(clap::Args)]
#[command(
    after_help = "Two dimensions: the set, decodes of the latent set, and arrows from infeasible points \
                  to their projections, beside the latent space. More dimensions: planes through the \
                  model's centre, some inputs with their projections, and distances. A set that depends on \
                  x is shown at several x. PNG needs a build with the feature `png`.\n\n\
                  Example:\n  fabproj plot moons.safetensors -o moons.svg\n  \
                  fabproj plot moons.safetensors -o moons.png --width 2000"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// The set that decides: a built-in name or a set file (.toml); the model's own by default
    set: Option<String>,

    /// Allow a set that the model was not trained for
    #[arg(long)]
    other_set: bool,

    /// The figure to write, .svg or .png; the model's name with .svg by default
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,

    /// Width of a PNG in pixels
    #[arg(long, value_name = "PIXELS", default_value_t = WIDTH)]
    width: u32,
}

/// The usual width of a PNG.
pub const WIDTH: u32 = 1600;
/// Larger pictures need too much memory.
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
    let model = Model::load(&arguments.model)?;
    let figure = match &arguments.output {
        Some(output) => output.clone(),
        None => arguments.model.with_extension("svg"),
    };
    check(&figure)?;
    let wanted = arguments.set.as_deref();
    let mut inputs = vec![arguments.model.clone()];
    inputs.extend(wanted.into_iter().flat_map(find::files));
    output::check(&figure, arguments.force, &inputs)?;
    let set = find::set_for(&model, &arguments.model, wanted, arguments.other_set)?;
    write(&model, &set, &figure, arguments.width, common.seed)?;
    if common.json {
        return show::print_json(&json!({ "written": figure.display().to_string() }));
    }
    common.note(format_args!("{} written", figure.display()));
    Ok(())
}

/// Whether a figure can be written to such a file; wrong usage if not.
pub fn check(output: &Path) -> Result<()> {
    match format(output)? {
        Format::Png if cfg!(not(feature = "png")) => Err(missing_feature(format!(
            "{}: PNG figures",
            output.display()
        ))),
        _ => Ok(()),
    }
}

/// Draws the model's figure into a file.
pub fn write(model: &Model, set: &dyn Set, output: &Path, width: u32, seed: u64) -> Result<()> {
    check(output)?;
    let svg = fabproj_plot::draw(model, set, seed)?;
    let bytes = match format(output)? {
        Format::Svg => svg.into_bytes(),
        Format::Png => pixels(&svg, width)?,
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
            "{}: the name of a figure must end in .svg or .png",
            output.display()
        ))),
    }
}

#[cfg(not(feature = "png"))]
fn pixels(_svg: &str, _width: u32) -> Result<Vec<u8>> {
    Err(missing_feature("PNG figures"))
}

/// The figure as PNG, with the typeface that is built in: the same on every machine.
#[cfg(feature = "png")]
fn pixels(svg: &str, width: u32) -> Result<Vec<u8>> {
    use resvg::{tiny_skia, usvg};
    let svg = fabproj_plot::outlined(svg)?;
    let tree = usvg::Tree::from_str(&svg, &usvg::Options::default())?;
    let scale = width as f32 / tree.size().width();
    let height = (tree.size().height() * scale).ceil().max(1.0) as u32;
    let mut pixels = tiny_skia::Pixmap::new(width, height)
        .with_context(|| format!("cannot make a picture of {width} × {height} pixels"))?;
    let transform = tiny_skia::Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels
        .encode_png()
        .context("cannot write the picture as PNG")
}

#[cfg(all(test, feature = "png"))]
mod tests {
    use super::*;
    use resvg::tiny_skia::Pixmap;

    #[test]
    fn pictures_show_text_without_any_font_on_the_machine() {
        let draw = |text: &str| {
            let word = |x: u32, family: &str| {
                format!(
                    "<text x=\"{x}\" y=\"20\" dy=\"0.5ex\" text-anchor=\"start\" font-family=\"{family}\" \
                     font-size=\"16\" fill=\"#000000\">\n{text}\n</text>"
                )
            };
            let svg = format!(
                "<svg width=\"200\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\">\
                 <rect width=\"200\" height=\"40\" fill=\"#ffffff\"/>{}{}</svg>",
                word(10, "Roboto"),
                word(100, "Roboto Medium")
            );
            let picture = Pixmap::decode_png(&pixels(&svg, 400).unwrap()).unwrap();
            assert_eq!((picture.width(), picture.height()), (400, 80));
            // Dark pixels left (regular) and right (heavy).
            let dark = |from: u32, to: u32| {
                let places = (0..80).flat_map(|y| (from..to).map(move |x| (x, y)));
                let found = places.filter_map(|(x, y)| picture.pixel(x, y));
                found.filter(|pixel| pixel.red() < 100).count()
            };
            (dark(0, 190), dark(190, 400))
        };
        assert_eq!(draw(""), (0, 0));
        let (regular, heavy) = draw("set φ");
        assert!(regular > 100 && heavy > regular, "{regular} {heavy}");
    }
}
