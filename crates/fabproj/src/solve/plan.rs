//! What is known around the optima of a basin: start, metric, multipliers, anchor, and the rows to watch.

use std::collections::BTreeSet;

use fabproj_core::vector::dot;
use fabproj_core::{AffineMap, SolverWeights};
use rayon::prelude::*;

use super::affine::{anchor, multipliers, start};
use super::label::Label;
use super::problem::Problem;
use super::reduced::{Metric, Point, Reduced, gram};

/// Labels that the metric is averaged over: more change it little.
const CURVED: usize = 48;
/// With more constraints than this, those that never come near are left out of the steps.
const WATCH_ALL: usize = 128;
/// A row is active in a label if its multiplier is more than this part of the largest.
const ACTIVE: f64 = 1e-9;
/// The Jacobian is constant if it differs by no more than this part of its largest entry.
const CONSTANT: f64 = 1e-9;
/// Margins against rounding, as a part of the numbers that are rounded.
const ROUNDING: f64 = 4e-13;

/// Rows with a multiplier.
pub(super) fn active(label: &Label) -> Vec<usize> {
    let most = label
        .multipliers
        .iter()
        .fold(0.0_f64, |most, l| most.max(*l));
    let rows = label.multipliers.iter().enumerate();
    rows.filter(|(_, l)| **l > ACTIVE * most)
        .map(|(row, _)| row)
        .collect()
}

pub(super) fn mean<'a>(rows: impl ExactSizeIterator<Item = &'a [f64]>, width: usize) -> Vec<f64> {
    let count = rows.len() as f64;
    let mut sums = vec![0.0; width];
    for row in rows {
        sums.iter_mut()
            .zip(row)
            .for_each(|(sum, value)| *sum += value / count);
    }
    sums
}

/// What is known around the optima of one basin.
struct Around<'a> {
    labels: &'a [Label],
    metric: Metric,
    y_mean: Vec<f64>,
    centre: Point,
    jacobian: Vec<f64>,
    /// The Jacobian in the metric.
    white: Vec<f64>,
    linear: bool,
}

impl<'a> Around<'a> {
    fn of(reduced: &Reduced<'_>, labels: &'a [Label]) -> Self {
        let metric = Metric::of(&mean_hessian(reduced, labels), reduced.free());
        let y_mean = mean(labels.iter().map(|one| one.y.as_slice()), reduced.dim);
        let x_mean = mean(labels.iter().map(|one| one.x.as_slice()), reduced.x_dim);
        let mut centre = reduced.point(reduced.nearest(&y_mean, &x_mean), &x_mean);
        let jacobian = reduced.jacobian(&mut centre, &x_mean);
        Self {
            linear: is_constant(reduced, &jacobian, labels),
            white: metric.whiten(&jacobian, reduced.free()),
            labels,
            metric,
            y_mean,
            centre,
            jacobian,
        }
    }
}

/// Weights but for the number of steps and their margins.
pub(super) struct Plan {
    pub(super) weights: SolverWeights,
    /// √ of the Gram matrix's diagonal times the spread of the optima: what margins are measured in.
    units: Vec<f64>,
    rounding: Vec<f64>,
}

impl Plan {
    /// Plans for basins, all with the same watched constraints.
    pub(super) fn all(
        problem: &Problem,
        reduced: &Reduced<'_>,
        basins: &[Vec<Label>],
        x: &[Vec<f64>],
    ) -> Vec<Self> {
        let around = basins.iter().map(|labels| Around::of(reduced, labels));
        let around: Vec<Around<'_>> = around.collect();
        let seen = around.iter().flat_map(|basin| watched(reduced, basin));
        let seen: BTreeSet<usize> = seen.collect();
        let seen: Vec<usize> = seen.into_iter().collect();
        let plans = around.iter();
        plans
            .map(|basin| Self::of(problem, reduced, basin, &seen, x))
            .collect()
    }

    fn of(
        problem: &Problem,
        reduced: &Reduced<'_>,
        basin: &Around<'_>,
        watched: &[usize],
        x: &[Vec<f64>],
    ) -> Self {
        let (dim, free, rows) = (reduced.dim, reduced.free(), reduced.rows());
        let Around {
            labels,
            metric,
            y_mean,
            centre,
            jacobian,
            ..
        } = basin;
        let directions = metric.directions(reduced);
        let white: Vec<f64> = watched
            .iter()
            .flat_map(|row| basin.white[row * free..][..free].to_vec())
            .collect();
        let gram = gram(&white, free);
        let spread = spread(reduced, labels, metric, y_mean);
        let units = (0..watched.len()).map(|i| gram[i * watched.len() + i].sqrt() * spread);
        let units: Vec<f64> = units.collect();
        let size = y_mean.iter().fold(1.0_f64, |most, y| most.max(y.abs()));
        let rounding = watched.iter().map(|row| {
            let steep = dot(
                &jacobian[row * free..][..free],
                &jacobian[row * free..][..free],
            );
            ROUNDING * (size * steep.sqrt() + centre.constraints[*row].abs())
        });
        let rounding: Vec<f64> = rounding.collect();
        let (start, exact) = start(reduced, labels, x, &directions, basin.linear);
        let frequency = |row: &usize| {
            let held = labels
                .iter()
                .filter(|one| active(one).binary_search(row).is_ok());
            2 * held.count() > labels.len()
        };
        let often = (0..watched.len()).filter(|place| frequency(&watched[*place]));
        let mut weights = SolverWeights {
            dim,
            x_dim: reduced.x_dim,
            rows: rows - 2 * reduced.bounds.len(),
            bounds: reduced.bounds.to_vec(),
            start,
            multipliers: AffineMap::default(),
            anchor: AffineMap::default(),
            metric: square(&directions, dim),
            pulls: combine(&white, &directions, dim),
            gram,
            margins: rounding.clone(),
            active: often.collect(),
            steps: 1,
            linear: basin.linear,
            exact,
            near: None,
            x_range: problem.distribution().range(reduced.x_dim),
            proposer: None,
            others: Vec::new(),
            watched: watched.to_vec(),
        };
        if !basin.linear {
            weights.multipliers = multipliers(labels, &weights.watched);
        }
        weights.anchor = anchor(reduced, labels, x, &weights, &units);
        Self {
            weights,
            units,
            rounding,
        }
    }

