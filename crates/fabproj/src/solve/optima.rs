//! Optima to learn from, at many x.

use rayon::prelude::*;

use super::checkpoint::{self, Found};
use super::label::{self, Label, NoLabel};
use super::reduced::Reduced;
use super::settings::SolveError;
use crate::train::{Event, Session, TrainError};

/// Optima that are searched between two checkpoints.
const BATCH: usize = 64;
/// A row is active in a label if its multiplier is more than this part of the largest.
const ACTIVE: f64 = 1e-9;

/// Optima at all x that have one.
pub(super) fn label_all(
    reduced: &Reduced<'_>,
    x: &[Vec<f64>],
    session: &Session,
) -> Result<Vec<Label>, TrainError> {
    let found = find_all(reduced, x, session)?;
    Ok(all_found(found, x)?)
}

/// Searches at all x, in batches after which the training can be stopped and resumed.
fn find_all(
    reduced: &Reduced<'_>,
    x: &[Vec<f64>],
    session: &Session,
) -> Result<Vec<Found>, TrainError> {
    session.emit(&Event::Stage {
        name: "optima to learn from",
    });
    let sizes = [reduced.x_dim, reduced.dim, reduced.rows()];
    let mut found = match session.load(checkpoint::UNIT) {
        None => Vec::new(),
        Some(bytes) => {
            checkpoint::decode(&bytes, sizes).map_err(|error| TrainError::Checkpoint {
                unit: checkpoint::UNIT.to_owned(),
                reason: error.to_string(),
            })?
        }
    };
    let (pilot, hessian) = pilot(reduced, x)?;
    while found.len() < x.len() {
        if session.stopped() {
            return Err(TrainError::Stopped);
        }
        let next = &x[found.len()..x.len().min(found.len() + BATCH)];
        let searched = next
            .par_iter()
            .map(|x| label::solve(reduced, x, &pilot.y, &pilot.multipliers, Some(&hessian)));
        found.extend(searched.collect::<Vec<_>>());
        session.save(checkpoint::UNIT, || Ok(checkpoint::encode(&found)));
        session.emit(&Event::Progress {
            unit: checkpoint::UNIT,
            step: found.len() as u64,
            steps: x.len() as u64,
            done: 0.8 * found.len() as f64 / x.len() as f64,
            losses: &[],
        });
    }
    Ok(found)
}

/// The optima, unless too few x have one.
fn all_found(found: Vec<Found>, x: &[Vec<f64>]) -> Result<Vec<Label>, SolveError> {
    let count = |kind| {
        found
            .iter()
            .filter(|one| one.as_ref().err() == Some(&kind))
            .count()
    };
    let (infeasible, slow) = (count(NoLabel::Infeasible), count(NoLabel::Slow));
    let tried = x.len();
    if let Some(at) = found
        .iter()
        .position(|one| one.as_ref().err() == Some(&NoLabel::Unbounded))
    {
        return Err(SolveError::Unbounded { x: x[at].clone() });
    }
    let labels: Vec<Label> = found.into_iter().flatten().collect();
    if 2 * labels.len() >= tried && labels.len() >= 2 {
        return Ok(labels);
    }
    Err(if infeasible >= slow {
        let failed = infeasible;
        SolveError::Infeasible { failed, tried }
    } else {
        let failed = slow;
        SolveError::NotSmooth { failed, tried }
    })
}

/// The first optimum, and the Hessian there: what all other searches start with.
fn pilot(reduced: &Reduced<'_>, x: &[Vec<f64>]) -> Result<(Label, Vec<f64>), SolveError> {
    /// x that are tried before giving up.
    const TRIED: usize = 8;
    let mean = mean(x.iter().map(Vec::as_slice), reduced.x_dim);
    let middle = |(low, high): &(f64, f64)| {
        let middle = 0.5 * low + 0.5 * high;
        if middle.is_finite() {
            middle
        } else {
            0.0_f64.clamp(*low, *high)
        }
    };
    let mut tried = 0;
    let mut last = NoLabel::Slow;
    for x in std::iter::once(&mean).chain(x).take(TRIED) {
        let start = if reduced.bounds.is_empty() {
            reduced.foot(x)
        } else {
            reduced.bounds.iter().map(middle).collect()
        };
        match label::solve(reduced, x, &start, &vec![0.0; reduced.rows()], None) {
            Ok(label) => {
                let hessian = reduced.hessian(&label.y, x, &label.multipliers);
                return Ok((label, hessian));
            }
            Err(NoLabel::Unbounded) => return Err(SolveError::Unbounded { x: x.clone() }),
            Err(reason) => last = reason,
        }
        tried += 1;
    }
    Err(match last {
        NoLabel::Infeasible => SolveError::Infeasible {
            failed: tried,
            tried,
        },
        _ => SolveError::NotSmooth {
            failed: tried,
            tried,
        },
    })
}

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
