//! Medians and quartiles.

use serde::Serialize;

/// The middle of a sample, and the quartiles around it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub lower_quartile: f64,
    pub upper_quartile: f64,
}

impl Spread {
    /// Of a sample that is not empty; the order does not matter.
    pub fn of(mut sample: Vec<f64>) -> Self {
        sample.sort_by(f64::total_cmp);
        Self {
            median: quantile(&sample, 0.5),
            lower_quartile: quantile(&sample, 0.25),
            upper_quartile: quantile(&sample, 0.75),
        }
    }
}

/// Linear between the two nearest of the sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len().saturating_sub(1)) as f64;
    let (low, high) = (place.floor() as usize, place.ceil() as usize);
    match (sorted.get(low), sorted.get(high)) {
        (Some(&low), Some(&high)) => low + (high - low) * place.fract(),
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quartiles_of_five() {
        let spread = Spread::of(vec![5.0, 1.0, 4.0, 2.0, 3.0]);
        let expected = Spread {
            median: 3.0,
            lower_quartile: 2.0,
            upper_quartile: 4.0,
        };
        assert_eq!(spread, expected);
    }

    #[test]
    fn between_two_values_it_is_linear() {
        assert_eq!(Spread::of(vec![1.0, 2.0]).median, 1.5);
        assert_eq!(Spread::of(vec![1.0, 2.0]).lower_quartile, 1.25);
        assert_eq!(Spread::of(vec![7.0]).upper_quartile, 7.0);
    }

    proptest! {
        #[test]
        fn half_of_the_sample_lies_on_each_side(sample in prop::collection::vec(-1e3..1e3f64, 1..40)) {
            let spread = Spread::of(sample.clone());
            let below = sample.iter().filter(|value| **value < spread.median).count();
            let above = sample.iter().filter(|value| **value > spread.median).count();
            prop_assert!(2 * below <= sample.len() && 2 * above <= sample.len());
            prop_assert!(spread.lower_quartile <= spread.median);
            prop_assert!(spread.median <= spread.upper_quartile);
        }
    }
}
