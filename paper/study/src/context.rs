//! What the tasks of a study share: settings, trained projectors, training targets, problems, the stop flag.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use fab_method::{Paper, PaperSettings};
use fabproj::{Event, Model, Observer, Projector, Session, Settings, train_with};
use serde::Serialize;
use serde_json::{Value, json};

use crate::method::{Mapping, MappingConfig, Task};
use crate::problem::Objective;
use crate::protocol::{Evaluation, Protocol};
use crate::solver_net::Targets;
use crate::store::{Found, Store, VERSION, digest, to_value};
use crate::{Effort, StudyError, StudySet};

/// How a projector is trained.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectorRecipe {
    /// The paper's method.
    Paper(PaperSettings),
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

    fn train(&self, set: &StudySet, seed: u64, session: &Session) -> Result<Model, StudyError> {
        let model = match self {
            Self::Default(settings) => {
                let settings = Settings {
                    seed,
                    ..settings.clone()
                };
                train_with(set.set(), &settings, session)?
            }
            Self::Paper(settings) => {
                let recipe = Paper::new(settings.clone().validate()?, seed);
                train_with(set.set(), &recipe, session)?
            }
        };
        Ok(model)
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

/// What the tasks of a study share.
pub struct Context<'a> {
    effort: Effort,
    protocol: Protocol,
    store: Option<&'a Store>,
    observer: Option<&'a dyn Observer>,
    stop: Option<&'a AtomicBool>,
    /// Held for writing while something is timed.
    timing: RwLock<()>,
    projectors: Cache<SharedProjector>,
    targets: Cache<Arc<Targets>>,
    mappings: Cache<Arc<Mapping>>,
    evaluations: Cache<Arc<Evaluation>>,
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
    pub fn with_observer(self, observer: &'a dyn Observer) -> Self {
        Self {
            observer: Some(observer),
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

    /// The projector of a recipe: from memory, from the store, or trained now.
    ///
    /// # Errors
    /// [`StudyError`] when the training fails or the store cannot be used.
    pub fn projector(
        &self,
        set: &StudySet,
        recipe: &ProjectorRecipe,
        seed: u64,
    ) -> Result<SharedProjector, StudyError> {
        let key = projector_key(set, recipe, seed);
        self.projectors.get_or_make(&key, || {
            let model = match self.stored(&key)? {
                Some(model) => model,
                None => {
                    let model = recipe.train(set, seed, &self.session())?;
                    if let Some(store) = self.store {
                        store.save_model(&key, &model)?;
                    }
                    model
                }
            };
            Ok(SharedProjector {
                projector: Arc::new(model.projector().clone()),
                key: key.clone(),
            })
        })
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

    /// Tells the observer.
    pub(crate) fn emit(&self, event: &Event) {
        if let Some(observer) = self.observer {
            observer.observe(event);
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
