//! Small models, files and the command itself.

mod ran;

use std::path::Path;

use assert_cmd::Command;
use fabproj::Model;
use fabproj::core::{Activation, Anchor, Chart, Frame, LatentSet, Layer, Network, Weights};
use fabproj::set::built_in;
use tempfile::TempDir;

pub use ran::Ran;

/// The command, in a folder.
pub fn fabproj(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("fabproj").expect("the command is built with its tests");
    command.current_dir(folder);
    command
}

/// Runs the command to its end.
pub fn run(folder: &Path, arguments: &[&str]) -> Ran {
    run_with_input(folder, arguments, "")
}

/// Runs the command with standard input.
pub fn run_with_input(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    Ran::of(fabproj(folder).args(arguments).write_stdin(input))
}

/// y, whatever x is.
fn identity(dim: usize, inputs: usize) -> Network {
    let weights = (0..dim * inputs).map(|index| f32::from(index / inputs == index % inputs));
    Network {
        layers: vec![Layer {
            inputs,
            outputs: dim,
            weights: weights.collect(),
            bias: vec![0.0; dim],
        }],
        hidden: Activation::Relu,
        output: Activation::Identity,
        skip: None,
    }
}

/// Weights whose networks are the identity, so that they project onto their latent set.
fn weights(dim: usize, x_dim: usize, latent: LatentSet, anchor: &[f32]) -> Weights {
    Weights {
        x_dim,
        x_frame: Frame::unit(x_dim),
        charts: vec![Chart {
            frame: Frame::unit(dim),
            encoder: identity(dim, dim + x_dim),
            latent,
            decoders: vec![identity(dim, dim + x_dim)],
            decoder_gate: None,
        }],
        anchors: vec![Anchor {
            chart: 0,
            latent: anchor.to_vec(),
            x: vec![0.0; x_dim],
            point: anchor.to_vec(),
        }],
        ..Weights::identity(dim, latent)
    }
}

fn save(folder: &Path, name: &str, set: &str, weights: Weights) {
    let set = built_in(set).expect("built in");
    let model = Model::new(weights, &set).expect("weights that run");
    model.save(folder.join(name)).expect("a writable folder");
}

/// A folder with models of good quality: `ring` (concentric-circles), `shell` (shell-5d), and
/// `obstacle` (moving-obstacle), which does not know its obstacle.
pub fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let shell = LatentSet::Shell {
        inner: 1.001,
        outer: 1.999,
        smooth: None,
    };
    let ring = weights(2, 0, shell, &[1.5, 0.0]);
    save(folder.path(), "ring", "concentric-circles", ring);
    save(
        folder.path(),
        "shell",
        "shell-5d",
        weights(5, 0, shell, &[1.5, 0.0, 0.0, 0.0, 0.0]),
    );
    let disc = LatentSet::Ball {
        radius: 1.499,
        smooth: None,
    };
    save(
        folder.path(),
        "obstacle",
        "moving-obstacle",
        weights(2, 2, disc, &[1.4, 0.0]),
    );
    folder
}

/// Writes a file into a folder.
pub fn write(folder: &Path, name: &str, contents: &str) {
    std::fs::write(folder.join(name), contents).expect("a writable folder");
}
