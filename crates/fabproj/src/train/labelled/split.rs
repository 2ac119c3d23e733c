//! Splits labelled rows into parts for training, choosing and measuring.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::data::labelled::LabelledData;

/// Feasible rows that each held-out part should have.
const WANTED: f64 = 100.0;
/// The share of all rows that a held-out part has, at least and at most.
const SHARES: (f64, f64) = (0.1, 0.2);

/// Indices of rows: every row is in one of the three parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// Rows that the discriminator is trained on.
    pub training: Vec<usize>,
    /// Rows by which the best step and the threshold are chosen.
    pub choosing: Vec<usize>,
    /// Rows on which its precision is measured.
    pub stating: Vec<usize>,
}

impl Split {
    /// A random split in which all three parts have the same share of feasible rows: the fewer there
    /// are, the more are held out.
    pub(super) fn new(data: &LabelledData, rng: &mut ChaCha8Rng) -> Self {
        let feasible = data.feasible().min(data.rows() - data.feasible());
        let share = (WANTED / feasible as f64).clamp(SHARES.0, SHARES.1);
        let mut split = Self {
            training: Vec::new(),
            choosing: Vec::new(),
            stating: Vec::new(),
        };
        for label in [true, false] {
            let mut rows: Vec<usize> = (0..data.rows())
                .filter(|row| data.labels()[*row] == label)
                .collect();
            shuffle(&mut rows, rng);
            let held = (rows.len() as f64 * share) as usize;
            split.choosing.extend(&rows[..held]);
            split.stating.extend(&rows[held..2 * held]);
            split.training.extend(&rows[2 * held..]);
        }
        split
    }
}

fn shuffle(rows: &mut [usize], rng: &mut ChaCha8Rng) {
    for last in (1..rows.len()).rev() {
        rows.swap(last, rng.random_range(0..=last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn split(rows: usize, feasible: usize) -> (LabelledData, Split) {
        let points = (0..rows).map(|row| row as f64).collect();
        let labels = (0..rows).map(|row| row < feasible).collect();
        let data =
            LabelledData::new(vec!["y".into()], points, Vec::new(), Vec::new(), labels).unwrap();
        let split = Split::new(&data, &mut ChaCha8Rng::seed_from_u64(1));
        (data, split)
    }

    #[test]
    fn every_row_is_in_one_part_and_labels_are_shared_out() {
        let (data, split) = split(10_000, 3000);
        let parts = [&split.training, &split.choosing, &split.stating];
        let mut all: Vec<usize> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..10_000).collect::<Vec<_>>());
        let feasible = parts.map(|part| part.iter().filter(|row| data.labels()[**row]).count());
        assert_eq!(feasible, [2400, 300, 300]);
    }

    #[test]
    fn of_few_feasible_rows_more_are_held_out() {
        let (data, split) = split(10_000, 100);
        let feasible = |part: &[usize]| part.iter().filter(|row| data.labels()[**row]).count();
        assert_eq!((feasible(&split.stating), split.stating.len()), (20, 2000));
    }
}
