//! The losses of a step once more, from their definitions: f64, one row at a time, Jacobians by dual
//! numbers.

use fabproj_core::Activation;

use super::Structuring;
use crate::losses::Losses;
use crate::settings::{GeometryPoints, Reconstruction};
use fabproj_nn::MlpSpec;

/// A number with its derivative in one direction.
#[derive(Clone, Copy, Debug)]
struct Dual(f64, f64);

/// A network's shape and its parameters.
pub(super) type Net = (MlpSpec, Vec<f64>);

fn run((spec, parameters): &Net, input: &[Dual]) -> Vec<Dual> {
    let mut values = input.to_vec();
    let mut rest = &parameters[..];
    for layer in 0..spec.layer_count() {
        let (inputs, outputs) = spec.layer_shape(layer);
        let (weights, after) = rest.split_at(inputs * outputs);
        let (bias, after) = after.split_at(outputs);
        rest = after;
        let sum = |o: usize| {
            let row = &weights[o * inputs..][..inputs];
            let products = row.iter().zip(&values);
            products.fold(Dual(bias[o], 0.0), |sum, (w, v)| {
                Dual(sum.0 + w * v.0, sum.1 + w * v.1)
            })
        };
        let apply = |v: Dual| match spec.activation(layer) {
            Activation::Relu if v.0 > 0.0 => v,
            Activation::Relu => Dual(0.0, 0.0),
            Activation::Tanh => Dual(v.0.tanh(), v.1 * (1.0 - v.0.tanh().powi(2))),
            _ => v,
        };
        values = (0..outputs).map(|o| apply(sum(o))).collect();
    }
    values
}

fn constant(values: &[f64]) -> Vec<Dual> {
    values.iter().map(|v| Dual(*v, 0.0)).collect()
}

fn primal(values: &[Dual]) -> Vec<f64> {
    values.iter().map(|v| v.0).collect()
}

/// All networks of a step.
#[derive(Clone, Debug)]
pub(super) struct Nets {
    pub(super) encoder: Net,
    pub(super) decoders: Vec<Net>,
    pub(super) gate: Option<Net>,
    pub(super) discriminator: Option<Net>,
}

impl Nets {
    /// The networks as they are now.
    pub(super) fn of(step: &Structuring) -> Self {
        let net = |network: &fabproj_nn::Mlp| {
            let parameters = network.parameters().iter().map(|p| f64::from(*p));
            (network.spec().clone(), parameters.collect())
        };
        Self {
            encoder: net(&step.autoencoder.encoder.network),
            decoders: step.autoencoder.decoders.networks().map(net).collect(),
            gate: step.autoencoder.decoders.gate().map(net),
            discriminator: step.discriminator.as_ref().map(|d| net(&d.network)),
        }
    }

    /// Those that the autoencoder's step changes, decoders and gate before the encoder.
    pub(super) fn changing(&mut self) -> Vec<&mut Vec<f64>> {
        let decoders = self.decoders.iter_mut().map(|net| &mut net.1);
        let gate = self.gate.iter_mut().map(|net| &mut net.1);
        decoders.chain(gate).chain([&mut self.encoder.1]).collect()
    }

    fn decode(&self, input: &[Dual]) -> Vec<Dual> {
        let Some(gate) = &self.gate else {
            return run(&self.decoders[0], input);
        };
        let logits = run(gate, input);
        let powers: Vec<Dual> = logits
            .iter()
            .map(|l| Dual(l.0.exp(), l.1 * l.0.exp()))
            .collect();
        let (sum, slope) = powers
            .iter()
            .fold((0.0, 0.0), |s, p| (s.0 + p.0, s.1 + p.1));
        let mut total = vec![Dual(0.0, 0.0); self.decoders[0].0.outputs];
        for (net, power) in self.decoders.iter().zip(powers) {
            let weight = Dual(
                power.0 / sum,
                (power.1 * sum - power.0 * slope) / (sum * sum),
            );
            for (total, part) in total.iter_mut().zip(run(net, input)) {
                total.0 += weight.0 * part.0;
                total.1 += weight.1 * part.0 + weight.0 * part.1;
            }
        }
        total
    }

    fn log_determinant(&self, latent: &[f64], x: &[f64], dim: usize) -> f64 {
        let columns: Vec<Vec<Dual>> = (0..latent.len())
            .map(|column| {
                let mut input = constant(&[latent, x].concat());
                input[column].1 = 1.0;
                self.decode(&input)
            })
            .collect();
        let entry = |i: usize, j: usize| {
            let sum: f64 = columns.iter().map(|c| c[i].1 * c[j].1).sum();
            sum + if i == j { 1e-6 } else { 0.0 }
        };
        match dim {
            1 => entry(0, 0).ln(),
            2 => (entry(0, 0) * entry(1, 1) - entry(0, 1) * entry(1, 0)).ln(),
            _ => unreachable!("tests use up to two dimensions"),
        }
    }

