//! Training: epochs of rollout and update, with log, checkpoints and a stop flag.
//!
//! The same settings and seed give the same policy bit for bit, whatever the number of threads, and
//! after any interruption.

mod checkpoint;
mod record;
mod session;
mod settings;
#[cfg(test)]
mod tests;

use std::time::Instant;

pub use self::record::EpochRecord;
pub use self::session::{Event, Observer, Session, read_log};
pub use self::settings::{AlgorithmSettings, CheckedSettings, TrainSettings};

use self::checkpoint::Identity;
use crate::agent::{Agent, Purpose, random_stream};
use crate::algorithm::{Epoch, Learner};
use crate::env::Environment;
use crate::error::{Result, RlError};
use crate::filter::{ActionFilter, Guarded};
use crate::policy::{Policy, PolicyRecord};
use crate::rollout::{Collector, Rollout};
use crate::task::{Task, open};

/// A finished training.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The policy.
    pub policy: Policy,
    /// One record per epoch.
    pub curve: Vec<EpochRecord>,
}

/// Trains a policy for a task that [`open`] knows.
///
/// ```
/// use fab_saferl::train::{Session, TrainSettings, train};
///
/// let mut settings = TrainSettings { steps: 2000, ..TrainSettings::default() };
/// settings.rollout.steps_per_epoch = 2000;
/// let trained = train(&settings.validate()?, 0, None, &Session::default())?;
/// assert_eq!(trained.curve.len(), 1);
/// # Ok::<(), fab_saferl::RlError>(())
/// ```
///
/// # Errors
/// [`RlError::Stopped`] after the stop flag was set, [`RlError::Diverged`] for numbers that are not
/// finite, errors of the task and of files.
pub fn train(
    settings: &CheckedSettings,
    seed: u64,
    filter: Option<&dyn ActionFilter>,
    session: &Session<'_>,
) -> Result<Trained> {
    let name = &settings.settings().task;
    train_on(&|| open(name), settings, seed, filter, session)
}

/// As [`train`], on a task of the caller. `make` is called once per copy.
///
/// # Errors
/// As for [`train`].
pub fn train_on(
    make: &dyn Fn() -> Result<Box<dyn Task>>,
    settings: &CheckedSettings,
    seed: u64,
    filter: Option<&dyn ActionFilter>,
    session: &Session<'_>,
) -> Result<Trained> {
    let mut run = Run::new(make, settings, seed, filter, session)?;
    while run.curve.len() < settings.epochs() {
        // On a thread of the pool: the many short parallel parts then start without a wake-up.
        rayon::scope(|_| run.epoch())?;
    }
    Ok(Trained {
        policy: run.policy(),
        curve: run.curve,
    })
}

/// A training on its way.
struct Run<'a> {
    settings: &'a CheckedSettings,
    seed: u64,
    filter: String,
    session: &'a Session<'a>,
    log: Option<session::Log>,
    agent: Agent,
    learner: Box<dyn Learner>,
    collector: Collector,
    curve: Vec<EpochRecord>,
}

impl<'a> Run<'a> {
    /// A new training, or the one that the checkpoint holds.
    fn new(
        make: &dyn Fn() -> Result<Box<dyn Task>>,
        settings: &'a CheckedSettings,
        seed: u64,
        filter: Option<&dyn ActionFilter>,
        session: &'a Session<'a>,
    ) -> Result<Self> {
        let (all, rollout) = (settings.settings(), &settings.settings().rollout);
        let task = || Ok(Guarded::new(make()?, filter.map(|filter| filter.boxed())));
        let tasks: Result<Vec<Guarded>> = (0..rollout.environments).map(|_| task()).collect();
        let tasks = tasks?;
        let (inputs, actions) = (tasks[0].observation_dim(), tasks[0].action_dim());
        let mut agent = Agent::new(inputs, actions, &all.hidden, seed)?;
        let mut learner = all.algorithm.learner(&agent, filter)?;
        let filter = filter.map_or_else(String::new, |filter| filter.digest());
        let identity = Identity {
            settings,
            seed,
            filter: &filter,
        };
        let restored = match &session.checkpoint {
            Some(path) => checkpoint::load(path, identity, &mut agent, &mut *learner)?,
            None => None,
        };
        let (collector, curve) = match restored {
            None => {
                let normaliser = &mut agent.normaliser;
                (
                    Collector::new(tasks, rollout, seed, normaliser)?,
                    Vec::new(),
                )
            }
            Some(restored) => {
                let epoch = restored.curve.len();
                session.emit(&Event::Resumed { epoch });
                let record = restored.collector;
                let normaliser = &agent.normaliser;
                let collector = Collector::resume(tasks, rollout, seed, normaliser, record)?;
                (collector, restored.curve)
            }
        };
        Ok(Self {
            log: session.open_log(&curve)?,
            settings,
            seed,
            filter,
            session,
            agent,
            learner,
            collector,
            curve,
        })
    }

