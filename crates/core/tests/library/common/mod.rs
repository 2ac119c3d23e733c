//! Weights of every shape for the tests, and the projection's definition in f64.
#![allow(dead_code, reason = "the bench uses a part of this")]

pub mod counting;
pub mod hostile;
pub mod reference;

use fabproj_core::{
    Activation, Anchor, Chart, Equations, Frame, LatentSet, Layer, Network, Projector, Real,
    Weights,
};
use proptest::prelude::*;

/// SplitMix64: enough to fill weights with, the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [-1, 1).
    pub fn signed(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    pub fn floats(&mut self, count: usize, bound: f32) -> Vec<f32> {
        (0..count).map(|_| bound * self.signed()).collect()
    }

    /// One equation: solutions of `dim` reduced coordinates, their basis a reflection of the first axes.
    pub fn equations(&mut self, dim: usize, x_dim: usize) -> Equations {
        let mut numbers =
            |count: usize| -> Vec<f64> { (0..count).map(|_| f64::from(self.signed())).collect() };
        let outer = dim + 1;
        let normal = numbers(outer);
        let squared: f64 = normal.iter().map(|value| value * value).sum();
        let basis = (0..outer * dim).map(|index| {
            let (row, column) = (index / dim, index % dim);
            let unit = if row == column { 1.0 } else { 0.0 };
            unit - 2.0 * normal[row] * normal[column] / squared
        });
        Equations {
            basis: basis.collect(),
            origin: numbers(outer),
            by_x: numbers(outer * x_dim),
        }
    }

    pub fn network(&mut self, widths: &[usize], shape: &Shape, output: Activation) -> Network {
        let layers = widths.windows(2).map(|pair| {
            let bound = 1.5 / (pair[0] as f32).sqrt();
            Layer {
                inputs: pair[0],
                outputs: pair[1],
                weights: self.floats(pair[0] * pair[1], bound),
                bias: self.floats(pair[1], 0.3),
            }
        });
        let layers = layers.collect();
        let outputs = widths[widths.len() - 1];
        let skip = shape
            .skip
            .then(|| self.floats(outputs * widths[0].min(2), 0.8));
        Network {
            layers,
            hidden: shape.hidden,
            output,
            skip,
        }
    }

    pub fn frame(&mut self, dim: usize) -> Frame {
        Frame {
            centre: self.floats(dim, 2.0),
            scale: (0..dim).map(|_| 1.0 + 0.5 * self.signed()).collect(),
        }
    }
}

/// What kind of projector.
#[derive(Clone, Debug)]
pub struct Shape {
    pub dim: usize,
    pub x_dim: usize,
    pub latent_dim: usize,
    pub charts: usize,
    pub decoders: usize,
    pub anchors: usize,
    pub hidden: Activation,
    pub skip: bool,
    pub latent: LatentSet,
}

impl Shape {
    /// Two dimensions, one chart, one decoder, a ball.
    pub fn plain() -> Self {
        Self {
            dim: 2,
            x_dim: 0,
            latent_dim: 2,
            charts: 1,
            decoders: 1,
            anchors: 0,
            hidden: Activation::Relu,
            skip: false,
            latent: LatentSet::Ball {
                radius: 0.5,
                smooth: None,
            },
        }
    }

    /// Random weights of this shape; every chart has other widths. Odd seeds: with equations.
    pub fn weights(&self, seed: u64) -> Weights {
        let mut random = Random(seed);
        let joined = self.dim + self.x_dim;
        let charts: Vec<_> = (0..self.charts)
            .map(|index| self.chart(index, &mut random))
            .collect();
        let gate = [joined, 12, self.charts];
        let identity = Activation::Identity;
        Weights {
            dim: self.dim,
            x_dim: self.x_dim,
            frame: random.frame(self.dim),
            x_frame: random.frame(self.x_dim),
            gate: (self.charts > 1).then(|| random.network(&gate, self, identity)),
            discriminator: Some(random.network(&[joined, 9, 1], self, identity)),
            anchors: (0..self.anchors)
                .map(|index| {
                    let chart = index % self.charts;
                    let mut latent = vec![0.0; charts[chart].encoder.outputs()];
                    charts[chart].latent.spread(index as u32, &mut latent);
                    Anchor {
                        chart,
                        latent,
                        x: random.floats(self.x_dim, 1.0),
                        point: random.floats(self.dim, 1.0),
                    }
                })
                .collect(),
            charts,
            equations: (seed % 2 == 1).then(|| random.equations(self.dim, self.x_dim)),
        }
    }

