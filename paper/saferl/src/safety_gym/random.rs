//! numpy's legacy random stream, which the package draws its layouts from.

use rand_mt::Mt;

/// The stream of `numpy.random.RandomState(seed)`: MT19937, doubles of 53 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumpyRandom(Mt);

impl NumpyRandom {
    /// The stream of a seed.
    pub fn new(seed: u32) -> Self {
        Self(Mt::new(seed))
    }

    /// The next double in [0, 1), as `RandomState.random_sample` gives it.
    pub fn double(&mut self) -> f64 {
        let high = f64::from(self.0.next_u32() >> 5);
        let low = f64::from(self.0.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// The next double in [low, high), as `RandomState.uniform` gives it.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.double()
    }

    /// The double that comes next, without taking it.
    pub fn peek(&self) -> f64 {
        self.clone().double()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_numpys() {
        // numpy.random.RandomState(seed).random_sample(2)
        let known = [
            (0, [0.5488135039273248, 0.7151893663724195]),
            (123, [0.6964691855978616, 0.28613933495037946]),
            (u32::MAX, [0.0976320289940138, 0.9123828453026218]),
        ];
        for (seed, doubles) in known {
            let mut random = NumpyRandom::new(seed);
            assert_eq!(random.peek(), doubles[0]);
            assert_eq!([random.double(), random.double()], doubles);
        }
    }
}
