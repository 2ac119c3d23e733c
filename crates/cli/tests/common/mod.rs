//! Small models, files and the command itself.
#![allow(dead_code, reason = "each test binary uses a part of this")]

mod ran;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use fabproj::core::{Activation, Anchor, Blend, Chart, Frame, LatentSet, Layer, Model, Network};
use fabproj::file::{ModelFile, Record};
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

fn unit(dim: usize) -> Frame {
    Frame {
        centre: vec![0.0; dim],
        scale: vec![1.0; dim],
    }
}

/// A model whose networks are the identity, so that it projects onto its latent set.
fn model(dim: usize, x_dim: usize, latent: LatentSet, anchor: &[f32]) -> Model {
    Model {
        dim,
        parameter_dim: x_dim,
        frame: unit(dim),
        parameter_frame: unit(x_dim),
        gate: None,
        charts: vec![Chart {
            frame: unit(dim),
            encoder: identity(dim, dim + x_dim),
            latent,
            decoders: vec![identity(dim, dim + x_dim)],
            decoder_gate: None,
            blend: Blend::Soft,
        }],
        discriminator: None,
        anchors: vec![Anchor {
            chart: 0,
            latent: anchor.to_vec(),
            parameters: vec![0.0; x_dim],
            point: anchor.to_vec(),
        }],
        lift: None,
    }
}

fn save(folder: &Path, name: &str, set: &str, model: Model) -> PathBuf {
    let path = folder.join(name);
    let record = Record::of(built_in(set).expect("built in").as_ref());
    ModelFile { model, record }
        .save(&path)
        .expect("a writable folder");
    path
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
    let ring = model(2, 0, shell, &[1.5, 0.0]);
    save(folder.path(), "ring", "concentric-circles", ring);
    save(
        folder.path(),
        "shell",
        "shell-5d",
        model(5, 0, shell, &[1.5, 0.0, 0.0, 0.0, 0.0]),
    );
    let disc = LatentSet::Ball {
        radius: 1.499,
        smooth: None,
    };
    save(
        folder.path(),
        "obstacle",
        "moving-obstacle",
        model(2, 2, disc, &[1.4, 0.0]),
    );
    folder
}

/// Writes a file into a folder.
pub fn write(folder: &Path, name: &str, contents: &str) {
    std::fs::write(folder.join(name), contents).expect("a writable folder");
}
