//! Settings of a training.

use serde::{Deserialize, Serialize};

use super::error::TrainError;
use super::fit::LatentKind;
use crate::certify::Plan;

/// The smallest share of `max_queries` for the certificate.
const CERTIFICATE_SHARE: f64 = 0.3;
/// Queries per point of the certificate: input, projection, guard and its repairs, the search whether C(x)
/// is empty; and per chart, decodes inside and on the surface.
const QUERIES_PER_SAMPLE: u64 = 8;
const QUERIES_PER_CHART: u64 = 2;
/// The smallest number of points of a certificate.
const LEAST_SAMPLES: usize = 100;

/// Settings of a training. Start from a preset: [`default`](Self::default), [`small`](Self::small) or
/// [`quick`](Self::quick).
///
/// Lengths are in working units: the root mean square of the feasible points' coordinates is one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// The seed of all random numbers. The same seed gives the same model, bit for bit. Default 0.
    // The seed and the preset's name stand beside the settings in every record.
    #[serde(skip)]
    pub seed: u64,
    /// The name of the preset that these settings started from, for the model's record.
    #[serde(skip)]
    pub preset: &'static str,
    /// Width of the hidden layers of encoders and decoders. Default 64.
    pub width: usize,
    /// Number of hidden layers of encoders and decoders. Default 4.
    pub depth: usize,
    /// Width of the hidden layers of the gate between charts. Default 32.
    pub gate_width: usize,
    /// Number of hidden layers of the gate between charts. Default 2.
    // Not written if it is 2: results of the study are found by a digest of all settings, and older ones
    // do not have this one.
    #[serde(skip_serializing_if = "is_two")]
    pub gate_depth: usize,
    /// The latent set's kind; left out: chosen by measurement.
    pub latent: Option<LatentKind>,
    /// Smoothness β of the map onto the latent set; left out: the hard map.
    pub smooth: Option<f32>,
    /// Number of charts; left out: chosen by measurement.
    pub charts: Option<usize>,
    /// Steps of phase 1 (reconstruction) of a chart. Default 300.
    pub phase_one: u64,
    /// Steps of phase 2 (structuring) of a chart. Default 4500.
    pub phase_two: u64,
    /// Feasible rows per step, shared among the charts; as many infeasible rows, and twice as many
    /// latent samples. Default 128.
    pub rows: usize,
    /// Steps of the gate's training. Default 1500.
    pub gate_steps: u64,
    /// Learning rate at its peak. Default 0.002.
    pub learning_rate: f32,
    /// Weight of the terms that ask for feasibility. Default 15.
    pub hinge: f32,
    /// Margin by which decodes should be inside, at the start. Default 0.008.
    pub margin: f32,
    /// The smallest margin that feedback may choose. Default 0.004.
    pub margin_low: f32,
    /// The largest margin that feedback may choose. Default 0.016.
    pub margin_high: f32,
    /// Share of failures above which the margin grows. Default 0.002.
    pub failure_goal: f32,
    /// Values of x at which an input-dependent set is sampled. Default 1500.
    pub states: usize,
    /// Feasible rows of the pool. Default 20000 (twice that for input-dependent sets).
    pub feasible: usize,
    /// Infeasible rows of the pool. Default 20000 (twice that for input-dependent sets).
    pub infeasible: usize,
    /// Boundary points; for input-dependent sets a 60th of them at each state. Default 12000.
    pub boundary: usize,
    /// Uniform draws before rejection sampling gives up. Default 4000000.
    pub draws: usize,
    /// The largest number of membership queries of training and certificate together, for expensive sets; a
    /// discriminator then answers instead of the set. Left out: no limit.
    pub max_queries: Option<u64>,
    /// Anchors stored for the guard. Default 64.
    pub anchors: usize,
    /// Fresh points of each kind on which a candidate is measured. Default 20000.
    pub samples: usize,
    /// Goal for the mean distance by which feasible points are moved, for a fixed set in two dimensions. It is
    /// doubled where the set depends on x, and larger above two dimensions. Default 0.01.
    pub moved: f64,
    /// Rounds of training, the first included: after each, charts that miss the goals are cut and trained
    /// anew. In the plane there is one more if they are far from the goals. Default 3.
    pub rounds: usize,
}

fn is_two(depth: &usize) -> bool {
    *depth == 2
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 0,
            preset: "default",
            width: 64,
            depth: 4,
            gate_width: 32,
            gate_depth: 2,
            latent: None,
            smooth: None,
            charts: None,
            phase_one: 300,
            phase_two: 4500,
            rows: 128,
            gate_steps: 1500,
            learning_rate: 2e-3,
            hinge: 15.0,
            margin: 0.008,
            margin_low: 0.004,
            margin_high: 0.016,
            failure_goal: 0.002,
            states: 1500,
            feasible: 20_000,
            infeasible: 20_000,
            boundary: 12_000,
            draws: 4_000_000,
            max_queries: None,
            anchors: 64,
            samples: 20_000,
            moved: 0.01,
            rounds: 3,
        }
    }
}

