//! The paper's grid search of loss weights: 24 second phases from one first phase, and two ways to choose.
//!
//! As released, the highest score wins, the share of feasible decodes of 500 points of the ball, and ties keep
//! the first entry; a decoder that maps everything to one feasible point scores 100 %. Beside it stands a
//! choice that does not reward collapse: enough feasible decodes first, then coverage.
//!
//! A later entry is chosen only if its score is higher. So the released choice is known once an entry scores
//! 100 %, and the search may end there. Every finished entry is kept in the store: a stopped search goes on where
//! it was.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use fab_method::{
    LossWeights, Paper, PaperSettings, PaperSummary, PaperTraining, PhaseOne, grid, select_released,
};
use fabproj::{Model, Plan as CertificatePlan, train_with};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::context::{ProjectorRecipe, projector_key};
use crate::hole;
use crate::store::{Found, Store, VERSION, digest};
use crate::{Context, StudyError, StudySet};

/// Points from which a candidate's feasibility and coverage are measured.
const SAMPLES: usize = 2_000;
/// Decodes that must be feasible before coverage counts.
const ENOUGH: f64 = 0.99;

/// Everything that a search depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchKey {
    /// [`VERSION`].
    pub version: u32,
    /// The set.
    pub set: String,
    /// The method whose projector it is.
    pub method: String,
    /// Its settings, of which the weights are replaced.
    #[serde(rename = "config")]
    pub settings: PaperSettings,
    /// The seed.
    pub seed: u64,
}

/// One combination of weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The weights.
    pub weights: LossWeights,
    /// The released score: feasible share of 500 decodes of the ball.
    pub score: f64,
    /// Feasible share of projected inputs.
    pub feasible: f64,
    /// Share of the set's cells that decodes reach.
    pub coverage: f64,
    /// Feasible share of projected inputs from the hole; none where the set has no hole, and in records of
    /// earlier builds.
    #[serde(default)]
    pub hole: Option<f64>,
    /// Batches of phase 2 per second.
    pub throughput: f64,
}

/// A finished search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// What it depends on.
    pub key: SearchKey,
    /// The combinations that are finished, in the grid's order.
    pub trials: Vec<Trial>,
    /// Seconds of the search so far.
    pub seconds: f64,
}

impl SearchRecord {
    /// Whether all combinations are there.
    pub fn is_complete(&self) -> bool {
        self.trials.len() == grid().count()
    }

    /// Whether the released choice is known: everything before the first full score is there, or simply
    /// everything.
    pub fn is_decided(&self) -> bool {
        let full = self.trials.iter().position(|trial| trial.score >= 1.0);
        let decided = |place: usize| grid().nth(place) == Some(self.trials[place].weights);
        self.is_complete() || full.is_some_and(decided)
    }

    /// Adds a combination at its place in the grid.
    fn insert(&mut self, trial: Trial) {
        let place = |weights: &LossWeights| grid().position(|entry| entry == *weights);
        let index = place(&trial.weights);
        let before = self
            .trials
            .iter()
            .filter(|other| place(&other.weights) < index);
        let before = before.count();
        self.trials.insert(before, trial);
    }

    /// The combination that the released rule chooses among those that are finished.
    pub fn released(&self) -> Option<&Trial> {
        let chosen = select_released(self.trials.iter().map(|trial| trial.score))?;
        self.trials.get(chosen)
    }

    /// The combination with the largest coverage among those that are feasible enough; if none is, the
    /// most feasible.
    pub fn covering(&self) -> Option<&Trial> {
        let rank = |trial: &Trial| match trial.score >= ENOUGH {
            true => 1.0 + trial.coverage,
            false => trial.score,
        };
        self.trials
            .iter()
            .rev()
            .max_by(|a, b| rank(a).total_cmp(&rank(b)))
    }
}

/// A search that is to be made.
#[derive(Clone)]
pub struct Search {
    set: Arc<StudySet>,
    key: SearchKey,
}

impl Search {
    /// For the projector of a method; none for methods whose projector is not of the paper's kind.
    pub fn new(
        set: &Arc<StudySet>,
        method: &str,
        recipe: Option<ProjectorRecipe>,
        seed: u64,
    ) -> Option<Self> {
        // All ways to use the searched projector share one search.
        let (method, settings) = match recipe? {
            ProjectorRecipe::Paper(settings) => (method, settings),
            ProjectorRecipe::Searched(settings) => ("fab", settings),
            ProjectorRecipe::Default(_) => return None,
        };
        // Without a second phase there is nothing to weigh.
        (settings.phase_two_epochs > 0).then(|| Self {
            set: Arc::clone(set),
            key: SearchKey {
                version: VERSION,
                set: set.name().to_owned(),
                method: method.to_owned(),
                settings,
                seed,
            },
        })
    }

    /// What it is kept under.
    pub fn key(&self) -> &SearchKey {
        &self.key
    }

