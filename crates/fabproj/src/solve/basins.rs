//! Basins: local optima that a search from the first one does not lead to.

use rayon::prelude::*;

use super::checkpoint::Found;
use super::choose::relative_gap;
use super::label;
use super::pilot::{Pilot, Starts};
use super::reduced::Reduced;
use super::settings::SolveSettings;
use super::train::Branch;
use crate::train::{Event, Session, TrainError};

/// x at which other starts are tried, and starts at each; fewer x where a search takes long, for more than 50 free
/// coordinates. Where some lead to better optima, four times as many x are tried: a basin may be the best at one x
/// of a hundred. On two instances of the study's `nonconvex-100` the largest gap falls from 2.5 and 3.4 % to 0.35
/// and 0.07 %, for a training of two minutes instead of one and answers that take twice as long.
const PROBED: usize = 64;
const MORE: usize = 4;
const FREE: usize = 50;
const STARTS: usize = 8;
/// There are several basins if another start is better by this part of the objective at so many of the x.
const BETTER: f64 = 1e-3;
const OFTEN: usize = 2;
/// The most basins that are kept.
const MOST: usize = 8;

/// The optima of as few basins as hold the best one at every probed x: those of the first, and those found from
/// other starts.
pub(super) fn all(
    reduced: &Reduced<'_>,
    x: &[Vec<f64>],
    first: &[Found],
    settings: &SolveSettings,
    session: &Session,
) -> Result<Option<Vec<Branch>>, TrainError> {
    session.emit(&Event::Stage {
        name: "other starts",
    });
    let few = (PROBED * FREE / reduced.free().max(FREE)).max(1);
    let (many, few) = ((MORE * few).min(x.len()), few.min(x.len()));
    let mut starts = Starts::new(reduced, settings.seed ^ 0xBA51);
    let mut pilots = better(reduced, &x[..few], &first[..few], &mut starts, session)?;
    if pilots.len() < OFTEN.min(few) {
        return Ok(None);
    }
    let (more, known) = (&x[few..many], &first[few..many]);
    pilots.extend(better(reduced, more, known, &mut starts, session)?);
    let probed = &x[..many];
    let mut rows = vec![objectives(&first[..probed.len()])];
    for pilot in &pilots {
        rows.push(objectives(&pilot.follow(reduced, probed, session)?));
    }
    let kept = cover(&rows, settings.goal);
    let branches = kept.into_iter().map(|row| match row.checked_sub(1) {
        None => Ok(first.to_vec()),
        Some(pilot) => pilots[pilot].follow(reduced, x, session),
    });
    branches.collect::<Result<_, _>>().map(Some)
}

/// The best optimum from drawn starts at every x where it is better than the first.
fn better(
    reduced: &Reduced<'_>,
    x: &[Vec<f64>],
    first: &[Found],
    starts: &mut Starts,
    session: &Session,
) -> Result<Vec<Pilot>, TrainError> {
    let drawn: Vec<Vec<f64>> = (0..x.len() * STARTS).map(|_| starts.next()).collect();
    let zeros = vec![0.0; reduced.rows()];
    let search = |(index, x): (usize, &Vec<f64>)| {
        let starts = drawn[index * STARTS..][..STARTS].iter();
        let starts = starts.take_while(|_| !session.stopped());
        let found = starts.filter_map(|start| label::solve(reduced, x, start, &zeros, None).ok());
        let best = found.min_by(|a, b| a.objective.total_cmp(&b.objective))?;
        let is_better = match &first[index] {
            Err(_) => true,
            Ok(known) => best.objective < known.objective - BETTER * known.objective.abs(),
        };
        is_better.then(|| Pilot::at(reduced, best))
    };
    let found: Vec<Option<Pilot>> = x.par_iter().enumerate().map(search).collect();
    match session.stopped() {
        true => Err(TrainError::Stopped),
        false => Ok(found.into_iter().flatten().collect()),
    }
}

fn objectives(found: &[Found]) -> Vec<f64> {
    let objective = |one: &Found| one.as_ref().map_or(f64::INFINITY, |one| one.objective);
    found.iter().map(objective).collect()
}

/// Rows that together hold the least value of every column up to the goal, one after the other: that which
/// leaves the smallest sum of gaps.
fn cover(rows: &[Vec<f64>], goal: f64) -> Vec<usize> {
    let least = |best: &[f64], row: &[f64]| -> Vec<f64> {
        best.iter().zip(row).map(|(a, b)| a.min(*b)).collect()
    };
    let none = vec![f64::INFINITY; rows[0].len()];
    let best = rows
        .iter()
        .fold(none.clone(), |best, row| least(&best, row));
    let finite = || best.iter().filter(|value| value.is_finite());
    let typical = finite().map(|value| value.abs()).sum::<f64>() / finite().count() as f64;
    // What is missing altogether counts more than any gap.
    let gaps = |held: &[f64]| -> Vec<f64> {
        let pairs = held.iter().zip(&best).filter(|(_, best)| best.is_finite());
        pairs
            .map(|(held, best)| relative_gap(*held, *best, typical).min(1e3))
            .collect()
    };
    let (mut kept, mut held) = (Vec::new(), none);
    while kept.len() < MOST && gaps(&held).iter().any(|gap| *gap > goal) {
        let sum = |row: &Vec<f64>| gaps(&least(&held, row)).iter().sum::<f64>();
        let next = (0..rows.len()).min_by(|a, b| sum(&rows[*a]).total_cmp(&sum(&rows[*b])));
        let Some(next) = next.filter(|next| !kept.contains(next)) else {
            break;
        };
        held = least(&held, &rows[next]);
        kept.push(next);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_few_rows_as_hold_the_least_values() {
        let rows = [
            vec![1.0, 3.0, 2.0],
            vec![2.0, 1.0, 1.0],
            vec![1.5, 1.5, 1.5],
        ];
        assert_eq!(cover(&rows, 1e-6), [1, 0]);
        assert_eq!(cover(&rows[..1], 1e-6), [0]);
        let rows = [vec![1.0, f64::INFINITY], vec![f64::INFINITY, 1.0]];
        assert_eq!(cover(&rows, 1e-6), [0, 1]);
    }
}
