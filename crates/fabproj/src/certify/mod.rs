//! How often is a projector right, and with which confidence?
//!
//! [`Model::certify`](crate::Model::certify) draws fresh points from declared distributions, projects them, and lets the set decide in f64.
//! No point of the training is used.

mod bound;
mod certificate;
mod coverage;
mod decodes;
mod draw;
mod empty;
mod enclosed;
mod inputs;
mod slices;
#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicBool;

use fabproj_core::{CallError, Guard, Projector, WeightsError};

pub(crate) use self::bound::lower_bound;
pub use self::certificate::{Certificate, ChartShares, CoverageGrid, Share, Slice};
use self::coverage::Coverage;
use crate::set::{Counted, Set, SetError};
use crate::train::{Session, Stoppable, stoppable};

/// Where the inputs of a certificate come from.
#[derive(Clone, Copy, Default)]
#[non_exhaustive]
pub enum Inputs<'a> {
    /// As [the set draws them](Set::draw_input), by default uniformly in its bounds; x uniformly in its bounds.
    #[default]
    Region,
    /// These rows, each once.
    Rows {
        /// What they are, for the certificate.
        name: &'a str,
        /// Rows of y.
        y: &'a [f64],
        /// Rows of x.
        x: &'a [f64],
    },
    /// Draws of a distribution, from numbers that the first argument draws uniformly between 0 and 1.
    Draw {
        /// What it is, for the certificate.
        name: &'a str,
        /// Writes y, then x.
        draw: &'a InputDraw,
    },
}

type InputDraw = dyn Fn(&mut dyn FnMut() -> f64, &mut [f64], &mut [f64]) + Sync;

impl Inputs<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Region => "the set's region",
            Self::Rows { name, .. } | Self::Draw { name, .. } => name,
        }
    }
}

/// What a certificate draws, and the confidence of its bounds.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// Inputs, and latent points inside and on the surface of each chart's latent set; default 100 000.
    pub samples: usize,
    /// Each lower bound holds with this probability; default 0.99.
    pub confidence: f64,
    /// The seed of all draws; default 0.
    pub seed: u64,
    /// Saves membership queries: no coverage, and no search for more feasible inputs where the samples hold
    /// few. Default false.
    pub sparing: bool,
    /// Where inputs come from; default [`Inputs::Region`].
    pub inputs: Inputs<'a>,
    /// The set whose membership test the guard asks; default the one that decides. It differs where a guard with
    /// a learned test is measured.
    pub guarding: Option<&'a dyn Set>,
    /// Once it is true, the work ends with [`CertifyError::Stopped`]; default none.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for Plan<'_> {
    fn default() -> Self {
        Self {
            samples: 100_000,
            confidence: 0.99,
            seed: 0,
            sparing: false,
            inputs: Inputs::Region,
            guarding: None,
            stop: None,
        }
    }
}

impl Plan<'_> {
    /// How many inputs there are.
    fn input_rows(&self, dim: usize) -> usize {
        match self.inputs {
            Inputs::Rows { y, .. } => y.len() / dim,
            _ => self.samples,
        }
    }
}

