use super::*;
use crate::agent::{Purpose, random_stream};
use crate::filter::ActionFilter;
use crate::look_ahead::LookAheadSettings;
use crate::normaliser::Normaliser;
use crate::shield::Shield;
use crate::steering::Rule;
use crate::task::open;

fn settings(steps_per_epoch: usize) -> RolloutSettings {
    RolloutSettings {
        environments: 3,
        steps_per_epoch,
        ..RolloutSettings::default()
    }
}

fn tasks() -> Vec<Guarded> {
    let task = |_| Guarded::plain(open("double-integrator").unwrap());
    (0..3).map(task).collect()
}

/// Under a filter that remembers what it did.
fn guarded_tasks() -> Vec<Guarded> {
    let shield = Shield::new(LookAheadSettings::default(), Rule::Detour);
    let task = |_| Guarded::new(open("double-integrator").unwrap(), Some(shield.boxed()));
    (0..3).map(task).collect()
}

fn agent() -> Agent {
    Agent::new(14, 2, &[16], 5).unwrap()
}

fn collect(agent: &mut Agent, collector: &mut Collector, epoch: usize) -> Rollout {
    let mut random = random_stream(5, Purpose::Actions, epoch);
    let price = Price::default();
    collector.collect(agent, price, &mut random).unwrap()
}

fn bits(rollout: &Rollout, agent: &Agent) -> (Vec<f32>, Vec<f64>, Vec<f64>, Normaliser) {
    (
        rollout.observations.clone(),
        rollout.rewards.clone(),
        rollout.reward_advantages.clone(),
        agent.normaliser.clone(),
    )
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let (mut agent, settings) = (agent(), settings(900));
            let mut collector =
                Collector::new(tasks(), &settings, 5, &mut agent.normaliser).unwrap();
            let rollout = collect(&mut agent, &mut collector, 0);
            bits(&rollout, &agent)
        })
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn a_checkpoint_inside_episodes_continues_with_the_same_bits() {
    continues(tasks);
}

#[test]
fn a_filter_continues_what_it_was_doing() {
    let memories = continues(guarded_tasks);
    let busy = memories
        .iter()
        .filter(|memory| memory["detour"].is_object());
    assert!(busy.count() > 0, "{memories:?}");
}

/// Interrupts and resumes, and returns what the filters remembered at that moment.
fn continues(tasks: fn() -> Vec<Guarded>) -> Vec<serde_json::Value> {
    // 70 steps per copy and epoch: the episodes of 200 steps are cut twice.
    let settings = settings(210);
    let mut first = agent();
    let mut collector = Collector::new(tasks(), &settings, 5, &mut first.normaliser).unwrap();
    collect(&mut first, &mut collector, 0);
    collect(&mut first, &mut collector, 1);
    let record = serde_json::to_value(collector.record()).unwrap();
    let memories = record["memories"].as_array().unwrap().clone();
    let mut second = first.clone();
    let record = serde_json::from_value(record).unwrap();
    let mut resumed = Collector::resume(tasks(), &settings, 5, &second.normaliser, record).unwrap();
    for epoch in 2..4 {
        let expected = collect(&mut first, &mut collector, epoch);
        let found = collect(&mut second, &mut resumed, epoch);
        assert_eq!(bits(&found, &second), bits(&expected, &first));
        assert_eq!(found.episodes, expected.episodes);
    }
    assert_eq!(collector.recent(), resumed.recent());
    assert_eq!(collector.recent().len(), 3);
    memories
}

#[test]
fn paths_end_with_episodes_and_with_the_epoch() {
    // 300 steps per copy: one episode of 200 steps, and half of the next.
    let (mut agent, settings) = (agent(), settings(900));
    let mut collector = Collector::new(tasks(), &settings, 5, &mut agent.normaliser).unwrap();
    let rollout = collect(&mut agent, &mut collector, 0);
    assert_eq!((rollout.len(), rollout.episodes.len()), (900, 3));
    let total: f64 = rollout.rewards[..200].iter().sum();
    assert!((total - rollout.episodes[0].reward).abs() < 1e-9);
    // The targets of the last step of an episode and of the epoch are one-step returns.
    let last = 299;
    let next = collector.inputs[..14].to_vec();
    let value = f64::from(agent.reward_critic.values(&next)[0]);
    let target = rollout.rewards[last] + 0.99 * value;
    assert!((f64::from(rollout.reward_targets[last]) - target).abs() < 1e-5);
    assert_eq!(rollout.fault(), None);
}

#[test]
fn prices_lower_the_reward_that_is_learned_but_not_the_episodes() {
    let (mut agent, settings) = (agent(), settings(600));
    let mut collector = Collector::new(tasks(), &settings, 5, &mut agent.normaliser).unwrap();
    let price = Price {
        intervention: 1.0,
        cost: 10.0,
    };
    let mut random = random_stream(5, Purpose::Actions, 0);
    let rollout = collector.collect(&mut agent, price, &mut random).unwrap();
    let costs: f64 = rollout.costs.iter().sum();
    let learned: f64 = rollout.rewards.iter().sum();
    let earned: f64 = rollout.episodes.iter().map(|episode| episode.reward).sum();
    assert!(costs > 0.0);
    assert!((earned - 10.0 * costs - learned).abs() < 1e-9);
    assert_eq!(rollout.intervened, 0.0);
}

#[test]
fn wrong_settings_and_policies_are_refused() {
    let error = settings(100).validate().unwrap_err().to_string();
    assert!(error.contains("steps_per_epoch"), "{error}");
    let error = check_dimensions(60, 2, &tasks()[0])
        .unwrap_err()
        .to_string();
    assert!(error.contains("60") && error.contains("14"), "{error}");
}
