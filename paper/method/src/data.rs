//! The paper's training data: how its released code samples, labels, divides and thins out points.
//!
//! Distributions are those of the paper; the random numbers are our own (ChaCha8, explicit seeds),
//! except for the points of the moons, which are drawn exactly as the paper's. Known flaws are kept:
//! most sets see no exterior beyond a box or ball that touches them, and every uniform point of
//! `two-moons` is labelled infeasible wherever it lies.

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use fabproj::set::{Description, LabelledData, Set, label, moon_points};

use crate::error::PaperError;

/// Rows for a set in the plane, and for every set that the paper does not have.
const ROWS: usize = 60_000;

/// How far the box of the uniform points around the moons reaches beyond the moon points.
const MOON_PADDING: f64 = 0.5;

/// Within this distance of its cloud a point belongs to the paper's `two-moons`.
pub const MOON_RADIUS: f64 = 0.15;

/// Points of that cloud.
const MOON_POINTS: usize = 60_000;

/// The cloud of 60 000 points that defines the paper's `two-moons`.
///
/// ```
/// use fab_method::data::moon_cloud;
/// let moons = fabproj::set::built_in("two-moons")?;
/// assert!(moon_cloud().iter().step_by(1000).all(|centre| moons.contains(centre, &[])));
/// # Ok::<(), fabproj::set::SetError>(())
/// ```
pub fn moon_cloud() -> Vec<[f64; 2]> {
    moon_points(MOON_POINTS)
}

/// Labelled points.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PaperData {
    /// Dimension of y.
    pub dim: usize,
    /// Dimension of x; 0 for a fixed set.
    pub x_dim: usize,
    /// The points, one row after the other.
    pub y: Vec<f32>,
    /// The x of each row; empty for a fixed set.
    pub x: Vec<f32>,
    /// The labels that the paper trains with.
    pub labels: Vec<bool>,
    /// Membership of the same rows. It differs from the labels for `two-moons` only, where about a
    /// third of the rows labelled infeasible are in the set.
    pub oracle: Vec<bool>,
}

/// Rows to train on and rows to hold back.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Split {
    /// Four fifths, for a share of 0.2.
    pub train: Vec<usize>,
    /// The rest.
    pub validation: Vec<usize>,
}

/// Data of which only a part of the feasible points was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// The feasible rows that phase 1 trains on.
    pub kept: Vec<usize>,
    /// The labels for phase 2: feasible rows that were not kept count as infeasible.
    pub labels: Vec<bool>,
}