/// Why no certificate was made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CertifyError {
    /// The stop flag was set.
    #[error("stopped")]
    Stopped,
    /// The set and the projector have different dimensions.
    #[error(
        "the model projects {model} numbers {what}, the set has {set}: it is a model for another set"
    )]
    Dimension {
        /// Which of the two, `y` or `x`.
        what: &'static str,
        /// Dimension of the projector.
        model: usize,
        /// Dimension of the set.
        set: usize,
    },
    /// The plan has no samples.
    #[error("a certificate needs at least one sample")]
    NoSamples,
    /// Not a probability strictly between 0 and 1.
    #[error("the confidence is {found}; it must lie between 0 and 1, both excluded")]
    Confidence {
        /// The confidence that was asked for.
        found: f64,
    },
    /// The set's bounds are invalid.
    #[error(
        "the bounds of coordinate {index} of {what}, [{low}, {high}], are not finite or reversed"
    )]
    Bounds {
        /// Which of the two, `y` or `x`.
        what: &'static str,
        /// The coordinate.
        index: usize,
        /// Its lower bound.
        low: f64,
        /// Its upper bound.
        high: f64,
    },
    /// Rows of inputs whose lengths do not fit the set.
    #[error(
        "{y} numbers of y and {x} of x are not rows of {dim} and {x_dim}: give as many rows of both"
    )]
    Rows {
        /// Numbers of y.
        y: usize,
        /// Numbers of x.
        x: usize,
        /// Dimension of y.
        dim: usize,
        /// Dimension of x.
        x_dim: usize,
    },
    /// More samples than memory holds.
    #[error("{samples} samples are more than memory holds: choose at most {most}")]
    TooMany {
        /// Samples of the plan.
        samples: usize,
        /// How many there may be.
        most: usize,
    },
    /// There is nothing to compare a solver's answers with.
    #[error("no optimum was found at any of {tried} x: is this the problem of the solver?")]
    NoOptimum {
        /// How many x.
        tried: usize,
    },
    /// The problem has other dimensions than the solver.
    #[error(transparent)]
    Solver(#[from] WeightsError),
    /// The set or the problem is invalid: for example, its equations contradict each other.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The projector refused a call.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// Measures a projector against a set.
pub(crate) fn certify(
    set: &dyn Set,
    projector: &Projector,
    plan: &Plan,
) -> Result<Certificate, CertifyError> {
    let Some(stop) = plan.stop else {
        return measure(set, projector, plan);
    };
    let session = Session::new().stop(stop);
    let asked = Stoppable::new(set, &session);
    stoppable(CertifyError::Stopped, || measure(&asked, projector, plan))
}

fn measure(set: &dyn Set, projector: &Projector, plan: &Plan) -> Result<Certificate, CertifyError> {
    let counted = Counted::new(set);
    let set: &dyn Set = &counted;
    let guarding = plan.guarding.unwrap_or(set);
    check(set, projector, plan)?;
    check(guarding, projector, plan)?;
    let guard = Guard::new(projector.clone(), guarding);
    let (guard, guard_problem) = match guard {
        Ok(guard) => (Some(guard), None),
        Err(problem) => (None, Some(problem.to_string())),
    };
    let charts = decodes::measure(set, projector, guard.as_ref(), plan)?;
    let Coverage { grid, enclosed } = coverage::measure(set, projector, plan)?;
    let inputs = inputs::measure(set, projector, guard.as_ref(), plan)?;
    let (feasible_inputs, mean_move) = inputs::moves(set, projector, &inputs, plan)?;
    let slices = inputs.slices.shares(set, plan);
    let pooled = |part: fn(&ChartShares) -> &Share| {
        let samples = charts.iter().map(|chart| part(chart).samples).sum();
        let failures = charts.iter().map(|chart| part(chart).failures).sum();
        Share::counted(samples, failures, plan.confidence)
    };
    let (inside, surface) = (
        pooled(|chart| &chart.inside),
        pooled(|chart| &chart.surface),
    );
    let of_inputs = |failures: usize| {
        let samples = plan.input_rows(set.dim()) - inputs.empty;
        Share::counted(samples, failures, plan.confidence)
    };
    let raw = of_inputs(inputs.raw_failures);
    let guarded = of_inputs(inputs.guarded_failures);
    let infeasible = inputs.infeasible;
    let mean = |sum: f64| (infeasible > 0).then(|| sum / infeasible as f64);
    let nearest_distance = inputs.nearest.and_then(mean);
    let mean_distance = mean(inputs.distance);
    Ok(Certificate {
        set_hash: set.description().hash(),
        seed: plan.seed,
        confidence: plan.confidence,
        queries: counted.queries(),
        inputs: plan.inputs.name().to_owned(),
        samples: plan.input_rows(set.dim()),
        empty: inputs.empty,
        raw_failures: raw.failures,
        raw_feasible: raw.feasible,
        raw_lower_bound: raw.lower_bound,
        raw_feasible_of_infeasible: mean((infeasible - inputs.raw_failures_of_infeasible) as f64),
        guarded_feasible: guarded.feasible,
        guarded_lower_bound: guarded.lower_bound,
        guarded_outcomes: inputs.outcomes(),
        guard_problem,
        statistical: set.calibration().is_some(),
        precision_lower_bound: set
            .calibration()
            .map(|calibration| calibration.precision_lower_bound),
        inside_feasible: inside.feasible,
        inside_lower_bound: inside.lower_bound,
        surface_feasible: surface.feasible,
        surface_lower_bound: surface.lower_bound,
        charts,
        coverage: grid
            .as_ref()
            .map(|grid| grid.reached as f64 / grid.cells as f64),
        coverage_grid: grid,
        enclosed_feasible: enclosed,
        feasible_inputs,
        mean_move,
        mean_distance,
        guarded_mean_distance: guard.and_then(|_| mean(inputs.guarded_distance)),
        nearest_distance,
        mean_excess: mean_distance
            .zip(nearest_distance)
            .map(|(distance, nearest)| distance - nearest),
        worst_slice: slices::worst(&slices),
        slices: if set.x_dim() <= LISTED_X {
            slices
        } else {
            Vec::new()
        },
    })
}

/// With more coordinates of x than this only the worst slice is kept.
const LISTED_X: usize = 8;

fn check(set: &dyn Set, projector: &Projector, plan: &Plan) -> Result<(), CertifyError> {
    let dimensions = [
        ("y", projector.dim(), set.dim()),
        ("x", projector.x_dim(), set.x_dim()),
    ];
    for (what, model, set) in dimensions {
        if model != set {
            return Err(CertifyError::Dimension { what, model, set });
        }
    }
    if plan.samples == 0 {
        return Err(CertifyError::NoSamples);
    }
    if !(plan.confidence > 0.0 && plan.confidence < 1.0) {
        return Err(CertifyError::Confidence {
            found: plan.confidence,
        });
    }
    if let Inputs::Rows { y, x, .. } = plan.inputs {
        let (dim, x_dim) = (set.dim(), set.x_dim());
        let rows = y.len() / dim;
        if rows == 0 || y.len() != rows * dim || x.len() != rows * x_dim {
            let (y, x) = (y.len(), x.len());
            return Err(CertifyError::Rows { y, x, dim, x_dim });
        }
    }
    for (what, bounds) in [("y", set.bounds()), ("x", set.x_bounds())] {
        for (index, (low, high)) in bounds.into_iter().enumerate() {
            if !(low <= high && low.is_finite() && high.is_finite()) {
                return Err(CertifyError::Bounds {
                    what,
                    index,
                    low,
                    high,
                });
            }
        }
    }
    Ok(())
}
