//! Trainings: interruption, divergence, wrong checkpoints.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::env::{EnvironmentError, Interval, Result as EnvironmentResult, Step};
use crate::ppo_fab::PpoFabSettings;
use crate::task::TopView;

fn settings(algorithm: &str, epochs: usize) -> TrainSettings {
    let mut settings = TrainSettings {
        steps: epochs * 300,
        hidden: vec![16],
        checkpoint_epochs: 2,
        algorithm: AlgorithmSettings::named(algorithm, "double-integrator").unwrap(),
        ..TrainSettings::default()
    };
    // 100 steps per copy: epochs end inside episodes of 200 steps.
    settings.rollout.environments = 3;
    settings.rollout.steps_per_epoch = 300;
    settings
}

/// Sets the stop flag after an epoch.
struct StopAfter<'a> {
    epoch: usize,
    stop: &'a AtomicBool,
    resumed: Mutex<Vec<usize>>,
}

impl Observer for StopAfter<'_> {
    fn observe(&self, event: &Event<'_>) {
        match event {
            Event::Epoch { record, .. } if record.epoch == self.epoch => {
                self.stop.store(true, Ordering::Relaxed);
            }
            Event::Resumed { epoch } => self.resumed.lock().unwrap().push(*epoch),
            _ => {}
        }
    }
}

fn times_removed(curve: &[EpochRecord]) -> Vec<EpochRecord> {
    curve.iter().map(EpochRecord::without_times).collect()
}

#[test]
fn an_interrupted_training_ends_with_the_same_bits() {
    for algorithm in ["ppo", "ppo-lag", "trpo", "trpo-lag"] {
        let checked = settings(algorithm, 6).validate().unwrap();
        let whole = train(&checked, 7, None, &Session::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (checkpoint, log) = (folder.path().join("checkpoint"), folder.path().join("log"));
        // Stopped after every epoch but the last.
        for epoch in 0..5 {
            let stop = AtomicBool::new(false);
            let observer = StopAfter {
                epoch,
                stop: &stop,
                resumed: Mutex::default(),
            };
            let session = Session {
                observer: Some(&observer),
                checkpoint: Some(checkpoint.clone()),
                log: Some(log.clone()),
                stop: Some(&stop),
            };
            let result = train(&checked, 7, None, &session);
            assert!(matches!(result, Err(RlError::Stopped)));
            let expected: Vec<usize> = (epoch > 0).then_some(epoch).into_iter().collect();
            assert_eq!(*observer.resumed.lock().unwrap(), expected);
        }
        let session = Session {
            checkpoint: Some(checkpoint),
            log: Some(log.clone()),
            ..Session::default()
        };
        let resumed = train(&checked, 7, None, &session).unwrap();
        assert_eq!(resumed.policy, whole.policy, "{algorithm}");
        assert_eq!(times_removed(&resumed.curve), times_removed(&whole.curve));
        assert_eq!(read_log(&log).unwrap(), resumed.curve);
    }
}

#[test]
fn threads_do_not_change_a_training() {
    for algorithm in ["ppo", "trpo"] {
        let checked = settings(algorithm, 2).validate().unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let work = || train(&checked, 3, None, &Session::default());
            pool.build().unwrap().install(work).unwrap().policy
        };
        assert_eq!(run(1), run(4), "{algorithm}");
    }
}

#[test]
fn seeds_give_different_policies() {
    let checked = settings("ppo", 1).validate().unwrap();
    let run = |seed| train(&checked, seed, None, &Session::default()).unwrap();
    assert_ne!(run(0).policy.actor, run(1).policy.actor);
}

#[test]
fn a_checkpoint_of_another_run_is_refused_with_the_difference() {
    let folder = tempfile::tempdir().unwrap();
    let session = Session {
        checkpoint: Some(folder.path().join("checkpoint")),
        ..Session::default()
    };
    let run =
        |settings: TrainSettings, seed| train(&settings.validate().unwrap(), seed, None, &session);
    run(settings("ppo", 2), 0).unwrap();
    let refused = |settings, seed| run(settings, seed).unwrap_err().to_string();
    let error = refused(settings("ppo", 2), 1);
    assert!(error.contains("its seed is 0, not 1"), "{error}");
    let error = refused(settings("trpo", 2), 0);
    assert!(error.contains("its algorithm."), "{error}");
    let mut other = settings("ppo", 2);
    other.rollout.discount = 0.9;
    let error = refused(other, 0);
    assert!(
        error.contains("its rollout.discount is 0.99, not 0.9"),
        "{error}"
    );
    let checkpoint = folder.path().join("checkpoint");
    let mut changed = std::fs::read(&checkpoint).unwrap();
    // A weight.
    let place = changed.len() - 100;
    changed[place] ^= 1;
    for damaged in [changed, b"text".to_vec()] {
        std::fs::write(&checkpoint, damaged).unwrap();
        let error = refused(settings("ppo", 2), 0);
        assert!(error.contains("not a checkpoint"), "{error}");
    }
}

