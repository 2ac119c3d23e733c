//! Copies of a task on several threads.

use fab_saferl::env::{Environment, EnvironmentError};
use fab_saferl::{DoubleIntegrator, DoubleIntegratorSettings, VectorEnvironment};

fn tasks(count: usize) -> Vec<DoubleIntegrator> {
    let settings = DoubleIntegratorSettings {
        horizon: 30,
        ..DoubleIntegratorSettings::default()
    };
    vec![DoubleIntegrator::new(settings).unwrap(); count]
}

/// Actions that differ between copies and steps.
fn actions(copies: usize, step: usize) -> Vec<f64> {
    let values = (0..2 * copies).map(|index| ((index * 7 + step * 3) as f64).sin());
    values.collect()
}

fn trace(copies: &mut VectorEnvironment<DoubleIntegrator>, steps: usize) -> Vec<u64> {
    let count = copies.slots().len();
    let mut bits = Vec::new();
    for step in 0..steps {
        let outcomes = copies.step(&actions(count, step)).unwrap();
        bits.extend(outcomes.iter().map(|outcome| outcome.reward.to_bits()));
        for slot in copies.slots() {
            bits.extend(slot.observation().iter().map(|value| value.to_bits()));
        }
    }
    bits
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| trace(&mut VectorEnvironment::new(tasks(5), 1).unwrap(), 70))
    };
    assert_eq!(run(1), run(2));
    assert_eq!(run(1), run(4));
}

#[test]
fn copies_and_episodes_have_seeds_of_their_own() {
    let mut copies = VectorEnvironment::new(tasks(3), 1).unwrap();
    let mut seeds = Vec::new();
    for step in 0..60 {
        if step % 30 == 0 {
            seeds.extend(copies.slots().iter().map(|slot| slot.running().seed));
        }
        copies.step(&actions(3, step)).unwrap();
    }
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 6);
}

#[test]
fn an_episode_that_ends_is_followed_by_the_next() {
    let mut copies = VectorEnvironment::new(tasks(2), 5).unwrap();
    let first = copies.slots()[1].running().seed;
    let (mut reward, mut goals) = (0.0, 0);
    for step in 0..30 {
        assert!(copies.slots()[1].finished().is_none());
        let outcomes = copies.step(&actions(2, step)).unwrap();
        reward += outcomes[1].reward;
        goals += usize::from(outcomes[1].goal_reached);
    }
    let slot = &copies.slots()[1];
    let episode = slot.finished().unwrap();
    assert_eq!(
        (episode.seed, episode.length, episode.goals),
        (first, 30, goals)
    );
    assert_eq!(episode.reward, reward);
    assert_eq!(episode.costs, [episode.cost]);
    assert_eq!((slot.episode(), slot.running().length), (1, 0));
    // The last observation of the old episode, the first of the new one.
    let last = slot.final_observation().unwrap();
    assert_ne!(last, slot.observation());
    assert_eq!(slot.observation()[..2], [0.0; 2]);
    copies.step(&actions(2, 30)).unwrap();
    assert!(copies.slots()[1].final_observation().is_none());
}

#[test]
fn a_run_continues_between_episodes() {
    let mut whole = VectorEnvironment::new(tasks(3), 9).unwrap();
    trace(&mut whole, 60);
    let mut resumed = VectorEnvironment::resume(tasks(3), 9, &whole.episodes()).unwrap();
    assert_eq!(trace(&mut whole, 60), trace(&mut resumed, 60));
}

#[test]
fn work_per_copy_is_collected_in_order() {
    let mut copies = VectorEnvironment::new(tasks(4), 2).unwrap();
    let found = copies.map(|index, slot| Ok((index, slot.running().seed)));
    let expected = copies.slots().iter().map(|slot| slot.running().seed);
    assert_eq!(found.unwrap(), expected.enumerate().collect::<Vec<_>>());
}

#[test]
fn the_first_failing_copy_is_reported() {
    let mut copies = VectorEnvironment::new(tasks(3), 2).unwrap();
    let error = copies.step(&[0.0; 5]).unwrap_err();
    assert!(matches!(
        error,
        EnvironmentError::ActionLength {
            expected: 6,
            found: 5
        }
    ));
    let bad = [0.0, 0.0, 0.0, f64::NAN, f64::NAN, 0.0];
    let error = copies.step(&bad).unwrap_err();
    assert!(
        matches!(error, EnvironmentError::ActionNotFinite { index: 1, .. }),
        "{error}"
    );
    let error = VectorEnvironment::resume(tasks(3), 2, &[0]).unwrap_err();
    assert!(
        error.to_string().contains("1 episode numbers for 3 copies"),
        "{error}"
    );
}

#[test]
fn boxed_tasks_can_be_mixed() {
    let boxed: Vec<Box<dyn Environment>> = tasks(2)
        .into_iter()
        .map(|task| Box::new(task) as Box<dyn Environment>)
        .collect();
    let mut copies = VectorEnvironment::new(boxed, 9).unwrap();
    let mut plain = VectorEnvironment::new(tasks(2), 9).unwrap();
    let (boxed, plain) = (copies.step(&actions(2, 0)), plain.step(&actions(2, 0)));
    assert_eq!(boxed.unwrap(), plain.unwrap());
}
