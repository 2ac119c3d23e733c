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

/// x at which other starts are tried; fewer where a search takes long, for more than 50 free coordinates. A basin
/// may be the best at one x of a hundred: many x with few starts each show more basins than the reverse. With 64 x and
/// eight starts training saw one basin in an instance of the study's `nonsmooth-100` and in one of `nonconvex-100`,
/// whose largest gaps were 2.97 and 2.52 %; now 0.02 and 0.00 %. In a third one it saw more: 0.53 %, now 2.92 %.
const PROBED: usize = 256;
const FREE: usize = 50;
/// Starts at each of them, and how many more where some lead to better optima.
const STARTS: usize = 2;
const MORE_STARTS: usize = 6;
/// There are several basins if another start is better by this part of the objective at so many of the x.
const BETTER: f64 = 1e-3;
const OFTEN: usize = 2;
/// The most optima that are followed over all probed x, which takes most of the time of a training.
const FOLLOWED: usize = 24;
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
    let probed = (PROBED * FREE / reduced.free().max(FREE)).clamp(1, x.len());
    let probed = &x[..probed];
    let mut known = objectives(&first[..probed.len()]);
    let mut rows = vec![known.clone()];
    let mut starts = Starts::new(reduced, settings.seed ^ 0xBA51);
    let mut better = |count| better(reduced, probed, &mut known, &mut starts, count, session);
    let mut pilots = better(STARTS)?;
    if pilots.len() < OFTEN.min(probed.len()) {
        return Ok(None);
    }
    pilots.extend(better(MORE_STARTS)?);
    pilots.truncate(FOLLOWED);
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

/// The best optimum of drawn starts at every x where it is better than the known one, which it becomes.
fn better(
    reduced: &Reduced<'_>,
    x: &[Vec<f64>],
    known: &mut [f64],
    starts: &mut Starts,
    count: usize,
    session: &Session,
) -> Result<Vec<Pilot>, TrainError> {
    let drawn: Vec<Vec<f64>> = (0..x.len() * count).map(|_| starts.next()).collect();
    let zeros = vec![0.0; reduced.rows()];
    let search = |((x, starts), known): ((&Vec<f64>, &[Vec<f64>]), &mut f64)| {
        let starts = starts.iter().take_while(|_| !session.stopped());
        let found = starts.filter_map(|start| label::solve(reduced, x, start, &zeros, None).ok());
        let best = found.min_by(|a, b| a.objective.total_cmp(&b.objective))?;
        let is_better = known.is_infinite() || best.objective < *known - BETTER * known.abs();
        *known = known.min(best.objective);
        is_better.then(|| Pilot::at(reduced, best))
    };
    let pairs = x.par_iter().zip(drawn.par_chunks(count)).zip(known);
    let found: Vec<Option<Pilot>> = pairs.map(search).collect();
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
