//! The threshold above which a discriminator is believed, and how far.

use crate::certify::lower_bound;
use crate::set::Calibration;

/// A row that the discriminator was not trained on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Held {
    /// The discriminator's score.
    pub score: f32,
    /// The row's label.
    pub feasible: bool,
}

/// The share of accepted rows that only just pass, and how many there are at least.
const EDGE: f64 = 0.1;
const LEAST_EDGE: usize = 30;

/// The smallest threshold at which accepted rows are feasible often enough, in two ways: the lower
/// bound of the share of all of them reaches the target, and so does the share of those that only just
/// pass, where projections end up. If none reaches the target, the threshold with the best bound.
pub(crate) fn choose_threshold(rows: &[Held], target: f64, confidence: f64) -> f32 {
    let sorted = sorted(rows);
    let mut best = (f64::NEG_INFINITY, f32::INFINITY);
    let mut enough = None;
    let feasible = running(&sorted);
    for accepted in 1..=sorted.len() {
        let lowest = sorted[accepted - 1].score;
        let next = sorted
            .get(accepted)
            .map_or(f32::NEG_INFINITY, |row| row.score);
        // Rows with the same score are accepted together; what lies outside the box never is.
        if next == lowest || lowest == f32::NEG_INFINITY {
            continue;
        }
        let threshold = between(lowest, next);
        let bound = lower_bound(feasible[accepted], accepted, confidence);
        let edge = edge_of(accepted);
        let just = (feasible[accepted] - feasible[accepted - edge]) as f64 / edge as f64;
        if bound >= target && just >= target {
            enough = Some(threshold);
        }
        let worth = bound.min(just);
        if worth > best.0 {
            best = (worth, threshold);
        }
    }
    enough.unwrap_or(best.1)
}

/// How often rows that are accepted above the threshold are feasible. The rows must not be those that
/// the threshold was chosen by.
pub(crate) fn calibrate(
    rows: &[Held],
    threshold: f32,
    target: f64,
    confidence: f64,
) -> Calibration {
    let sorted = sorted(rows);
    let feasible = running(&sorted);
    let accepted = sorted.partition_point(|row| row.score > threshold);
    let edge = edge_of(accepted);
    Calibration {
        target,
        confidence,
        threshold,
        held_out: rows.len(),
        held_out_feasible: feasible[rows.len()],
        accepted,
        accepted_feasible: feasible[accepted],
        precision_lower_bound: lower_bound(feasible[accepted], accepted, confidence),
        edge,
        edge_feasible: feasible[accepted] - feasible[accepted - edge],
    }
}

fn edge_of(accepted: usize) -> usize {
    ((EDGE * accepted as f64) as usize)
        .max(LEAST_EDGE)
        .min(accepted)
}

/// A threshold between two scores, at which the higher one is accepted.
fn between(lowest: f32, next: f32) -> f32 {
    if next == f32::NEG_INFINITY {
        return lowest - 1e-3 * lowest.abs().max(1e-3);
    }
    let middle = 0.5 * (lowest + next);
    if middle < lowest { middle } else { next }
}

/// The highest scores first.
fn sorted(rows: &[Held]) -> Vec<Held> {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| b.score.total_cmp(&a.score));
    sorted
}

/// How many of the first rows are feasible, for each number of them.
fn running(sorted: &[Held]) -> Vec<usize> {
    let mut feasible = vec![0];
    let mut count = 0;
    for row in sorted {
        count += usize::from(row.feasible);
        feasible.push(count);
    }
    feasible
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows whose score tells the label but for some near zero.
    fn rows(count: usize, wrong: &[usize]) -> Vec<Held> {
        let held = (0..count).map(|index| Held {
            score: (index as f32 + 0.5) / count as f32 - 0.5,
            feasible: (2 * index >= count) != wrong.contains(&index),
        });
        held.collect()
    }

    #[test]
    fn a_clean_split_is_taken_whole() {
        let rows = rows(4000, &[]);
        let threshold = choose_threshold(&rows, 0.99, 0.99);
        let found = calibrate(&rows, threshold, 0.99, 0.99);
        // A few infeasible rows fit under the target.
        assert!((2000..2025).contains(&found.accepted), "{found:?}");
        assert_eq!(
            (found.accepted_feasible, found.held_out_feasible),
            (2000, 2000)
        );
        assert!(
            found.precision_lower_bound >= 0.98 && found.recall() == 1.0,
            "{found:?}"
        );
        assert_eq!(found.edge, found.accepted / 10);
    }

    #[test]
    fn errors_near_the_threshold_push_it_up() {
        let wrong: Vec<usize> = (2000..2200).step_by(4).collect();
        let rows = rows(4000, &wrong);
        let threshold = choose_threshold(&rows, 0.99, 0.99);
        let found = calibrate(&rows, threshold, 0.99, 0.99);
        assert!((1750..=1815).contains(&found.accepted), "{found:?}");
        let just = found.edge_feasible as f64 / found.edge as f64;
        assert!(
            just >= 0.99 && found.precision_lower_bound >= 0.99,
            "{found:?}"
        );
    }

    #[test]
    fn the_choice_is_the_smallest_that_is_good_enough() {
        let wrong: Vec<usize> = (1000..1300).step_by(7).collect();
        let rows = rows(2000, &wrong);
        let threshold = choose_threshold(&rows, 0.98, 0.95);
        let accepted = calibrate(&rows, threshold, 0.98, 0.95).accepted;
        let good = |count: usize| {
            let best: Vec<bool> = rows
                .iter()
                .rev()
                .take(count)
                .map(|row| row.feasible)
                .collect();
            let feasible = |rows: &[bool]| rows.iter().filter(|feasible| **feasible).count();
            let edge = (count / 10).max(30).min(count);
            lower_bound(feasible(&best), count, 0.95) >= 0.98
                && feasible(&best[count - edge..]) as f64 >= 0.98 * edge as f64
        };
        assert_eq!((1..=2000).rev().find(|count| good(*count)), Some(accepted));
    }

    #[test]
    fn too_few_rows_give_the_best_that_is_there() {
        let rows = rows(20, &[]);
        let threshold = choose_threshold(&rows, 0.99, 0.99);
        let found = calibrate(&rows, threshold, 0.99, 0.99);
        assert_eq!((found.accepted, found.accepted_feasible), (10, 10));
        assert!((found.precision_lower_bound - 0.01_f64.powf(0.1)).abs() < 1e-9);
    }

    #[test]
    fn what_lies_outside_the_box_is_never_accepted() {
        let mut rows = rows(4000, &[]);
        let outside = Held {
            score: f32::NEG_INFINITY,
            feasible: true,
        };
        rows.extend([outside; 50]);
        let threshold = choose_threshold(&rows, 0.5, 0.9);
        assert!(threshold.is_finite());
        assert!(calibrate(&rows, threshold, 0.5, 0.9).accepted <= 4000);
        let none = calibrate(
            &[outside; 3],
            choose_threshold(&[outside; 3], 0.9, 0.9),
            0.9,
            0.9,
        );
        assert_eq!((none.accepted, none.precision_lower_bound), (0, 0.0));
    }
}
