//! The numbers that the papers' generators draw: for tests and benches here, and for the study of the paper.

use rand_mt::Mt as Mt19937;

/// NumPy's `RandomState`.
pub struct RandomState {
    generator: Mt19937,
    kept: Option<f64>,
}

impl RandomState {
    pub fn new(seed: u32) -> Self {
        Self {
            generator: Mt19937::new(seed),
            kept: None,
        }
    }

    /// `rand()`
    pub fn unit(&mut self) -> f64 {
        let (a, b) = (
            self.generator.next_u32() >> 5,
            self.generator.next_u32() >> 6,
        );
        (f64::from(a) * 67_108_864.0 + f64::from(b)) / 9_007_199_254_740_992.0
    }

    /// `uniform(-1, 1)`
    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// `normal()`: the polar method, whose second number is kept.
    pub fn normal(&mut self) -> f64 {
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

    pub fn many(&mut self, count: usize, mut one: impl FnMut(&mut Self) -> f64) -> Vec<f64> {
        (0..count).map(|_| one(self)).collect()
    }
}
