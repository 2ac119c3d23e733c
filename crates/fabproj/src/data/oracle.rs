//! Membership in working units, counted.

use std::sync::atomic::{AtomicU64, Ordering};

use fabproj_core::Frame;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::set::{Interval, Set};

/// How far beyond the bounds a point still counts as inside them, relative to their width: outputs
/// that sit on a bound must not fail for a rounding error.
const BOUND_TOLERANCE: f64 = 1e-9;

/// Units at least this different between coordinates are levelled before distances are taken.
const UNEVEN_UNITS: f64 = 20.0;

/// Working units: `y' = (y − centre) / scale` coordinate by coordinate.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Units {
    /// Subtracted first.
    pub centre: Vec<f64>,
    /// Divided by afterwards.
    pub scale: Vec<f64>,
}

impl Units {
    /// Units in which the given rows have mean zero and a root mean square of one, by *one* scale for
    /// all coordinates, so that nearest points stay nearest. Where the widths of the bounds differ by
    /// more than a factor of 20 the coordinates are incommensurable, and each is divided by its width.
    pub(crate) fn of_rows(rows: &[f64], bounds: &[Interval]) -> Self {
        let dim = bounds.len();
        let count = (rows.len() / dim).max(1) as f64;
        let widths: Vec<f64> = bounds.iter().map(|(low, high)| high - low).collect();
        let widest = widths.iter().copied().fold(0.0, f64::max);
        let narrowest = widths.iter().copied().fold(f64::INFINITY, f64::min);
        let level = widest > UNEVEN_UNITS * narrowest;
        let unit: Vec<f64> = widths
            .iter()
            .map(|w| if level { *w } else { 1.0 })
            .collect();
        let mut centre = vec![0.0; dim];
        for row in rows.chunks_exact(dim) {
            for (c, value) in centre.iter_mut().zip(row) {
                *c += value / count;
            }
        }
        let mut square = 0.0;
        for row in rows.chunks_exact(dim) {
            for j in 0..dim {
                square += ((row[j] - centre[j]) / unit[j]).powi(2);
            }
        }
        let rms = (square / (count * dim as f64)).sqrt();
        let rms = if rms > 0.0 { rms } else { 1.0 };
        let scale = unit.iter().map(|u| u * rms).collect();
        Self { centre, scale }
    }

    /// Units in which the bounds are [-1, 1].
    pub(crate) fn of_bounds(bounds: &[Interval]) -> Self {
        let half = |(low, high): &Interval| if high > low { (high - low) / 2.0 } else { 1.0 };
        Self {
            centre: bounds
                .iter()
                .map(|(low, high)| (low + high) / 2.0)
                .collect(),
            scale: bounds.iter().map(half).collect(),
        }
    }

    /// Appends the row in working units.
    pub(crate) fn push(&self, raw: &[f64], out: &mut Vec<f32>) {
        for ((value, centre), scale) in raw.iter().zip(&self.centre).zip(&self.scale) {
            out.push(((value - centre) / scale) as f32);
        }
    }

    /// Back to raw units.
    pub(crate) fn raw(&self, inner: &[f32], out: &mut [f64]) {
        for (j, value) in inner.iter().enumerate() {
            out[j] = f64::from(*value) * self.scale[j] + self.centre[j];
        }
    }

    /// The same as single-precision frame of a model.
    pub(crate) fn frame(&self) -> Frame {
        Frame {
            centre: self.centre.iter().map(|c| *c as f32).collect(),
            scale: self.scale.iter().map(|s| *s as f32).collect(),
        }
    }
}

/// A constraint set seen from training: the part of C(x) inside the bounds, in working units, with
/// every membership query counted.
pub(crate) struct Oracle<'a> {
    set: &'a dyn Set,
    bounds: Vec<Interval>,
    units: Units,
    queries: AtomicU64,
}

impl<'a> Oracle<'a> {
    /// An oracle in raw units (scale 1, centre 0).
    pub(crate) fn new(set: &'a dyn Set) -> Self {
        let bounds = set.bounds();
        let units = Units {
            centre: vec![0.0; bounds.len()],
            scale: vec![1.0; bounds.len()],
        };
        Self {
            set,
            bounds,
            units,
            queries: AtomicU64::new(0),
        }
    }

    /// The same oracle in other units; the count goes on.
    pub(crate) fn with_units(self, units: Units) -> Self {
        Self { units, ..self }
    }