    fn chart(&self, index: usize, random: &mut Random) -> Chart {
        let width = 11 + 6 * index;
        let latent_dim = self.latent_dim + index % 2;
        let encoder = [self.dim + self.x_dim, width, 20, latent_dim];
        let decoder = [latent_dim + self.x_dim, 17, width, self.dim];
        let gate = [latent_dim + self.x_dim, 8, self.decoders];
        let identity = Activation::Identity;
        Chart {
            frame: random.frame(self.dim),
            encoder: random.network(&encoder, self, Activation::Tanh),
            latent: self.latent,
            decoders: (0..self.decoders)
                .map(|_| random.network(&decoder, self, identity))
                .collect(),
            decoder_gate: (self.decoders > 1).then(|| random.network(&gate, self, identity)),
        }
    }
}

pub fn latent_sets() -> Vec<LatentSet> {
    vec![
        LatentSet::Ball {
            radius: 0.5,
            smooth: None,
        },
        LatentSet::Ball {
            radius: 0.5,
            smooth: Some(20.0),
        },
        LatentSet::Shell {
            inner: 0.25,
            outer: 0.5,
            smooth: None,
        },
        LatentSet::Shell {
            inner: 0.25,
            outer: 0.5,
            smooth: Some(20.0),
        },
        LatentSet::Box {
            half: 0.5,
            smooth: None,
        },
        LatentSet::Box {
            half: 0.5,
            smooth: Some(20.0),
        },
        LatentSet::Simplex { sharpness: 2.0 },
    ]
}

/// Any kind of projector.
pub fn shapes() -> impl Strategy<Value = Shape> {
    let sizes = (
        1_usize..4,
        0_usize..3,
        2_usize..4,
        1_usize..4,
        1_usize..4,
        0_usize..4,
    );
    let hidden = vec![Activation::Relu, Activation::Tanh, Activation::Silu];
    let kinds = (
        prop::sample::select(hidden),
        any::<bool>(),
        prop::sample::select(latent_sets()),
    );
    (sizes, kinds).prop_map(|(sizes, (hidden, skip, latent))| {
        let (dim, x_dim, latent_dim, charts, decoders, anchors) = sizes;
        Shape {
            dim,
            x_dim,
            latent_dim,
            charts,
            decoders,
            anchors,
            hidden,
            skip,
            latent,
        }
    })
}

/// The paper's networks: four hidden layers of 64.
pub fn paper_size() -> Weights {
    let mut random = Random(1);
    let mut weights = Shape::plain().weights(1);
    weights.equations = None;
    let widths = [2, 64, 64, 64, 64, 2];
    let shape = Shape::plain();
    weights.charts[0].encoder = random.network(&widths, &shape, Activation::Tanh);
    weights.charts[0].decoders = vec![random.network(&widths, &shape, Activation::Identity)];
    weights.discriminator = None;
    weights
}

pub fn projector(weights: &Weights) -> Projector {
    Projector::new(weights).expect("the fixture is valid")
}

/// The same numbers in a call's type.
pub fn cast<T: Real>(values: &[f32]) -> Vec<T> {
    values.iter().map(|value| T::from_f32(*value)).collect()
}

/// The numbers that a membership test sees.
pub fn wide<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|value| value.to_f64()).collect()
}

/// A row of a batch.
pub fn row<T>(values: &[T], row: usize, width: usize) -> &[T] {
    &values[row * width..][..width]
}