    /// The weights with so many steps, a margin, and a length beyond which a search follows.
    pub(super) fn with(&self, (steps, margin, near): (usize, f64, Option<f64>)) -> SolverWeights {
        let units = self.rounding.iter().zip(&self.units);
        SolverWeights {
            steps,
            near,
            margins: units.map(|(least, unit)| margin * unit + least).collect(),
            ..self.weights.clone()
        }
    }
}

fn mean_hessian(reduced: &Reduced<'_>, labels: &[Label]) -> Vec<f64> {
    let few = labels.len().min(CURVED);
    let every = labels.iter().step_by(labels.len() / few).take(few);
    let hessians: Vec<Vec<f64>> = every
        .collect::<Vec<_>>()
        .par_iter()
        .map(|label| reduced.hessian(&label.y, &label.x, &label.multipliers))
        .collect();
    mean(
        hessians.iter().map(Vec::as_slice),
        reduced.free() * reduced.free(),
    )
}

/// Whether the Jacobian of the functions is the same at other points.
fn is_constant(reduced: &Reduced<'_>, jacobian: &[f64], labels: &[Label]) -> bool {
    let most = jacobian
        .iter()
        .fold(0.0_f64, |most, value| most.max(value.abs()));
    labels
        .iter()
        .step_by(labels.len().div_ceil(5))
        .all(|label| {
            let mut point = reduced.point(label.y.clone(), &label.x);
            let other = reduced.jacobian(&mut point, &label.x);
            let pairs = jacobian.iter().zip(&other);
            let mut differences = pairs.map(|(a, b)| (a - b).abs());
            differences.all(|difference| difference <= CONSTANT * most)
        })
}

/// Constraints that are active in a label, or that a step without constraints would come near to.
fn watched(reduced: &Reduced<'_>, basin: &Around<'_>) -> Vec<usize> {
    /// How near, as a part of the way that the step goes in the metric.
    const NEAR: f64 = 0.5;
    let (rows, free) = (reduced.rows(), reduced.free());
    if rows <= WATCH_ALL {
        return (0..rows).filter(|row| is_bounded(reduced, *row)).collect();
    }
    let mut seen = vec![false; rows];
    for label in basin.labels {
        let mut point = reduced.point(label.y.clone(), &label.x);
        let gradient = reduced.gradient(&mut point, &label.x, &vec![0.0; rows]);
        let mut descent = reduced.along(&gradient);
        basin.metric.factor.forward(&mut descent);
        let way = NEAR * dot(&descent, &descent).sqrt();
        let values = point.constraints.iter().zip(basin.white.chunks_exact(free));
        for (seen, (value, row)) in seen.iter_mut().zip(values) {
            let after = value - dot(row, &descent);
            let length = dot(row, row).sqrt();
            *seen |= value.max(after) > -way * length * NEAR;
        }
    }
    (0..rows)
        .filter(|row| seen[*row] && is_bounded(reduced, *row))
        .collect()
}

/// Whether a row is anything but an infinite bound.
fn is_bounded(reduced: &Reduced<'_>, row: usize) -> bool {
    let own = reduced.rows() - 2 * reduced.bounds.len();
    row < own || {
        let (low, high) = reduced.bounds[(row - own) / 2];
        if (row - own).is_multiple_of(2) {
            high.is_finite()
        } else {
            low.is_finite()
        }
    }
}

/// How far the optima are from their mean, in the metric: the root mean square.
fn spread(reduced: &Reduced<'_>, labels: &[Label], metric: &Metric, mean: &[f64]) -> f64 {
    let squares = labels.iter().map(|label| {
        let offset: Vec<f64> = label.y.iter().zip(mean).map(|(y, mean)| y - mean).collect();
        metric.factor.square(&reduced.along(&offset))
    });
    (squares.sum::<f64>() / labels.len() as f64)
        .sqrt()
        .max(1e-9)
}

/// Σ dᵀ d over directions: the metric's inverse along y.
pub(super) fn square(directions: &[Vec<f64>], dim: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; dim * dim];
    for direction in directions {
        for (row, a) in matrix.chunks_exact_mut(dim).zip(direction) {
            row.iter_mut()
                .zip(direction)
                .for_each(|(value, b)| *value += a * b);
        }
    }
    matrix
}

/// Whitened rows as rows over y.
fn combine(white: &[f64], directions: &[Vec<f64>], dim: usize) -> Vec<f64> {
    let rows = white.chunks_exact(directions.len());
    rows.flat_map(|row| {
        let mut sum = vec![0.0; dim];
        for (weight, direction) in row.iter().zip(directions) {
            sum.iter_mut()
                .zip(direction)
                .for_each(|(sum, d)| *sum += weight * d);
        }
        sum
    })
    .collect()
}
