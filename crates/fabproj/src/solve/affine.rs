//! Affine maps of x: the start of an answer, its multipliers, and a point inside the set.

use fabproj_core::vector::dot;
use fabproj_core::{ActiveSet, AffineMap, Ending, SolverWeights};
use rayon::prelude::*;

use super::label::Label;
use super::linear::fit;
use super::reduced::Reduced;

/// Depths of the anchor that are tried, as parts of the spread of the optima in the metric.
const DEPTHS: [f64; 12] = [
    4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-4, 1e-5,
];

/// The affine start: the minimiser without constraints where that is exact, else the fitted optimum.
pub(super) fn start(
    reduced: &Reduced<'_>,
    labels: &[Label],
    x: &[Vec<f64>],
    directions: &[Vec<f64>],
    linear: bool,
) -> (AffineMap, bool) {
    let rows = vec![0.0; reduced.rows()];
    if linear {
        let unconstrained = |label: &Label| {
            let mut point = reduced.point(label.y.clone(), &label.x);
            let gradient = reduced.gradient(&mut point, &label.x, &rows);
            let mut y = label.y.clone();
            for direction in directions {
                let along = dot(direction, &gradient);
                y.iter_mut()
                    .zip(direction)
                    .for_each(|(y, d)| *y -= along * d);
            }
            y
        };
        let ends: Vec<Vec<f64>> = labels.iter().map(unconstrained).collect();
        let map = affine_on_equations(reduced, labels, &ends);
        // Also at x that no label has: an affine map through few points proves nothing.
        let stationary = |x: &Vec<f64>| {
            let y = apply(&map, x);
            let size = 1.0 + y.iter().fold(0.0_f64, |most, y| most.max(y.abs()));
            let mut point = reduced.point(y, x);
            let gradient = reduced.gradient(&mut point, x, &rows);
            directions.iter().all(|direction| {
                let length = dot(direction, direction).sqrt();
                dot(direction, &gradient).abs() * length <= 1e-9 * size
            })
        };
        if x.iter().all(stationary) {
            return (map, true);
        }
    }
    let optima: Vec<Vec<f64>> = labels.iter().map(|label| label.y.clone()).collect();
    (affine_on_equations(reduced, labels, &optima), false)
}

/// An affine map fitted to points, which obeys the equations exactly.
fn affine_on_equations(reduced: &Reduced<'_>, labels: &[Label], points: &[Vec<f64>]) -> AffineMap {
    let x: Vec<Vec<f64>> = labels.iter().map(|label| label.x.clone()).collect();
    let offset = |(label, point): (&Label, &Vec<f64>)| {
        let foot = reduced.foot(&label.x);
        let offset: Vec<f64> = point.iter().zip(&foot).map(|(y, foot)| y - foot).collect();
        reduced.along(&offset)
    };
    let z: Vec<Vec<f64>> = labels.iter().zip(points).map(offset).collect();
    let (constant, by_x) = fit(&x, &z);
    let x_dim = reduced.x_dim;
    let column = |column: usize| -> Vec<f64> {
        let mut unit = vec![0.0; x_dim];
        unit[column] = 1.0;
        let (moved, zero) = (reduced.foot(&unit), reduced.foot(&vec![0.0; x_dim]));
        let mut y: Vec<f64> = moved.iter().zip(zero).map(|(a, b)| a - b).collect();
        let z: Vec<f64> = by_x.iter().skip(column).step_by(x_dim).copied().collect();
        reduced.add(&mut y, &z);
        y
    };
    let columns: Vec<Vec<f64>> = (0..x_dim).map(column).collect();
    let mut origin = reduced.foot(&vec![0.0; x_dim]);
    reduced.add(&mut origin, &constant);
    let rows = (0..reduced.dim).flat_map(|row| columns.iter().map(move |column| column[row]));
    AffineMap {
        constant: origin,
        by_x: rows.collect(),
    }
}