impl PaperData {
    /// The data for `set`, with as many rows as the paper uses.
    ///
    /// # Errors
    ///
    /// [`PaperError::OneClass`] when all points fall on one side of the set's boundary.
    ///
    /// ```
    /// use fab_method::data::PaperData;
    /// let ring = fabproj::set::built_in("concentric-circles")?;
    /// let data = PaperData::sample(&ring, 42)?;
    /// assert_eq!(data.rows(), 60_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sample(set: &dyn Set, seed: u64) -> Result<Self, PaperError> {
        Self::sample_rows(set, Source::of(set).rows(), seed)
    }

    /// The data for `set` with another number of rows.
    ///
    /// # Errors
    ///
    /// As for [`sample`](Self::sample).
    pub fn sample_rows(set: &dyn Set, rows: usize, seed: u64) -> Result<Self, PaperError> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let (y, given) = Source::of(set).draw(rows, &mut random);
        let mut x = Vec::with_capacity(rows * set.x_dim());
        fill_uniform(&set.x_bounds(), rows, &mut random, &mut x);
        // Labelled as stored, in f32, so that a later test of the same row agrees.
        let oracle = label(set, &y, &x)?;
        let labels = given.unwrap_or_else(|| oracle.clone());
        let feasible = labels.iter().filter(|label| **label).count();
        if feasible == 0 || feasible == rows {
            return Err(PaperError::OneClass { rows, feasible });
        }
        Ok(Self {
            dim: set.dim(),
            x_dim: set.x_dim(),
            y,
            x,
            labels,
            oracle,
        })
    }

    /// Labelled points as they are.
    pub(crate) fn labelled(points: &LabelledData) -> Result<Self, PaperError> {
        let rows = 0..points.rows();
        Ok(Self {
            dim: points.dim(),
            x_dim: points.x_dim(),
            y: narrowed("y", rows.clone().map(|row| points.y(row)))?,
            x: narrowed("x", rows.map(|row| points.x(row)))?,
            labels: points.labels().to_vec(),
            oracle: points.labels().to_vec(),
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// The rows labelled feasible: the data of phase 1.
    pub fn feasible(&self) -> Vec<usize> {
        (0..self.rows()).filter(|&row| self.labels[row]).collect()
    }

    /// Thins out the feasible points: a random share of them is kept (rounded up), the others are
    /// labelled infeasible.
    ///
    /// # Errors
    ///
    /// [`PaperError::Share`] unless the fraction is above 0 and at most 1.
    pub fn cover(&self, fraction: f64, seed: u64) -> Result<Coverage, PaperError> {
        let mut kept = self.feasible();
        if !(fraction > 0.0 && fraction <= 1.0) {
            return Err(PaperError::Share {
                what: "a coverage",
                share: fraction,
                rows: kept.len(),
            });
        }
        kept.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
        kept.truncate((fraction * kept.len() as f64).ceil() as usize);
        let mut labels = vec![false; self.rows()];
        for &row in &kept {
            labels[row] = true;
        }
        Ok(Coverage { kept, labels })
    }
}

/// Rows in f32.
fn narrowed<'a>(
    what: &'static str,
    rows: impl Iterator<Item = &'a [f64]>,
) -> Result<Vec<f32>, PaperError> {
    let mut narrow = Vec::new();
    for (index, row) in rows.enumerate() {
        for &value in row {
            let finite = value as f32;
            if !finite.is_finite() {
                return Err(PaperError::TooLarge {
                    what,
                    row: index + 1,
                    value,
                });
            }
            narrow.push(finite);
        }
    }
    Ok(narrow)
}

/// Divides rows at random; the share to hold back is rounded up.
///
/// # Errors
///
/// [`PaperError::Share`] when one of the parts would be empty.
///
/// ```
/// let split = fab_method::data::split((0..10).collect(), 0.2, 42)?;
/// assert_eq!((split.train.len(), split.validation.len()), (8, 2));
/// # Ok::<(), fab_method::PaperError>(())
/// ```
pub fn split(mut rows: Vec<usize>, share: f64, seed: u64) -> Result<Split, PaperError> {
    let held_back = (share * rows.len() as f64).ceil();
    // False for NaN as well.
    if !(held_back > 0.0 && held_back < rows.len() as f64) {
        return Err(PaperError::Share {
            what: "a split",
            share,
            rows: rows.len(),
        });
    }
    rows.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let train = rows.split_off(held_back as usize);
    Ok(Split {
        train,
        validation: rows,
    })
}

/// Where a set's points come from.
enum Source {
    /// Uniform in a box.
    Box(Vec<(f64, f64)>),
    /// Uniform in a ball around the origin.
    Ball { dim: usize, radius: f64 },
    /// Half moon points, half uniform in a box around them, labelled by where they come from.
    Moons,
}

impl Source {
    fn of(set: &dyn Set) -> Self {
        let bounds = set.bounds();
        let Description::BuiltIn { name } = set.description() else {
            return Self::Box(bounds);
        };
        let dim = set.dim();
        match name.as_str() {
            "concentric-circles" | "star-shaped" => Self::Box(vec![(-2.0, 2.0); 2]),
            "two-moons" => Self::Moons,
            name if name.starts_with("shell-sq-") => Self::Ball {
                dim,
                radius: 2.0_f64.sqrt(),
            },
            name if name.starts_with("shell-") => Self::Ball { dim, radius: 2.0 },
            _ => Self::Box(bounds),
        }
    }

    /// The paper has 90 000, 150 000 and 350 000 rows for the shells in 3, 5 and 10 dimensions; the
    /// shells between follow the same line.
    fn rows(&self) -> usize {
        match self {
            Self::Ball { dim, .. } if *dim < 10 => 30_000 * dim,
            Self::Ball { dim, .. } => 35_000 * dim,
            Self::Box(_) | Self::Moons => ROWS,
        }
    }

    /// Points, and labels where they do not come from the oracle.
    fn draw(&self, rows: usize, random: &mut ChaCha8Rng) -> (Vec<f32>, Option<Vec<bool>>) {
        match self {
            Self::Box(bounds) => {
                let mut points = Vec::with_capacity(rows * bounds.len());
                fill_uniform(bounds, rows, random, &mut points);
                (points, None)
            }
            Self::Ball { dim, radius } => (draw_ball(*dim, *radius, rows, random), None),
            Self::Moons => {
                let (points, labels) = draw_moons(rows, random);
                (points, Some(labels))
            }
        }
    }
}

fn fill_uniform(bounds: &[(f64, f64)], rows: usize, random: &mut ChaCha8Rng, out: &mut Vec<f32>) {
    for _ in 0..rows {
        out.extend(
            bounds
                .iter()
                .map(|&(low, high)| random.random_range(low..high) as f32),
        );
    }
}

/// A direction by normal numbers, a distance by the d-th root of a uniform one.
fn draw_ball(dim: usize, radius: f64, rows: usize, random: &mut ChaCha8Rng) -> Vec<f32> {
    let mut points = Vec::with_capacity(rows * dim);
    let mut direction = vec![0.0_f64; dim];
    for _ in 0..rows {
        for value in &mut direction {
            *value = StandardNormal.sample(random);
        }
        let length = direction
            .iter()
            .map(|value| value * value)
            .sum::<f64>()
            .sqrt();
        let distance = radius * random.random::<f64>().powf(1.0 / dim as f64);
        points.extend(
            direction
                .iter()
                .map(|value| (value / length * distance) as f32),
        );
    }
    points
}

fn draw_moons(rows: usize, random: &mut ChaCha8Rng) -> (Vec<f32>, Vec<bool>) {
    let moons = moon_points(rows / 2);
    let bounds = [0, 1].map(|axis| {
        let values = moons.iter().map(|point| point[axis]);
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        (low - MOON_PADDING, high + MOON_PADDING)
    });
    let mut all: Vec<([f32; 2], bool)> = moons
        .iter()
        .map(|point| (point.map(|value| value as f32), true))
        .collect();
    if !moons.is_empty() {
        all.extend((moons.len()..rows).map(|_| {
            let point = bounds.map(|(low, high)| random.random_range(low..high) as f32);
            (point, false)
        }));
    }
    all.shuffle(random);
    let points = all.iter().flat_map(|(point, _)| *point).collect();
    (points, all.iter().map(|(_, label)| *label).collect())
}
