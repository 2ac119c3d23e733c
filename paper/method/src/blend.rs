//! The softmax-weighted sum of several decoders, its tangents, and the way back through both.

use super::decoders::DecoderShape;

/// What the blend of several decoders leaves behind; empty with one.
#[derive(Clone, Debug, Default)]
pub(super) struct Blend {
    /// `[rows][ρ]`
    alpha: Vec<f32>,
    /// `[decoder][rows][n]`
    pub(super) parts: Vec<Vec<f32>>,
    /// `[rows][n]`
    pub(super) output: Vec<f32>,
    /// `[rows'][k][ρ]`, of the gate's outputs and of α.
    pub(super) logit_tangents: Vec<f32>,
    alpha_tangents: Vec<f32>,
    /// `[decoder][rows'][k][n]`
    pub(super) part_tangents: Vec<Vec<f32>>,
    /// `[rows'][k][n]`
    pub(super) tangents: Vec<f32>,
    /// Derivatives of the loss, in the layouts above.
    pub(super) d_alpha: Vec<f32>,
    pub(super) d_alpha_tangents: Vec<f32>,
    pub(super) d_part: Vec<f32>,
    pub(super) d_part_tangents: Vec<f32>,
    pub(super) d_input: Vec<f32>,
}

impl Blend {
    fn count(&self) -> usize {
        self.parts.len()
    }

    /// α = softmax of the gate's outputs.
    pub(super) fn weigh(&mut self, logits: &[f32], count: usize) {
        self.alpha.clear();
        self.alpha.extend_from_slice(logits);
        self.alpha.chunks_exact_mut(count).for_each(softmax);
    }

    /// output = Σ α_i R_i
    pub(super) fn add_up(&mut self, dim: usize) {
        self.output.clear();
        self.output.resize(self.parts[0].len(), 0.0);
        for (index, part) in self.parts.iter().enumerate() {
            let weights = self.alpha.iter().skip(index).step_by(self.parts.len());
            let rows = self.output.chunks_exact_mut(dim);
            for ((output, part), weight) in rows.zip(part.chunks_exact(dim)).zip(weights) {
                add_scaled(output, *weight, part);
            }
        }
    }

    /// α̇_i = α_i (l̇_i − Σ_j α_j l̇_j)
    pub(super) fn push_softmax(&mut self, latent_dim: usize) {
        let count = self.count();
        self.alpha_tangents.clear();
        for (index, tangents) in self.logit_tangents.chunks_exact(count).enumerate() {
            let alpha = &self.alpha[index / latent_dim * count..][..count];
            let mean = dot(alpha, tangents);
            let pushed = alpha.iter().zip(tangents).map(|(a, t)| a * (t - mean));
            self.alpha_tangents.extend(pushed);
        }
    }

    /// Ṙ = Σ α_i Ṙ_i + α̇_i R_i
    pub(super) fn add_up_tangents(&mut self, dim: usize, latent_dim: usize) {
        let count = self.count();
        self.tangents.clear();
        self.tangents.resize(self.part_tangents[0].len(), 0.0);
        for (index, sum) in self.tangents.chunks_exact_mut(dim).enumerate() {
            let row = index / latent_dim;
            for decoder in 0..count {
                let tangent = &self.part_tangents[decoder][index * dim..][..dim];
                add_scaled(sum, self.alpha[row * count + decoder], tangent);
                let part = &self.parts[decoder][row * dim..][..dim];
                add_scaled(sum, self.alpha_tangents[index * count + decoder], part);
            }
        }
    }

    /// The derivatives with respect to α and α̇.
    pub(super) fn start_backward(
        &mut self,
        d_output: &[f32],
        d_jacobians: Option<&[f32]>,
        shape: DecoderShape,
    ) {
        let (dim, count) = (shape.dim, self.count());
        self.d_alpha.clear();
        for (row, d_output) in d_output.chunks_exact(dim).enumerate() {
            let parts = self.parts.iter();
            let products = parts.map(|part| dot(d_output, &part[row * dim..][..dim]));
            self.d_alpha.extend(products);
        }
        self.d_alpha_tangents.clear();
        let tangents = d_jacobians.unwrap_or(&[]).chunks_exact(dim);
        for (index, d_tangent) in tangents.enumerate() {
            let row = index / shape.latent_dim;
            for decoder in 0..count {
                let pushed = &self.part_tangents[decoder][index * dim..][..dim];
                self.d_alpha[row * count + decoder] += dot(d_tangent, pushed);
                let part = &self.parts[decoder][row * dim..][..dim];
                self.d_alpha_tangents.push(dot(d_tangent, part));
            }
        }
    }

    /// The derivatives with respect to one decoder's outputs and their tangents.
    pub(super) fn pull_part(
        &mut self,
        decoder: usize,
        d_output: &[f32],
        d_jacobians: Option<&[f32]>,
        shape: DecoderShape,
    ) {
        let (dim, count) = (shape.dim, self.count());
        self.d_part.clear();
        for (row, d_output) in d_output.chunks_exact(dim).enumerate() {
            let weight = self.alpha[row * count + decoder];
            self.d_part.extend(d_output.iter().map(|d| weight * d));
        }
        self.d_part_tangents.clear();
        let tangents = d_jacobians.unwrap_or(&[]).chunks_exact(dim);
        for (index, d_tangent) in tangents.enumerate() {
            let row = index / shape.latent_dim;
            let weight = self.alpha[row * count + decoder];
            self.d_part_tangents
                .extend(d_tangent.iter().map(|d| weight * d));
            let pushed = self.alpha_tangents[index * count + decoder];
            add_scaled(&mut self.d_part[row * dim..][..dim], pushed, d_tangent);
        }
    }

    /// From derivatives with respect to α and α̇ to those with respect to the gate's outputs and their
    /// tangents, in place.
    pub(super) fn pull_softmax(&mut self, with_tangents: bool, latent_dim: usize) {
        let count = self.count();
        if with_tangents {
            let tangents = self.logit_tangents.chunks_exact(count);
            for (index, (logits, d)) in tangents
                .zip(self.d_alpha_tangents.chunks_exact_mut(count))
                .enumerate()
            {
                let row = index / latent_dim;
                let alpha = &self.alpha[row * count..][..count];
                let (mean, mean_d) = (dot(alpha, logits), dot(alpha, d));
                let d_alpha = &mut self.d_alpha[row * count..][..count];
                for (((d_alpha, d), logit), alpha) in
                    d_alpha.iter_mut().zip(d).zip(logits).zip(alpha)
                {
                    *d_alpha += *d * (logit - mean) - mean_d * logit;
                    *d = alpha * (*d - mean_d);
                }
            }
        }
        let rows = self.alpha.chunks_exact(count);
        for (alpha, d) in rows.zip(self.d_alpha.chunks_exact_mut(count)) {
            let mean = dot(alpha, d);
            for (d, alpha) in d.iter_mut().zip(alpha) {
                *d = alpha * (*d - mean);
            }
        }
    }
}

fn softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    logits
        .iter_mut()
        .for_each(|logit| *logit = (*logit - largest).exp());
    let sum: f32 = logits.iter().sum();
    logits.iter_mut().for_each(|logit| *logit /= sum);
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(super) fn add(sum: &mut [f32], values: &[f32]) {
    add_scaled(sum, 1.0, values);
}

fn add_scaled(sum: &mut [f32], factor: f32, values: &[f32]) {
    sum.iter_mut()
        .zip(values)
        .for_each(|(sum, value)| *sum += factor * value);
}
