//! Exact lower confidence bounds of a share.

use statrs::function::factorial::ln_binomial;

/// Halvings of the interval that holds the bound: beyond the resolution of an f64.
const HALVINGS: usize = 64;

/// The Clopper-Pearson lower bound: whatever the true share of successes, this number exceeds it with
/// probability at most `1 - confidence` when `successes` were counted in `samples` independent draws.
pub(crate) fn lower_bound(successes: usize, samples: usize, confidence: f64) -> f64 {
    if successes == 0 || successes > samples {
        return 0.0;
    }
    let failures = (samples - successes) as u64;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if at_most(failures, samples as u64, middle) <= 1.0 - confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The probability of at most `failures` failures in `samples` draws that each succeed with
/// probability `success`: the binomial tail, summed from its end.
///
/// A sum and not the incomplete beta function, whose continued fraction needs more terms than
/// libraries grant it when there are a million samples.
fn at_most(failures: u64, samples: u64, success: f64) -> f64 {
    if success <= 0.0 {
        return if failures == samples { 1.0 } else { 0.0 };
    }
    if success >= 1.0 {
        return 1.0;
    }
    let failure = 1.0 - success;
    let mode = (samples as f64 + 1.0) * failure;
    let logarithm = ln_binomial(samples, failures)
        + failures as f64 * failure.ln()
        + (samples - failures) as f64 * success.ln();
    // Above the mode the terms may start too small for an f64 and still add up to nearly one.
    if failures as f64 > mode {
        return 1.0 - more_than(failures, samples, success);
    }
    let (mut sum, mut term) = (0.0, logarithm.exp());
    for count in (0..=failures).rev() {
        sum += term;
        if term <= sum * f64::EPSILON * 0.01 {
            break;
        }
        term *= count as f64 / (samples - count + 1) as f64 * (success / failure);
    }
    sum.min(1.0)
}

/// The other tail: more than `failures` failures, for `failures` at or above the mode.
fn more_than(failures: u64, samples: u64, success: f64) -> f64 {
    let failure = 1.0 - success;
    let first = failures + 1;
    if first > samples {
        return 0.0;
    }
    let logarithm = ln_binomial(samples, first)
        + first as f64 * failure.ln()
        + (samples - first) as f64 * success.ln();
    let (mut sum, mut term) = (0.0, logarithm.exp());
    for count in first..=samples {
        sum += term;
        if term <= sum * f64::EPSILON * 0.01 {
            break;
        }
        term *= (samples - count) as f64 / (count + 1) as f64 * (failure / success);
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use statrs::distribution::{Beta, ContinuousCDF};

    #[test]
    fn known_values() {
        // Two-sided 95 % intervals of printed tables are one-sided 97.5 % bounds.
        for (successes, samples, confidence, bound) in [
            (5, 10, 0.975, 0.187_086),
            (8, 10, 0.95, 0.493_099),
            (9, 10, 0.975, 0.554_984),
            (1, 10, 0.975, 0.002_529),
            (95, 100, 0.975, 0.887_166),
        ] {
            let found = lower_bound(successes, samples, confidence);
            assert!(
                (found - bound).abs() < 1e-6,
                "{successes}/{samples}: {found}"
            );
        }
    }

    #[test]
    fn all_successes_have_the_closed_form() {
        for samples in [1, 10, 100_000, 3_000_000] {
            let expected = 0.01_f64.powf(1.0 / samples as f64);
            let found = lower_bound(samples, samples, 0.99);
            assert!((found - expected).abs() < 1e-12, "{samples}");
        }
    }

    #[test]
    fn none_and_impossible_counts_give_nothing() {
        assert_eq!(lower_bound(0, 100, 0.99), 0.0);
        assert_eq!(lower_bound(0, 0, 0.99), 0.0);
        assert_eq!(lower_bound(3, 2, 0.99), 0.0);
    }

    #[test]
    fn a_bound_fails_as_rarely_as_it_says() {
        // Exact coverage: the probability, under the true share, of counts whose bound exceeds it.
        let (samples, share, confidence) = (60_u64, 0.93, 0.9);
        let wrong: f64 = (0..=samples)
            .filter(|count| lower_bound(*count as usize, samples as usize, confidence) > share)
            .map(|count| {
                (ln_binomial(samples, count)
                    + count as f64 * f64::ln(share)
                    + (samples - count) as f64 * f64::ln(1.0 - share))
                .exp()
            })
            .sum();
        assert!(wrong <= 1.0 - confidence && wrong > 0.01, "{wrong}");
    }

    proptest! {
        #[test]
        fn agrees_with_the_beta_quantile(
            samples in 1_usize..400,
            share in 0.0_f64..1.0,
            confidence in 0.5_f64..0.9999,
        ) {
            let successes = 1 + (share * samples as f64) as usize;
            let found = lower_bound(successes, samples, confidence);
            let beta = Beta::new(successes as f64, (samples - successes + 1) as f64).unwrap();
            // The quantile's own error is larger than ours, so that its distribution function decides.
            prop_assert!((beta.cdf(found) - (1.0 - confidence)).abs() < 1e-8);
        }

        #[test]
        fn more_successes_and_less_confidence_raise_it(
            successes in 1_usize..5000,
            failures in 0_usize..5000,
            confidence in 0.5_f64..0.999,
        ) {
            let samples = successes + failures;
            let bound = lower_bound(successes, samples, confidence);
            prop_assert!(bound < successes as f64 / samples as f64 || failures == 0);
            prop_assert!(lower_bound(successes, samples + 1, confidence) <= bound);
            prop_assert!(lower_bound(successes, samples, confidence + 5e-4) <= bound);
        }
    }
}
