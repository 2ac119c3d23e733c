//! Optima for training: sequential quadratic programming from any start.

use fabproj_core::vector::dot;
use fabproj_core::{ActiveSet, Ending};

use super::reduced::{Metric, Point, Reduced, gram};

/// Steps before a label is given up. Searches that need more hardly ever converge: with 200 and 64 optima that are
/// followed instead of 24, the study's `nonconvex-100` trains four times as long in one instance, for no better gaps.
const STEPS: usize = 60;
/// After a step longer than this part of the one before, the Hessian is computed at hand.
const SLOW: f64 = 0.2;
/// A step this short, relative to y, ends the search.
const SHORT: f64 = 1e-10;
/// The longest step that may be left where rounding ends the search.
const LONG: f64 = 1e-6;
/// Steps before one of that length is short enough: gradients by differences never get shorter than their own error.
const ROUNDED: usize = 30;
/// Violations up to this size, relative to the largest constraint's scale, count as none.
pub(super) const FEASIBLE: f64 = 1e-8;
/// The penalty of the line search, as a multiple of the largest multiplier.
const PENALTY: f64 = 1.5;
/// How soft constraints become that no point of the linearised set can obey, relative to the Gram matrix.
const SOFT: f64 = 1e-4;
/// A y this far away, beside start and bounds, says that the objective has no lower bound.
const FAR: f64 = 1e7;

/// A local optimum at x.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    pub(super) objective: f64,
    /// One for each constraint, bounds included.
    pub(super) multipliers: Vec<f64>,
}

/// Why there is no label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoLabel {
    /// The objective falls without end.
    Unbounded,
    /// No feasible point was found.
    Infeasible,
    /// The search did not converge.
    Slow,
}

/// A Hessian along z that searches begin with.
pub(super) type Hessian = Vec<f64>;

/// A local optimum at x, searched from y. `hessian` is used until progress is slow.
pub(super) fn solve(
    reduced: &Reduced<'_>,
    x: &[f64],
    start: &[f64],
    multipliers: &[f64],
    hessian: Option<&Hessian>,
) -> Result<Label, NoLabel> {
    let free = reduced.free();
    let mut point = reduced.point(reduced.nearest(start, x), x);
    let mut multipliers = multipliers.to_vec();
    let mut program = ActiveSet::new(reduced.rows(), free);
    let mut metric = hessian.map(|hessian| Metric::of(hessian, free));
    let mut penalty = 0.0;
    let (mut renew, mut last) = (metric.is_none(), f64::INFINITY);
    let ends = reduced.bounds.iter().flat_map(|(low, high)| [*low, *high]);
    let far = FAR * (1.0 + largest_finite(&ends.collect::<Vec<_>>()).max(largest(&point.y)));
    for step in 0..STEPS {
        let at_hand = renew;
        if at_hand {
            let own = reduced.hessian(&point.y, x, &multipliers);
            metric = Some(Metric::of(&own, free));
        }
        let Some(metric) = &metric else { break };
        let Some(direction) = direction(reduced, &mut point, x, metric, &mut program) else {
            break;
        };
        multipliers.copy_from_slice(&program.multipliers);
        let size = 1.0 + largest(&point.y);
        if size > far || point.objective < -1e30 {
            return Err(NoLabel::Unbounded);
        }
        let scale = 1.0 + largest_finite(&point.constraints);
        let length = largest(&direction) / size;
        if length <= if step < ROUNDED { SHORT } else { LONG } {
            if point.violation() > FEASIBLE * scale {
                return Err(NoLabel::Infeasible);
            }
            return Ok(label(point, x, multipliers));
        }
        penalty = f64::max(penalty, PENALTY * largest(&multipliers));
        let moved = search(reduced, &point, x, &direction, penalty);
        let Some(moved) = moved else {
            if at_hand {
                // Rounding ends the search before the step is short.
                if length <= LONG && point.violation() <= FEASIBLE * scale {
                    return Ok(label(point, x, multipliers));
                }
                break;
            }
            renew = true;
            continue;
        };
        (renew, last, point) = (length > SLOW * last, length, moved);
    }
    let scale = 1.0 + largest_finite(&point.constraints);
    Err(if point.violation() > FEASIBLE * scale {
        NoLabel::Infeasible
    } else {
        NoLabel::Slow
    })
}

