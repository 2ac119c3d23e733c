//! Working through a plan on several threads.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::{Event, Observer, Plan, Run, estimate};
use crate::method::{Guarded, Task};
use crate::store::{Found, RunKey, RunRecord, Store};
use crate::weights::Search;
use crate::workshop::projector_key;
use crate::{ProjectorRecipe, StudyError, StudySet, Workshop};

/// How a study went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Runs that were finished now.
    pub finished: usize,
    /// Runs whose results were in the store already.
    pub kept: usize,
    /// Runs that failed, with the reason.
    pub failed: Vec<(String, String)>,
}

/// Does what is not done yet: first the projectors, longest first, then the runs.
///
/// # Errors
/// [`StudyError`] when the store cannot be used or the study was stopped. A run that fails by itself is
/// reported and does not end the study.
pub fn execute(
    plan: &Plan,
    shop: &Workshop<'_>,
    store: &Store,
    threads: usize,
    observer: &dyn Observer,
) -> Result<Outcome, StudyError> {
    let mut open = Vec::new();
    for run in &plan.runs {
        let key = run.key(shop.effort(), shop.protocol());
        match store.run(&key)? {
            Found::This(_) => continue,
            Found::Nothing => {}
            Found::SetAside(path) => warn_of_damage(&path, observer),
        }
        open.push((run.clone(), key));
    }
    let mut searches = Vec::new();
    for search in &plan.searches {
        match store.search(search.key())? {
            Found::This(_) => continue,
            Found::Nothing => {}
            Found::SetAside(path) => warn_of_damage(&path, observer),
        }
        searches.push(search.clone());
    }
    let all = plan.runs.len() + plan.searches.len();
    let kept = all - open.len() - searches.len();
    let projectors = needed_projectors(&open, shop, store);
    let total = projectors.iter().map(|wanted| wanted.seconds).sum::<f64>()
        + open
            .iter()
            .map(|open| estimate::run(&open.0, shop.effort()))
            .sum::<f64>()
        + searches.iter().map(estimate::search).sum::<f64>();
    observer.observe(&Event::Planned {
        runs: all,
        kept,
        projectors: projectors.len(),
        seconds: total / threads.max(1) as f64,
    });
    let desk = Desk {
        shop,
        observer,
        total,
        done: Mutex::new(0.0),
        failed: Mutex::new(Vec::new()),
    };
    desk.work(threads, &projectors, |wanted| {
        let made = shop.projector(&wanted.set, &wanted.recipe, wanted.seed);
        (wanted.name.clone(), wanted.seconds, made.map(drop))
    })?;
    desk.work(threads, &open, |(run, key)| {
        let done = answer(run, key, shop).and_then(|record| store.save_run(&record));
        (run.name(), estimate::run(run, shop.effort()), done)
    })?;
    // Each search fills all threads by itself.
    desk.work(1, &searches, |search| {
        let done = search
            .run(shop)
            .and_then(|record| store.save_search(&record));
        (search.name(), estimate::search(search), done)
    })?;
    let failed = desk
        .failed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    Ok(Outcome {
        finished: (open.len() + searches.len()).saturating_sub(failed.len()),
        kept,
        failed,
    })
}

fn warn_of_damage(aside: &Path, observer: &dyn Observer) {
    let message = format!(
        "a damaged result was set aside as {}; it is made again",
        aside.display()
    );
    observer.observe(&Event::Warning { message: &message });
}

/// Trains, asks, writes down.
fn answer(run: &Run, key: &RunKey, shop: &Workshop<'_>) -> Result<RunRecord, StudyError> {
    let method = run.entry.make(shop.effort());
    let recipe = run.projector(method.as_ref(), shop.effort());
    let shared = recipe
        .map(|recipe| shop.projector(&run.set, &recipe, run.seed))
        .transpose()?;
    let exam = shop.exam(&run.set, run.objective)?;
    let task = Task {
        set: Arc::clone(&run.set),
        objective: run.objective,
        seed: run.seed,
        shop,
    };
    let start = Instant::now();
    let mut trained = method.train(&task)?;
    let training_seconds = start.elapsed().as_secs_f64();
    let answers = shop.quietly(|| exam.examine(&run.set, trained.solver.as_mut()));
    let guarded = match (&shared, run.entry.guarded) {
        (Some(shared), true) => {
            let projector = Arc::clone(&shared.projector);
            let mut guarded = Guarded::new(trained.solver, &run.set, projector)?;
            Some(shop.quietly(|| exam.examine(&run.set, &mut guarded)))
        }
        _ => None,
    };
    Ok(RunRecord {
        key: key.clone(),
        training_seconds,
        paper_gap_floor: exam.floor(),
        answers,
        guarded,
        curve: trained.curve,
        model: shared.map(|shared| shared.key),
        machine: crate::machine::describe(),
    })
}

