//! Random points of latent sets: uniform inside, and on their surface.

use fabproj_core::LatentSet;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Exp1, StandardNormal};

/// With this probability each further coordinate of a box's surface point lies on a face too, so
/// that edges and corners are seen.
const FURTHER_FACE: f32 = 0.15;

/// A way to draw a latent point: [`inside`] or [`surface`].
pub type Sampler = fn(&LatentSet, &mut [f32], &mut ChaCha8Rng);

/// Draws `count` latent points of `dim` coordinates, row after row.
pub fn rows(
    sampler: Sampler,
    set: &LatentSet,
    count: usize,
    dim: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<f32> {
    let mut latents = vec![0.0; count * dim];
    for latent in latents.chunks_exact_mut(dim) {
        sampler(set, latent, rng);
    }
    latents
}

/// A uniform point of the set.
pub fn inside(set: &LatentSet, latent: &mut [f32], rng: &mut ChaCha8Rng) {
    let dim = latent.len() as f32;
    match *set {
        LatentSet::Ball { radius, .. } => {
            on_sphere(latent, radius * rng.random::<f32>().powf(1.0 / dim), rng);
        }
        LatentSet::Shell { inner, outer, .. } => {
            let (low, high) = ((inner / outer).powf(dim), 1.0);
            let share: f32 = rng.random_range(low..=high);
            on_sphere(latent, outer * share.powf(1.0 / dim), rng);
        }
        LatentSet::Box { half, .. } => latent.fill_with(|| half * rng.random_range(-1.0f32..=1.0)),
        LatentSet::Simplex { .. } => {
            latent.fill_with(|| rng.sample(Exp1));
            let sum: f32 = latent.iter().sum::<f32>().max(f32::MIN_POSITIVE);
            latent.iter_mut().for_each(|z| *z /= sum);
        }
    }
}

/// A point of the set's surface (for a shell, of either sphere).
pub fn surface(set: &LatentSet, latent: &mut [f32], rng: &mut ChaCha8Rng) {
    match *set {
        LatentSet::Ball { radius, .. } => on_sphere(latent, radius, rng),
        LatentSet::Shell { inner, outer, .. } => {
            let radius = if rng.random::<bool>() { inner } else { outer };
            on_sphere(latent, radius, rng);
        }
        LatentSet::Box { half, .. } => {
            inside(set, latent, rng);
            let face = rng.random_range(0..latent.len());
            for (index, z) in latent.iter_mut().enumerate() {
                if index == face || rng.random::<f32>() < FURTHER_FACE {
                    *z = half.copysign(*z);
                }
            }
        }
        LatentSet::Simplex { .. } => {
            inside(set, latent, rng);
            let face = rng.random_range(0..latent.len());
            latent[face] = 0.0;
            let sum: f32 = latent.iter().sum::<f32>().max(f32::MIN_POSITIVE);
            latent.iter_mut().for_each(|z| *z /= sum);
        }
    }
    debug_assert!(set.contains(latent, 1e-4));
}

/// A uniform point of the sphere of the given radius.
pub fn on_sphere(point: &mut [f32], radius: f32, rng: &mut ChaCha8Rng) {
    loop {
        point.fill_with(|| rng.sample(StandardNormal));
        let norm = point.iter().map(|z| z * z).sum::<f32>().sqrt();
        if norm > 1e-6 {
            // Just inside: rounding must not put a surface point out of the set.
            let factor = radius * (1.0 - 1e-6) / norm;
            point.iter_mut().for_each(|z| *z *= factor);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const SETS: [LatentSet; 4] = [
        LatentSet::Ball {
            radius: 0.5,
            smooth: None,
        },
        LatentSet::Shell {
            inner: 0.25,
            outer: 0.5,
            smooth: None,
        },
        LatentSet::Box {
            half: 0.5,
            smooth: None,
        },
        LatentSet::Simplex { sharpness: 1.0 },
    ];

    #[test]
    fn samples_lie_in_the_set() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for set in SETS {
            for dim in [2, 3, 10] {
                let mut latent = vec![0.0; dim];
                for _ in 0..500 {
                    inside(&set, &mut latent, &mut rng);
                    assert!(set.contains(&latent, 1e-6), "{set:?} {latent:?}");
                    surface(&set, &mut latent, &mut rng);
                    assert!(set.contains(&latent, 1e-6), "{set:?} {latent:?}");
                }
            }
        }
    }

    #[test]
    fn radii_are_those_of_uniform_points() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let mut latent = [0.0; 2];
        let mut within = [0; 2];
        for _ in 0..20_000 {
            inside(&SETS[0], &mut latent, &mut rng);
            within[0] += usize::from(latent[0].hypot(latent[1]) < 0.25);
            inside(&SETS[1], &mut latent, &mut rng);
            within[1] += usize::from(latent[0].hypot(latent[1]) < 0.375);
        }
        // Areas: (1/2)² of the ball, and (0.375² − 0.25²)/(0.5² − 0.25²) of the shell.
        assert!((within[0] as f64 / 20_000.0 - 0.25).abs() < 0.015);
        assert!((within[1] as f64 / 20_000.0 - 0.4167).abs() < 0.015);
    }
}