    fn entropy(&self, point: &[f64], x: &[f64], target: bool, positive_weight: f64) -> f64 {
        let Some(discriminator) = &self.discriminator else {
            return 0.0;
        };
        let logit = run(discriminator, &constant(&[point, x].concat()))[0].0;
        let probability = 1.0 / (1.0 + (-logit).exp());
        if target {
            -positive_weight * probability.ln()
        } else {
            -(1.0 - probability).ln()
        }
    }
}

/// What a step is computed from.
pub(super) struct Problem {
    pub(super) dim: usize,
    pub(super) rows: Vec<Vec<f64>>,
    pub(super) labels: Vec<bool>,
    pub(super) oracle: Vec<bool>,
    pub(super) ball: Vec<Vec<f64>>,
}

/// The composite loss's parts, from the definitions.
pub(super) fn losses(step: &Structuring, nets: &Nets, problem: &Problem) -> Losses {
    let (settings, dim) = (&step.settings, problem.dim);
    let weight = f64::from(step.positive_weight);
    let count = problem.rows.len() as f64;
    let mut sums = Losses::default();
    let (mut logarithms, mut counted) = (Vec::new(), 0.0);
    for (index, row) in problem.rows.iter().enumerate() {
        let (y, x) = row.split_at(dim);
        let latent = primal(&run(&nets.encoder, &constant(row)));
        let output = primal(&nets.decode(&constant(&[&latent, x].concat())));
        let label = problem.labels[index];
        if label || !step.mask {
            counted += 1.0;
            let squares = output.iter().zip(y).map(|(o, y)| (o - y).powi(2));
            sums.reconstruction += squares.sum::<f64>();
        }
        let norm = latent.iter().map(|z| z * z).sum::<f64>().sqrt();
        let radius = f64::from(settings.radius);
        let beyond = if label { norm - radius } else { radius - norm };
        sums.hinge += beyond.max(0.0) / count;
        sums.feasibility += nets.entropy(&output, x, label || step.mask, weight) / count;
        let ball = &problem.ball[index];
        let decoded = primal(&nets.decode(&constant(&[&ball[..], x].concat())));
        sums.latent += nets.entropy(&decoded, x, true, weight) / count;
        if index < settings.geometry_rows {
            let at = match settings.geometry_points {
                GeometryPoints::Encodings => &latent,
                GeometryPoints::Ball => ball,
            };
            logarithms.push(nets.log_determinant(at, x, dim));
        }
    }
    sums.reconstruction /= counted
        * match settings.reconstruction {
            Reconstruction::Mean => dim as f64,
            Reconstruction::Sum => 1.0,
        };
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    let squares = logarithms.iter().map(|l| (l - mean).powi(2));
    sums.geometry = squares.sum::<f64>() / (logarithms.len() as f64 - 1.0);
    sums
}

/// The weighted sum.
pub(super) fn total(step: &Structuring, losses: &Losses) -> f64 {
    let weights = &step.settings.weights;
    f64::from(weights.reconstruction) * losses.reconstruction
        + f64::from(weights.feasibility) * losses.feasibility
        + f64::from(weights.latent) * losses.latent
        + f64::from(weights.geometry) * losses.geometry
        + f64::from(weights.hinge) * losses.hinge
}

/// The discriminator's loss on the batch and, where it generates, on given generated latents.
pub(super) fn discriminator_loss(
    step: &Structuring,
    nets: &Nets,
    problem: &Problem,
    cube: &[Vec<f64>],
    inside: impl Fn(&[f64]) -> bool,
) -> f64 {
    let (dim, count) = (problem.dim, problem.rows.len() as f64);
    let weight = f64::from(step.positive_weight);
    let (mut real, mut generated) = (0.0, 0.0);
    for (index, row) in problem.rows.iter().enumerate() {
        let (y, x) = row.split_at(dim);
        let target = match step.generates() {
            true => problem.oracle[index],
            false => problem.labels[index],
        };
        real += nets.entropy(y, x, target, weight) / count;
        if step.generates() {
            let latent = primal(&run(&nets.encoder, &constant(row)));
            for latent in [&latent, &cube[index]] {
                let point = primal(&nets.decode(&constant(&[&latent[..], x].concat())));
                generated += nets.entropy(&point, x, inside(&point), weight) / (2.0 * count);
            }
        }
    }
    real + generated
}