/// A projector that some run needs and the store does not have.
struct Wanted {
    set: Arc<StudySet>,
    recipe: ProjectorRecipe,
    seed: u64,
    name: String,
    seconds: f64,
}

fn needed_projectors(open: &[(Run, RunKey)], shop: &Workshop<'_>, store: &Store) -> Vec<Wanted> {
    let mut wanted = BTreeMap::new();
    for (run, _) in open {
        let method = run.entry.make(shop.effort());
        let Some(recipe) = run.projector(method.as_ref(), shop.effort()) else {
            continue;
        };
        let key = projector_key(&run.set, &recipe, run.seed);
        if store.model_path(&key).exists() {
            continue;
        }
        wanted.entry(key).or_insert_with(|| Wanted {
            set: Arc::clone(&run.set),
            seed: run.seed,
            name: format!(
                "{}, projector of {}, seed {}",
                run.set.name(),
                run.entry.name,
                run.seed
            ),
            seconds: estimate::projector(&recipe, run.set.dim()),
            recipe,
        });
    }
    let mut wanted: Vec<Wanted> = wanted.into_values().collect();
    wanted.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    wanted
}

/// What the threads of a study share.
struct Desk<'a> {
    shop: &'a Workshop<'a>,
    observer: &'a dyn Observer,
    /// Estimated seconds of everything.
    total: f64,
    done: Mutex<f64>,
    failed: Mutex<Vec<(String, String)>>,
}

impl Desk<'_> {
    /// Does all jobs. `job` gives a name, the estimated seconds, and how it went. The threads are not
    /// those of rayon: a job that waits for another thread's projector must not hold up its training.
    fn work<T: Sync + Named>(
        &self,
        threads: usize,
        jobs: &[T],
        job: impl Fn(&T) -> (String, f64, Result<(), StudyError>) + Sync,
    ) -> Result<(), StudyError> {
        let next = AtomicUsize::new(0);
        let halted = AtomicBool::new(false);
        let fatal = Mutex::new(None);
        let worker = || {
            while !halted.load(Ordering::Relaxed) {
                let Some(wanted) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return;
                };
                if let Err(error) = self.one(wanted, &job) {
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
    fn one<T: Named>(
        &self,
        wanted: &T,
        job: &impl Fn(&T) -> (String, f64, Result<(), StudyError>),
    ) -> Result<(), StudyError> {
        self.shop.check_stop()?;
        let name = wanted.name();
        self.observer.observe(&Event::Started { name: &name });
        let (name, seconds, result) = job(wanted);
        match result {
            Ok(()) => {}
            Err(error @ (StudyError::Stopped | StudyError::Disk { .. } | StudyError::File(_))) => {
                return Err(error);
            }
            Err(error) => {
                let message = format!("{name}: {error}");
                self.observer.observe(&Event::Warning { message: &message });
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.push((name.clone(), error.to_string()));
            }
        }
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        *done += seconds;
        self.observer.observe(&Event::Finished {
            name: &name,
            done: *done / self.total.max(f64::MIN_POSITIVE),
        });
        Ok(())
    }
}

trait Named {
    fn name(&self) -> String;
}

impl Named for Wanted {
    fn name(&self) -> String {
        self.name.clone()
    }
}

impl Named for Search {
    fn name(&self) -> String {
        Search::name(self)
    }
}

impl Named for (Run, RunKey) {
    fn name(&self) -> String {
        self.0.name()
    }
}
