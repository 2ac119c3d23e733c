//! A set that was learned from labelled points: membership is what a discriminator says.

use std::sync::{Arc, Mutex, PoisonError};

use fabproj_core::{
    Chart, Frame, LatentSet, Membership, Network, Projector, Weights, WeightsError, Workspace,
};
use serde::{Deserialize, Serialize};

use super::{Description, Interval, Result, Set, SetError};
use crate::Model;
use crate::data::labelled::LabelReport;

/// The labelled points that a set was learned from, for model files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LearnedRecord {
    /// What the points held.
    pub points: LabelReport,
    /// The box of all points: the region of interest.
    pub bounds: Vec<Interval>,
    /// The box of all x.
    pub x_bounds: Vec<Interval>,
    /// The box of the feasible points, outside of which nothing counts as feasible.
    pub feasible_box: Vec<Interval>,
    /// The discriminator's error rate.
    pub calibration: Calibration,
}

/// How often a discriminator is right, measured on held-out rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Calibration {
    /// The share of accepted points that was to be feasible.
    pub target: f64,
    /// The lower bound holds with this probability.
    pub confidence: f64,
    /// The score above which a point is accepted, before it was made zero.
    pub threshold: f32,
    /// Held-out rows, used neither for the discriminator nor for its threshold.
    pub held_out: usize,
    /// Feasible ones of them.
    pub held_out_feasible: usize,
    /// Rows of them that are accepted.
    pub accepted: usize,
    /// Feasible ones of those.
    pub accepted_feasible: usize,
    /// The Clopper-Pearson lower bound of the share of feasible ones among accepted points that come
    /// from where the rows come from.
    pub precision_lower_bound: f64,
    /// Rows that only just pass: the tenth of the accepted ones with the lowest scores. Projections
    /// end up there.
    pub edge: usize,
    /// Feasible ones of those.
    pub edge_feasible: usize,
}

impl Calibration {
    /// Share of feasible ones among the accepted held-out rows.
    pub fn precision(&self) -> f64 {
        self.accepted_feasible as f64 / self.accepted.max(1) as f64
    }

    /// Share of accepted ones among the feasible held-out rows.
    pub fn recall(&self) -> f64 {
        self.accepted_feasible as f64 / self.held_out_feasible.max(1) as f64
    }
}

/// A set that was learned from labelled points: y is in it if a discriminator accepts it and it is in the box
/// of the feasible points.
///
/// Its membership test has a [known error rate](Calibration). Made by
/// [`LabelledData::learn`](crate::set::LabelledData::learn), or from a [model](crate::Model::set) that holds the discriminator.
pub struct Learned {
    description: Description,
    names: Vec<String>,
    x_names: Vec<String>,
    record: LearnedRecord,
    discriminator: Discriminator,
    scorer: Scorer,
}

/// A network with the units of its inputs; positive inside.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Discriminator {
    pub(crate) network: Network,
    pub(crate) frame: Frame,
    pub(crate) x_frame: Frame,
}

impl Discriminator {
    /// The same function for inputs in other units: the first layer takes the change of units over.
    pub(crate) fn in_units(&self, frame: &Frame, x_frame: &Frame) -> Network {
        let own = join(&self.frame, &self.x_frame);
        let other = join(frame, x_frame);
        let mut network = self.network.clone();
        let Some(first) = network.layers.first_mut() else {
            return network;
        };
        for (row, bias) in first
            .weights
            .chunks_exact_mut(first.inputs)
            .zip(&mut first.bias)
        {
            let mut shifted = f64::from(*bias);
            for ((weight, own), other) in row.iter_mut().zip(&own).zip(&other) {
                shifted += f64::from(*weight) * (other.0 - own.0) / own.1;
                *weight = (f64::from(*weight) * other.1 / own.1) as f32;
            }
            *bias = shifted as f32;
        }
        network
    }
}

/// Centre and scale of every coordinate of `[y, x]`.
fn join(frame: &Frame, x_frame: &Frame) -> Vec<(f64, f64)> {
    let centre = frame.centre.iter().chain(&x_frame.centre);
    let scale = frame.scale.iter().chain(&x_frame.scale);
    let pairs = centre.zip(scale);
    pairs
        .map(|(centre, scale)| (f64::from(*centre), f64::from(*scale)))
        .collect()
}

/// A packed discriminator, with memory for its calls.
pub(crate) struct Scorer {
    projector: Arc<Projector>,
    workspaces: Mutex<Vec<Workspace>>,
}

impl Scorer {
    /// A projector serves as home of its discriminator; one that has no charts of its own yet gets the
    /// simplest that runs.
    pub(crate) fn new(discriminator: &Discriminator) -> std::result::Result<Self, WeightsError> {
        let (dim, x_dim) = (
            discriminator.frame.centre.len(),
            discriminator.x_frame.centre.len(),
        );
        let mut weights = Weights {
            dim,
            x_dim,
            frame: discriminator.frame.clone(),
            x_frame: discriminator.x_frame.clone(),
            gate: None,
            charts: Vec::new(),
            discriminator: Some(discriminator.network.clone()),
            anchors: Vec::new(),
            equations: None,
        };
        weights.charts.push(Chart {
            frame: Frame::unit(dim),
            encoder: Network::identity(dim + x_dim),
            latent: LatentSet::Ball {
                radius: 1.0,
                smooth: None,
            },
            decoders: vec![first_outputs(dim + 2 * x_dim, dim)],
            decoder_gate: None,
        });
        Ok(Self::of(Arc::new(Projector::new(&weights)?)))
    }