    /// What is searched, whatever the method is called.
    pub(crate) fn subject(&self) -> String {
        let SearchKey {
            set,
            settings,
            seed,
            ..
        } = &self.key;
        digest(&(set, settings, seed))
    }

    /// The dimension of y.
    pub(crate) fn dim(&self) -> usize {
        self.set.dim()
    }

    /// A name for messages.
    pub fn name(&self) -> String {
        let SearchKey {
            set, method, seed, ..
        } = &self.key;
        format!("{set}, weights of {method}, seed {seed}")
    }

    /// One first phase, and second ones on all threads until the released choice is known, or all 24 of them if
    /// the `whole` grid is asked for. What the store has is not repeated. With a store, the projectors of the
    /// first combination and of the best so far are kept in it.
    ///
    /// # Errors
    /// [`StudyError`] when a training fails or is stopped.
    pub fn run(&self, whole: bool, context: &Context<'_>) -> Result<SearchRecord, StudyError> {
        let start = Instant::now();
        let record = self.kept(context)?;
        let is_missing = |weights: &LossWeights| {
            let mut trials = record.trials.iter();
            trials.all(|trial| trial.weights != *weights)
        };
        let missing: Vec<LossWeights> = grid().filter(is_missing).collect();
        let is_finished = |record: &SearchRecord| match whole {
            true => record.is_complete(),
            false => record.is_decided(),
        };
        if is_finished(&record) {
            return Ok(record);
        }
        let phase_one = Arc::new(self.phase_one(context)?);
        let before = record.seconds;
        let record = Mutex::new(record);
        let open = || record.lock().unwrap_or_else(PoisonError::into_inner);
        let attempt = |weights: LossWeights| -> Result<(), StudyError> {
            let (trial, model) = self.trial(&phase_one, weights, context)?;
            let mut record = open();
            let best = record.released().map_or(0.0, |best| best.score);
            if weights == LossWeights::default() || trial.score >= best {
                context.keep_model(&self.projector_key(weights), &model)?;
            }
            record.insert(trial);
            record.seconds = before + start.elapsed().as_secs_f64();
            context
                .store()
                .map_or(Ok(()), |store| store.save_search(&record))
        };
        for some in missing.chunks(rayon::current_num_threads()) {
            some.par_iter().copied().try_for_each(attempt)?;
            if is_finished(&open()) {
                break;
            }
        }
        if let Some(store) = context.store() {
            store.remove_checkpoints(&digest(&self.key));
        }
        Ok(record.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the store has of it.
    fn kept(&self, context: &Context<'_>) -> Result<SearchRecord, StudyError> {
        let found = context
            .store()
            .map(|store| store.search(&self.key))
            .transpose()?;
        Ok(match found {
            Some(Found::This(record)) => record,
            _ => SearchRecord {
                key: self.key.clone(),
                trials: Vec::new(),
                seconds: 0.0,
            },
        })
    }

    /// The settings with other weights.
    pub(crate) fn with_weights(&self, weights: LossWeights) -> PaperSettings {
        PaperSettings {
            weights,
            ..self.key.settings.clone()
        }
    }

    fn projector_key(&self, weights: LossWeights) -> String {
        let recipe = ProjectorRecipe::Paper(self.with_weights(weights));
        projector_key(&self.set, &recipe, self.key.seed)
    }

    /// The first phase, from its checkpoint if the search was stopped.
    fn phase_one(&self, context: &Context<'_>) -> Result<PhaseOne, StudyError> {
        let settings = self.key.settings.clone().validate()?;
        let training = PaperTraining::new(self.set.set(), &settings, self.key.seed)?;
        let Some(store) = context.store() else {
            return Ok(training.phase_one(&context.session())?);
        };
        let checkpoints = store.checkpoints(&digest(&self.key))?;
        let session = context.session().checkpoints(&checkpoints);
        Ok(training.phase_one(&session)?)
    }

    /// Trains and measures one combination.
    fn trial(
        &self,
        phase_one: &Arc<PhaseOne>,
        weights: LossWeights,
        context: &Context<'_>,
    ) -> Result<(Trial, Model), StudyError> {
        let start = Instant::now();
        let settings = self.with_weights(weights).validate()?;
        let recipe = Paper::new(settings, self.key.seed).with_phase_one(Arc::clone(phase_one));
        let model = train_with(self.set.set(), &recipe, &context.session())?;
        let seconds = start.elapsed().as_secs_f64();
        let summary: Option<PaperSummary> =
            serde_json::from_str(&model.record().training_json()).ok();
        let steps = summary
            .as_ref()
            .and_then(|summary| summary.phase_two.as_ref());
        let steps = steps.map_or(0, |phase| phase.steps);
        let plan = CertificatePlan {
            samples: SAMPLES,
            seed: self.key.seed,
            ..CertificatePlan::default()
        };
        let certificate = model.clone().certify(self.set.set(), &plan)?.clone();
        let trial = Trial {
            weights,
            score: summary.and_then(|summary| summary.score).unwrap_or(0.0),
            feasible: certificate.raw_feasible,
            coverage: certificate.coverage.unwrap_or(0.0),
            hole: hole::feasible_share(&self.set, model.projector(), SAMPLES)?,
            throughput: steps as f64 / seconds.max(1e-9),
        };
        Ok((trial, model))
    }
}

/// All searches of a store in the form of the paper's table of tuned weights, both choices.
///
/// # Errors
/// [`StudyError`] when the store cannot be read.
pub fn tuned_weights(store: &Store) -> Result<Option<String>, StudyError> {
    let searches = store.searches()?;
    if searches.is_empty() {
        return Ok(None);
    }
    let mut text = String::from(
        "set,config,latent,choice,tried,lambda_recon,lambda_feas,lambda_latent,lambda_geom,lambda_hinge,\
         throughput,score,feasible,hole,coverage,seed,effort\n",
    );
    for search in &searches {
        let choices = [
            ("released", search.released()),
            ("covering", search.covering()),
        ];
        for (choice, trial) in choices {
            let Some(Trial {
                weights,
                score,
                feasible,
                coverage,
                hole,
                throughput,
            }) = trial
            else {
                continue;
            };
            let LossWeights {
                reconstruction,
                feasibility,
                latent,
                geometry,
                hinge,
            } = weights;
            let SearchKey {
                set,
                method,
                seed,
                settings,
                ..
            } = &search.key;
            let hole = hole.map_or_else(String::new, |share| format!("{share:.4}"));
            let latent_dim = settings
                .latent_dim
                .map_or_else(String::new, |dim| dim.to_string());
            let tried = search.trials.len();
            text.push_str(&format!(
                "{set},{method},{latent_dim},{choice},{tried},{reconstruction},{feasibility},{latent},{geometry},\
                 {hinge},{throughput:.2},{score:.4},{feasible:.4},{hole},{coverage:.4},{seed},{}\n",
                settings.effort
            ));
        }
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(trials: &[(f64, f64)]) -> SearchRecord {
        let trials = trials
            .iter()
            .enumerate()
            .map(|(index, (score, coverage))| Trial {
                weights: LossWeights {
                    hinge: index as f32,
                    ..LossWeights::default()
                },
                score: *score,
                feasible: *score,
                coverage: *coverage,
                hole: None,
                throughput: 100.0,
            });
        SearchRecord {
            key: SearchKey {
                version: VERSION,
                set: "star-shaped".to_owned(),
                method: "fab".to_owned(),
                settings: PaperSettings::released(),
                seed: 1,
            },
            trials: trials.collect(),
            seconds: 1.0,
        }
    }

    fn chosen(trial: Option<&Trial>) -> f32 {
        trial.unwrap().weights.hinge
    }

    #[test]
    fn the_released_rule_takes_the_first_of_the_best_even_if_collapsed() {
        let search = record(&[(0.99, 0.9), (1.0, 0.01), (1.0, 0.8)]);
        assert_eq!(chosen(search.released()), 1.0);
        assert_eq!(chosen(search.covering()), 0.0);
    }

    #[test]
    fn without_a_feasible_trial_the_most_feasible_is_taken_and_ties_keep_the_first() {
        let search = record(&[(0.4, 1.0), (0.9, 0.1), (0.9, 0.1)]);
        assert_eq!(chosen(search.covering()), 1.0);
        assert!(record(&[]).covering().is_none());
    }

    #[test]
    fn the_choice_is_known_at_the_first_full_score_and_not_before() {
        let mut search = record(&[]);
        let entries: Vec<LossWeights> = grid().collect();
        let mut add = |index: usize, score: f64| {
            let trial = Trial {
                weights: entries[index],
                score,
                feasible: score,
                coverage: 0.5,
                hole: None,
                throughput: 100.0,
            };
            search.insert(trial);
            (
                search.is_decided(),
                search.released().map(|trial| trial.weights),
            )
        };
        assert_eq!(add(0, 0.99), (false, Some(entries[0])));
        // An entry before it is missing, which may be full too.
        assert_eq!(add(2, 1.0), (false, Some(entries[2])));
        assert_eq!(add(1, 0.5), (true, Some(entries[2])));
        assert_eq!(add(7, 1.0), (true, Some(entries[2])));
        assert!(!search.is_complete());
        let weights: Vec<LossWeights> = search.trials.iter().map(|trial| trial.weights).collect();
        assert_eq!(weights, [0, 1, 2, 7].map(|index| entries[index]));
    }

    #[test]
    fn a_search_needs_a_second_phase_of_the_papers_kind() {
        let set = StudySet::open("star-shaped").unwrap();
        let recipe = |settings| Some(ProjectorRecipe::Paper(settings));
        assert!(Search::new(&set, "fab", recipe(PaperSettings::released()), 1).is_some());
        let one_phase = PaperSettings::released().phase_one_only();
        assert!(Search::new(&set, "fab", recipe(one_phase), 1).is_none());
        assert!(Search::new(&set, "penalty", None, 1).is_none());
    }
}