pub(super) fn apply(map: &AffineMap, x: &[f64]) -> Vec<f64> {
    let row = |i: usize| dot(&map.by_x[i * x.len()..][..x.len()], x);
    let constants = map.constant.iter().enumerate();
    constants.map(|(i, constant)| constant + row(i)).collect()
}

/// Multipliers of the watched constraints as an affine map of x.
pub(super) fn multipliers(labels: &[Label], watched: &[usize]) -> AffineMap {
    let x: Vec<Vec<f64>> = labels.iter().map(|label| label.x.clone()).collect();
    let of_watched =
        |label: &Label| -> Vec<f64> { watched.iter().map(|row| label.multipliers[*row]).collect() };
    let values: Vec<Vec<f64>> = labels.iter().map(of_watched).collect();
    let (constant, by_x) = fit(&x, &values);
    AffineMap { constant, by_x }
}

/// An affine map into the set, as deep as can be: optima moved inward, or the foot of the equations.
pub(super) fn anchor(
    reduced: &Reduced<'_>,
    labels: &[Label],
    x: &[Vec<f64>],
    weights: &SolverWeights,
    units: &[f64],
) -> AffineMap {
    let depth_of = |map: &AffineMap| {
        x.par_iter()
            .map(|x| {
                let point = reduced.point(apply(map, x), x);
                if point.violation() > 0.0 || !point.objective.is_finite() {
                    return -1.0;
                }
                let watched = weights.watched.iter().zip(units);
                watched.fold(f64::INFINITY, |least, (row, unit)| {
                    least.min(-point.constraints[*row] / unit.max(f64::MIN_POSITIVE))
                })
            })
            .collect::<Vec<f64>>()
    };
    // Mostly feasible first, then deep.
    let score = |map: &AffineMap| {
        let depths = depth_of(map);
        let feasible = depths.iter().filter(|depth| **depth > 0.0).count();
        let inside = depths.iter().filter(|depth| **depth > 0.0);
        (
            feasible,
            inside.fold(f64::INFINITY, |least, depth| least.min(*depth)),
        )
    };
    let feet: Vec<Vec<f64>> = labels.iter().map(|label| reduced.foot(&label.x)).collect();
    let mut best = affine_on_equations(reduced, labels, &feet);
    let mut best_score = score(&best);
    for depth in DEPTHS {
        let moved: Vec<Option<Vec<f64>>> = labels
            .par_iter()
            .map(|label| inward(reduced, label, weights, units, depth))
            .collect();
        let kept: Vec<(Label, Vec<f64>)> = labels
            .iter()
            .zip(moved)
            .filter_map(|(label, moved)| Some((label.clone(), moved?)))
            .collect();
        if 2 * kept.len() < labels.len() {
            continue;
        }
        let (labels, points): (Vec<Label>, Vec<Vec<f64>>) = kept.into_iter().unzip();
        let map = affine_on_equations(reduced, &labels, &points);
        let new = score(&map);
        if new.0 > best_score.0 || (new.0 == best_score.0 && new.1 > best_score.1) {
            (best, best_score) = (map, new);
        }
    }
    best
}

/// An optimum moved inside all watched constraints by the depth, to first order.
fn inward(
    reduced: &Reduced<'_>,
    label: &Label,
    weights: &SolverWeights,
    units: &[f64],
    depth: f64,
) -> Option<Vec<f64>> {
    let point = reduced.point(label.y.clone(), &label.x);
    let rows = weights.watched.iter().zip(units);
    let q: Vec<f64> = rows
        .map(|(row, unit)| point.constraints[*row] + depth * unit)
        .collect();
    let mut program = ActiveSet::new(q.len(), weights.dim);
    if program.solve(&weights.gram, &q, &[]) != Ending::Optimal {
        return None;
    }
    let mut y = label.y.clone();
    let pulls = weights.pulls.chunks_exact(weights.dim);
    for (pull, multiplier) in pulls.zip(&program.multipliers) {
        y.iter_mut()
            .zip(pull)
            .for_each(|(y, pull)| *y -= multiplier * pull);
    }
    Some(y)
}