    fn of(projector: Arc<Projector>) -> Self {
        Self {
            projector,
            workspaces: Mutex::new(Vec::new()),
        }
    }

    /// The score of a point; −∞ if it is not finite.
    pub(crate) fn score(&self, y: &[f64], x: &[f64]) -> f32 {
        let mut score = [f32::NEG_INFINITY];
        self.score_rows(y, x, &mut score);
        score[0]
    }

    /// The scores of as many rows as `scores` is long.
    fn score_rows(&self, y: &[f64], x: &[f64], scores: &mut [f32]) {
        let lock = || {
            self.workspaces
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let narrow = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<_>>();
        let spare = lock().pop();
        let mut workspace = spare.unwrap_or_else(|| self.projector.workspace());
        let scored = self
            .projector
            .score_rows(&narrow(y), &narrow(x), scores, &mut workspace);
        lock().push(workspace);
        if scored.is_err() {
            scores.fill(f32::NEG_INFINITY);
        }
    }
}

/// A layer that gives back the first of its inputs.
fn first_outputs(inputs: usize, outputs: usize) -> Network {
    let mut network = Network::identity(outputs);
    let layer = &mut network.layers[0];
    layer.inputs = inputs;
    layer.weights = vec![0.0; inputs * outputs];
    for output in 0..outputs {
        layer.weights[output * inputs + output] = 1.0;
    }
    network
}

impl Learned {
    pub(crate) fn new(
        description: Description,
        names: (Vec<String>, Vec<String>),
        record: LearnedRecord,
        discriminator: Discriminator,
    ) -> std::result::Result<Self, WeightsError> {
        let scorer = Scorer::new(&discriminator)?;
        Ok(Self {
            description,
            names: names.0,
            x_names: names.1,
            record,
            discriminator,
            scorer,
        })
    }

    /// The set of a model that was trained from labelled points: nothing but its file is needed.
    pub(crate) fn of(model: &Model) -> Result<Self> {
        let (weights, record) = (model.weights(), model.record());
        let damaged = || SetError::Learned {
            name: record.set().name(),
        };
        let learned = record.learned().ok_or_else(damaged)?;
        let network = weights.discriminator.as_ref().ok_or_else(damaged)?;
        let lengths = [
            (learned.bounds.len(), weights.dim),
            (learned.feasible_box.len(), weights.dim),
            (learned.x_bounds.len(), weights.x_dim),
        ];
        if lengths.iter().any(|(found, expected)| found != expected) {
            return Err(damaged());
        }
        Ok(Self {
            description: record.set().clone(),
            names: record.names.clone(),
            x_names: record.x_names.clone(),
            record: learned.clone(),
            discriminator: Discriminator {
                network: network.clone(),
                frame: weights.frame.clone(),
                x_frame: weights.x_frame.clone(),
            },
            scorer: Scorer::of(Arc::new(model.projector().clone())),
        })
    }

    /// The discriminator in the units of a model, so that the set can be had from the model's file alone.
    pub(crate) fn discriminator(&self, weights: &Weights) -> Network {
        self.discriminator
            .in_units(&weights.frame, &weights.x_frame)
    }

    /// The discriminator's score: positive inside, −∞ outside the box of the feasible points.
    pub fn score(&self, y: &[f64], x: &[f64]) -> f32 {
        match self.in_box(y) {
            true => self.scorer.score(y, x),
            false => f32::NEG_INFINITY,
        }
    }

    fn in_box(&self, y: &[f64]) -> bool {
        let mut boxed = y.iter().zip(&self.record.feasible_box);
        boxed.all(|(y, (low, high))| y >= low && y <= high)
    }

    /// The points and the discriminator's error rate.
    pub fn record(&self) -> &LearnedRecord {
        &self.record
    }
}

impl Membership for Learned {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.score(y, x) > 0.0
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        let (dim, x_dim) = (self.dim(), self.x_dim());
        let (mut boxed, mut boxed_x) = (Vec::new(), Vec::new());
        for (row, inside) in inside.iter_mut().enumerate() {
            let y = &y[row * dim..][..dim];
            *inside = self.in_box(y);
            if *inside {
                boxed.extend_from_slice(y);
                boxed_x.extend_from_slice(&x[row * x_dim..][..x_dim]);
            }
        }
        let mut scores = vec![f32::NEG_INFINITY; boxed.len() / dim];
        self.scorer.score_rows(&boxed, &boxed_x, &mut scores);
        let boxed = inside.iter_mut().filter(|inside| **inside);
        boxed
            .zip(scores)
            .for_each(|(inside, score)| *inside = score > 0.0);
    }
}

impl Set for Learned {
    fn dim(&self) -> usize {
        self.record.bounds.len()
    }

    fn x_dim(&self) -> usize {
        self.record.x_bounds.len()
    }

    fn bounds(&self) -> Vec<Interval> {
        self.record.bounds.clone()
    }

    fn x_bounds(&self) -> Vec<Interval> {
        self.record.x_bounds.clone()
    }

    fn names(&self) -> Vec<String> {
        self.names.clone()
    }

    fn x_names(&self) -> Vec<String> {
        self.x_names.clone()
    }

    fn calibration(&self) -> Option<Calibration> {
        Some(self.record.calibration)
    }

    fn learned(&self) -> Option<&Learned> {
        Some(self)
    }

    fn description(&self) -> Description {
        self.description.clone()
    }
}
