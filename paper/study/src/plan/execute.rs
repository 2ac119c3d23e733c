//! Working through a plan on several threads.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use fabproj::Event;

use super::{Plan, Run, estimate};
use crate::context::projector_key;
use crate::method::{Guarded, Task};
use crate::protocol::{Answer, Answers};
use crate::scale::ScaleRun;
use crate::store::{Found, RunKey, RunRecord, Store};
use crate::weight_search::Search;
use crate::{Context, ProjectorRecipe, StudyError, StudySet};

/// What a plan still needs: everything that the store does not have.
pub struct Pending<'a> {
    context: &'a Context<'a>,
    store: &'a Store,
    projectors: Vec<ProjectorJob>,
    runs: Vec<RunJob>,
    searches: Vec<Search>,
    scale: Vec<ScaleRun>,
    /// Runs and searches whose results are in the store.
    pub kept: usize,
    /// Estimated seconds of one core.
    total: f64,
}

/// How a study went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Runs that were finished now.
    pub finished: usize,
    /// Runs whose results were in the store.
    pub kept: usize,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
}

impl<'a> Pending<'a> {
    /// Looks up in the store what a plan still needs.
    ///
    /// # Errors
    /// [`StudyError`] when the store cannot be read.
    pub fn of(plan: &Plan, context: &'a Context<'a>, store: &'a Store) -> Result<Self, StudyError> {
        let mut runs = Vec::new();
        for run in &plan.runs {
            let key = run.key(context.effort(), context.protocol());
            if !is_finished(store.run(&key)?, context) {
                let run = run.clone();
                runs.push(RunJob { run, key });
            }
        }
        let mut searches = Vec::new();
        for search in &plan.searches {
            let complete = match store.search(search.key())? {
                Found::This(record) => record.is_complete(),
                other => is_finished(other, context),
            };
            if !complete {
                searches.push(search.clone());
            }
        }
        let mut scale = Vec::new();
        for run in &plan.scale {
            if !is_finished(store.scale(&run.key(context))?, context) {
                scale.push(*run);
            }
        }
        let projectors = needed_projectors(&runs, context, store);
        let planned = plan.runs.len() + plan.searches.len() + plan.scale.len();
        Ok(Self {
            kept: planned - runs.len() - searches.len() - scale.len(),
            total: seconds(&projectors, context)
                + seconds(&runs, context)
                + seconds(&searches, context)
                + seconds(&scale, context),
            context,
            store,
            projectors,
            runs,
            searches,
            scale,
        })
    }

    /// Projectors to train before the runs.
    pub fn projectors(&self) -> usize {
        self.projectors.len()
    }

    /// About how many seconds everything takes on so many threads.
    pub fn seconds(&self, threads: usize) -> f64 {
        self.total / threads.max(1) as f64
    }

    /// Does the work: the projectors, longest first, then the runs, then the searches. Observers get a
    /// [`Event::Progress`] of 0 of 1 steps when a job starts, and of 1 of 1 when it ends.
    ///
    /// # Errors
    /// [`StudyError`] when the store cannot be used or the stop flag is set. A run that fails by itself is
    /// reported and does not end the study.
    pub fn execute(&self, threads: usize) -> Result<Outcome, StudyError> {
        let workers = Workers {
            pending: self,
            done: Mutex::new(0.0),
            failed: Mutex::new(Vec::new()),
        };
        workers.run_all(threads, &self.projectors)?;
        workers.run_all(threads, &self.runs)?;
        // Each search fills all threads by itself.
        workers.run_all(1, &self.searches)?;
        workers.run_all(threads, &self.scale)?;
        let failed = workers.failed.into_inner();
        let failed = failed.unwrap_or_else(PoisonError::into_inner);
        Ok(Outcome {
            finished: (self.runs.len() + self.searches.len() + self.scale.len())
                .saturating_sub(failed.len()),
            kept: self.kept,
            failed,
        })
    }
}