    /// The set behind it.
    pub(crate) fn set(&self) -> &'a dyn Set {
        self.set
    }

    /// The region of interest, raw units.
    pub(crate) fn bounds(&self) -> &[Interval] {
        &self.bounds
    }

    /// The working units.
    pub(crate) fn units(&self) -> &Units {
        &self.units
    }

    /// An input of interest, raw units.
    pub(crate) fn draw_input(&self, x: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
        let mut point = vec![0.0; self.bounds.len()];
        self.set
            .draw_input(x, &mut || rng.random::<f64>(), &mut point);
        point
    }

    /// Number of membership queries so far.
    pub(crate) fn queries(&self) -> u64 {
        self.queries.load(Ordering::Relaxed)
    }

    fn in_bounds(&self, y: &[f64]) -> bool {
        y.iter().zip(&self.bounds).all(|(value, (low, high))| {
            let slack = BOUND_TOLERANCE * (high - low);
            *value >= low - slack && *value <= high + slack
        })
    }

    /// Whether the raw point is inside the bounds and in C(x).
    pub(crate) fn contains_raw(&self, y: &[f64], x: &[f64]) -> bool {
        if !self.in_bounds(y) {
            return false;
        }
        self.queries.fetch_add(1, Ordering::Relaxed);
        self.set.contains(y, x)
    }

    /// [`contains_raw`](Self::contains_raw) for rows, in one question; `x` gives the x of a row.
    pub(crate) fn contains_rows_raw<'x>(
        &self,
        y: &[f64],
        x: impl Fn(usize) -> &'x [f64],
    ) -> Vec<bool> {
        let rows = y.chunks_exact(self.bounds.len());
        self.ask(rows.map(|row| row.iter().copied()), x)
    }

    /// [`contains`](Self::contains) for rows, in one question; `x` gives the x of a row.
    pub(crate) fn contains_rows<'x>(&self, y: &[f32], x: impl Fn(usize) -> &'x [f64]) -> Vec<bool> {
        let rows = y.chunks_exact(self.bounds.len());
        let Units { centre, scale } = &self.units;
        self.ask(
            rows.map(|row| {
                let values = row.iter().zip(scale.iter().zip(centre));
                values.map(|(value, (scale, centre))| f64::from(*value) * scale + centre)
            }),
            x,
        )
    }

    fn ask<'x>(
        &self,
        rows: impl ExactSizeIterator<Item = impl Iterator<Item = f64>>,
        x: impl Fn(usize) -> &'x [f64],
    ) -> Vec<bool> {
        let mut asked = Vec::with_capacity(rows.len() * self.bounds.len());
        let mut asked_x = Vec::new();
        let mut inside = Vec::with_capacity(rows.len());
        for (row, y) in rows.enumerate() {
            let start = asked.len();
            asked.extend(y);
            let bounded = self.in_bounds(&asked[start..]);
            if bounded {
                asked_x.extend(x(row));
            } else {
                asked.truncate(start);
            }
            inside.push(bounded);
        }
        let mut answers = vec![false; asked.len() / self.bounds.len()];
        if answers.is_empty() {
            return inside;
        }
        self.queries
            .fetch_add(answers.len() as u64, Ordering::Relaxed);
        self.set.contains_rows(&asked, &asked_x, &mut answers);
        let asked = inside.iter_mut().filter(|inside| **inside);
        asked
            .zip(answers)
            .for_each(|(inside, answer)| *inside = answer);
        inside
    }

    /// How far a step down the gradient of the set's violation would have to go from the point in
    /// working units, and the unit vector away from there; `None` where the set knows no violation.
    /// Beyond the bounds, the way back to them is added.
    pub(crate) fn violation(&self, y: &[f32], x: &[f64], away: &mut [f32]) -> Option<f32> {
        let dim = y.len();
        let (mut raw, mut gradient) = (vec![0.0; dim], vec![0.0; dim]);
        self.units.raw(y, &mut raw);
        self.queries.fetch_add(1, Ordering::Relaxed);
        let mut violation = self.set.violation(&raw, x, &mut gradient)?;
        for (j, (low, high)) in self.bounds.iter().enumerate() {
            let (below, above) = (low - raw[j], raw[j] - high);
            if below > 0.0 || above > 0.0 {
                violation += below.max(above);
                gradient[j] += if below > 0.0 { -1.0 } else { 1.0 };
            }
        }
        let inner = gradient.iter().zip(&self.units.scale);
        let length = inner
            .map(|(g, scale)| (g * scale).powi(2))
            .sum::<f64>()
            .sqrt();
        let usable = violation > 0.0 && length > 0.0 && (violation / length).is_finite();
        for (j, away) in away.iter_mut().enumerate() {
            *away = if usable {
                (gradient[j] * self.units.scale[j] / length) as f32
            } else {
                0.0
            };
        }
        Some(if usable {
            (violation / length) as f32
        } else {
            0.0
        })
    }

    /// Whether the point in working units is inside; `x` is raw.
    pub(crate) fn contains(&self, y: &[f32], x: &[f64]) -> bool {
        let mut raw = [0.0; 64];
        if y.len() <= raw.len() {
            self.units.raw(y, &mut raw);
            self.contains_raw(&raw[..y.len()], x)
        } else {
            let mut raw = vec![0.0; y.len()];
            self.units.raw(y, &mut raw);
            self.contains_raw(&raw, x)
        }
    }
}
