//! Learning rates over the steps of a training.

use serde::{Deserialize, Serialize};

/// Linear warm-up to a peak, then half a cosine down to a fraction of it.
///
/// ```
/// let schedule = fabproj_nn::Cosine { peak: 2e-3, end_fraction: 0.01, warm_up: 100, total: 1000 };
/// assert_eq!(schedule.at(99), 2e-3);
/// assert!((schedule.at(1000) - 2e-5).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cosine {
    /// The largest rate.
    pub peak: f32,
    /// The last rate, as a fraction of the peak.
    pub end_fraction: f32,
    /// Steps of the linear warm-up; step t of it (from 0) has rate peak · (t + 1) / warm_up.
    pub warm_up: u64,
    /// Step at which the cosine has come down; the rate stays there afterwards.
    pub total: u64,
}

impl Cosine {
    /// The rate at step `step`, counted from 0.
    pub fn at(&self, step: u64) -> f32 {
        if step < self.warm_up {
            return (f64::from(self.peak) * (step + 1) as f64 / self.warm_up as f64) as f32;
        }
        let length = self.total.saturating_sub(self.warm_up).max(1) as f64;
        let progress = ((step - self.warm_up) as f64 / length).min(1.0);
        let end = f64::from(self.end_fraction);
        let factor = end + (1.0 - end) * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos());
        (f64::from(self.peak) * factor) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rises_falls_and_stays() {
        let schedule = Cosine {
            peak: 1.0,
            end_fraction: 0.1,
            warm_up: 10,
            total: 110,
        };
        assert_eq!(schedule.at(0), 0.1);
        assert_eq!(schedule.at(9), 1.0);
        assert_eq!(schedule.at(10), 1.0);
        assert!((schedule.at(60) - 0.55).abs() < 1e-6);
        assert!((schedule.at(110) - 0.1).abs() < 1e-6);
        assert_eq!(schedule.at(110), schedule.at(10_000));
        assert!((10..110).all(|t| schedule.at(t + 1) <= schedule.at(t)));
    }

    #[test]
    fn degenerate_lengths_stay_finite() {
        let schedule = Cosine {
            peak: 1.0,
            end_fraction: 0.0,
            warm_up: 0,
            total: 0,
        };
        assert!((0..5).all(|t| schedule.at(t).is_finite()));
    }
}
