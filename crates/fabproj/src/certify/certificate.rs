//! The figures of a certificate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Inputs, lower_bound};
use crate::set::Interval;

/// How often a projector is right, measured on fresh draws.
///
/// Shares are fractions from 0 to 1. Distances are in the units of y. Whether a point is feasible was
/// decided in f64 on the exact values that the projector returned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Certificate {
    /// The fingerprint of the set that decided ([`Description::hash`](crate::set::Description::hash)).
    pub set_hash: String,
    /// The seed of all draws.
    pub seed: u64,
    /// Each lower bound holds with this probability.
    pub confidence: f64,
    /// Membership queries that it took; 0 in certificates of earlier builds.
    #[serde(default)]
    pub queries: u64,

    /// The distribution that the inputs were drawn from.
    #[serde(default = "uniform")]
    pub inputs: String,
    /// How many inputs there were.
    pub samples: usize,
    /// How many inputs have an x at which C(x) looks empty: neither the guard nor 1000 uniform draws find a
    /// feasible point. All shares, those of decodes included, leave such x out.
    #[serde(default)]
    pub empty: usize,
    /// How many of these inputs the projector, without a guard, sent to an infeasible point.
    pub raw_failures: usize,
    /// Share of the inputs that it sent to a feasible point.
    pub raw_feasible: f64,
    /// The Clopper-Pearson lower bound of that share.
    pub raw_lower_bound: f64,
    /// The same share among the inputs that were infeasible before; null when there were none.
    pub raw_feasible_of_infeasible: Option<f64>,

    /// Share of the same inputs for which the guarded projector returned a feasible point.
    pub guarded_feasible: f64,
    /// The Clopper-Pearson lower bound of that share.
    pub guarded_lower_bound: f64,
    /// What the guard did, and how often.
    pub guarded_outcomes: BTreeMap<String, usize>,
    /// Why there is no guard, when none of the model's decodes is feasible.
    #[serde(default)]
    pub guard_problem: Option<String>,

    /// Whether a learned test decided: all shares are then about what *it* accepts.
    #[serde(default)]
    pub statistical: bool,
    /// Lower bound of the share of truly feasible points among those that a learned test accepts, with the
    /// confidence of its calibration; null where the test is exact.
    #[serde(default)]
    pub precision_lower_bound: Option<f64>,

    /// Share of feasible decodes of points drawn uniformly from the charts' latent sets.
    pub inside_feasible: f64,
    /// Its lower bound.
    pub inside_lower_bound: f64,
    /// Share of feasible decodes of points drawn from the surfaces of the latent sets.
    pub surface_feasible: f64,
    /// Its lower bound.
    pub surface_lower_bound: f64,
    /// The same by chart.
    pub charts: Vec<ChartShares>,

    /// Share of the feasible cells that some feasible decode reaches; null above three dimensions.
    pub coverage: Option<f64>,
    /// How coverage was measured.
    #[serde(default)]
    pub coverage_grid: Option<CoverageGrid>,
    /// Feasible projections of inputs from bounded pieces of the complement, such as the hole of a ring: infeasible
    /// points of the cells of that grid that feasible cells enclose. Null where there are none, where the set
    /// depends on x, and for sets with equations. Pieces thinner than a cell are not seen, and gaps thinner than a
    /// cell may pass for closed.
    #[serde(default)]
    pub enclosed_feasible: Option<Share>,

    /// How many feasible inputs `mean_move` is the mean of; where too few of the inputs were feasible,
    /// more were drawn.
    pub feasible_inputs: usize,
    /// Mean distance from feasible inputs to their projections; null when no feasible input was found.
    pub mean_move: Option<f64>,
    /// Mean distance from infeasible inputs to their projections; null when there were none.
    pub mean_distance: Option<f64>,
    /// The same for the guarded projector; null without a guard too.
    pub guarded_mean_distance: Option<f64>,
    /// Mean distance from the same infeasible inputs to their true nearest feasible points; null where
    /// the set does not know them.
    pub nearest_distance: Option<f64>,
    /// `mean_distance - nearest_distance`; null where either is.
    pub mean_excess: Option<f64>,

    /// For an input-dependent set: the slice of x with the smallest share of feasible projections.
    #[serde(default)]
    pub worst_slice: Option<Slice>,
    /// For an input-dependent set of up to eight coordinates of x: the shares by slices of each coordinate of
    /// x and, with two of them, by the cells of a grid.
    #[serde(default)]
    pub slices: Vec<Slice>,
}

/// A share that was counted, with its lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Share {
    /// How many points were drawn.
    pub samples: usize,
    /// How many of them were infeasible.
    pub failures: usize,
    /// Share of feasible ones.
    pub feasible: f64,
    /// Its Clopper-Pearson lower bound.
    pub lower_bound: f64,
}

impl Share {
    /// The share of `samples` draws of which `failures` failed.
    pub(super) fn counted(samples: usize, failures: usize, confidence: f64) -> Self {
        let successes = samples.saturating_sub(failures);
        Self {
            samples,
            failures,
            feasible: successes as f64 / samples.max(1) as f64,
            lower_bound: lower_bound(successes, samples, confidence),
        }
    }
}

/// The decodes of one chart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ChartShares {
    /// Of points drawn uniformly from the latent set.
    pub inside: Share,
    /// Of points of its surface.
    pub surface: Share,
}

/// The grid on which coverage was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CoverageGrid {
    /// Sides of a cell, one per coordinate, in the units of y.
    pub sides: Vec<f64>,
    /// Values of x at which the cells were counted; 1 for a fixed set.
    #[serde(default = "one")]
    pub places: usize,
    /// Cells of the set's bounds whose middle is feasible, over all places.
    pub cells: usize,
    /// Cells of these that a feasible decode reached.
    pub reached: usize,
    /// How many latent points were decoded, at most: the search ends when every cell is reached.
    pub decodes: usize,
}

fn uniform() -> String {
    Inputs::Region.name().to_owned()
}

fn one() -> usize {
    1
}

/// The inputs whose x lies in an interval of one coordinate, or in a cell of two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Slice {
    /// Where it is, in words: `ox in [0.75, 1.13]`.
    pub name: String,
    /// The same in numbers, by the name of the coordinate: one interval, or two for a cell.
    pub intervals: BTreeMap<String, Interval>,
    /// The projections of its inputs. The bounds of all slices hold *together* with the certificate's
    /// confidence.
    #[serde(flatten)]
    pub share: Share,
    /// Inputs at x where C(x) looks empty, which the share leaves out.
    pub empty: usize,
    /// Mean distance from its infeasible inputs to their projections; null when there were none.
    pub mean_distance: Option<f64>,
}
