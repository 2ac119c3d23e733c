//! What the tasks of a study share: settings, trained projectors, training targets, problems, the stop flag.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fab_method::{Paper, PaperSettings};
use fabproj::{Event, Model, Projector, Session, Settings, train_with};
use serde::Serialize;
use serde_json::{Value, json};

use crate::method::{Mapping, MappingConfig, Task};
use crate::problem::Objective;
use crate::protocol::{Evaluation, Protocol};
use crate::scale::{ScaleRecord, ScaleRun};
use crate::solver_net::Targets;
use crate::store::{Found, Store, VERSION, digest, to_value};
use crate::weight_search::Search;
use crate::{Effort, StudyError, StudySet};

/// How a projector is trained.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectorRecipe {
    /// The paper's method with the given weights of the losses.
    Paper(PaperSettings),
    /// The paper's method with the weights that its released search chooses: see
    /// [`weight_search`](crate::weight_search).
    Searched(PaperSettings),
    /// The recipe of fabproj.
    // Its name in the keys of stored results.
    #[serde(rename = "shape")]
    Default(Settings),
}

impl ProjectorRecipe {
    /// What results are kept under: the settings, and the version of our recipe.
    pub(crate) fn key(&self) -> Value {
        let mut key = to_value(self);
        if let (Self::Default(_), Value::Object(fields)) = (self, &mut key) {
            fields.insert("version".to_owned(), Settings::VERSION.into());
        }
        key
    }
}

/// A projector that tasks share.
#[derive(Clone)]
pub struct SharedProjector {
    /// What runs.
    pub projector: Arc<Projector>,
    /// Its name in the store.
    pub key: String,
}

/// Values that are made once and used by many threads; later callers wait for the first.
struct Cache<T> {
    entries: Mutex<HashMap<String, Entry<T>>>,
}

type Entry<T> = Arc<Mutex<Option<T>>>;

impl<T: Clone> Cache<T> {
    fn new() -> Self {
        Self {
            entries: Mutex::new(HashMap::new()),
        }
    }

    fn get_or_make(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T, StudyError>,
    ) -> Result<T, StudyError> {
        let entry = {
            let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(entries.entry(key.to_owned()).or_default())
        };
        let mut entry = entry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = entry.as_ref() {
            return Ok(value.clone());
        }
        Ok(entry.insert(make()?).clone())
    }
}

type Observer<'a> = dyn Fn(&Event) + Sync + 'a;

/// What the tasks of a study share.
pub struct Context<'a> {
    effort: Effort,
    protocol: Protocol,
    store: Option<&'a Store>,
    observer: Option<Box<Observer<'a>>>,
    stop: Option<&'a AtomicBool>,
    /// Held for writing while something is timed.
    timing: RwLock<()>,
    projectors: Cache<SharedProjector>,
    targets: Cache<Arc<Targets>>,
    mappings: Cache<Arc<Mapping>>,
    evaluations: Cache<Arc<Evaluation>>,
    optima: Cache<Arc<Vec<Option<f64>>>>,
    finished: Cache<Arc<ScaleRecord>>,
}

impl<'a> Context<'a> {
    /// Without a store: each process trains its own projectors.
    pub fn in_memory(effort: Effort) -> Self {
        Self {
            effort,
            protocol: Protocol::RELEASED,
            store: None,
            observer: None,
            stop: None,
            timing: RwLock::new(()),
            projectors: Cache::new(),
            targets: Cache::new(),
            mappings: Cache::new(),
            evaluations: Cache::new(),
            optima: Cache::new(),
            finished: Cache::new(),
        }
    }

    /// Sets the number of problems.
    #[must_use]
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    /// Sets the store that keeps projectors.
    #[must_use]
    pub fn with_store(self, store: &'a Store) -> Self {
        Self {
            store: Some(store),
            ..self
        }
    }

    /// Sets the observer of progress and warnings.
    #[must_use]
    pub fn with_observer(self, observer: impl Fn(&Event) + Sync + 'a) -> Self {
        Self {
            observer: Some(Box::new(observer)),
            ..self
        }
    }

    /// Sets the stop flag.
    #[must_use]
    pub fn with_stop(self, stop: &'a AtomicBool) -> Self {
        Self {
            stop: Some(stop),
            ..self
        }
    }

    /// How much each training gets.
    pub fn effort(&self) -> &Effort {
        &self.effort
    }

