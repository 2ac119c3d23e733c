//! The numbers that the papers' generators draw.

use rand_mt::Mt as Mt19937;

/// NumPy's `RandomState`.
pub(super) struct RandomState {
    generator: Mt19937,
    kept: Option<f64>,
}

impl RandomState {
    pub(super) fn new(seed: u32) -> Self {
        Self {
            generator: Mt19937::new(seed),
            kept: None,
        }
    }

    /// `rand()`
    pub(super) fn unit(&mut self) -> f64 {
        let (a, b) = (
            self.generator.next_u32() >> 5,
            self.generator.next_u32() >> 6,
        );
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }

    /// `uniform(-1, 1)`
    pub(super) fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// `normal()`: the polar method, whose second number is kept.
    pub(super) fn normal(&mut self) -> f64 {
        if let Some(kept) = self.kept.take() {
            return kept;
        }
        loop {
            let (a, b) = (self.signed(), self.signed());
            let square = a * a + b * b;
            if square < 1.0 && square != 0.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.kept = Some(factor * a);
                return factor * b;
            }
        }
    }

    pub(super) fn many(&mut self, count: usize, mut one: impl FnMut(&mut Self) -> f64) -> Vec<f64> {
        (0..count).map(|_| one(self)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numpy_draws_the_same_numbers() {
        // np.random.seed(17); np.random.rand(3), and np.random.seed(17); np.random.normal(size=3)
        let mut random = RandomState::new(17);
        for expected in [0.294_665_00, 0.530_586_76, 0.191_520_79] {
            assert!((random.unit() - expected).abs() < 1e-8);
        }
        let mut random = RandomState::new(17);
        for expected in [0.276_265_89, -1.854_628_08, 0.623_901_11] {
            assert!((random.normal() - expected).abs() < 1e-8);
        }
    }
}
