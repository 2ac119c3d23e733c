//! Writes model files with every kind of part, and what the projector makes of some points, so that
//! readers in other languages can be checked: `NAME.model.safetensors` beside `NAME.calls.safetensors`, which
//! holds the tensors `y`, `x` and `projection`.
//!
//! ```text
//! cargo run --example reference_models -- FOLDER
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use fabproj::Projector;
use fabproj::core::{Activation, Chart, Frame, LatentSet, Network, Weights};
use fabproj_nn::{Mlp, MlpSpec};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use safetensors::tensor::{Dtype, TensorView};

type Outcome<T> = Result<T, Box<dyn Error>>;

const ROWS: usize = 200;

/// A network with random weights of a size that keeps signals alive through the layers.
fn network(spec: MlpSpec, rng: &mut ChaCha8Rng) -> Outcome<Network> {
    let mut mlp = Mlp::new(spec, rng)?;
    mlp.parameters_mut()
        .iter_mut()
        .for_each(|weight| *weight *= 2.0);
    Ok(mlp.to_network())
}

fn frame(dim: usize, rng: &mut ChaCha8Rng) -> Frame {
    Frame {
        centre: (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect(),
        scale: (0..dim).map(|_| rng.random_range(0.5..2.0)).collect(),
    }
}

/// The paper's projector: one chart, a ball, one decoder.
fn plain(rng: &mut ChaCha8Rng) -> Outcome<Weights> {
    let hidden = [64; 4];
    let units = frame(2, rng);
    Ok(Weights {
        dim: 2,
        x_dim: 0,
        frame: units.clone(),
        x_frame: frame(0, rng),
        gate: None,
        charts: vec![Chart {
            frame: units,
            encoder: network(
                MlpSpec::new(2, &hidden, 2).with_output(Activation::Tanh),
                rng,
            )?,
            latent: LatentSet::Ball {
                radius: 0.5,
                smooth: None,
            },
            decoders: vec![network(MlpSpec::new(2, &hidden, 2), rng)?],
            decoder_gate: None,
        }],
        discriminator: None,
        anchors: Vec::new(),
        equations: None,
    })
}

/// An x, skips, two decoders under a gate, one latent set.
fn chart(latent: LatentSet, dims: [usize; 3], rng: &mut ChaCha8Rng) -> Outcome<Chart> {
    let [dim, x_dim, latent_dim] = dims;
    let encoder = MlpSpec::new(dim + x_dim, &[32, 20], latent_dim)
        .with_hidden(Activation::Silu)
        .with_skip(dim);
    let decoder = MlpSpec::new(latent_dim + x_dim, &[24, 24], dim)
        .with_hidden(Activation::Tanh)
        .with_skip(latent_dim);
    let gate = MlpSpec::new(latent_dim + x_dim, &[16], 2);
    Ok(Chart {
        frame: frame(dim, rng),
        encoder: network(encoder, rng)?,
        latent,
        decoders: vec![network(decoder.clone(), rng)?, network(decoder, rng)?],
        decoder_gate: Some(network(gate, rng)?),
    })
}

/// One chart for each latent set, chosen by a gate.
fn atlas(dim: usize, x_dim: usize, rng: &mut ChaCha8Rng) -> Outcome<Weights> {
    let latents = [
        (
            LatentSet::Ball {
                radius: 0.5,
                smooth: Some(20.0),
            },
            dim,
        ),
        (
            LatentSet::Shell {
                inner: 0.25,
                outer: 0.5,
                smooth: None,
            },
            dim,
        ),
        (
            LatentSet::Shell {
                inner: 0.5,
                outer: 1.5,
                smooth: Some(10.0),
            },
            dim,
        ),
        (
            LatentSet::Box {
                half: 0.4,
                smooth: None,
            },
            dim + 1,
        ),
        (
            LatentSet::Box {
                half: 0.8,
                smooth: Some(8.0),
            },
            dim,
        ),
        (LatentSet::Simplex { sharpness: 3.0 }, dim + 1),
    ];
    let charts = latents.map(|(latent, latent_dim)| chart(latent, [dim, x_dim, latent_dim], rng));
    let charts = charts.into_iter().collect::<Outcome<Vec<_>>>()?;
    let gate = MlpSpec::new(dim + x_dim, &[32], charts.len());
    Ok(Weights {
        dim,
        x_dim,
        frame: frame(dim, rng),
        x_frame: frame(x_dim, rng),
        gate: Some(network(gate, rng)?),
        charts,
        discriminator: Some(network(MlpSpec::new(dim + x_dim, &[8], 1), rng)?),
        anchors: Vec::new(),
        equations: None,
    })
}

/// Projects random points and writes the model and the calls.
fn write(name: &str, weights: &Weights, folder: &Path, rng: &mut ChaCha8Rng) -> Outcome<()> {
    let mut uniform = |dim: usize| -> Vec<f32> {
        (0..ROWS * dim)
            .map(|_| rng.random_range(-3.0..3.0))
            .collect()
    };
    let (y, x) = (uniform(weights.dim), uniform(weights.x_dim));
    let (projection, _) = Projector::new(weights)?.project_rows(&y, &x)?;
    let bytes = |values: &[f32]| {
        values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let arrays = [
        ("y", bytes(&y), weights.dim),
        ("x", bytes(&x), weights.x_dim),
        ("projection", bytes(&projection), weights.dim),
    ];
    let mut tensors = HashMap::new();
    for (name, bytes, dim) in &arrays {
        tensors.insert(*name, TensorView::new(Dtype::F32, vec![ROWS, *dim], bytes)?);
    }
    fs::write(
        folder.join(format!("{name}.model.safetensors")),
        weights.to_bytes()?,
    )?;
    fs::write(
        folder.join(format!("{name}.calls.safetensors")),
        safetensors::serialize(tensors, None)?,
    )?;
    Ok(())
}

fn main() -> Outcome<()> {
    let folder = std::env::args_os()
        .nth(1)
        .map(PathBuf::from)
        .ok_or("usage: reference_models FOLDER")?;
    fs::create_dir_all(&folder)?;
    let rng = &mut ChaCha8Rng::seed_from_u64(20);
    let models = [
        ("plain", plain(rng)?),
        ("atlas-with-x", atlas(3, 2, rng)?),
        ("atlas", atlas(2, 0, rng)?),
    ];
    for (name, weights) in &models {
        write(name, weights, &folder, rng)?;
    }
    Ok(())
}
