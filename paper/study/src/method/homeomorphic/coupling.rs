//! The layer that depends on an x: some coordinates moved and scaled by what a network makes of the others
//! and x.

use fabproj::core::Activation;
use fabproj_nn::{Mlp, MlpSpec, SpecError, Tape};
use rand_chacha::ChaCha8Rng;

use super::layer::{Layer, Pass};

/// Log-scales are between −1 and 1, so that neither direction is steep ("bi-Lipschitz" in the released code).
fn log_scale(raw: f32) -> f32 {
    raw.tanh()
}

/// u = z·eᵃ + m for the moved coordinates, where m and a depend on the kept ones and x (Dinh, Sohl-Dickstein
/// and Bengio, "Density estimation using Real NVP", 2017). Starts as the identity.
#[derive(Clone)]
pub(super) struct Coupling {
    kept: Vec<usize>,
    moved: Vec<usize>,
    /// From the kept coordinates and x to m, then to what a is made of.
    network: Mlp,
    gradient: Vec<f32>,
    tape: Tape,
    /// x, row by row.
    x: Vec<f32>,
    inputs: Vec<f32>,
    d_inputs: Vec<f32>,
    d_network: Vec<f32>,
    /// m, then a, row by row.
    latest: Vec<f32>,
}

impl Coupling {
    pub fn new(
        kept: &[usize],
        moved: &[usize],
        x_dim: usize,
        hidden: &[usize],
        random: &mut ChaCha8Rng,
    ) -> Result<Self, SpecError> {
        let inputs = kept.len() + x_dim;
        // Without kinks, so that the way through the set is smooth.
        let spec = MlpSpec::new(inputs, hidden, 2 * moved.len())
            .with_hidden(Activation::Silu)
            .with_skip(inputs);
        let mut network = Mlp::new(spec, random)?;
        network.weights_mut(hidden.len()).fill(0.0);
        network.bias_mut(hidden.len()).fill(0.0);
        if let Some(skip) = network.skip_mut() {
            skip.fill(0.0);
        }
        Ok(Self {
            kept: kept.to_vec(),
            moved: moved.to_vec(),
            gradient: vec![0.0; network.parameters().len()],
            network,
            tape: Tape::new(),
            x: Vec::new(),
            inputs: Vec::new(),
            d_inputs: Vec::new(),
            d_network: Vec::new(),
            latest: Vec::new(),
        })
    }

    fn dim(&self) -> usize {
        self.kept.len() + self.moved.len()
    }

    /// Sets m and a for rows of points.
    fn look(&mut self, points: &[f32]) {
        let rows = points.len() / self.dim();
        self.inputs.clear();
        let pairs = points.chunks_exact(self.dim());
        for (point, x) in pairs.zip(self.x.chunks_exact(self.x.len() / rows)) {
            self.inputs
                .extend(self.kept.iter().map(|&place| point[place]));
            self.inputs.extend_from_slice(x);
        }
        let looked = self.network.forward(&self.inputs, rows, &mut self.tape);
        self.latest.clear();
        self.latest.extend_from_slice(looked);
        let count = self.moved.len();
        for row in self.latest.chunks_exact_mut(2 * count) {
            row[count..]
                .iter_mut()
                .for_each(|raw| *raw = log_scale(*raw));
        }
    }
}

impl Layer for Coupling {
    fn duplicate(&self) -> Box<dyn Layer> {
        Box::new(self.clone())
    }

    fn given(&mut self, x: &[f32]) {
        self.x.clear();
        self.x.extend_from_slice(x);
    }

    fn forward(&mut self, inputs: &[f32], outputs: &mut [f32], scales: &mut [f32]) {
        self.look(inputs);
        outputs.copy_from_slice(inputs);
        scales.fill(0.0);
        let (dim, count) = (self.dim(), self.moved.len());
        let rows = outputs
            .chunks_exact_mut(dim)
            .zip(scales.chunks_exact_mut(dim));
        for ((output, scales), looked) in rows.zip(self.latest.chunks_exact(2 * count)) {
            let (shift, scale) = looked.split_at(count);
            for ((&place, shift), scale) in self.moved.iter().zip(shift).zip(scale) {
                output[place] = output[place] * scale.exp() + shift;
                scales[place] = *scale;
            }
        }
    }

    fn backward(&mut self, pass: &Pass<'_>, d_inputs: &mut [f32]) {
        let (dim, count) = (self.dim(), self.moved.len());
        let rows = d_inputs.len() / dim;
        d_inputs.copy_from_slice(pass.d_outputs);
        self.d_network.resize(2 * count * rows, 0.0);
        let each = self.d_network.chunks_exact_mut(2 * count);
        for (row, (d_looked, looked)) in each.zip(self.latest.chunks_exact(2 * count)).enumerate() {
            for (index, place) in self.moved.iter().enumerate() {
                let place = row * dim + place;
                let (shift, scale) = (looked[index], looked[count + index]);
                let d_output = pass.d_outputs[place];
                let d_scale = d_output * (pass.outputs[place] - shift) + pass.d_scales[place];
                d_inputs[place] = d_output * scale.exp();
                d_looked[index] = d_output;
                d_looked[count + index] = d_scale * (1.0 - scale * scale);
            }
        }
        self.gradient.fill(0.0);
        self.d_inputs.resize(self.inputs.len(), 0.0);
        self.network.backward(
            &mut self.tape,
            &self.d_network,
            Some(&mut self.gradient),
            Some(&mut self.d_inputs),
        );
        let through = self.d_inputs.chunks_exact(self.inputs.len() / rows);
        for (d_input, through) in d_inputs.chunks_exact_mut(dim).zip(through) {
            for (&place, through) in self.kept.iter().zip(through) {
                d_input[place] += through;
            }
        }
    }

    fn invert(&mut self, point: &mut [f32]) {
        self.look(point);
        let (shift, scale) = self.latest.split_at(self.moved.len());
        for ((&place, shift), scale) in self.moved.iter().zip(shift).zip(scale) {
            point[place] = (point[place] - shift) * (-scale).exp();
        }
    }

    fn parameters(&mut self) -> (&mut [f32], &mut [f32]) {
        (self.network.parameters_mut(), &mut self.gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::super::layer::check_gradients;
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    #[test]
    fn gradients_agree_with_differences() {
        let mut random = ChaCha8Rng::seed_from_u64(10);
        let halves: [(&[usize], &[usize]); 3] = [(&[2, 0], &[1, 3]), (&[1], &[0]), (&[], &[0, 1])];
        for (kept, moved) in halves {
            let mut layer = Coupling::new(kept, moved, 3, &[6], &mut random).unwrap();
            for parameter in layer.parameters().0 {
                *parameter += 0.2 * random.sample::<f32, _>(StandardNormal);
            }
            let dim = layer.dim();
            let x: Vec<f32> = (0..4 * 3).map(|i| (i as f32 * 0.7).cos()).collect();
            layer.given(&x);
            let inputs: Vec<f32> = (0..4 * dim).map(|i| (i as f32 * 0.9).sin()).collect();
            let mask = vec![1.0; layer.parameters().0.len()];
            check_gradients(&mut layer, &mask, &inputs, &mut random);
        }
    }
}
