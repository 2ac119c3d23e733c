//! The layer that bends: each coordinate moved and scaled by what a masked network makes of those before.

use std::ops::Range;

use fabproj_nn::{Mlp, MlpSpec, SpecError, Tape};
use rand_chacha::ChaCha8Rng;

use super::layer::{Layer, Pass};

/// u = (x − m)·e⁻ᵃ, where m and a of a coordinate depend on the coordinates before it (Germain and others,
/// "MADE", 2015; Papamakarios and others, "Masked Autoregressive Flow", 2017). The weights that would
/// break the order are zero and get no gradient.
#[derive(Clone)]
pub(super) struct Autoregressive {
    network: Mlp,
    gradient: Vec<f32>,
    /// 1 where a parameter may be other than zero.
    mask: Vec<f32>,
    tape: Tape,
    d_network: Vec<f32>,
    through: Vec<f32>,
    /// m, then a, row by row.
    latest: Vec<f32>,
}

impl Autoregressive {
    pub fn new(dim: usize, hidden: usize, random: &mut ChaCha8Rng) -> Result<Self, SpecError> {
        let mut network = Mlp::new(MlpSpec::new(dim, &[hidden; 2], 2 * dim), random)?;
        let mask = mask(&network, dim);
        for (parameter, mask) in network.parameters_mut().iter_mut().zip(&mask) {
            *parameter *= mask;
        }
        Ok(Self {
            gradient: vec![0.0; mask.len()],
            network,
            mask,
            tape: Tape::new(),
            d_network: Vec::new(),
            through: Vec::new(),
            latest: Vec::new(),
        })
    }
}

/// A connection is allowed from a unit to those of at least its degree: inputs have their place, hidden
/// units all places but the last in turn, outputs their place minus one.
fn mask(network: &Mlp, dim: usize) -> Vec<f32> {
    let input = |index: usize| index as i64;
    let hidden = |index: usize| (index % (dim - 1).max(1)) as i64;
    let output = |index: usize| (index % dim) as i64 - 1;
    let mut mask = vec![1.0; network.parameters().len()];
    let mut fill =
        |range: Range<usize>, inputs, from: &dyn Fn(usize) -> i64, to: &dyn Fn(usize) -> i64| {
            for (place, mask) in mask[range].iter_mut().enumerate() {
                let allowed = to(place / inputs) >= from(place % inputs);
                *mask = if allowed { 1.0 } else { 0.0 };
            }
        };
    let spec = network.spec();
    fill(
        network.weights_range(0),
        spec.layer_shape(0).0,
        &input,
        &hidden,
    );
    fill(
        network.weights_range(1),
        spec.layer_shape(1).0,
        &hidden,
        &hidden,
    );
    fill(
        network.weights_range(2),
        spec.layer_shape(2).0,
        &hidden,
        &output,
    );
    mask
}

impl Layer for Autoregressive {
    fn duplicate(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }

    fn forward(&mut self, inputs: &[f32], outputs: &mut [f32], scales: &mut [f32]) {
        let dim = self.network.spec().inputs;
        let moved = self
            .network
            .forward(inputs, inputs.len() / dim, &mut self.tape);
        self.latest.clear();
        self.latest.extend_from_slice(moved);
        for (row, moved) in self.latest.chunks_exact(2 * dim).enumerate() {
            let (shift, scale) = moved.split_at(dim);
            for index in 0..dim {
                let place = row * dim + index;
                outputs[place] = (inputs[place] - shift[index]) * (-scale[index]).exp();
                scales[place] = -scale[index];
            }
        }
    }

    fn backward(&mut self, pass: &Pass<'_>, d_inputs: &mut [f32]) {
        let dim = self.network.spec().inputs;
        self.d_network.resize(2 * d_inputs.len(), 0.0);
        let rows = self.d_network.chunks_exact_mut(2 * dim);
        for (row, (d_moved, moved)) in rows.zip(self.latest.chunks_exact(2 * dim)).enumerate() {
            for index in 0..dim {
                let place = row * dim + index;
                let through = pass.d_outputs[place] * (-moved[dim + index]).exp();
                d_inputs[place] = through;
                d_moved[index] = -through;
                d_moved[dim + index] =
                    -pass.d_outputs[place] * pass.outputs[place] - pass.d_scales[place];
            }
        }
        self.gradient.fill(0.0);
        self.through.resize(d_inputs.len(), 0.0);
        self.network.backward(
            &mut self.tape,
            &self.d_network,
            Some(&mut self.gradient),
            Some(&mut self.through),
        );
        for (gradient, mask) in self.gradient.iter_mut().zip(&self.mask) {
            *gradient *= mask;
        }
        for (d_input, through) in d_inputs.iter_mut().zip(&self.through) {
            *d_input += through;
        }
    }

    fn invert(&mut self, point: &mut [f32]) {
        let dim = point.len();
        // Coordinates that are not known yet do not matter for those before them.
        let mut outputs = [0.0; 16];
        outputs[..dim].copy_from_slice(point);
        for index in 0..dim {
            let moved = self.network.forward(point, 1, &mut self.tape);
            point[index] = outputs[index] * moved[dim + index].exp() + moved[index];
        }
    }

    fn parameters(&mut self) -> (&mut [f32], &mut [f32]) {
        (self.network.parameters_mut(), &mut self.gradient)
    }
}

#[cfg(test)]
impl Autoregressive {
    /// Makes hidden units stay on or off for inputs of a few units, so that there are no kinks.
    pub(super) fn calm(&mut self) {
        for layer in 0..3 {
            let scale = |weight: &mut f32| *weight *= 0.15;
            self.network.weights_mut(layer).iter_mut().for_each(scale);
        }
        for layer in 0..2 {
            for (index, bias) in self.network.bias_mut(layer).iter_mut().enumerate() {
                *bias = if index % 3 == 0 { -1.0 } else { 1.0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::check_gradients;
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn gradients_agree_with_differences_and_what_is_masked_has_none() {
        let mut random = ChaCha8Rng::seed_from_u64(9);
        for dim in [2, 3, 10] {
            let mut layer = Autoregressive::new(dim, 12, &mut random).unwrap();
            layer.calm();
            let inputs: Vec<f32> = (0..4 * dim).map(|i| (i as f32 * 0.9).sin()).collect();
            let mask = layer.mask.clone();
            check_gradients(&mut layer, &mask, &inputs, &mut random);
        }
    }
}
