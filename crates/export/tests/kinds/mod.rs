//! Weights of every kind that a model can have.

use fabproj_core::{
    Activation, Anchor, Chart, Equations, Frame, LatentSet, Layer, Network, Weights,
};

/// Numbers that look random and are the same everywhere.
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32 / (1 << 23) as f32) - 1.0
    }

    pub fn many(&mut self, count: usize, size: f32) -> Vec<f32> {
        (0..count).map(|_| size * self.next()).collect()
    }

    fn network(
        &mut self,
        widths: &[usize],
        hidden: Activation,
        output: Activation,
        skip: usize,
    ) -> Network {
        let layer = |numbers: &mut Self, inputs: usize, outputs: usize| Layer {
            inputs,
            outputs,
            weights: numbers.many(inputs * outputs, 1.6 / (inputs as f32).sqrt()),
            bias: numbers.many(outputs, 0.3),
        };
        let layers = widths
            .windows(2)
            .map(|pair| layer(self, pair[0], pair[1]))
            .collect();
        let outputs = widths[widths.len() - 1];
        let skip = (skip > 0).then(|| self.many(outputs * skip, 0.5));
        Network {
            layers,
            hidden,
            output,
            skip,
        }
    }

    fn frame(&mut self, dim: usize) -> Frame {
        let scale = self
            .many(dim, 0.5)
            .iter()
            .map(|number| 1.0 + number)
            .collect();
        Frame {
            centre: self.many(dim, 2.0),
            scale,
        }
    }

    fn chart(
        &mut self,
        dim: usize,
        x_dim: usize,
        latent: LatentSet,
        activation: Activation,
        decoders: usize,
    ) -> Chart {
        let latent_dim = 3;
        let skip = if decoders == 1 { latent_dim } else { 0 };
        let mut decoder = || {
            self.network(
                &[latent_dim + x_dim, 9, dim],
                activation,
                Activation::Identity,
                skip,
            )
        };
        let all = (0..decoders).map(|_| decoder()).collect();
        Chart {
            frame: self.frame(dim),
            encoder: self.network(
                &[dim + x_dim, 8, 7, latent_dim],
                activation,
                Activation::Identity,
                dim,
            ),
            latent,
            decoders: all,
            decoder_gate: (decoders > 1).then(|| {
                self.network(
                    &[latent_dim + x_dim, 5, decoders],
                    Activation::Tanh,
                    Activation::Identity,
                    0,
                )
            }),
        }
    }
}

const LATENTS: [LatentSet; 7] = [
    LatentSet::Ball {
        radius: 0.7,
        smooth: None,
    },
    LatentSet::Ball {
        radius: 0.7,
        smooth: Some(12.0),
    },
    LatentSet::Shell {
        inner: 0.4,
        outer: 0.9,
        smooth: None,
    },
    LatentSet::Shell {
        inner: 0.4,
        outer: 0.9,
        smooth: Some(20.0),
    },
    LatentSet::Box {
        half: 0.4,
        smooth: None,
    },
    LatentSet::Box {
        half: 0.4,
        smooth: Some(9.0),
    },
    LatentSet::Simplex { sharpness: 2.0 },
];

/// Weights of all kinds, with their names in C.
pub fn cases() -> Vec<(String, Weights)> {
    let mut numbers = Numbers(7);
    let mut cases = Vec::new();
    let activations = [
        Activation::Relu,
        Activation::Tanh,
        Activation::Silu,
        Activation::Identity,
    ];
    for (index, latent) in LATENTS.into_iter().enumerate() {
        for x_dim in [0, 2] {
            let (dim, charts) = (2 + index % 2, 1 + index % 3);
            let activation = activations[(index + x_dim) % 4];
            let charts: Vec<Chart> = (0..charts)
                .map(|chart| numbers.chart(dim, x_dim, latent, activation, 1 + (index + chart) % 3))
                .collect();
            let gate = (charts.len() > 1).then(|| {
                numbers.network(
                    &[dim + x_dim, 6, charts.len()],
                    Activation::Silu,
                    Activation::Identity,
                    0,
                )
            });
            let latent = if matches!(latent, LatentSet::Simplex { .. }) {
                vec![0.2, 0.3, 0.5]
            } else {
                vec![0.1, 0.5, 0.2]
            };
            let anchor = Anchor {
                chart: 0,
                latent,
                x: numbers.many(x_dim, 1.0),
                point: numbers.many(dim, 1.0),
            };
            let weights = Weights {
                dim,
                x_dim,
                frame: numbers.frame(dim),
                x_frame: numbers.frame(x_dim),
                gate,
                charts,
                discriminator: None,
                anchors: if index % 2 == 0 {
                    vec![anchor]
                } else {
                    Vec::new()
                },
                equations: (index % 3 == 1).then(|| equations(dim, x_dim)),
            };
            cases.push((format!("case_{index}_{x_dim}"), weights));
        }
    }
    cases
}

/// The sum of y is 1 + the sum of x, in one dimension more.
fn equations(reduced: usize, x_dim: usize) -> Equations {
    let dim = reduced + 1;
    // Householder: the columns after the first are orthogonal to (1, …, 1).
    let unit = 1.0 / (dim as f64).sqrt();
    let mut v = vec![unit; dim];
    v[0] += 1.0;
    let square: f64 = v.iter().map(|v| v * v).sum();
    let entry = |row: usize, column: usize| {
        f64::from(u8::from(row == column)) - 2.0 * v[row] * v[column] / square
    };
    Equations {
        origin: vec![1.0 / dim as f64; dim],
        basis: (0..dim)
            .flat_map(|row| (1..dim).map(move |column| (row, column)))
            .map(|(row, column)| entry(row, column))
            .collect(),
        by_x: vec![1.0 / dim as f64; dim * x_dim],
    }
}
