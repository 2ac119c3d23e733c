//! Where a set's complement is bounded: the bite, the hole of annulus and shells, the gap between the moons.
//!
//! A ball that is mapped onto a set with a hole must be torn somewhere. Projections of points of the hole tell
//! whether the tear reaches across it; the share of feasible decodes hardly does.

use fabproj::Projector;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::problem::norm;
use crate::{StudyError, StudySet};

/// The seed of the points that projectors are measured with.
const SEED: u64 = 0;

/// A box whose border is in `two-moons`: what is infeasible in it is the gap between the moons.
const BETWEEN_THE_MOONS: [(f64, f64); 2] = [(0.1, 0.9), (-0.2, 0.7)];

/// A bounded piece of a complement.
#[derive(Clone, Copy)]
enum Hole {
    /// An open ball around a point of the first axis.
    Ball { along: f64, radius: f64 },
    /// The infeasible points of a box of the plane.
    Box([(f64, f64); 2]),
}

impl Hole {
    fn of(set: &StudySet) -> Option<Self> {
        let ball = |along, radius| Some(Self::Ball { along, radius });
        match set.name() {
            "blob-with-bite" => ball(1.0, 1.0),
            "star-shaped" => None,
            "two-moons" => Some(Self::Box(BETWEEN_THE_MOONS)),
            _ => ball(0.0, 1.0),
        }
    }

    fn draw(self, y: &mut [f64], random: &mut ChaCha8Rng) {
        match self {
            Self::Ball { along, radius } => {
                y.fill_with(|| random.sample(StandardNormal));
                let share = random.random::<f64>().powf(1.0 / y.len() as f64);
                let scale = radius * share / norm(y).max(f64::MIN_POSITIVE);
                y.iter_mut().for_each(|y| *y *= scale);
                y[0] += along;
            }
            Self::Box(bounds) => {
                for (y, (low, high)) in y.iter_mut().zip(bounds) {
                    *y = low + (high - low) * random.random::<f64>();
                }
            }
        }
    }
}

/// Uniform points of the bounded pieces of the set's complement, row by row; none where there is no such piece.
///
/// ```
/// use fab_study::{StudySet, hole};
///
/// let shell = StudySet::open("shell-3d")?;
/// let inputs = hole::inputs(&shell, 10, 1);
/// assert!(inputs.chunks(3).all(|y| y.iter().map(|y| y * y).sum::<f64>() < 1.0));
/// assert!(hole::inputs(&*StudySet::open("star-shaped")?, 10, 1).is_empty());
/// # Ok::<(), fab_study::StudyError>(())
/// ```
pub fn inputs(set: &StudySet, count: usize, seed: u64) -> Vec<f64> {
    let Some(hole) = Hole::of(set) else {
        return Vec::new();
    };
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = vec![0.0; count * set.dim()];
    for y in rows.chunks_exact_mut(set.dim()) {
        hole.draw(y, &mut random);
        while set.set().contains(y, &[]) {
            hole.draw(y, &mut random);
        }
    }
    rows
}

/// The share of projections of points of the hole that are feasible; none for a set without a hole.
///
/// # Errors
/// [`StudyError::Call`] for a projector of another dimension.
pub fn feasible_share(
    set: &StudySet,
    projector: &Projector,
    samples: usize,
) -> Result<Option<f64>, StudyError> {
    let rows = inputs(set, samples, SEED);
    if rows.is_empty() {
        return Ok(None);
    }
    let (projected, _) = projector.project_rows(&rows, &[])?;
    let projected = projected.chunks_exact(set.dim());
    let feasible = projected.filter(|y| set.set().contains(y, &[])).count();
    Ok(Some(feasible as f64 / samples as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SETS;

    #[test]
    fn holes_are_infeasible_and_bounded_by_the_set() {
        for name in SETS {
            let set = StudySet::open(name).unwrap();
            let rows = inputs(&set, 500, 3);
            assert_eq!(rows.is_empty(), name == "star-shaped");
            for y in rows.chunks_exact(set.dim()) {
                assert!(!set.set().contains(y, &[]));
                // From a hole every way out crosses the set.
                for axis in 0..set.dim() {
                    for sign in [-1.0, 1.0] {
                        let mut step = y.to_vec();
                        let crosses = (1..2000).any(|k| {
                            step[axis] = y[axis] + sign * 0.002 * f64::from(k);
                            set.set().contains(&step, &[])
                        });
                        assert!(crosses || name == "blob-with-bite", "{name} {y:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_box_between_the_moons_has_a_feasible_border_and_the_measured_gap() {
        let set = StudySet::open("two-moons").unwrap();
        let [(left, right), (low, high)] = BETWEEN_THE_MOONS;
        for k in 0..=1000 {
            let share = f64::from(k) / 1000.0;
            let (x, y) = (left + (right - left) * share, low + (high - low) * share);
            for border in [[x, low], [x, high], [left, y], [right, y]] {
                assert!(set.set().contains(&border, &[]), "{border:?}");
            }
        }
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut y = [0.0; 2];
        let count = 100_000;
        let infeasible = (0..count).filter(|_| {
            Hole::Box(BETWEEN_THE_MOONS).draw(&mut y, &mut random);
            !set.set().contains(&y, &[])
        });
        let area = infeasible.count() as f64 / f64::from(count) * (right - left) * (high - low);
        // 0.14 by an independent count.
        assert!((area - 0.14).abs() < 0.02, "{area}");
    }
}
