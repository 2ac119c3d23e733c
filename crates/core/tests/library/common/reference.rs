//! The projection by its definition: f64, no packing, no tiles.

use fabproj_core::{Activation, Chart, Frame, LatentSet, Network, Weights};

pub fn network(network: &Network, input: &[f64]) -> Vec<f64> {
    let mut values = input.to_vec();
    let last = network.layers.len() - 1;
    for (index, layer) in network.layers.iter().enumerate() {
        let rows = layer.weights.chunks_exact(layer.inputs).zip(&layer.bias);
        let mut sums: Vec<f64> = rows
            .map(|(row, bias)| {
                let products = row.iter().zip(&values).map(|(w, v)| f64::from(*w) * v);
                products.sum::<f64>() + f64::from(*bias)
            })
            .collect();
        if let (Some(skip), true) = (&network.skip, index == last) {
            let inputs = skip.len() / layer.outputs;
            for (sum, row) in sums.iter_mut().zip(skip.chunks_exact(inputs)) {
                *sum += row
                    .iter()
                    .zip(input)
                    .map(|(w, v)| f64::from(*w) * v)
                    .sum::<f64>();
            }
        }
        let activation = if index == last {
            network.output
        } else {
            network.hidden
        };
        values = sums
            .into_iter()
            .map(|sum| activate(activation, sum))
            .collect();
    }
    values
}

fn activate(activation: Activation, sum: f64) -> f64 {
    match activation {
        Activation::Identity => sum,
        Activation::Relu => sum.max(0.0),
        Activation::Tanh => sum.tanh(),
        Activation::Silu => sum / (1.0 + (-sum).exp()),
    }
}

fn enter(frame: &Frame, outer: &[f64]) -> Vec<f64> {
    let units = frame.centre.iter().zip(&frame.scale);
    let inner = outer
        .iter()
        .zip(units)
        .map(|(o, (c, s))| (o - f64::from(*c)) / f64::from(*s));
    inner.collect()
}

fn largest(values: &[f64]) -> usize {
    let mut best = 0;
    for (index, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = index;
        }
    }
    best
}

fn softplus(t: f64) -> f64 {
    t.max(0.0) + (-t.abs()).exp().ln_1p()
}

fn clamp(set: LatentSet, z: &[f64]) -> Vec<f64> {
    let norm = z.iter().map(|z| z * z).sum::<f64>().sqrt();
    let scaled = |target: f64, norm: f64| z.iter().map(|z| z * target / norm).collect();
    match set {
        LatentSet::Ball {
            radius,
            smooth: None,
        } => scaled(norm.min(f64::from(radius)), norm),
        LatentSet::Ball {
            radius,
            smooth: Some(smooth),
        } => {
            let (radius, smooth) = (f64::from(radius), f64::from(smooth));
            scaled(
                norm - softplus(smooth * (norm - radius)) / smooth,
                norm + 1e-8,
            )
        }
        LatentSet::Shell {
            inner,
            outer,
            smooth: None,
        } => scaled(norm.clamp(f64::from(inner), f64::from(outer)), norm),
        LatentSet::Shell {
            inner,
            outer,
            smooth: Some(smooth),
        } => {
            let (inner, outer, smooth) = (f64::from(inner), f64::from(outer), f64::from(smooth));
            let above = softplus(smooth * (norm - outer)) / smooth;
            let below = softplus(smooth * (inner - norm)) / smooth;
            scaled(norm - above + below, norm)
        }
        LatentSet::Box { half, smooth: None } => z
            .iter()
            .map(|z| z.clamp(-f64::from(half), f64::from(half)))
            .collect(),
        LatentSet::Box {
            half,
            smooth: Some(smooth),
        } => {
            let (half, smooth) = (f64::from(half), f64::from(smooth));
            let one = |z: &f64| {
                z - softplus(smooth * (z - half)) / smooth + softplus(smooth * (-half - z)) / smooth
            };
            z.iter().map(one).collect()
        }
        LatentSet::Simplex { sharpness } => softmax(z, f64::from(sharpness)),
    }
}

fn softmax(z: &[f64], sharpness: f64) -> Vec<f64> {
    let weights: Vec<_> = z.iter().map(|z| (sharpness * z).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

pub fn decode(chart: &Chart, z: &[f64], inner_x: &[f64]) -> Vec<f64> {
    let joined = [z, inner_x].concat();
    let decodes: Vec<_> = chart
        .decoders
        .iter()
        .map(|decoder| network(decoder, &joined))
        .collect();
    let blended = match &chart.decoder_gate {
        None => decodes[0].clone(),
        Some(gate) => {
            let weights = softmax(&network(gate, &joined), 1.0);
            let coordinate = |j: usize| -> f64 {
                weights
                    .iter()
                    .zip(&decodes)
                    .map(|(weight, decode)| weight * decode[j])
                    .sum()
            };
            (0..decodes[0].len()).map(coordinate).collect()
        }
    };
    let units = chart.frame.centre.iter().zip(&chart.frame.scale);
    let outer = blended
        .iter()
        .zip(units)
        .map(|(u, (c, s))| f64::from(*c) + f64::from(*s) * u);
    outer.collect()
}

/// The coordinates that the networks see.
fn lower(weights: &Weights, y: &[f64], x: &[f64]) -> Vec<f64> {
    let Some(equations) = &weights.equations else {
        return y.to_vec();
    };
    let mut z = vec![0.0; equations.reduced_dim()];
    equations.lower(y, x, &mut z).expect("lengths fit");
    z
}

fn raise(weights: &Weights, z: Vec<f64>, x: &[f64]) -> Vec<f64> {
    let Some(equations) = &weights.equations else {
        return z;
    };
    let mut y = vec![0.0; equations.dim()];
    equations.raise(&z, x, &mut y).expect("lengths fit");
    y
}

/// `[y, x]` as the gate and the discriminator read them.
pub fn joined(weights: &Weights, y: &[f64], x: &[f64]) -> Vec<f64> {
    let z = lower(weights, y, x);
    [enter(&weights.frame, &z), enter(&weights.x_frame, x)].concat()
}

pub fn chart_of(weights: &Weights, y: &[f64], x: &[f64]) -> usize {
    let joined = joined(weights, y, x);
    weights
        .gate
        .as_ref()
        .map_or(0, |gate| largest(&network(gate, &joined)))
}

/// φ(y, x) through the given chart.
pub fn project(weights: &Weights, chart: usize, y: &[f64], x: &[f64]) -> Vec<f64> {
    let chart = &weights.charts[chart];
    let inner_x = enter(&weights.x_frame, x);
    let inner_y = enter(&chart.frame, &lower(weights, y, x));
    let joined = [inner_y, inner_x.clone()].concat();
    let z = clamp(chart.latent, &network(&chart.encoder, &joined));
    raise(weights, decode(chart, &z, &inner_x), x)
}
