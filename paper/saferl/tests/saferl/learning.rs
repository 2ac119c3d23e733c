//! Short trainings on the double integrator, with thresholds that a broken update misses.

use fab_saferl::evaluate::{Controller, EvaluationSettings, Summary, evaluate};
use fab_saferl::multiplier::MultiplierSettings;
use fab_saferl::ppo::PpoSettings;
use fab_saferl::ppo_lag::PpoLagSettings;
use fab_saferl::task::open;
use fab_saferl::train::{AlgorithmSettings, Session, TrainSettings, Trained, train};
use fab_saferl::trpo::TrpoSettings;
use fab_saferl::trpo_lag::TrpoLagSettings;

/// PPO with larger batches and steps than SafePO's, to learn within seconds.
fn quick_ppo() -> PpoSettings {
    PpoSettings {
        batch_size: 250,
        passes: 10,
        actor_rate: 1e-3,
        critic_rate: 1e-3,
        ..PpoSettings::default()
    }
}

fn quick_trpo() -> TrpoSettings {
    TrpoSettings {
        critic_batch_size: 250,
        ..TrpoSettings::default()
    }
}

fn run(algorithm: AlgorithmSettings, epochs: usize) -> Trained {
    let mut settings = TrainSettings {
        steps: epochs * 5000,
        algorithm,
        ..TrainSettings::default()
    };
    settings.rollout.steps_per_epoch = 5000;
    train(
        &settings.validate().expect("valid"),
        0,
        None,
        &Session::default(),
    )
    .expect("it trains")
}

fn examine(controller: &Controller) -> Summary {
    let settings = EvaluationSettings {
        episodes: 30,
        ..EvaluationSettings::default()
    };
    let make = || open("double-integrator");
    let evaluation = evaluate(&make, controller, None, &settings).expect("it runs");
    evaluation.summary()
}

fn examine_policy(trained: &Trained) -> Summary {
    examine(&Controller::Policy(Box::new(trained.policy.clone())))
}

#[test]
fn ppo_learns_to_reach_goals() {
    let random = examine(&Controller::Random);
    let trained = examine_policy(&run(AlgorithmSettings::Ppo(quick_ppo()), 14));
    println!(
        "random {:.2}, trained {:.2}",
        random.reward.mean, trained.reward.mean
    );
    // A random policy gets about -0.5, a converged one 23.
    assert!(trained.reward.mean > random.reward.mean + 10.0);
    assert!(trained.goals > 3.0);
}

#[test]
fn trpo_learns_to_reach_goals() {
    let random = examine(&Controller::Random);
    let trained = examine_policy(&run(AlgorithmSettings::Trpo(quick_trpo()), 14));
    println!(
        "random {:.2}, trained {:.2}",
        random.reward.mean, trained.reward.mean
    );
    assert!(trained.reward.mean > random.reward.mean + 10.0);
    assert!(trained.goals > 3.0);
}

/// Multipliers of all epochs, and the cost of the last 50 training episodes with and without them.
fn costs(with: AlgorithmSettings, without: AlgorithmSettings) -> (Vec<f64>, f64, f64) {
    let (priced, plain) = (run(with, 20), run(without, 20));
    let multipliers = priced
        .curve
        .iter()
        .map(|r| r.figures["multiplier"])
        .collect();
    let cost = |trained: &Trained| {
        trained
            .curve
            .last()
            .and_then(|epoch| epoch.cost)
            .expect("a cost")
    };
    (multipliers, cost(&priced), cost(&plain))
}

/// Allows no cost, and prices it quickly.
fn strict() -> MultiplierSettings {
    MultiplierSettings {
        cost_limit: 0.0,
        initial: 1.0,
        rate: 0.3,
    }
}

#[test]
fn the_multiplier_of_ppo_rises_and_the_cost_falls() {
    let lagrangian = PpoLagSettings {
        ppo: quick_ppo(),
        multiplier: strict(),
    };
    let (multipliers, priced, plain) = costs(
        AlgorithmSettings::PpoLag(lagrangian),
        AlgorithmSettings::Ppo(quick_ppo()),
    );
    println!("{multipliers:.1?}: cost {priced:.2}, without {plain:.2}");
    assert!(multipliers.windows(2).all(|pair| pair[1] > pair[0]));
    assert!(priced < 0.6 * plain);
}

#[test]
fn the_multiplier_of_trpo_rises_and_the_cost_falls() {
    let lagrangian = TrpoLagSettings {
        trpo: quick_trpo(),
        multiplier: strict(),
    };
    let (multipliers, priced, plain) = costs(
        AlgorithmSettings::TrpoLag(lagrangian),
        AlgorithmSettings::Trpo(quick_trpo()),
    );
    println!("{multipliers:.1?}: cost {priced:.2}, without {plain:.2}");
    assert!(multipliers.windows(2).all(|pair| pair[1] > pair[0]));
    assert!(priced < 0.6 * plain);
}