/// A task whose reward becomes NaN, or whose simulation fails, after some steps.
struct Failing {
    steps: usize,
    last_good: usize,
    reports: bool,
}

impl Environment for Failing {
    fn observation_dim(&self) -> usize {
        1
    }

    fn action_bounds(&self) -> &[Interval] {
        &[(-1.0, 1.0)]
    }

    fn reset(&mut self, _seed: u32, observation: &mut [f64]) -> EnvironmentResult<()> {
        observation[0] = 0.0;
        Ok(())
    }

    fn step(&mut self, action: &[f64], observation: &mut [f64]) -> EnvironmentResult<Step> {
        self.steps += 1;
        observation[0] = action[0].sin();
        let failed = self.steps > self.last_good;
        if failed && self.reports {
            return Err(EnvironmentError::Diverged {
                what: "qpos is NaN".into(),
                seed: 0,
                step: self.steps,
            });
        }
        Ok(Step {
            reward: if failed { f64::NAN } else { 0.0 },
            truncated: self.steps.is_multiple_of(50),
            ..Step::default()
        })
    }
}

impl Task for Failing {
    fn position(&self) -> [f64; 2] {
        [0.0; 2]
    }

    fn top_view(&self) -> TopView {
        TopView::default()
    }
}

fn run_failing(last_good: usize, reports: bool, checkpoint: PathBuf) -> Result<Trained> {
    let make = || -> Result<Box<dyn Task>> {
        Ok(Box::new(Failing {
            steps: 0,
            last_good,
            reports,
        }))
    };
    let mut settings = settings("ppo", 6);
    settings.checkpoint_epochs = 1;
    let session = Session {
        checkpoint: Some(checkpoint),
        ..Session::default()
    };
    train_on(&make, &settings.validate()?, 0, None, &session)
}

#[test]
fn a_diverged_run_stops_with_its_last_good_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    for reports in [false, true] {
        let checkpoint = folder.path().join(format!("checkpoint-{reports}"));
        // The fourth epoch fails.
        let error = run_failing(350, reports, checkpoint.clone()).unwrap_err();
        match &error {
            RlError::Diverged { epoch, what } if !reports => {
                assert_eq!((*epoch, what.as_str()), (3, "a reward"));
            }
            RlError::Environment(EnvironmentError::Diverged { .. }) if reports => {}
            other => panic!("{other}"),
        }
        // A repaired task continues with the fourth epoch.
        let resumed = run_failing(10_000, reports, checkpoint).unwrap();
        assert_eq!(resumed.curve.len(), 6);
    }
}

#[test]
fn a_training_under_a_filter_is_resumed_with_the_same_bits() {
    use crate::look_ahead::LookAheadSettings;
    use crate::shield::Shield;
    use crate::steering::Rule;
    let shield = Shield::new(LookAheadSettings::default(), Rule::Nearest);
    let mut settings = settings("ppo-fab", 6);
    settings.algorithm = AlgorithmSettings::PpoFab(PpoFabSettings {
        fade_start: 0.1,
        fade_end: 0.3,
        ..PpoFabSettings::default()
    });
    let checked = settings.validate().unwrap();
    let whole = train(&checked, 2, Some(&shield), &Session::default()).unwrap();
    assert!(whole.policy.record.filter.contains("shield"));
    let share = |record: &EpochRecord| record.figures["executed_share"];
    assert_eq!(share(&whole.curve[0]), 0.0);
    assert_eq!(share(&whole.curve[5]), 1.0);
    assert!(whole.curve[5].intervened > 0.0);
    let folder = tempfile::tempdir().unwrap();
    let stop = AtomicBool::new(false);
    let observer = StopAfter {
        epoch: 2,
        stop: &stop,
        resumed: Mutex::default(),
    };
    let session = Session {
        observer: Some(&observer),
        checkpoint: Some(folder.path().join("checkpoint")),
        stop: Some(&stop),
        ..Session::default()
    };
    assert!(train(&checked, 2, Some(&shield), &session).is_err());
    stop.store(false, Ordering::Relaxed);
    let resumed = train(&checked, 2, Some(&shield), &session).unwrap();
    assert_eq!(resumed.policy, whole.policy);
    // Another filter makes another run.
    let other = Shield::new(LookAheadSettings::default(), Rule::Steer);
    let error = train(&checked, 2, Some(&other), &session).unwrap_err();
    assert!(error.to_string().contains("its filter is"), "{error}");
}
