//! Points through an encoder and a decoder of the paper's shape, without gradients.

use std::hint::black_box;

use fabproj_core::kernel::{Dense, Kernel, packed_length, padded};
use fabproj_core::{Activation, Network};
use fabproj_nn::{Mlp, MlpSpec, Tape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{Case, Outcome};

/// Points of the large batch.
pub const BATCH: usize = 65_536;

fn networks(hidden: &[usize]) -> Outcome<[Mlp; 2]> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let encoder = MlpSpec::new(2, hidden, 2).with_output(Activation::Tanh);
    let decoder = MlpSpec::new(2, hidden, 2);
    Ok([Mlp::new(encoder, &mut rng)?, Mlp::new(decoder, &mut rng)?])
}

fn flops_per_point(hidden: &[usize]) -> f64 {
    let inner: usize = hidden.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let ends = 2 * hidden.first().unwrap_or(&0) + 2 * hidden.last().unwrap_or(&0);
    (2 * 2 * (inner + ends)) as f64
}

struct Batch {
    networks: [Mlp; 2],
    tapes: [Tape; 2],
    points: Vec<f32>,
    latents: Vec<f32>,
    outputs: Vec<f32>,
}

/// A large batch.
pub fn batch() -> Outcome<Box<dyn Case>> {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let points = (0..2 * BATCH)
        .map(|_| rng.random_range(-2.0..2.0))
        .collect();
    Ok(Box::new(Batch {
        networks: networks(&[64; 4])?,
        tapes: [Tape::new(), Tape::new()],
        points,
        latents: vec![0.0; 2 * BATCH],
        outputs: vec![0.0; 2 * BATCH],
    }))
}

impl Case for Batch {
    fn call(&mut self) {
        let [encoder, decoder] = &self.networks;
        encoder.evaluate(&self.points, BATCH, &mut self.tapes[0], &mut self.latents);
        decoder.evaluate(&self.latents, BATCH, &mut self.tapes[1], &mut self.outputs);
        black_box(&self.outputs);
    }

    fn flops(&self) -> f64 {
        BATCH as f64 * flops_per_point(&[64; 4])
    }
}

/// One layer, packed, on a cache line.
struct Layer {
    weights: Lines,
    bias: Vec<f32>,
    inputs: usize,
    outputs: usize,
    activation: Activation,
}

/// Floats that start on a cache line.
#[derive(Clone)]
struct Lines(Vec<Line>);

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

impl Lines {
    fn new(values: &[f32]) -> Self {
        let line = |chunk: &[f32]| {
            let mut line = Line([0.0; 16]);
            line.0[..chunk.len()].copy_from_slice(chunk);
            line
        };
        Self(values.chunks(16).map(line).collect())
    }

    fn floats(&self) -> &[f32] {
        // SAFETY: a line is 16 floats without padding.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), self.0.len() * 16) }
    }

    fn floats_mut(&mut self) -> &mut [f32] {
        // SAFETY: a line is 16 floats without padding.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), self.0.len() * 16) }
    }
}

struct Point {
    kernel: Kernel,
    layers: Vec<Layer>,
    values: [Lines; 2],
    flops: f64,
}

/// A single point.
pub fn point(hidden: &[usize]) -> Outcome<Box<dyn Case>> {
    let kernel = Kernel::detect();
    let mut layers = Vec::new();
    for network in networks(hidden)? {
        layers.extend(packed(kernel, &network.to_network()));
    }
    let values = [Lines::new(&[0.0; 64]), Lines::new(&[0.0; 64])];
    Ok(Box::new(Point {
        kernel,
        layers,
        values,
        flops: flops_per_point(hidden),
    }))
}

fn packed(kernel: Kernel, network: &Network) -> Vec<Layer> {
    let last = network.layers.len() - 1;
    let pack = |(index, layer): (usize, &fabproj_core::Layer)| {
        let (inputs, outputs) = (layer.inputs, layer.outputs);
        let mut weights = vec![0.0; packed_length(inputs, outputs)];
        kernel.pack(&layer.weights, inputs, outputs, &mut weights);
        let mut bias = layer.bias.clone();
        bias.resize(padded(outputs), 0.0);
        let activation = if index == last {
            network.output
        } else {
            network.hidden
        };
        Layer {
            weights: Lines::new(&weights),
            bias,
            inputs,
            outputs,
            activation,
        }
    };
    network.layers.iter().enumerate().map(pack).collect()
}

impl Case for Point {
    fn call(&mut self) {
        let [x, out] = &mut self.values;
        x.floats_mut()[..2].copy_from_slice(&black_box([0.3, -0.7]));
        for layer in &self.layers {
            let Layer {
                weights,
                bias,
                inputs,
                outputs,
                activation,
            } = layer;
            let dense = Dense {
                weights: weights.floats(),
                bias,
                inputs: *inputs,
                outputs: *outputs,
            };
            let stride = padded(*outputs);
            self.kernel.affine(
                dense,
                x.floats(),
                *inputs,
                1,
                *activation,
                out.floats_mut(),
                stride,
            );
            std::mem::swap(x, out);
        }
        black_box(x.floats()[0]);
    }

    fn flops(&self) -> f64 {
        self.flops
    }
}