    /// How many problems are asked.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The environment of a training: the stop flag alone.
    pub(crate) fn session(&self) -> Session<'a> {
        match self.stop {
            Some(stop) => Session::new().stop(stop),
            None => Session::new(),
        }
    }

    /// Runs what is timed while the trainings of all other threads wait: two threads often share a core.
    pub fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let _timing = self.timing.write().unwrap_or_else(PoisonError::into_inner);
        work()
    }

    /// Called before each step of a training: waits while something is timed.
    ///
    /// # Errors
    /// [`StudyError::Stopped`] when the stop flag is set.
    pub fn check_stop(&self) -> Result<(), StudyError> {
        drop(self.timing.read().unwrap_or_else(PoisonError::into_inner));
        if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(StudyError::Stopped);
        }
        Ok(())
    }

    /// The store, if there is one.
    pub(crate) fn store(&self) -> Option<&'a Store> {
        self.store
    }

    /// The projector of a recipe: from memory, from the store, or trained now.
    ///
    /// # Errors
    /// [`StudyError`] when the training fails or the store cannot be used.
    pub fn projector(
        &self,
        set: &Arc<StudySet>,
        recipe: &ProjectorRecipe,
        seed: u64,
    ) -> Result<SharedProjector, StudyError> {
        let key = projector_key(set, recipe, seed);
        self.projectors.get_or_make(&key, || {
            let model = self.model(set, recipe, seed)?;
            Ok(SharedProjector {
                projector: Arc::new(model.projector().clone()),
                key: key.clone(),
            })
        })
    }

    /// The model of a recipe: from the store, or trained now.
    fn model(
        &self,
        set: &Arc<StudySet>,
        recipe: &ProjectorRecipe,
        seed: u64,
    ) -> Result<Model, StudyError> {
        let key = projector_key(set, recipe, seed);
        if let Some(model) = self.stored(&key)? {
            return Ok(model);
        }
        let model = match recipe {
            ProjectorRecipe::Default(settings) => {
                let settings = Settings {
                    seed,
                    ..settings.clone()
                };
                train_with(set.set(), &settings, &self.session())?
            }
            ProjectorRecipe::Paper(settings) => {
                let recipe = Paper::new(settings.clone().validate()?, seed);
                train_with(set.set(), &recipe, &self.session())?
            }
            ProjectorRecipe::Searched(settings) => {
                let chosen = self.searched(set, settings, seed)?;
                self.model(set, &ProjectorRecipe::Paper(chosen), seed)?
            }
        };
        self.keep_model(&key, &model)?;
        Ok(model)
    }

    /// The settings with the weights that the released search chooses; without a second phase as they are.
    fn searched(
        &self,
        set: &Arc<StudySet>,
        settings: &PaperSettings,
        seed: u64,
    ) -> Result<PaperSettings, StudyError> {
        let recipe = ProjectorRecipe::Searched(settings.clone());
        let Some(search) = Search::new(set, "fab", Some(recipe), seed) else {
            return Ok(settings.clone());
        };
        let record = search.run(false, self)?;
        let chosen = record
            .released()
            .map_or(settings.weights, |trial| trial.weights);
        Ok(search.with_weights(chosen))
    }

    /// Keeps a projector, if there is a store.
    pub(crate) fn keep_model(&self, key: &str, model: &Model) -> Result<(), StudyError> {
        self.store
            .map_or(Ok(()), |store| store.save_model(key, model))
    }

    fn stored(&self, key: &str) -> Result<Option<Model>, StudyError> {
        let Some(store) = self.store else {
            return Ok(None);
        };
        match store.model(key)? {
            Found::This(model) => Ok(Some(model)),
            Found::Nothing => Ok(None),
            Found::SetAside(path) => {
                self.warn(&format!(
                    "a damaged model was renamed to {}; it is trained again",
                    path.display()
                ));
                Ok(None)
            }
        }
    }

    /// Problems with the points that the paper's solver networks learn to answer them with.
    ///
    /// # Errors
    /// [`StudyError`] when they cannot be made.
    pub fn targets(
        &self,
        set: &Arc<StudySet>,
        objective: Objective,
        seed: u64,
    ) -> Result<Arc<Targets>, StudyError> {
        let key = format!("{} {objective} {seed}", set.name());
        self.targets
            .get_or_make(&key, || Ok(Arc::new(Targets::make(set, objective, seed)?)))
    }

    /// The invertible network of a task's set and seed, trained once for all objectives.
    ///
    /// # Errors
    /// [`StudyError`] when the training fails or is stopped.
    pub fn mapping(
        &self,
        config: &MappingConfig,
        task: &Task<'_>,
    ) -> Result<Arc<Mapping>, StudyError> {
        let settings = to_value(config);
        let key = format!("{} {settings} {}", task.set.name(), task.seed);
        self.mappings
            .get_or_make(&key, || Ok(Arc::new(Mapping::train(config, task)?)))
    }

    /// The problems that all methods answer.
    ///
    /// # Errors
    /// [`StudyError`] when they cannot be made.
    pub fn evaluation(
        &self,
        set: &Arc<StudySet>,
        objective: Objective,
    ) -> Result<Arc<Evaluation>, StudyError> {
        let key = format!("{} {objective}", set.name());
        self.evaluations.get_or_make(&key, || {
            let evaluation = Evaluation::prepare(set, objective, &self.protocol)?;
            Ok(Arc::new(evaluation))
        })
    }

    /// The optima of an instance of table `scale`, found once for all methods.
    pub(crate) fn optima(
        &self,
        run: &ScaleRun,
        make: impl FnOnce() -> Vec<Option<f64>>,
    ) -> Result<Arc<Vec<Option<f64>>>, StudyError> {
        let key = format!("{} {}", run.family.name, run.seed);
        self.optima.get_or_make(&key, || Ok(Arc::new(make())))
    }

    /// The record of another run of table `scale`: from the store, or made now.
    pub(crate) fn finished(&self, run: &ScaleRun) -> Result<Arc<ScaleRecord>, StudyError> {
        self.finished.get_or_make(&run.name(), || {
            if let Some(store) = self.store
                && let Found::This(record) = store.scale(&run.key(self))?
            {
                return Ok(Arc::new(record));
            }
            Ok(Arc::new(run.result(self)?))
        })
    }

    /// Tells the observer.
    pub(crate) fn emit(&self, event: &Event) {
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }

    /// Tells the observer of something that the user should know.
    pub(crate) fn warn(&self, message: &str) {
        self.emit(&Event::Warning { message });
    }
}

/// The name of a projector in the store.
pub(crate) fn projector_key(set: &StudySet, recipe: &ProjectorRecipe, seed: u64) -> String {
    digest(&json!({
        "version": VERSION,
        "set": set.name(),
        "recipe": recipe.key(),
        "seed": seed,
    }))
}