fn is_finished<T>(found: Found<T>, context: &Context<'_>) -> bool {
    match found {
        Found::This(_) => true,
        Found::Nothing => false,
        Found::SetAside(path) => {
            warn_of_damage(&path, context);
            false
        }
    }
}

fn warn_of_damage(renamed: &Path, context: &Context<'_>) {
    let renamed = renamed.display();
    context.warn(&format!(
        "a damaged result was renamed to {renamed}; it is computed again"
    ));
}

/// A part of the work.
trait Job: Sync {
    fn name(&self) -> String;

    /// Estimated seconds of one core.
    fn seconds(&self, context: &Context<'_>) -> f64;

    fn run(&self, context: &Context<'_>, store: &Store) -> Result<(), StudyError>;
}

fn seconds(jobs: &[impl Job], context: &Context<'_>) -> f64 {
    jobs.iter().map(|job| job.seconds(context)).sum()
}

/// A projector that some run needs and the store does not have.
struct ProjectorJob {
    set: Arc<StudySet>,
    recipe: ProjectorRecipe,
    seed: u64,
    name: String,
}

impl Job for ProjectorJob {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn seconds(&self, _context: &Context<'_>) -> f64 {
        estimate::projector(&self.recipe, self.set.dim())
    }

    fn run(&self, context: &Context<'_>, _store: &Store) -> Result<(), StudyError> {
        context.projector(&self.set, &self.recipe, self.seed)?;
        Ok(())
    }
}

fn needed_projectors(runs: &[RunJob], context: &Context<'_>, store: &Store) -> Vec<ProjectorJob> {
    let mut needed = BTreeMap::new();
    for RunJob { run, .. } in runs {
        let method = run.entry.make(context.effort());
        let Some(recipe) = run.projector(method.as_ref(), context.effort()) else {
            continue;
        };
        let key = projector_key(&run.set, &recipe, run.seed);
        if store.model_path(&key).exists() {
            continue;
        }
        let (set, method, seed) = (run.set.name(), &run.entry.name, run.seed);
        needed.entry(key).or_insert_with(|| ProjectorJob {
            name: format!("{set}, projector of {method}, seed {seed}"),
            set: Arc::clone(&run.set),
            seed,
            recipe,
        });
    }
    let mut needed: Vec<ProjectorJob> = needed.into_values().collect();
    needed.sort_by(|a, b| b.seconds(context).total_cmp(&a.seconds(context)));
    needed
}

/// A run without a result.
struct RunJob {
    run: Run,
    key: RunKey,
}

impl Job for RunJob {
    fn name(&self) -> String {
        self.run.name()
    }

    fn seconds(&self, context: &Context<'_>) -> f64 {
        estimate::run(&self.run, context.effort())
    }

    fn run(&self, context: &Context<'_>, store: &Store) -> Result<(), StudyError> {
        store.save_run(&self.result(context)?)
    }
}

impl RunJob {
    /// Trains the method and evaluates its answers.
    fn result(&self, context: &Context<'_>) -> Result<RunRecord, StudyError> {
        let run = &self.run;
        let Given {
            answers,
            guarded,
            training_seconds,
            curve,
            model,
        } = run.answers(context)?;
        let evaluation = context.evaluation(&run.set, run.objective)?;
        Ok(RunRecord {
            key: self.key.clone(),
            training_seconds,
            paper_gap_floor: evaluation.floor(),
            answers: Answers::of(&answers),
            guarded: guarded.map(|guarded| Answers::of(&guarded)),
            curve,
            model,
            machine: crate::machine::describe(),
            timed_alone: false,
        })
    }
}

/// What a trained method answered.
pub struct Given {
    /// Its answers, in the order of the problems.
    pub answers: Vec<Answer>,
    /// Its answers under the guard, where that is asked for.
    pub guarded: Option<Vec<Answer>>,
    /// Seconds of its own training.
    training_seconds: f64,
    curve: Vec<(u64, f64)>,
    model: Option<String>,
}

impl Run {
    /// Trains the method, with its projector from the store if it is there, and lets it answer.
    ///
    /// # Errors
    /// [`StudyError`] when a training fails or is stopped.
    pub fn answers(&self, context: &Context<'_>) -> Result<Given, StudyError> {
        let run = self;
        let method = run.entry.make(context.effort());
        let recipe = run.projector(method.as_ref(), context.effort());
        let shared = recipe
            .map(|recipe| context.projector(&run.set, &recipe, run.seed))
            .transpose()?;
        let evaluation = context.evaluation(&run.set, run.objective)?;
        let task = Task {
            set: Arc::clone(&run.set),
            objective: run.objective,
            seed: run.seed,
            context,
        };
        let start = Instant::now();
        let mut trained = method.train(&task)?;
        let training_seconds = start.elapsed().as_secs_f64();
        let answers = context.timed(|| evaluation.ask(&run.set, trained.solver.as_mut()));
        let guarded = match (&shared, run.entry.guarded) {
            (Some(shared), true) => {
                let mut guarded = Guarded::new(trained.solver, &run.set, &shared.projector)?;
                Some(context.timed(|| evaluation.ask(&run.set, &mut guarded)))
            }
            _ => None,
        };
        Ok(Given {
            answers,
            guarded,
            training_seconds,
            curve: trained.curve,
            model: shared.map(|shared| shared.key),
        })
    }
}

impl Job for Search {
    fn name(&self) -> String {
        Search::name(self)
    }

    fn seconds(&self, _context: &Context<'_>) -> f64 {
        estimate::search(self)
    }

    fn run(&self, context: &Context<'_>, _store: &Store) -> Result<(), StudyError> {
        Search::run(self, true, context).map(drop)
    }
}

impl Job for ScaleRun {
    fn name(&self) -> String {
        ScaleRun::name(self)
    }

    fn seconds(&self, context: &Context<'_>) -> f64 {
        ScaleRun::seconds(self, context)
    }

    fn run(&self, context: &Context<'_>, store: &Store) -> Result<(), StudyError> {
        store.save_scale(&self.result(context)?)
    }
}

/// The state that the threads of a study share.
struct Workers<'a> {
    pending: &'a Pending<'a>,
    /// Estimated seconds of finished jobs.
    done: Mutex<f64>,
    failed: Mutex<Vec<(String, String)>>,
}

impl Workers<'_> {
    /// Runs all jobs. The threads are not those of rayon: a job that waits for another thread's projector
    /// must not hold up its training.
    fn run_all(&self, threads: usize, jobs: &[impl Job]) -> Result<(), StudyError> {
        let next = AtomicUsize::new(0);
        let halted = AtomicBool::new(false);
        let fatal = Mutex::new(None);
        let worker = || {
            while !halted.load(Ordering::Relaxed) {
                let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                if let Err(error) = self.run_one(job) {
                    halted.store(true, Ordering::Relaxed);
                    let mut fatal = fatal.lock().unwrap_or_else(PoisonError::into_inner);
                    fatal.get_or_insert(error);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, jobs.len().max(1)) {
                scope.spawn(worker);
            }
        });
        match fatal.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// Fails only if the study cannot go on.
    fn run_one(&self, job: &impl Job) -> Result<(), StudyError> {
        let Pending { context, store, .. } = self.pending;
        context.check_stop()?;
        let name = job.name();
        self.progress(&name, 0, 0.0);
        match job.run(context, store) {
            Ok(()) => {}
            Err(error @ (StudyError::Stopped | StudyError::Disk { .. } | StudyError::File(_))) => {
                return Err(error);
            }
            Err(error) => {
                context.warn(&format!("{name}: {error}"));
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.push((name.clone(), error.to_string()));
            }
        }
        self.progress(&name, 1, job.seconds(context));
        Ok(())
    }

    /// Tells the observer that a job started (step 0) or ended (step 1), which took so many seconds.
    fn progress(&self, name: &str, step: u64, seconds: f64) {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += seconds;
        self.pending.context.emit(&Event::Progress {
            unit: name,
            step,
            steps: 1,
            done: *done / self.pending.total.max(f64::MIN_POSITIVE),
            losses: &[],
        });
    }
}
