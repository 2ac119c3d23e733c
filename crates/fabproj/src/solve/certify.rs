//! How far from optimal answers are, on x that training has not seen.

use std::sync::atomic::AtomicBool;

use fabproj_core::{Functions, SolveOutcome, Solver};
use serde::{Deserialize, Serialize};

use super::label;
use super::problem::Problem;
use super::reduced::Reduced;
use super::reference::Reference;
use super::settings::MOST_NUMBERS;
use crate::CertifyError;
use crate::train::Session;

/// What [`SolverModel::certify`](super::SolverModel::certify) measures on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GapPlan<'a> {
    /// Number of x. 500
    pub samples: usize,
    /// Their seed. It differs from the training's whatever both are.
    pub seed: u64,
    /// Once it is true, the work ends with [`CertifyError::Stopped`]. None
    pub stop: Option<&'a AtomicBool>,
}

impl GapPlan<'_> {
    /// Refuses more x than memory holds, before any work.
    ///
    /// # Errors
    /// [`CertifyError::NoSamples`], [`CertifyError::TooMany`].
    pub fn check(&self, problem: &Problem) -> Result<(), CertifyError> {
        let (samples, most) = (self.samples, MOST_NUMBERS / (problem.x_dim() + 4));
        match samples {
            0 => Err(CertifyError::NoSamples),
            _ if samples > most => Err(CertifyError::TooMany { samples, most }),
            _ => Ok(()),
        }
    }
}

impl Default for GapPlan<'_> {
    fn default() -> Self {
        Self {
            samples: 500,
            seed: 0,
            stop: None,
        }
    }
}

/// Feasibility and relative gap (f − f*) / |f*| of answers on fresh x.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GapCertificate {
    /// Number of x.
    pub samples: usize,
    /// Answers verified to be feasible, without tolerance.
    pub feasible: usize,
    /// Of them, answers that had to be pulled toward the anchor.
    pub pulled: usize,
    /// x at which the reference found no optimum; they are not in the gaps.
    pub without_reference: usize,
    /// Mean gap.
    pub mean: f64,
    /// Median gap.
    pub median: f64,
    /// The gap that 99 % of answers stay below.
    pub percentile_99: f64,
    /// The largest gap.
    pub worst: f64,
    /// What gave the optima f*.
    pub reference: String,
    /// Seed of the x.
    pub seed: u64,
}

impl Problem {
    /// A local optimum at x and its objective: sequential quadratic programming from `start`, to ten digits.
    /// `None` where the search finds no feasible point or does not converge.
    ///
    /// This is what training learns from. It takes thousands of times as long as a trained solver.
    ///
    /// ```
    /// use fabproj::solve::{Problem, Quadratic};
    ///
    /// // ½ y0² − y0 with y0 <= 0.25
    /// let functions = Quadratic::diagonal(vec![1.0], vec![-1.0], 0)?.with_rows(vec![1.0], vec![0.25])?;
    /// let problem = Problem::new("one", functions);
    /// let (y, objective) = problem.local_optimum(&[], &[0.0]).unwrap();
    /// assert!((y[0] - 0.25).abs() < 1e-9 && (objective + 0.21875).abs() < 1e-9);
    /// # Ok::<(), fabproj::set::SetError>(())
    /// ```
    pub fn local_optimum(&self, x: &[f64], start: &[f64]) -> Option<(Vec<f64>, f64)> {
        let reduced = Reduced::of(self).ok()?;
        if x.len() != self.x_dim() || start.len() != self.dim() {
            return None;
        }
        let zeros = vec![0.0; reduced.rows()];
        let found = label::solve(&reduced, x, start, &zeros, None).ok()?;
        Some((found.y, found.objective))
    }
}

/// Measures answers on fresh x. The reference is a search in f64 from the answer and from the start of the
/// solver, at the first x from a drawn point too; the best optimum counts, so that a gap may be small and never
/// negative beyond rounding. It is a local optimum: a better one that no start leads to is not seen.
///
/// # Errors
/// [`CertifyError::NoOptimum`] when no optimum is found at any x.
pub(super) fn certify<F: Functions + Sync>(
    problem: &Problem,
    solver: &Solver<F>,
    plan: &GapPlan,
) -> Result<GapCertificate, CertifyError> {
    plan.check(problem)?;
    // Another stream than that of training, for any two seeds.
    let seed = plan.seed ^ 0x5EED_0000_0000_0001;
    let x = problem
        .distribution()
        .draw(problem.x_dim(), plan.samples, seed);
    let reference = Reference::of(problem, solver, seed)?;
    let session = Session::new();
    let session = match plan.stop {
        Some(stop) => session.stop(stop),
        None => session,
    };
    let measured = reference.gaps(&[solver], &x, &session);
    let Ok([measured]) = measured.as_deref() else {
        return Err(CertifyError::Stopped);
    };
    let optima = measured.optima();
    if optima == 0 {
        return Err(CertifyError::NoOptimum { tried: x.len() });
    }
    let gaps = measured.sorted();
    let at = |share: f64| {
        let place = (share * gaps.len() as f64).ceil() as usize;
        gaps.get(place.clamp(1, gaps.len().max(1)) - 1)
            .copied()
            .unwrap_or(f64::NAN)
    };
    Ok(GapCertificate {
        samples: x.len(),
        feasible: measured.count(|one| one.outcome.is_verified()),
        pulled: measured.count(|one| one.outcome == SolveOutcome::Pulled),
        without_reference: x.len() - optima,
        mean: gaps.iter().sum::<f64>() / gaps.len().max(1) as f64,
        median: at(0.5),
        percentile_99: at(0.99),
        worst: at(1.0),
        reference: reference.name(x.len()),
        seed: plan.seed,
    })
}
