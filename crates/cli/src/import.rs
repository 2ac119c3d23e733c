//! `fabproj import`: networks that PyTorch has trained, as a model.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use fabproj::Model;
use fabproj::core::format::MAX_BYTES;
use fabproj::core::{LatentSet, Weights};
use fabproj::set::{FnSet, Set};
use fabproj::support::read_safetensors;
use serde_json::json;

use crate::failure::wrong_usage;
use crate::options::Common;
use crate::{find, output, show};

#[derive(clap::Args)]
#[command(
    after_help = "The checkpoint is a state dict of FAB's released PyTorch code, saved as safetensors:\n  \
                  state = torch.load(\"checkpoint.pt\", map_location=\"cpu\")\n  \
                  state |= {\"mean\": mean, \"std\": std}  # of the training's rows, if they were normalised\n  \
                  safetensors.torch.save_file(state, \"checkpoint.safetensors\")\n\n\
                  Example:\n  fabproj import checkpoint.safetensors two-moons -o moons.safetensors\n  \
                  fabproj certify moons.safetensors"
)]
pub struct Arguments {
    /// The state dict, as safetensors
    checkpoint: PathBuf,

    /// The set that it was trained for: a built-in name or a set file; without it the model can only run
    set: Option<String>,

    /// The model file to write
    #[arg(short, long, value_name = "MODEL")]
    output: PathBuf,

    /// The shape of the latent set
    #[arg(long, default_value = "ball")]
    latent: Latent,

    /// Its radius, or half the side of the box
    #[arg(long, value_name = "SIZE", default_value_t = 0.5)]
    radius: f32,

    /// Clamp smoothly with this sharpness, as the released safe RL code does with 20
    #[arg(long, value_name = "SHARPNESS")]
    smooth: Option<f32>,

    /// Replace an existing file
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Latent {
    Ball,
    Box,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    let (from, to) = (&arguments.checkpoint, &arguments.output);
    let mut inputs = vec![from.clone()];
    inputs.extend(arguments.set.iter().flat_map(|set| find::files(set)));
    output::check(to, arguments.force, &inputs)?;
    let set = arguments.set.as_deref().map(find::set).transpose()?;
    let bytes = read_safetensors(from, MAX_BYTES, MAX_BYTES);
    let bytes = bytes.with_context(|| format!("cannot read {}", from.display()))?;
    let weights = fabproj_export::checkpoint(&bytes, arguments.latent_set()?)
        .with_context(|| format!("cannot import {}", from.display()))?;
    let set = match set {
        Some(set) => fitting(set, &weights, from)?,
        None => Arc::new(nameless(&weights, from)),
    };
    let model = Model::new(weights, &set)?;
    model.save(to)?;
    if common.json {
        let projector = model.projector();
        return show::print_json(&json!({
            "written": to.display().to_string(),
            "dimension": projector.dim(),
            "x_dimension": projector.x_dim(),
            "decoders": model.weights().charts[0].decoders.len(),
        }));
    }
    let name = to.display();
    common.note(format_args!("{name} written; it has no certificate yet"));
    if arguments.set.is_some() {
        common.note(format_args!("next: fabproj certify {name}"));
    }
    Ok(())
}

impl Arguments {
    fn latent_set(&self) -> Result<LatentSet> {
        let positive = |name: &str, value: f32| match value.is_finite() && value > 0.0 {
            true => Ok(value),
            false => Err(wrong_usage(format!(
                "{name} must be a positive number, found {value}"
            ))),
        };
        let size = positive("--radius", self.radius)?;
        let smooth = self.smooth.map(|smooth| positive("--smooth", smooth));
        let smooth = smooth.transpose()?;
        Ok(match self.latent {
            Latent::Ball => LatentSet::Ball {
                radius: size,
                smooth,
            },
            Latent::Box => LatentSet::Box { half: size, smooth },
        })
    }
}

/// The set, if it has the dimensions of the checkpoint.
fn fitting(set: Arc<dyn Set>, weights: &Weights, checkpoint: &Path) -> Result<Arc<dyn Set>> {
    if (set.dim(), set.x_dim()) == (weights.dim, weights.x_dim) {
        return Ok(set);
    }
    bail!(
        "{} has networks for {} y and {} x, the set {} has {} and {}",
        checkpoint.display(),
        weights.dim,
        weights.x_dim,
        set.description().name(),
        set.dim(),
        set.x_dim()
    )
}

/// Nothing is known about the set but its name, that of the file.
fn nameless(weights: &Weights, checkpoint: &Path) -> FnSet {
    let name = checkpoint.file_stem().unwrap_or_default().to_string_lossy();
    let unknown = |dim: usize| vec![(f64::NEG_INFINITY, f64::INFINITY); dim];
    FnSet::new(name, unknown(weights.dim), |_, _| false).with_x(unknown(weights.x_dim))
}
