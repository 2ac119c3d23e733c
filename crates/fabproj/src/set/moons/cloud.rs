//! The reference cloud of two moons, number for number as NumPy's legacy generator makes it.
//!
//! The paper's oracle is defined through one particular cloud of 60 000 random points, so the set can
//! only be reproduced by drawing the same random numbers in the same order: equally spaced points on
//! two arcs, their rows shuffled, then Gaussian noise added.

use std::f64::consts::PI;

use rand_mt::Mt;

/// Standard deviation of the noise.
const NOISE: f64 = 0.05;

/// `count` points around the two arcs, half of them around each, for a seed of NumPy's `RandomState`.
pub(crate) fn two_moons(count: usize, seed: u32) -> Vec<[f64; 2]> {
    let mut random = LegacyRandom::new(seed);
    let arcs = arcs(count);
    let mut points: Vec<[f64; 2]> = random
        .shuffled_indices(count)
        .into_iter()
        .map(|index| arcs[index])
        .collect();
    for coordinate in points.as_flattened_mut() {
        *coordinate += NOISE * random.normal();
    }
    points
}

/// Equally spaced points on the outer arc (cos t, sin t), then on the inner (1 - cos t, 0.5 - sin t).
fn arcs(count: usize) -> Vec<[f64; 2]> {
    let outer = count / 2;
    let angles = |count: usize| {
        let step = PI / count.saturating_sub(1).max(1) as f64;
        (0..count).map(move |i| if i + 1 == count { PI } else { i as f64 * step })
    };
    let on_outer = angles(outer).map(|t| [t.cos(), t.sin()]);
    let on_inner = angles(count - outer).map(|t| [1.0 - t.cos(), 1.0 - t.sin() - 0.5]);
    on_outer.chain(on_inner).collect()
}

/// The draws of NumPy's legacy `RandomState` that the cloud needs.
struct LegacyRandom {
    bits: Mt,
    /// The polar method makes normals in pairs; the second waits here.
    spare: Option<f64>,
}

impl LegacyRandom {
    fn new(seed: u32) -> Self {
        Self {
            bits: Mt::new(seed),
            spare: None,
        }
    }

    /// The numbers below `count` in the order of a Fisher–Yates shuffle from the last index down.
    fn shuffled_indices(&mut self, count: usize) -> Vec<usize> {
        let mut indices: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = self.at_most(last);
            indices.swap(last, other);
        }
        indices
    }

    /// Uniform in 0..=largest: masked draws, rejected until one is small enough.
    fn at_most(&mut self, largest: usize) -> usize {
        let mask = usize::MAX >> largest.leading_zeros();
        loop {
            let value = self.bits.next_u32() as usize & mask;
            if value <= largest {
                return value;
            }
        }
    }

    /// Uniform in [0, 1) with 53 random bits.
    fn uniform(&mut self) -> f64 {
        let high = f64::from(self.bits.next_u32() >> 5);
        let low = f64::from(self.bits.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// A standard normal number by Marsaglia's polar method; of each pair, the second comes first.
    fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let first = 2.0 * self.uniform() - 1.0;
            let second = 2.0 * self.uniform() - 1.0;
            let squared = first * first + second * second;
            if squared < 1.0 && squared != 0.0 {
                let factor = (-2.0 * squared.ln() / squared).sqrt();
                self.spare = Some(factor * first);
                return factor * second;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_those_of_the_reference() {
        let cloud = two_moons(60_000, 42);
        let expected = [
            [0.226335, 0.957918],
            [0.335700, -0.212564],
            [0.495930, -0.307334],
        ];
        for (found, expected) in cloud.iter().zip(&expected) {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
            }
        }
    }

    #[test]
    fn the_training_cloud_spans_the_measured_box() {
        let cloud = two_moons(30_000, 42);
        let low = |axis: usize| cloud.iter().map(|p| p[axis]).fold(f64::INFINITY, f64::min) - 0.5;
        let high = |axis: usize| cloud.iter().map(|p| p[axis]).fold(-f64::INFINITY, f64::max) + 0.5;
        let measured = [low(0), high(0), low(1), high(1)];
        for (found, expected) in measured.iter().zip([-1.627, 2.687, -1.141, 1.648]) {
            assert!((found - expected).abs() < 1e-3, "{found} is not {expected}");
        }
    }

    #[test]
    fn small_and_odd_clouds_exist() {
        assert!(two_moons(0, 1).is_empty());
        assert_eq!(two_moons(1, 1).len(), 1);
        assert_eq!(two_moons(7, 1).len(), 7);
    }
}
