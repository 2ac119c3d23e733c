//! The paper's grid search of loss weights: 24 second phases from one first phase, and two ways to choose.
//!
//! As released, the highest score wins, the share of feasible decodes of the ball, and ties keep the
//! first entry; a decoder that maps everything to one feasible point scores 100 %. Beside it stands a
//! choice that does not reward collapse: enough feasible decodes first, then coverage.

use std::sync::Arc;
use std::time::Instant;

use fab_method::{LossWeights, PaperSettings, PaperTraining, PhaseOne, grid, select_released};
use fabproj::{Plan as CertificatePlan, Projector, certify};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::context::ProjectorRecipe;
use crate::store::{Store, VERSION};
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
    /// Batches of phase 2 per second.
    pub throughput: f64,
}

/// A finished search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchRecord {
    /// What it depends on.
    pub key: SearchKey,
    /// All combinations, in the grid's order.
    pub trials: Vec<Trial>,
    /// Seconds of the whole search.
    pub seconds: f64,
}

impl SearchRecord {
    /// The combination that the released rule chooses.
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
        let Some(ProjectorRecipe::Paper(settings)) = recipe else {
            return None;
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

    /// A name for messages.
    pub fn name(&self) -> String {
        let SearchKey {
            set, method, seed, ..
        } = &self.key;
        format!("{set}, weights of {method}, seed {seed}")
    }

    /// One first phase, 24 second ones, on all threads.
    ///
    /// # Errors
    /// [`StudyError`] when a training fails or is stopped.
    pub fn run(&self, context: &Context<'_>) -> Result<SearchRecord, StudyError> {
        let start = Instant::now();
        let settings = self.key.settings.clone().validate()?;
        let training = PaperTraining::new(self.set.set(), &settings, self.key.seed)?;
        let phase_one = training.phase_one(&context.session())?;
        let weights: Vec<LossWeights> = grid().collect();
        let trials: Result<Vec<Trial>, StudyError> = weights
            .into_par_iter()
            .map(|weights| self.trial(&training, &phase_one, weights, context))
            .collect();
        Ok(SearchRecord {
            key: self.key.clone(),
            trials: trials?,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// Trains and measures one combination.
    fn trial(
        &self,
        training: &PaperTraining<'_>,
        phase_one: &PhaseOne,
        weights: LossWeights,
        context: &Context<'_>,
    ) -> Result<Trial, StudyError> {
        let start = Instant::now();
        let trained = training.phase_two(phase_one, weights, &context.session())?;
        let seconds = start.elapsed().as_secs_f64();
        let plan = CertificatePlan {
            samples: SAMPLES,
            seed: self.key.seed,
            ..CertificatePlan::default()
        };
        let projector = Projector::new(&trained.weights)?;
        let certificate = certify(self.set.set(), &projector, &plan)?;
        let steps = trained.summary.phase_two.map_or(0, |phase| phase.steps);
        Ok(Trial {
            weights,
            score: trained.summary.score.unwrap_or(0.0),
            feasible: certificate.raw_feasible,
            coverage: certificate.coverage.unwrap_or(0.0),
            throughput: steps as f64 / seconds.max(1e-9),
        })
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
        "set,config,choice,lambda_recon,lambda_feas,lambda_latent,lambda_geom,lambda_hinge,throughput,\
         score,feasible,coverage,seed,effort\n",
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
            text.push_str(&format!(
                "{set},{method},{choice},{reconstruction},{feasibility},{latent},{geometry},{hinge},\
                 {throughput:.2},{score:.4},{feasible:.4},{coverage:.4},{seed},{}\n",
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
    fn a_search_needs_a_second_phase_of_the_papers_kind() {
        let set = StudySet::open("star-shaped").unwrap();
        let recipe = |settings| Some(ProjectorRecipe::Paper(settings));
        assert!(Search::new(&set, "fab", recipe(PaperSettings::released()), 1).is_some());
        let one_phase = PaperSettings::released().phase_one_only();
        assert!(Search::new(&set, "fab", recipe(one_phase), 1).is_none());
        assert!(Search::new(&set, "penalty", None, 1).is_none());
    }
}
