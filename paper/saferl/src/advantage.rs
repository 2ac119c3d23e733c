//! Generalised advantage estimation.
//!
//! Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation",
//! ICLR 2016, equations 11 and 16.

/// Adds up δ_t = r_t + γ V_{t+1} - V_t backwards: A_t = δ_t + γλ A_{t+1}.
///
/// `values` are V of the path's observations; `last_value` is V of the observation after the path,
/// 0 if the path ended in a final state.
///
/// ```
/// use fab_saferl::advantage::generalised_advantages;
///
/// // λ = 1 and V = 0: the discounted sum of rewards.
/// let advantages = generalised_advantages(&[1.0, 2.0], &[0.0, 0.0], 0.0, 0.5, 1.0);
/// assert_eq!(advantages, [2.0, 2.0]);
/// ```
///
/// # Panics
/// If rewards and values differ in length.
pub fn generalised_advantages(
    rewards: &[f64],
    values: &[f32],
    last_value: f64,
    discount: f64,
    lambda: f64,
) -> Vec<f64> {
    assert_eq!(rewards.len(), values.len(), "one value per reward");
    let mut advantages = vec![0.0; rewards.len()];
    let (mut next_value, mut next_advantage) = (last_value, 0.0);
    for step in (0..rewards.len()).rev() {
        let value = f64::from(values[step]);
        let delta = rewards[step] + discount * next_value - value;
        next_advantage = delta + discount * lambda * next_advantage;
        advantages[step] = next_advantage;
        next_value = value;
    }
    advantages
}

/// Subtracts the mean.
pub fn centre(values: &mut [f64]) {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter_mut().for_each(|value| *value -= mean);
}

/// Subtracts the mean and divides by the unbiased standard deviation + 1e-8.
pub fn standardise(values: &mut [f64]) {
    centre(values);
    let squares: f64 = values.iter().map(|value| value * value).sum();
    let freedom = values.len().saturating_sub(1).max(1) as f64;
    let std = (squares / freedom).sqrt() + 1e-8;
    values.iter_mut().for_each(|value| *value /= std);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_values;

    #[test]
    fn recursion_equals_the_direct_sum() {
        let rewards: Vec<f64> = random_values(40, 1).into_iter().map(f64::from).collect();
        let values = random_values(40, 2);
        let (last, discount, lambda) = (0.7, 0.97, 0.9);
        let found = generalised_advantages(&rewards, &values, last, discount, lambda);
        let value = |t: usize| if t < 40 { f64::from(values[t]) } else { last };
        for (t, found) in found.iter().enumerate() {
            // A_t = Σ_k (γλ)^k δ_{t+k}
            let sum: f64 = (t..40)
                .map(|s| {
                    let delta = rewards[s] + discount * value(s + 1) - value(s);
                    (discount * lambda).powi((s - t) as i32) * delta
                })
                .sum();
            assert!((found - sum).abs() < 1e-12, "step {t}: {found} {sum}");
        }
    }

    #[test]
    fn lambda_zero_is_the_one_step_error_and_lambda_one_the_return() {
        let (rewards, values) = ([1.0, 2.0, 3.0], [0.5, -0.5, 0.25]);
        let one_step = generalised_advantages(&rewards, &values, 2.0, 0.9, 0.0);
        assert!((one_step[0] - (1.0 + 0.9 * -0.5 - 0.5)).abs() < 1e-12);
        let full = generalised_advantages(&rewards, &values, 2.0, 0.9, 1.0);
        let returns = 1.0 + 0.9 * 2.0 + 0.81 * 3.0 + 0.729 * 2.0;
        assert!((full[0] - (returns - 0.5)).abs() < 1e-12);
    }

    #[test]
    fn standardised_values_have_mean_zero_and_unit_deviation() {
        let mut values = vec![1.0, 2.0, 3.0, 10.0];
        standardise(&mut values);
        assert!(values.iter().sum::<f64>().abs() < 1e-12);
        let squares: f64 = values.iter().map(|v| v * v).sum();
        assert!((squares / 3.0 - 1.0).abs() < 1e-6);
        let mut same = vec![2.0; 5];
        standardise(&mut same);
        assert_eq!(same, [0.0; 5]);
    }
}
