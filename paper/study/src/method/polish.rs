//! What a feasible answer can still gain from the objective's slope and a few membership tests.
//!
//! A network that answers through a learned map keeps a little away from a boundary that it does not know
//! exactly. The set's own test does: from the answer downhill, bisection finds a point of the boundary. Along
//! the boundary it cannot go that way; a step downhill that is corrected like the network's own points can.
//! Whatever is kept has passed the test.

use serde::Serialize;

use crate::StudySet;
use crate::problem::{MOST, Problem, norm, widen};

/// How far an answer is improved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Polish {
    /// Membership tests on a walk downhill. Default 9.
    pub tests: u32,
    /// The longest walk. Default 0.1.
    pub reach: f64,
    /// Corrected steps, each with a walk of its own. Default 1.
    pub steps: u32,
    /// The longest step, about as long as the sets are wide. Default 2.
    pub stride: f64,
}

impl Default for Polish {
    fn default() -> Self {
        Self {
            tests: 9,
            reach: 0.1,
            steps: 1,
            stride: 2.0,
        }
    }
}

impl Polish {
    /// Improves a feasible answer. `correct` is what brings the network's own points to the set; if it does
    /// not, there is only the walk.
    pub fn apply(
        &self,
        problem: &Problem,
        set: &StudySet,
        y: &mut [f32],
        mut correct: impl FnMut(&mut [f32]),
    ) {
        self.walk(problem, set, y);
        let (mut trial, mut wide) = ([0.0_f32; MOST], [0.0; MOST]);
        let (trial, wide) = (&mut trial[..y.len()], &mut wide[..y.len()]);
        for _ in 0..self.steps {
            let Some(way) = Way::downhill(problem, y, self.stride) else {
                return;
            };
            way.write(way.length, trial);
            correct(trial);
            if !set.contains(trial) {
                return;
            }
            self.walk(problem, set, trial);
            widen(trial, wide);
            let value = problem.value(wide);
            widen(y, wide);
            if value >= problem.value(wide) {
                return;
            }
            y.copy_from_slice(trial);
        }
    }

    /// Goes downhill as far as the set lets it.
    fn walk(&self, problem: &Problem, set: &StudySet, y: &mut [f32]) {
        let Some(way) = Way::downhill(problem, y, self.reach) else {
            return;
        };
        let mut trial = [0.0; MOST];
        let trial = &mut trial[..y.len()];
        let (mut low, mut high, mut middle) = (0.0, way.length, way.length);
        for _ in 0..self.tests {
            way.write(middle, trial);
            if set.contains(trial) {
                low = middle;
                y.copy_from_slice(trial);
            } else {
                high = middle;
            }
            if low == high {
                break;
            }
            middle = 0.5 * (low + high);
        }
    }
}

/// The steepest way down from a point.
struct Way {
    from: [f64; MOST],
    direction: [f64; MOST],
    /// How far it is worth going.
    length: f64,
}

impl Way {
    /// To the lowest point of the line, at most `limit` away; nothing where there is no slope.
    fn downhill(problem: &Problem, y: &[f32], limit: f64) -> Option<Self> {
        let (mut from, mut direction) = ([0.0; MOST], [0.0; MOST]);
        let (place, slope) = (&mut from[..y.len()], &mut direction[..y.len()]);
        widen(y, place);
        problem.gradient(place, slope);
        let steepness = norm(slope);
        if steepness < 1e-9 {
            return None;
        }
        for slope in &mut *slope {
            *slope /= -steepness;
        }
        let length = match problem.curvature(slope) {
            curvature if curvature > 0.0 => limit.min(steepness / curvature),
            _ => limit,
        };
        Some(Self {
            from,
            direction,
            length,
        })
    }

    /// Writes the point so far from the beginning.
    fn write(&self, distance: f64, y: &mut [f32]) {
        for ((y, from), direction) in y.iter_mut().zip(&self.from).zip(&self.direction) {
            *y = (from + distance * direction) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Objective;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn value(problem: &Problem, y: &[f32]) -> f64 {
        let wide: Vec<f64> = y.iter().map(|y| f64::from(*y)).collect();
        problem.value(&wide)
    }

    #[test]
    fn answers_stay_feasible_and_never_become_worse() {
        let mut random = ChaCha8Rng::seed_from_u64(6);
        for name in ["two-moons", "star-shaped", "shell-5d"] {
            let set = StudySet::open(name).unwrap();
            let mut improved = 0;
            for round in 0..600 {
                let objective = Objective::ALL[round % 3];
                let problem = Problem::draw(objective, set.dim(), &mut random);
                let mut y = vec![0.0_f32; set.dim()];
                while !set.contains(&y) {
                    y.fill_with(|| random.random_range(-2.0..2.0));
                }
                let before = value(&problem, &y);
                // A correction may do anything, also leave the set.
                let polish = Polish::default();
                polish.apply(&problem, &set, &mut y, |point| {
                    for coordinate in point {
                        *coordinate += random.random_range(-0.2..0.2);
                    }
                });
                assert!(set.contains(&y), "{name}: {y:?}");
                // Up to the rounding of the coordinates.
                assert!(value(&problem, &y) <= before + 1e-6, "{name}");
                improved += usize::from(value(&problem, &y) < before - 1e-3);
            }
            assert!(improved > 400, "{name}: {improved}");
        }
    }

    #[test]
    fn a_walk_ends_at_the_boundary_and_a_step_follows_it() {
        let set = StudySet::open("concentric-circles").unwrap();
        let problem = Problem::linear(vec![-1.0, 0.0]);
        let walk = Polish {
            steps: 0,
            ..Polish::default()
        };
        let mut y = [1.95, 0.0];
        walk.apply(&problem, &set, &mut y, |_| {});
        assert!(y[0] > 1.9996 && y[0] <= 2.0, "{y:?}");
        // From a point of the rim the walk is blocked at once; the exact projection goes round it.
        let start = [1.6, 1.19];
        let polished = |steps: u32| {
            let mut y = start;
            let polish = Polish { steps, ..walk };
            polish.apply(&problem, &set, &mut y, |point| {
                let length = point[0].hypot(point[1]);
                for coordinate in point {
                    *coordinate *= 1.9999 / length;
                }
            });
            y
        };
        assert!(polished(0)[0] < 1.62);
        assert!(polished(1)[0] > 1.89 && polished(3)[0] > polished(1)[0]);
    }

    #[test]
    fn a_way_ends_at_the_lowest_point_of_its_line_or_at_the_limit() {
        let bowl = Problem::quadratic(vec![2.0, 0.0, 0.0, 2.0], vec![0.0, 0.0]);
        assert!(Way::downhill(&bowl, &[0.0, 0.0], 1.0).is_none());
        let length = |problem: &Problem| Way::downhill(problem, &[0.3, 0.4], 1.0).unwrap().length;
        assert!((length(&bowl) - 0.5).abs() < 1e-6);
        let saddle = Problem::quadratic(vec![2.0, 0.0, 0.0, -2.0], vec![0.0, 0.0]);
        assert_eq!(length(&saddle), 1.0);
        assert_eq!(length(&Problem::linear(vec![1.0, 0.0])), 1.0);
    }
}