impl Settings {
    /// The version of the recipe. It is raised when the same seed and settings give another model, so that
    /// stored results of older versions can be told apart.
    pub const VERSION: u32 = 2;

    /// A usable model in about five seconds.
    pub fn quick() -> Self {
        Self {
            preset: "quick",
            width: 32,
            depth: 3,
            phase_one: 100,
            phase_two: 1_200,
            rows: 64,
            gate_steps: 500,
            margin: 0.012,
            margin_low: 0.008,
            margin_high: 0.03,
            states: 400,
            feasible: 10_000,
            infeasible: 10_000,
            boundary: 6_000,
            samples: 5_000,
            moved: 0.02,
            rounds: 2,
            ..Self::default()
        }
    }

    /// A usable model with small networks, in seconds.
    pub fn quick_small() -> Self {
        Self {
            preset: "quick-small",
            gate_depth: 1,
            ..Self::quick()
        }
    }

    /// Small networks for tight loops: a call takes well under half a microsecond.
    pub fn small() -> Self {
        Self {
            preset: "small",
            width: 32,
            depth: 3,
            gate_depth: 1,
            phase_two: 7_000,
            margin: 0.012,
            margin_high: 0.03,
            moved: 0.02,
            ..Self::default()
        }
    }

    /// Widths of the gate's hidden layers.
    pub(super) fn gate(&self) -> Vec<usize> {
        vec![self.gate_width; self.gate_depth]
    }

    /// The membership queries that the training alone may make.
    pub(super) fn training_queries(&self) -> Option<u64> {
        let share = |queries: u64| ((1.0 - CERTIFICATE_SHARE) * queries as f64) as u64;
        self.max_queries.map(share)
    }

    /// The plan of a certificate after a training with these settings: 100 000 points of each kind, or as many
    /// as `max_queries` allows after `queries`.
    pub fn plan(&self, queries: u64, charts: usize) -> Plan<'static> {
        let usual = Plan {
            seed: self.seed,
            ..Plan::default()
        };
        let Some(most) = self.max_queries else {
            return usual;
        };
        let cost = QUERIES_PER_SAMPLE + QUERIES_PER_CHART * charts as u64;
        let samples = most.saturating_sub(queries) / cost;
        Plan {
            samples: usize::try_from(samples).map_or(usual.samples, |samples| {
                samples.clamp(LEAST_SAMPLES, usual.samples)
            }),
            sparing: true,
            ..usual
        }
    }

    /// Whether training can start with these settings.
    ///
    /// # Errors
    /// [`TrainError::Setting`], which names the field, its value and what it may be.
    pub fn validate(&self) -> Result<(), TrainError> {
        let count = |field, value: usize, low: usize, high: usize| {
            check(field, value as f64, low as f64, high as f64)
        };
        count("width", self.width, 1, 4096)?;
        count("depth", self.depth, 0, 32)?;
        count("gate-width", self.gate_width, 1, 4096)?;
        count("gate-depth", self.gate_depth, 0, 32)?;
        count("charts", self.charts.unwrap_or(1), 1, 255)?;
        count("rows", self.rows, 8, 1 << 16)?;
        count("states", self.states, 1, 1 << 20)?;
        count("feasible", self.feasible, 100, 1 << 24)?;
        count("infeasible", self.infeasible, 100, 1 << 24)?;
        count("boundary", self.boundary, 100, 1 << 24)?;
        check("draws", self.draws as f64, 100.0, 1e12)?;
        if let Some(queries) = self.max_queries {
            check("max-queries", queries as f64, 1_000.0, 1e12)?;
        }
        count("anchors", self.anchors, 1, 1 << 16)?;
        count("samples", self.samples, 100, 1 << 24)?;
        count("rounds", self.rounds, 1, 64)?;
        check("moved", self.moved, 1e-6, 10.0)?;
        check("phase-two", self.phase_two as f64, 1.0, 1e9)?;
        check("phase-one", self.phase_one as f64, 0.0, 1e9)?;
        check("gate-steps", self.gate_steps as f64, 1.0, 1e9)?;
        check("learning-rate", f64::from(self.learning_rate), 1e-9, 1.0)?;
        check("hinge", f64::from(self.hinge), 0.0, 1e6)?;
        check("margin", f64::from(self.margin), 0.0, 1.0)?;
        check(
            "margin-low",
            f64::from(self.margin_low),
            0.0,
            f64::from(self.margin_high),
        )?;
        check("margin-high", f64::from(self.margin_high), 0.0, 1.0)?;
        check("failure-goal", f64::from(self.failure_goal), 0.0, 1.0)?;
        check("smooth", f64::from(self.smooth.unwrap_or(1.0)), 1e-3, 1e6)
    }
}

pub(crate) fn check(
    field: &'static str,
    value: f64,
    low: f64,
    high: f64,
) -> Result<(), TrainError> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(TrainError::Setting {
        field,
        value,
        low,
        high,
    })
}
