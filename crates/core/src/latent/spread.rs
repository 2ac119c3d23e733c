//! A fixed sequence of well-spread points of a latent set.

use super::LatentSet;

impl LatentSet {
    /// Writes the `index`-th point of a fixed low-discrepancy sequence in the set.
    ///
    /// The sequence needs no randomness and no state: coordinate j of point i is the fractional part
    /// of (i + 1)·a^(j+1), with a the inverse of the generalised golden ratio of the dimension
    /// (Roberts' sequence), carried from the cube to the set.
    pub fn spread(&self, index: u32, latent: &mut [f32]) {
        self.spread_by(spread_step(latent.len()), index, latent);
    }

    /// [`spread`](Self::spread) with the [`spread_step`] of its dimension, which many points share.
    pub(crate) fn spread_by(&self, step: f64, index: u32, latent: &mut [f32]) {
        let mut power = 1.0;
        for z in latent.iter_mut() {
            power *= step;
            let shifted = 0.5 + (f64::from(index) + 1.0) * power;
            *z = (shifted - libm::floor(shifted)) as f32;
        }
        match *self {
            Self::Ball { radius, .. } => cube_to_radii(latent, 0.0, radius),
            Self::Shell { inner, outer, .. } => cube_to_radii(latent, inner, outer),
            Self::Box { half, .. } => latent.iter_mut().for_each(|z| *z = (2.0 * *z - 1.0) * half),
            Self::Simplex { .. } => {
                // Normalised exponential variables are uniform on the simplex.
                latent
                    .iter_mut()
                    .for_each(|z| *z = -libm::logf(z.max(f32::MIN_POSITIVE)));
                self.restrict(latent);
            }
        }
        self.restrict(latent);
    }
}

/// a: the inverse of the generalised golden ratio.
pub(crate) fn spread_step(dim: usize) -> f64 {
    1.0 / generalised_golden_ratio(dim)
}

/// The positive root of a^(dim+1) = a + 1, by its fixed-point iteration.
fn generalised_golden_ratio(dim: usize) -> f64 {
    let exponent = 1.0 / (dim as f64 + 1.0);
    let mut root = 2.0;
    for _ in 0..30 {
        root = libm::pow(1.0 + root, exponent);
    }
    root
}

/// Carries [0,1]^k to the shell between two radii: each nested cube to a sphere.
fn cube_to_radii(latent: &mut [f32], inner: f32, outer: f32) {
    latent.iter_mut().for_each(|z| *z = 2.0 * *z - 1.0);
    let largest = latent
        .iter()
        .fold(0.0_f32, |largest, z| largest.max(z.abs()));
    let norm = super::radial::norm(latent) as f32;
    if norm > 0.0 {
        let radius = inner + (outer - inner) * largest;
        latent.iter_mut().for_each(|z| *z *= radius / norm);
    }
}
