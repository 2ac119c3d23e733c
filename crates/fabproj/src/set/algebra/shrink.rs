//! A set with a margin to its boundary.

use fabproj_core::Membership;
use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::set::delegate::same_coordinates;
use crate::set::equations::independent;
use crate::set::rows::narrow;
use crate::set::vector::{dot, norm, with_buffer};
use crate::set::{Description, Equation, Interval, Result, Set, SetError};

/// Pairs of opposite directions that are probed above two dimensions, besides the coordinate axes.
const RANDOM_PAIRS: usize = 32;

/// A direction is across the equations if no more than this of it is left along them.
const ACROSS: f64 = 1e-6;

/// Directions that are probed in the plane.
const PLANAR: usize = 16;

/// The points of a set that keep a margin to its boundary.
pub(crate) struct Shrink {
    set: Arc<dyn Set>,
    margin: f64,
    /// Offsets of the probes, one after the other; the first is zero.
    probes: Vec<f64>,
}

impl Shrink {
    pub(crate) fn new(set: Arc<dyn Set>, margin: f64) -> Result<Self> {
        if !(margin.is_finite() && margin > 0.0) {
            let what = "the margin of a shrunk set";
            return Err(SetError::Value {
                what,
                must_be: "finite and positive",
                found: margin,
            });
        }
        let mut probes = vec![0.0; set.dim()];
        let equations = independent(set.equations())?;
        for direction in directions(set.dim()).chunks_exact(set.dim()) {
            let along = tangent(direction, &equations);
            probes.extend(along.iter().flatten().map(|value| margin * value));
        }
        Ok(Self {
            set,
            margin,
            probes,
        })
    }
}

/// Unit vectors, one after the other.
fn directions(dim: usize) -> Vec<f64> {
    if dim == 2 {
        let angle = |i| i as f64 * std::f64::consts::TAU / PLANAR as f64;
        return (0..PLANAR)
            .flat_map(|i| [angle(i).cos(), angle(i).sin()])
            .collect();
    }
    let mut directions = vec![0.0; 2 * dim * dim];
    for i in 0..dim {
        directions[2 * i * dim + i] = 1.0;
        directions[(2 * i + 1) * dim + i] = -1.0;
    }
    if dim > 2 {
        // The same for everyone: the probes are part of what the set is.
        let mut random = ChaCha8Rng::seed_from_u64(0);
        for _ in 0..RANDOM_PAIRS {
            let draw: Vec<f64> = (0..dim)
                .map(|_| StandardNormal.sample(&mut random))
                .collect();
            let length = norm(&draw);
            directions.extend(draw.iter().map(|value| value / length));
            directions.extend(draw.iter().map(|value| -value / length));
        }
    }
    directions
}

/// The part of a direction along which all equations stay true, of length 1; `None` for one across them.
fn tangent(direction: &[f64], equations: &[Equation]) -> Option<Vec<f64>> {
    if equations.is_empty() {
        return Some(direction.to_vec());
    }
    let mut along = direction.to_vec();
    for equation in equations {
        let across = dot(&along, &equation.normal);
        for (along, normal) in along.iter_mut().zip(&equation.normal) {
            *along -= across * normal;
        }
    }
    let length = norm(&along);
    (length > ACROSS).then(|| along.iter().map(|value| value / length).collect())
}

impl Membership for Shrink {
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        with_buffer(y.len(), |probe| {
            self.probes.chunks_exact(y.len()).all(|offset| {
                add(y, offset, probe);
                self.set.contains(probe, x)
            })
        })
    }

    fn contains_rows(&self, y: &[f64], x: &[f64], inside: &mut [bool]) {
        inside.fill(true);
        for offset in self.probes.chunks_exact(self.set.dim()) {
            narrow(self.set.as_ref(), y, x, inside, |y, _, points| {
                points.extend(y.iter().zip(offset).map(|(y, offset)| y + offset));
                true
            });
        }
    }

    fn violation(&self, y: &[f64], x: &[f64], gradient: &mut [f64]) -> Option<f64> {
        let dim = y.len();
        gradient.fill(0.0);
        with_buffer(2 * dim, |buffer| {
            let (probe, inner) = buffer.split_at_mut(dim);
            let mut largest = 0.0;
            for offset in self.probes.chunks_exact(dim) {
                add(y, offset, probe);
                let violation = self.set.violation(probe, x, inner)?;
                if violation > largest {
                    largest = violation;
                    gradient.copy_from_slice(inner);
                }
            }
            Some(largest)
        })
    }
}

impl Set for Shrink {
    same_coordinates!(self => self.set);

    fn bounds(&self) -> Vec<Interval> {
        self.set.bounds()
    }

    fn equations(&self) -> Vec<Equation> {
        self.set.equations()
    }

    fn description(&self) -> Description {
        Description::Shrink {
            set: Box::new(self.set.description()),
            margin: self.margin,
        }
    }
}

fn add(y: &[f64], offset: &[f64], out: &mut [f64]) {
    for ((out, y), offset) in out.iter_mut().zip(y).zip(offset) {
        *out = y + offset;
    }
}
