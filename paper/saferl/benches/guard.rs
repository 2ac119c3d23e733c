//! Time of one decision of a guard and of one projection, by processor time.
//!
//! `cargo bench -p fab-saferl --bench guard`. Needs no simulator: the networks have their full size, the
//! observations are those of Goal2 with eight obstacles in sight.

use std::sync::Arc;

use fab_saferl::RlError;
use fab_saferl::fab::{FabFilter, FabSettings, Units, train_projector};
use fab_saferl::filter::{ActionFilter, Situation};
use fab_saferl::guard::data::{CollectSettings, collect_states};
use fab_saferl::guard::features::FeatureMap;
use fab_saferl::guard::{Guard, GuardFilter, GuardFilterSettings, GuardSettings};
use fab_saferl::pairs::collect_pairs;
use fab_saferl::steering::Rule;
use fab_saferl::task::{Task, open};
use fabproj::Session;
use rustix::time::{ClockId, clock_gettime};

/// Calls per figure.
const CALLS: u32 = 20_000;

fn main() -> Result<(), RlError> {
    let task = open("double-integrator")?;
    let observation = crowded();
    let guard = Arc::new(guard()?);
    for (name, threshold) in [("passed", 1e-9), ("replaced", 1.0 - 1e-9)] {
        let settings = GuardFilterSettings {
            threshold,
            ..GuardFilterSettings::default()
        };
        let mut filter = GuardFilter::new(Arc::clone(&guard), settings)?;
        println!(
            "guard, {name}: {:.2} µs",
            time(&mut filter, &*task, &observation)?
        );
        let mut hints = vec![0.0; filter.hint_dim()];
        let start = seconds();
        for _ in 0..CALLS {
            filter.hints(situation(&*task, &observation), &mut hints)?;
        }
        println!("guard, hints: {:.2} µs", micros(start));
    }
    let mut projector = projector()?;
    let small = vec![0.1; 14];
    println!("projector: {:.2} µs", time(&mut projector, &*task, &small)?);
    Ok(())
}

/// An observation of Goal2 with a hazard or a vase in every other direction.
fn crowded() -> Vec<f64> {
    let mut observation = vec![0.0; 60];
    observation[3] = 0.8;
    for place in (28..60).step_by(4) {
        observation[place] = 0.8;
        observation[place + 1] = 0.4;
    }
    observation
}

fn situation<'a>(task: &'a dyn Task, observation: &'a [f64]) -> Situation<'a> {
    Situation { observation, task }
}

fn time(
    filter: &mut dyn ActionFilter,
    task: &dyn Task,
    observation: &[f64],
) -> Result<f64, RlError> {
    let (action, mut filtered) = ([0.03, 0.2], [0.0; 2]);
    let start = seconds();
    for _ in 0..CALLS {
        filter.filter(situation(task, observation), &action, &mut filtered)?;
    }
    Ok(micros(start))
}

/// A guard for Goal2's observations. What it learned does not change its time.
fn guard() -> Result<Guard, RlError> {
    let settings = CollectSettings {
        states: 200,
        copies: 4,
        rule: Rule::Nearest,
        ..CollectSettings::default()
    };
    let map = FeatureMap::of_task("double-integrator")?;
    let make = || open("double-integrator");
    let states = collect_states(&make, &map, &[], None, &settings, 0)?;
    let mut settings = GuardSettings::default();
    settings.discriminator.steps = 20;
    settings.autoencoder.phase_one = 5;
    settings.autoencoder.phase_two = 5;
    Guard::train("goal2", &states, [0.05, 1.0], &settings, None, 0)
}

fn projector() -> Result<FabFilter, RlError> {
    let mut settings = FabSettings::paper();
    settings.pairs.pairs = 400;
    settings.method.effort = 0.01;
    let mut task = open("double-integrator")?;
    let pairs = collect_pairs(&mut task, &settings.pairs, 0)?;
    let weights = train_projector(&pairs, &settings, 0, &Session::new())?;
    FabFilter::new(&weights, Units::Right)
}

fn micros(start: f64) -> f64 {
    1e6 * (seconds() - start) / f64::from(CALLS)
}

/// Processor time of this thread.
fn seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
