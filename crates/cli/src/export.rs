//! `fabproj export`: a model for places where neither Rust nor Python runs.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fabproj::Model;
use fabproj::support::write_atomically;
use fabproj_export::Graph;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::failure::wrong_usage;
use crate::options::Common;
use crate::output;
use crate::show::{self, bytes, count};

/// Points on which an export is compared with the projector.
const COMPARED: usize = 10_000;
/// The largest difference that is not worth a warning, relative to the set's scale.
const USUAL: f64 = 1e-5;
/// Without a region, points are drawn so many scales around the centre.
const REACH: f64 = 3.0;

#[derive(clap::Args)]
#[command(
    group(clap::ArgGroup::new("format").required(true).args(["onnx", "c"])),
    after_help = "ONNX: inputs `y` (and `x`), output `projection`, rows of f32. The largest difference to the \
                  projector on 10,000 points is printed, and stored in the file's metadata beside the model's \
                  record. C: one C99 file that needs nothing but math.h; its function is NAME_project. Neither \
                  tests its outputs as a guard does.\n\n\
                  Example:\n  fabproj export moons.safetensors --onnx moons.onnx\n  \
                  fabproj export moons.safetensors --c moons.c"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// The ONNX file to write
    #[arg(long, value_name = "FILE")]
    onnx: Option<PathBuf>,

    /// The C file to write
    #[arg(long, value_name = "FILE")]
    c: Option<PathBuf>,

    /// What names in the C file begin with; the file's name by default
    #[arg(long, value_name = "NAME", requires = "c")]
    name: Option<String>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let Some(path) = arguments.onnx.as_ref().or(arguments.c.as_ref()) else {
        return Err(wrong_usage("name a file with --onnx FILE or --c FILE"));
    };
    output::check(
        path,
        arguments.force,
        std::slice::from_ref(&arguments.model),
    )?;
    let model = Model::load(&arguments.model)?;
    match arguments.onnx {
        Some(_) => onnx(&model, path, common),
        None => c(&model, path, arguments.name.as_deref(), common),
    }
}

fn onnx(model: &Model, path: &Path, common: &Common) -> Result<()> {
    let graph = Graph::new(model.weights())?;
    let difference = largest_difference(model, &graph, common.seed)?;
    let record = serde_json::to_string(model.record())?;
    let (set, figure) = (model.record().set().name(), format!("{difference:e}"));
    let file = graph.onnx(&[
        ("fabproj", &record),
        ("set", &set),
        ("largest_difference", &figure),
    ]);
    write(path, &file)?;
    if common.json {
        return show::print_json(&json!({
            "written": path.display().to_string(),
            "bytes": file.len(),
            "opset": fabproj_export::OPSET,
            "points": COMPARED,
            "largest_difference": difference,
        }));
    }
    let (file_name, size) = (path.display(), bytes(file.len() as u64));
    common.note(format_args!(
        "{file_name} written: opset {}, {size}; largest difference to the projector on {} points: \
         {difference:.1e} of the set's scale",
        fabproj_export::OPSET,
        count(COMPARED)
    ));
    if difference > USUAL {
        common.note(format_args!(
            "warning: that is more than {USUAL:e}; test the file before you rely on it"
        ));
    }
    Ok(())
}

fn c(model: &Model, path: &Path, name: Option<&str>, common: &Common) -> Result<()> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.map_or_else(|| identifier(&stem), ToOwned::to_owned);
    let source = fabproj_export::c(model.weights(), &name)
        .map_err(|error| wrong_usage(format!("--name {name}: {error}")))?;
    write(path, source.as_bytes())?;
    if common.json {
        let function = format!("{name}_project");
        let path = path.display().to_string();
        return show::print_json(
            &json!({ "written": path, "bytes": source.len(), "function": function }),
        );
    }
    let size = bytes(source.len() as u64);
    common.note(format_args!(
        "{} written: {name}_project, {size}",
        path.display()
    ));
    Ok(())
}

fn write(path: &Path, file: &[u8]) -> Result<()> {
    write_atomically(path, file).with_context(|| format!("cannot write {}", path.display()))
}

/// A file's name as a name in C.
fn identifier(stem: &str) -> String {
    let letter = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '_'
        }
    };
    let name: String = stem.chars().map(letter).collect();
    if name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        name
    } else {
        format!("fabproj_{name}")
    }
}

/// The largest difference between the graph and the projector, relative to the set's scale.
fn largest_difference(model: &Model, graph: &Graph, seed: u64) -> Result<f64> {
    let projector = model.projector();
    let scale = projector.frame().scale.iter().copied().fold(0.0, f32::max);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut largest = 0.0_f64;
    for _ in 0..COMPARED {
        let (y, x) = input(model, &mut rng);
        let (wanted, _) = projector.project(&y, &x)?;
        for (wanted, found) in wanted.iter().zip(graph.project(&y, &x)) {
            largest = largest.max(f64::from((wanted - found).abs() / scale));
        }
    }
    Ok(largest)
}

/// An input from the region of the model's set or, where that is not known, around its centre.
fn input(model: &Model, rng: &mut ChaCha8Rng) -> (Vec<f32>, Vec<f32>) {
    let mut within = |intervals: &[(f64, f64)]| -> Vec<f64> {
        let draw = |(low, high): &(f64, f64)| low + (high - low) * rng.random::<f64>();
        intervals.iter().map(draw).collect()
    };
    let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
    let projector = model.projector();
    if let Ok(set) = model.set() {
        return (
            narrow(within(&set.bounds())),
            narrow(within(&set.x_bounds())),
        );
    }
    let around = |frame: &fabproj::core::Frame| -> Vec<(f64, f64)> {
        let both = frame.centre.iter().zip(&frame.scale);
        both.map(|(centre, scale)| (f64::from(*centre), REACH * f64::from(*scale)))
            .map(|(centre, reach)| (centre - reach, centre + reach))
            .collect()
    };
    let x = within(&around(projector.x_frame()));
    let inner = within(&around(projector.frame()));
    let y = match projector.equations() {
        None => inner,
        Some(equations) => {
            let mut y = vec![0.0; equations.dim()];
            // The lengths are the projector's own.
            let _ = equations.raise(&inner, &x, &mut y);
            y
        }
    };
    (narrow(y), narrow(x))
}