fn label(point: Point, x: &[f64], multipliers: Vec<f64>) -> Label {
    Label {
        x: x.to_vec(),
        y: point.y,
        objective: point.objective,
        multipliers,
    }
}

/// The direction along y of the quadratic program at a point; its multipliers stay in `program`.
fn direction(
    reduced: &Reduced<'_>,
    point: &mut Point,
    x: &[f64],
    metric: &Metric,
    program: &mut ActiveSet,
) -> Option<Vec<f64>> {
    let (rows, free) = (reduced.rows(), reduced.free());
    let mut white = metric.whiten(&reduced.jacobian(point, x), free);
    // An infinite bound: no step comes near it.
    let inactive = -1.0 - largest_finite(&point.constraints);
    for (row, value) in white.chunks_exact_mut(free).zip(&point.constraints) {
        if *value == f64::NEG_INFINITY {
            row.fill(0.0);
        }
    }
    let mut descent = reduced.along(&reduced.gradient(point, x, &vec![0.0; rows]));
    metric.factor.forward(&mut descent);
    let values = point.constraints.iter().zip(white.chunks_exact(free));
    let q = values.map(|(value, row)| value.max(inactive) - dot(row, &descent));
    let q: Vec<f64> = q.collect();
    let mut gram = gram(&white, free);
    let guess = program.active.clone();
    if program.solve(&gram, &q, &guess) != Ending::Optimal {
        let most = (0..rows).fold(0.0_f64, |most, i| most.max(gram[i * rows + i]));
        (0..rows).for_each(|i| gram[i * rows + i] += SOFT * most);
        *program = ActiveSet::new(rows, rows.max(free));
        let ending = program.solve(&gram, &q, &[]);
        let multipliers = program.multipliers.clone();
        *program = ActiveSet::new(rows, free);
        program.multipliers = multipliers;
        if ending != Ending::Optimal {
            return None;
        }
    }
    let mut z: Vec<f64> = descent.iter().map(|value| -value).collect();
    for (row, multiplier) in white.chunks_exact(free).zip(&program.multipliers) {
        if *multiplier != 0.0 {
            let pairs = z.iter_mut().zip(row);
            pairs.for_each(|(z, value)| *z -= multiplier * value);
        }
    }
    metric.factor.backward(&mut z);
    let mut direction = vec![0.0; reduced.dim];
    reduced.add(&mut direction, &z);
    Some(direction)
}

/// The first point along a direction that is better: f + penalty · Σ max(c, 0) falls.
fn search(
    reduced: &Reduced<'_>,
    from: &Point,
    x: &[f64],
    direction: &[f64],
    penalty: f64,
) -> Option<Point> {
    let merit = |point: &Point| {
        let outside = point.constraints.iter().map(|value| value.max(0.0));
        point.objective + penalty * outside.sum::<f64>()
    };
    let before = merit(from);
    let mut share = 1.0;
    // Near the optimum the merit changes by less than it is rounded.
    let rounding = 1e-13 * (1.0 + before.abs());
    for _ in 0..30 {
        let moved = from.y.iter().zip(direction).map(|(y, d)| y + share * d);
        let point = reduced.point(moved.collect(), x);
        let after = merit(&point);
        if after.is_finite() && (after < before + rounding || !before.is_finite()) {
            return Some(point);
        }
        share *= 0.5;
    }
    None
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| most.max(value.abs()))
}

fn largest_finite(values: &[f64]) -> f64 {
    let finite = values.iter().filter(|value| value.is_finite());
    finite.fold(0.0, |most, value| most.max(value.abs()))
}
