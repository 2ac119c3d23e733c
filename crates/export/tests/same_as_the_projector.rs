//! Graphs and C files give what the projector gives, for every kind of weights.

use std::process::Command;

use fabproj_core::{
    Activation, Anchor, Chart, Equations, Frame, LatentSet, Layer, Network, Projector, RawOutcome,
    Weights,
};
use fabproj_export::{Graph, c};

/// Numbers that look random and are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32 / (1 << 23) as f32) - 1.0
    }

    fn many(&mut self, count: usize, size: f32) -> Vec<f32> {
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
fn cases() -> Vec<(String, Weights)> {
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

/// Points near and far, and some that are not finite.
fn points(dim: usize, x_dim: usize) -> Vec<(Vec<f32>, Vec<f32>)> {
    let mut numbers = Numbers(3);
    let mut all: Vec<_> = (0..400)
        .map(|index| {
            let size = if index % 5 == 0 { 30.0 } else { 3.0 };
            (numbers.many(dim, size), numbers.many(x_dim, 1.5))
        })
        .collect();
    let mut bad = numbers.many(dim, 1.0);
    bad[1] = f32::NAN;
    all.push((bad.clone(), numbers.many(x_dim, 1.0)));
    bad[1] = f32::INFINITY;
    all.push((bad, numbers.many(x_dim, 1.0)));
    all
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

#[test]
fn graphs_give_what_the_projector_gives() {
    for (name, weights) in cases() {
        let (projector, graph) = (
            Projector::new(&weights).unwrap(),
            Graph::new(&weights).unwrap(),
        );
        let mut clamped = 0;
        for (y, x) in points(projector.dim(), projector.x_dim()) {
            let (wanted, outcome) = projector.project(&y, &x).unwrap();
            clamped += usize::from(outcome == RawOutcome::Clamped);
            let found = graph.project(&y, &x);
            assert!(
                distance(&wanted, &found) < 1e-5,
                "{name} {outcome} at {y:?} {x:?}: {found:?}, not {wanted:?}"
            );
        }
        assert!(clamped > 0, "{name} clamps nothing");
    }
}

#[test]
fn c_files_give_what_the_projector_gives() {
    let folder = tempfile::tempdir().unwrap();
    for (name, weights) in cases() {
        let projector = Projector::new(&weights).unwrap();
        let (dim, x_dim) = (projector.dim(), projector.x_dim());
        let source = folder.path().join(format!("{name}.c"));
        let program = folder.path().join(&name);
        std::fs::write(
            &source,
            c(&weights, &name).unwrap() + &main_of(&name, dim, x_dim),
        )
        .unwrap();
        let flags = [
            "-std=c99",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-fsanitize=undefined,address",
            "-fno-sanitize-recover=all",
        ];
        let compiled = Command::new("cc")
            .args(flags)
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .arg("-lm")
            .output();
        let Ok(compiled) = compiled else {
            eprintln!("no C compiler: skipped");
            return;
        };
        assert!(
            compiled.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&compiled.stderr)
        );
        let points = points(dim, x_dim);
        let text: Vec<String> = points
            .iter()
            .flat_map(|(y, x)| y.iter().chain(x))
            .map(|value| format!("{value:e}"))
            .collect();
        std::fs::write(folder.path().join("points"), text.join("\n")).unwrap();
        let input = std::fs::File::open(folder.path().join("points")).unwrap();
        let output = Command::new(&program).stdin(input).output().unwrap();
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let output = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.lines().count(), points.len());
        for ((y, x), line) in points.iter().zip(output.lines()) {
            let mut found = line.split(' ').map(|word| word.parse::<f32>().unwrap());
            let (wanted, outcome) = projector.project(y, x).unwrap();
            assert_eq!(
                found.next(),
                Some(f32::from(outcome as u8)),
                "{name} at {y:?} {x:?}"
            );
            let found: Vec<f32> = found.collect();
            assert!(
                distance(&wanted, &found) < 1e-5,
                "{name} at {y:?} {x:?}: {found:?}, not {wanted:?}"
            );
        }
    }
}

/// A program that projects what it reads.
fn main_of(name: &str, dim: usize, x_dim: usize) -> String {
    let x = x_dim.max(1);
    format!(
        "\n#include <stdio.h>\n#include <stdlib.h>\n\
         static int number(float *value) {{\n    char word[64];\n    if (scanf(\"%63s\", word) != 1) return 0;\n    \
         *value = strtof(word, NULL);\n    return 1;\n}}\n\
         int main(void) {{\n    float y[{dim}], x[{x}];\n    size_t i;\n    for (;;) {{\n        int outcome;\n        \
         for (i = 0; i < {dim}; ++i)\n            if (!number(&y[i])) return 0;\n        \
         for (i = 0; i < {x_dim}; ++i)\n            if (!number(&x[i])) return 1;\n        \
         outcome = {name}_project(y, {argument}, y);\n        printf(\"%d\", outcome);\n        \
         for (i = 0; i < {dim}; ++i) printf(\" %.9g\", (double)y[i]);\n        printf(\"\\n\");\n    }}\n}}\n",
        argument = if x_dim > 0 { "x" } else { "NULL" },
    )
    .replace("for (i = 0; i < 0; ++i)\n            if (!number(&x[i])) return 1;\n", "(void)x;\n")
}

#[test]
fn names_and_weights_are_checked() {
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let mut weights = Weights::identity(2, disc);
    for name in ["", "2d", "a-b", "_x", "ä"] {
        let error = c(&weights, name).unwrap_err().to_string();
        assert!(error.contains("cannot begin a name in C"), "{error}");
    }
    weights.charts[0].encoder.layers[0].bias.pop();
    assert!(Graph::new(&weights).is_err() && c(&weights, "disc").is_err());
}