    /// Collects, learns, records. Writes a checkpoint where one is due.
    fn epoch(&mut self) -> Result<()> {
        let epoch = Epoch {
            index: self.curve.len(),
            count: self.settings.epochs(),
            seed: self.seed,
        };
        let started = Instant::now();
        let rollout = self.collect(epoch)?;
        let collected = started.elapsed().as_secs_f64();
        let figures = self.learner.update(&mut self.agent, &rollout, epoch)?;
        check(self.agent.fault(), epoch)?;
        let updated = started.elapsed().as_secs_f64() - collected;
        let steps = (epoch.index + 1) * rollout.len();
        let (recent, std) = (self.collector.recent(), self.agent.actor.std());
        let (place, seconds) = ((epoch.index, steps), (collected, updated));
        let record = EpochRecord::new(place, &rollout, recent, &std, figures, seconds);
        if let Some(log) = &mut self.log {
            log.add(&record)?;
        }
        self.curve.push(record);
        self.report(epoch)
    }

    fn collect(&mut self, epoch: Epoch) -> Result<Rollout> {
        let copies = self.settings.settings().rollout.environments;
        let learner = &self.learner;
        let executes: Vec<bool> = (0..copies)
            .map(|copy| learner.executes_filter(epoch, copy, copies))
            .collect();
        self.collector
            .prepare(|copy, task| task.set_executes(executes[copy]))?;
        let mut random = random_stream(self.seed, Purpose::Actions, epoch.index);
        let price = self.learner.price(epoch);
        let rollout = self
            .collector
            .collect(&mut self.agent, price, &mut random)?;
        check(rollout.fault(), epoch)?;
        Ok(rollout)
    }

    /// Tells the observer, writes the checkpoint, obeys the stop flag.
    fn report(&mut self, epoch: Epoch) -> Result<()> {
        let done = epoch.index + 1;
        if let Some(record) = self.curve.last() {
            let done = done as f64 / epoch.count as f64;
            self.session.emit(&Event::Epoch { record, done });
        }
        let finished = done == epoch.count;
        let stopped = self.session.stopped() && !finished;
        let every = self.settings.settings().checkpoint_epochs;
        if stopped || finished || done.is_multiple_of(every) {
            self.save()?;
        }
        if stopped {
            return Err(RlError::Stopped);
        }
        Ok(())
    }

    fn save(&self) -> Result<()> {
        let Some(path) = &self.session.checkpoint else {
            return Ok(());
        };
        let identity = Identity {
            settings: self.settings,
            seed: self.seed,
            filter: &self.filter,
        };
        let (agent, learner) = (&self.agent, &*self.learner);
        checkpoint::save(path, identity, agent, learner, &self.collector, &self.curve)
    }

    fn policy(&self) -> Policy {
        let settings = self.settings.settings();
        Policy {
            actor: self.agent.actor.clone(),
            normaliser: self.agent.normaliser.clone(),
            record: PolicyRecord {
                task: settings.task.clone(),
                settings: serde_json::to_value(settings).unwrap_or_default(),
                seed: self.seed,
                steps: self.curve.last().map_or(0, |record| record.steps),
                filter: self.filter.clone(),
            },
        }
    }
}

fn check(fault: Option<&'static str>, epoch: Epoch) -> Result<()> {
    match fault {
        None => Ok(()),
        Some(what) => Err(RlError::Diverged {
            epoch: epoch.index,
            what: what.to_owned(),
        }),
    }
}
