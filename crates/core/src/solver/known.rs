//! Answers that training found at other x, to start from.

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::weights::finite;
use crate::real::Real;
use crate::validate::{WeightsError, limit};

/// The most known answers, and the most that an answer starts from.
pub(crate) const MAX_KNOWN: usize = 1 << 16;
const MAX_NEAREST: usize = 1 << 10;

/// Good answers that training found. An answer at an x near to theirs starts from them as well.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownAnswers {
    /// `[entry][x]`
    pub x: Vec<f64>,
    /// `[entry][y]`
    pub y: Vec<f64>,
    /// How many of them an answer starts from: those nearest in x.
    pub nearest: usize,
}

impl KnownAnswers {
    /// Number of entries.
    pub(crate) fn entries(&self, dim: usize) -> usize {
        self.y.len() / dim.max(1)
    }

    pub(super) fn validate(&self, dim: usize, x_dim: usize) -> Result<(), WeightsError> {
        let entries = self.entries(dim);
        limit(|| "solver.known".into(), entries, MAX_KNOWN)?;
        limit(
            || "solver.known.nearest".into(),
            self.nearest,
            entries.min(MAX_NEAREST),
        )?;
        let parts = [
            ("known.x", &self.x, entries * x_dim),
            ("known.y", &self.y, entries * dim),
        ];
        parts
            .into_iter()
            .try_for_each(|(part, values, expected)| finite(part, values, expected))
    }

    /// Writes the numbers of the entries into `order`, which has room for all: the nearest ones first, in no order
    /// among themselves.
    pub(super) fn rank(
        &self,
        dim: usize,
        x: &[f64],
        range: &[(f64, f64)],
        order: &mut Vec<(f64, usize)>,
    ) {
        order.clear();
        let entries = self.entries(dim);
        for index in 0..entries {
            let entry = &self.x[index * x.len()..][..x.len()];
            order.push((away(entry, x, range), index));
        }
        if self.nearest < entries {
            order.select_nth_unstable_by(self.nearest, nearer);
        }
    }
}

/// The squared distance of two x in units of their range.
pub(super) fn away<T: Real>(a: &[T], b: &[f64], range: &[(f64, f64)]) -> f64 {
    let pairs = a.iter().zip(b).zip(range);
    let squares = pairs.map(|((a, b), (low, high))| {
        let away = (a.to_f64() - b) / (high - low).max(f64::MIN_POSITIVE);
        away * away
    });
    squares.sum()
}

/// The order by a number, the first of equal ones before the others.
pub(super) fn nearer(a: &(f64, usize), b: &(f64, usize)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}
