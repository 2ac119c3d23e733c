//! Several heads that share one loss.

/// Share of the loss that every head gets, so that none dies.
const EVERY_HEAD: f32 = 0.02;

/// Weights that are largest for the smallest loss; every head keeps a little, and one alone has it all.
pub fn soft_minimum(losses: &[f32], temperature: f32, weights: &mut [f32]) {
    if weights.len() == 1 {
        return weights.fill(1.0);
    }
    let least = losses.iter().copied().fold(f32::INFINITY, f32::min);
    for (weight, loss) in weights.iter_mut().zip(losses) {
        *weight = ((least - loss) / temperature).exp();
    }
    let sum: f32 = weights.iter().sum();
    let even = EVERY_HEAD / losses.len() as f32;
    for weight in weights {
        *weight = *weight / sum + even;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_head_gets_nearly_all_the_weight_and_none_gets_nothing() {
        let mut weights = [0.0; 3];
        soft_minimum(&[0.5, 0.1, 0.9], 1e-3, &mut weights);
        assert!((weights[1] - 1.0 - EVERY_HEAD / 3.0).abs() < 1e-6);
        assert!(weights.iter().all(|weight| *weight > 0.0));
        soft_minimum(&[7.0], 1e-3, &mut weights[..1]);
        assert_eq!(weights[0], 1.0);
    }
}
