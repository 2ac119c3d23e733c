//! How far from optimal answers are, on x that training has not seen.

use fabproj_core::{Functions, SolveOutcome, Solver};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::label;
use super::problem::Problem;
use super::reduced::Reduced;
use super::reference::{Reference, search};
use super::settings::SolveError;

/// Membership tests of [`local_optimum`], where nothing else is known of the set.
const SEARCHED: usize = 20_000;

/// What [`certify`] measures on.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GapPlan {
    /// Number of x. 500
    pub samples: usize,
    /// Their seed. It differs from the training's whatever both are.
    pub seed: u64,
}

impl Default for GapPlan {
    fn default() -> Self {
        Self {
            samples: 500,
            seed: 0,
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

/// A local optimum at x and its objective: sequential quadratic programming from `start`, to ten digits.
/// `None` where the search finds no feasible point or does not converge.
///
/// Where the set can only be asked, it is the best of 20,000 random steps from a feasible start, which is no
/// proof of optimality.
///
/// This is what training learns from. It takes thousands of times as long as a trained solver.
///
/// ```
/// use fabproj::solve::{Problem, Quadratic, local_optimum};
///
/// // ½ y0² − y0 with y0 <= 0.25
/// let functions = Quadratic::diagonal(vec![1.0], vec![-1.0], 0)?.with_rows(vec![1.0], vec![0.25])?;
/// let (y, objective) = local_optimum(&Problem::new("one", functions), &[], &[0.0]).unwrap();
/// assert!((y[0] - 0.25).abs() < 1e-9 && (objective + 0.21875).abs() < 1e-9);
/// # Ok::<(), fabproj::solve::ProblemError>(())
/// ```
pub fn local_optimum(problem: &Problem, x: &[f64], start: &[f64]) -> Option<(Vec<f64>, f64)> {
    let reduced = Reduced::of(problem).ok()?;
    if x.len() != problem.x_dim() || start.len() != problem.dim() {
        return None;
    }
    if problem.asked().is_some() {
        let mut random = ChaCha8Rng::seed_from_u64(0);
        return search(&reduced, x, start, SEARCHED, &mut random);
    }
    let zeros = vec![0.0; reduced.rows()];
    let found = label::solve(&reduced, x, start, &zeros, None).ok()?;
    Some((found.y, found.objective))
}

/// Measures answers on fresh x. The reference is a search in f64 from the answer and from other points, named
/// in the certificate; the better optimum counts, so that a gap is never negative beyond rounding.
///
/// # Errors
/// [`SolveError`] when no optimum is found at any x.
pub fn certify<F: Functions + Sync>(
    problem: &Problem,
    solver: &Solver<F>,
    plan: &GapPlan,
) -> Result<GapCertificate, SolveError> {
    let reference = Reference::of(problem, solver)?;
    // Another stream than that of training, for any two seeds.
    let seed = plan.seed ^ 0x5EED_0000_0000_0001;
    let x = problem
        .distribution()
        .draw(problem.x_dim(), plan.samples, seed);
    let measured = reference.gaps(solver, &x, seed);
    let optima = measured.optima();
    if optima == 0 {
        let tried = x.len();
        return Err(SolveError::Infeasible {
            failed: tried,
            tried,
        });
    }
    let gaps = measured.sorted();
    let at = |share: f64| {
        let place = (share * gaps.len() as f64).ceil() as usize;
        gaps.get(place.clamp(1, gaps.len().max(1)) - 1)
            .copied()
            .unwrap_or(f64::NAN)
    };
    let verified = measured.outcomes().filter(|outcome| outcome.is_verified());
    let pulled = |outcome: &SolveOutcome| *outcome == SolveOutcome::Pulled;
    Ok(GapCertificate {
        samples: x.len(),
        feasible: verified.count(),
        pulled: measured.outcomes().filter(pulled).count(),
        without_reference: x.len() - optima,
        mean: gaps.iter().sum::<f64>() / gaps.len().max(1) as f64,
        median: at(0.5),
        percentile_99: at(0.99),
        worst: at(1.0),
        reference: reference.name(),
        seed: plan.seed,
    })
}
