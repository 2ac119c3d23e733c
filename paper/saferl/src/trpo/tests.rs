//! The update against direct computations.

use super::*;
use crate::gaussian::mean_kl;
use crate::testing::{assert_gradient, random_values};

const EPOCH: Epoch = Epoch {
    index: 0,
    count: 10,
    seed: 0,
};

/// Samples of the policy at hand.
fn rollout(actor: &GaussianPolicy, rows: usize) -> Rollout {
    let observations = random_values(rows * actor.observation_dim(), 1);
    let actions = random_values(rows * actor.action_dim(), 2);
    let means = evaluate_rows(&actor.mean, &observations);
    let dim = actor.action_dim();
    let pairs = means.chunks(dim).zip(actions.chunks(dim));
    let log_probabilities = pairs
        .map(|(mean, action)| log_probability(mean, &actor.log_std, action))
        .collect();
    Rollout {
        observations,
        actions,
        means,
        log_std: actor.log_std.clone(),
        log_probabilities,
        reward_advantages: random_values(rows, 3).into_iter().map(f64::from).collect(),
        cost_advantages: vec![0.0; rows],
        rewards: vec![0.0; rows],
        costs: vec![0.0; rows],
        reward_targets: random_values(rows, 4),
        cost_targets: random_values(rows, 5),
        ..Rollout::default()
    }
}

fn agent() -> Agent {
    let mut agent = Agent::new(3, 2, &[8, 8], 1).unwrap();
    agent.actor.log_std = vec![0.3, -0.4];
    agent
}

#[test]
fn surrogate_gradient_equals_finite_differences() {
    let agent = agent();
    let rollout = rollout(&agent.actor, 30);
    let advantages = &rollout.reward_advantages;
    let (_, gradient) = surrogate_gradient(&agent.actor, &rollout, advantages);
    let gradient: Vec<f32> = gradient.iter().map(|g| *g as f32).collect();
    let mut actor = agent.actor.clone();
    assert_gradient(&agent.actor.parameters(), &gradient, |parameters| {
        actor.set_parameters(parameters);
        surrogate(&actor, &rollout, advantages)
    });
}

#[test]
fn fisher_products_equal_finite_differences_of_the_divergence() {
    let agent = agent();
    // More rows than one piece has.
    let rollout = rollout(&agent.actor, ROWS + 500);
    let mut fisher = Fisher::new(&agent.actor, &rollout, 0.0).unwrap();
    let kl_at = |step: f64, direction: &[f64]| {
        let mut moved = agent.actor.clone();
        let parameters = moved.parameters();
        let pairs = parameters.iter().zip(direction);
        let parameters: Vec<f32> = pairs
            .map(|(p, d)| (f64::from(*p) + step * d) as f32)
            .collect();
        moved.set_parameters(&parameters);
        let means = evaluate_rows(&moved.mean, &rollout.observations);
        let old = (&rollout.means[..], &rollout.log_std[..]);
        mean_kl(old, (&means, &moved.log_std)) / 2.0
    };
    for seed in 10..14 {
        let values = random_values(agent.actor.parameter_count(), seed);
        let direction: Vec<f64> = values.into_iter().map(f64::from).collect();
        // KL has its minimum 0 here: KL(tv) + KL(-tv) = t² vᵀHv + O(t⁴).
        let step = 0.01;
        let second = (kl_at(step, &direction) + kl_at(-step, &direction)) / (step * step);
        let found = dot(&direction, &fisher.times(&direction).unwrap());
        assert!(
            (found - second).abs() < 0.01 * second,
            "{found}, expected {second}"
        );
    }
}

#[test]
fn fisher_is_symmetric_and_damped() {
    let agent = agent();
    let rollout = rollout(&agent.actor, 200);
    let count = agent.actor.parameter_count();
    let [a, b] = [20, 21].map(|seed| {
        let values = random_values(count, seed);
        values.into_iter().map(f64::from).collect::<Vec<f64>>()
    });
    let mut plain = Fisher::new(&agent.actor, &rollout, 0.0).unwrap();
    let product = plain.times(&a).unwrap();
    let (ab, ba) = (dot(&product, &b), dot(&a, &plain.times(&b).unwrap()));
    assert!((ab - ba).abs() < 1e-4 * ab.abs().max(1.0), "{ab} {ba}");
    let mut damped = Fisher::new(&agent.actor, &rollout, 0.1).unwrap();
    for (index, value) in damped.times(&a).unwrap().iter().enumerate() {
        assert!((value - product[index] - 0.1 * a[index]).abs() < 1e-9);
    }
}

#[test]
fn conjugate_gradients_solve_a_linear_system() {
    let matrix = [[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]];
    let times = |v: &[f64]| Ok(matrix.iter().map(|row| dot(row, v)).collect());
    let x = conjugate_gradients(times, &[1.0, 2.0, 3.0], 15).unwrap();
    for (row, b) in matrix.iter().zip([1.0, 2.0, 3.0]) {
        assert!((dot(row, &x) - b).abs() < 1e-4);
    }
}

#[test]
fn a_step_improves_the_surrogate_within_the_bound() {
    let mut agent = agent();
    let rollout = rollout(&agent.actor, 400);
    let (advantages, before) = (rollout.reward_advantages.clone(), agent.clone());
    let start = surrogate(&agent.actor, &rollout, &advantages);
    let trpo = Trpo::new(TrpoSettings::default());
    let figures = trpo
        .improve(&mut agent, &rollout, &advantages, EPOCH)
        .unwrap();
    let kl = kl_from_old(&agent.actor, &rollout) / 2.0;
    assert!(kl > 1e-3 && kl <= 0.01, "{kl}");
    assert!(surrogate(&agent.actor, &rollout, &advantages) > start);
    assert_ne!(agent.reward_critic, before.reward_critic);
    assert!(
        figures
            .iter()
            .any(|(name, value)| *name == "kl" && *value == kl)
    );
}

#[test]
fn without_an_admissible_step_the_policy_stays() {
    let mut agent = agent();
    let rollout = rollout(&agent.actor, 50);
    let before = agent.actor.clone();
    let settings = TrpoSettings {
        line_search_steps: 1,
        ..TrpoSettings::default()
    };
    let (step, advantages) = (
        vec![10.0; before.parameter_count()],
        &rollout.reward_advantages,
    );
    let taken = Trpo::new(settings).line_search(&mut agent.actor, &rollout, advantages, 0.0, &step);
    assert_eq!(taken, None);
    assert_eq!(agent.actor, before);
}
