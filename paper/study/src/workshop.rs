//! What the tasks of a study share: projectors, training targets, problems, the wish to stop.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use fab_method::PaperConfig;
use fabproj::core::Projector;
use fabproj::file::{ModelFile, Record};
use fabproj::train::{RECIPE, Session, ShapeConfig, shape};
use serde::Serialize;
use serde_json::{Value, json};

use crate::method::{Mapping, MappingConfig, Task};
use crate::plan::{Event, Observer};
use crate::problem::Objective;
use crate::protocol::{Exam, Protocol};
use crate::solver_net::Targets;
use crate::store::{Found, Store, VERSION, digest};
use crate::{Effort, StudyError, StudySet};

/// How a projector is trained.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectorRecipe {
    /// The paper's method.
    Paper(PaperConfig),
    /// Our recipe.
    Shape(ShapeConfig),
}

impl ProjectorRecipe {
    /// What results are kept under: the settings, and which version of our recipe they are for.
    pub(crate) fn key(&self) -> Value {
        let mut key = to_value(self);
        if let (Self::Shape(_), Value::Object(fields)) = (self, &mut key) {
            fields.insert("version".to_owned(), RECIPE.into());
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

/// Things that are made once and used by many threads: who comes second waits for the first.
struct Shelf<T> {
    places: Mutex<HashMap<String, Arc<Mutex<Option<T>>>>>,
}

impl<T: Clone> Shelf<T> {
    fn new() -> Self {
        Self {
            places: Mutex::new(HashMap::new()),
        }
    }

    fn get_or_make(
        &self,
        key: &str,
        make: impl FnOnce() -> Result<T, StudyError>,
    ) -> Result<T, StudyError> {
        let place = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(places.entry(key.to_owned()).or_default())
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thing) = place.as_ref() {
            return Ok(thing.clone());
        }
        Ok(place.insert(make()?).clone())
    }
}

/// What the tasks of a study share.
pub struct Workshop<'a> {
    effort: Effort,
    protocol: Protocol,
    store: Option<&'a Store>,
    observer: Option<&'a dyn Observer>,
    stop: Option<&'a AtomicBool>,
    /// Held for writing while something is timed.
    quiet: RwLock<()>,
    projectors: Shelf<SharedProjector>,
    targets: Shelf<Arc<Targets>>,
    mappings: Shelf<Arc<Mapping>>,
    exams: Shelf<Arc<Exam>>,
}

impl<'a> Workshop<'a> {
    /// Without a store: everything is made anew in each process.
    pub fn in_memory(effort: Effort) -> Self {
        Self {
            effort,
            protocol: Protocol::RELEASED,
            store: None,
            observer: None,
            stop: None,
            quiet: RwLock::new(()),
            projectors: Shelf::new(),
            targets: Shelf::new(),
            mappings: Shelf::new(),
            exams: Shelf::new(),
        }
    }

    /// With another number of problems.
    pub fn with_protocol(self, protocol: Protocol) -> Self {
        Self { protocol, ..self }
    }

    /// With a store for projectors.
    pub fn with_store(self, store: &'a Store) -> Self {
        Self {
            store: Some(store),
            ..self
        }
    }

    /// With somebody to be told of warnings.
    pub fn with_observer(self, observer: &'a dyn Observer) -> Self {
        Self {
            observer: Some(observer),
            ..self
        }
    }

    /// With a flag that is set from outside to stop.
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

    /// The flag that is set from outside to stop.
    pub fn stop(&self) -> Option<&'a AtomicBool> {
        self.stop
    }

    /// Does what is timed while the trainings of all other threads wait: two threads often share a core.
    pub fn quietly<T>(&self, work: impl FnOnce() -> T) -> T {
        let _quiet = self.quiet.write().unwrap_or_else(PoisonError::into_inner);
        work()
    }

    /// Asked before each step of a training: waits while something is timed, and fails if the study
    /// should stop.
    ///
    /// # Errors
    /// [`StudyError::Stopped`].
    pub fn check_stop(&self) -> Result<(), StudyError> {
        drop(self.quiet.read().unwrap_or_else(PoisonError::into_inner));
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
            let file = match self.stored(&key)? {
                Some(file) => file,
                None => {
                    let file = self.trained(set, recipe, seed)?;
                    if let Some(store) = self.store {
                        store.save_model(&key, &file)?;
                    }
                    file
                }
            };
            Ok(SharedProjector {
                projector: Arc::new(file.projector()?),
                key: key.clone(),
            })
        })
    }

    fn stored(&self, key: &str) -> Result<Option<ModelFile>, StudyError> {
        let Some(store) = self.store else {
            return Ok(None);
        };
        match store.model(key)? {
            Found::This(file) => Ok(Some(file)),
            Found::Nothing => Ok(None),
            Found::SetAside(path) => {
                self.warn(&format!(
                    "a damaged model was set aside as {}; it is trained again",
                    path.display()
                ));
                Ok(None)
            }
        }
    }

    fn trained(
        &self,
        set: &StudySet,
        recipe: &ProjectorRecipe,
        seed: u64,
    ) -> Result<ModelFile, StudyError> {
        let session = Session {
            stop: self.stop,
            ..Session::default()
        };
        let start = Instant::now();
        let (model, preset, config) = match recipe {
            ProjectorRecipe::Shape(config) => {
                let (model, _) = shape(set.set(), config, seed, &session)?;
                (model, "default", to_value(config))
            }
            ProjectorRecipe::Paper(config) => {
                let checked = config.clone().validate()?;
                let trained = fab_method::train(set.set(), &checked, seed, &session)?;
                (trained.model, "paper", to_value(config))
            }
        };
        let record = Record {
            preset: preset.to_owned(),
            seed,
            config,
            training: json!({ "seconds": start.elapsed().as_secs_f64() }),
            ..Record::of(set.set())
        };
        Ok(ModelFile { model, record })
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

    /// The problems that all methods are asked.
    ///
    /// # Errors
    /// [`StudyError`] when they cannot be made.
    pub fn exam(&self, set: &Arc<StudySet>, objective: Objective) -> Result<Arc<Exam>, StudyError> {
        let key = format!("{} {objective}", set.name());
        self.exams.get_or_make(&key, || {
            Ok(Arc::new(Exam::prepare(set, objective, &self.protocol)?))
        })
    }

    /// Tells the observer of something that a person should know.
    pub fn warn(&self, message: &str) {
        if let Some(observer) = self.observer {
            observer.observe(&Event::Warning { message });
        }
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

fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
