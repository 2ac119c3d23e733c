//! Trains the charts of one candidate, with their gate, and measures them together.

use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::{Attempt, Candidate, Search, Trials};
use crate::data::pieces::Partition;
use crate::train::assignment::Assignment;
use crate::train::atlas::{Atlas, train_gate};
use crate::train::chart::{ChartSettings, ChartTraining, TrainedChart};
use crate::train::measure::Quality;
use crate::train::purpose::Purpose;
use crate::train::session::Event;
use crate::train::{Settings, TrainError};

/// Steps between two progress events; the stop flag is checked as often.
const REPORT_EVERY: u64 = 50;
/// Steps between two checkpoints of a chart.
const SAVE_EVERY: u64 = 1_000;
/// Beyond this number of charts, each is smaller and is trained for fewer steps: the smaller the piece,
/// the simpler.
pub(super) const MANY_CHARTS: usize = 8;
/// By how much their margins may grow beyond the usual: points come to many thin pieces at their corners.
const MARGIN_OF_MANY: f32 = 2.5;

/// Inputs drawn for the charts together where their own infeasible rows are too few to fill the space.
const VISITORS: usize = 200_000;

/// A chart with its final margin; `None` as long as it is not trained.
pub(super) type Slot = Option<(TrainedChart, f32)>;

impl Search<'_> {
    /// Trains the charts that are missing, and enters all of them together into the trials.
    pub(super) fn cover(
        &self,
        attempt: &Attempt,
        cells: &dyn Partition,
        charts: &mut [Slot],
        rng: &mut ChaCha8Rng,
        trials: &mut Trials,
    ) -> Result<Quality, TrainError> {
        let candidate = Candidate {
            latent: attempt.latent,
            charts: cells.count(),
        };
        self.session.emit(&Event::Stage {
            name: &format!("training {candidate}"),
        });
        let mut assignment = Assignment::new(self.pool, cells, rng);
        let (hidden, steps) = (self.settings.gate(), self.settings.gate_steps);
        let mut gate = None;
        // Here the charts' own rows do not fill the space of inputs.
        if !self.pool.regime().is_filled() && cells.count() > 1 {
            let first = train_gate(self.pool, &assignment, &hidden, steps, rng)?;
            assignment.invite(self.pool, &first, VISITORS, rng);
            gate = Some(first);
        }
        self.train_missing(attempt, charts, &assignment)?;
        let (charts, margins): (Vec<_>, Vec<_>) = charts.iter().flatten().cloned().unzip();
        let mut atlas = Atlas { gate, charts };
        // Above three dimensions outcomes are too few to learn from, and charts know their visitors.
        if self.pool.regime().low_dimensional() {
            atlas.choose_by_outcome(self.pool, &hidden, steps, rng)?;
        }
        let mut fresh = Purpose::Measuring.stream(self.seed);
        let quality = atlas.measure(self.pool, self.settings.samples, &mut fresh);
        self.session.emit(&Event::Measured {
            candidate: &candidate.to_string(),
            figures: &quality.figures(),
        });
        trials.enter(candidate, quality.clone(), &self.goals, atlas, margins);
        Ok(quality)
    }

    /// Trains the charts that are not there yet, side by side.
    fn train_missing(
        &self,
        attempt: &Attempt,
        charts: &mut [Slot],
        assignment: &Assignment,
    ) -> Result<(), TrainError> {
        let missing: Vec<usize> = (0..charts.len())
            .filter(|chart| charts[*chart].is_none())
            .collect();
        let settings = self.chart_settings(attempt, missing.len());
        let share = attempt.done.1 / missing.len().max(1) as f64;
        let trained: Result<Vec<_>, TrainError> = missing
            .par_iter()
            .enumerate()
            .map(|(place, chart)| {
                let purpose = Purpose::Chart {
                    attempt: attempt.number,
                    chart: *chart,
                };
                let rng = purpose.stream(self.seed);
                let rows = assignment.rows[*chart].clone();
                let restorer = self.restorer.as_ref();
                let mut training =
                    ChartTraining::new(settings.clone(), self.pool, rows, restorer, rng)?;
                let unit = format!("attempt-{}-chart-{chart}", attempt.number);
                let done = (attempt.done.0 + share * place as f64, share);
                self.finish(&mut training, &unit, done)?;
                Ok((training.chart(), training.margin()))
            })
            .collect();
        for (chart, trained) in missing.into_iter().zip(trained?) {
            charts[chart] = Some(trained);
        }
        Ok(())
    }

    /// Width and depth of a chart's networks. Layers of the usual 64 are widened to some six times the
    /// dimension, narrower ones in proportion: there must be room for all coordinates. One of many pieces
    /// in space is simple.
    fn size(&self, charts: usize) -> (usize, usize) {
        let (width, depth) = (self.settings.width, self.settings.depth);
        if charts > MANY_CHARTS && !self.pool.regime().low_dimensional() {
            return ((width / 2).max(1), depth.min(3));
        }
        let usual = Settings::default().width;
        let wide = (6 * self.pool.dim() * width / usual).next_multiple_of(16);
        (wide.clamp(width, 2 * width), depth)
    }

    fn chart_settings(&self, attempt: &Attempt, charts: usize) -> ChartSettings {
        // One network that serves every x has more to learn, and seams that move.
        let (effort, hinge) = match self.pool.regime().depends_on_x() {
            true => (1.6, 2.0),
            false => (1.0, 1.0),
        };
        let few = (MANY_CHARTS as f64 / charts.max(1) as f64).min(1.0).sqrt();
        let (width, depth) = self.size(charts);
        let high = if charts > MANY_CHARTS && !self.pool.regime().low_dimensional() {
            MARGIN_OF_MANY * self.settings.margin_high
        } else {
            self.settings.margin_high
        };
        let steps = self.settings.phase_two as f64 * effort * attempt.effort * few;
        ChartSettings {
            width,
            depth,
            latent: attempt.latent,
            smooth: self.settings.smooth,
            phase_one: self.settings.phase_one,
            phase_two: (steps as u64).max(1),
            // More charts see fewer rows each, so that a candidate costs about the same.
            rows: (2 * self.settings.rows / (1 + charts))
                .max(self.settings.rows / 4)
                .max(8),
            learning_rate: self.settings.learning_rate,
            margin: self.settings.margin,
            margin_range: (self.settings.margin_low, high),
            failure_goal: self.settings.failure_goal,
            hinge: self.settings.hinge * hinge,
        }
    }

    /// Runs a chart to its end, from its checkpoint if there is one. `done` is the share of the whole
    /// training before this chart, and the chart's own share.
    fn finish(
        &self,
        training: &mut ChartTraining,
        unit: &str,
        done: (f64, f64),
    ) -> Result<(), TrainError> {
        let saved = self.session.load(unit);
        if saved.is_some_and(|state| !training.restore(&state)) {
            return Err(TrainError::Checkpoint {
                unit: unit.to_owned(),
                reason: "it does not fit this training".to_owned(),
            });
        }
        let steps = training.steps();
        while !training.finished() {
            let report = training.step();
            let step = training.step_count();
            if step.is_multiple_of(REPORT_EVERY) {
                self.session.emit(&Event::Progress {
                    unit,
                    step,
                    steps,
                    done: done.0 + done.1 * step as f64 / steps as f64,
                    losses: &report.losses(),
                });
                if self.session.stopped() {
                    self.session.save(unit, || training.state());
                    return Err(TrainError::Stopped);
                }
            }
            if step.is_multiple_of(SAVE_EVERY) || training.finished() {
                self.session.save(unit, || training.state());
            }
        }
        Ok(())
    }
}
