//! What figures show, computed: points, projections, encodings.

use anyhow::Result;
use fabproj::core::{Projector, Status};
use fabproj::set::{Interval, Set};
use fabproj_nn::sample;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Two directions through a point of the space of y, at some x.
pub struct Plane {
    pub origin: Vec<f64>,
    pub axes: [Vec<f64>; 2],
    pub x: Vec<f64>,
}

impl Plane {
    /// The plane of two coordinates; the others stay as in `origin`.
    pub fn of_coordinates(origin: &[f64], first: usize, second: usize, x: &[f64]) -> Self {
        let axis = |index: usize| (0..origin.len()).map(|j| f64::from(j == index)).collect();
        let mut origin = origin.to_vec();
        // On the axes the plane's coordinates are those of y.
        origin[first] = 0.0;
        origin[second] = 0.0;
        Self {
            origin,
            axes: [axis(first), axis(second)],
            x: x.to_vec(),
        }
    }

    /// Two random directions at right angles through `origin`.
    pub fn random(origin: &[f64], x: &[f64], rng: &mut ChaCha8Rng) -> Self {
        let mut direction = || -> Vec<f64> {
            let parts: Vec<f64> = origin.iter().map(|_| rng.random_range(-1.0..1.0)).collect();
            unit(&parts)
        };
        let (first, mut second) = (direction(), direction());
        let common: f64 = first.iter().zip(&second).map(|(a, b)| a * b).sum();
        second
            .iter_mut()
            .zip(&first)
            .for_each(|(b, a)| *b -= common * a);
        let second = unit(&second);
        Self {
            origin: origin.to_vec(),
            axes: [first, second],
            x: x.to_vec(),
        }
    }

    pub fn point(&self, at: (f64, f64)) -> Vec<f64> {
        let parts = self
            .origin
            .iter()
            .zip(self.axes[0].iter().zip(&self.axes[1]));
        parts
            .map(|(origin, (first, second))| origin + at.0 * first + at.1 * second)
            .collect()
    }

    /// The coordinates of a point's foot on the plane, and its distance from it.
    pub fn foot(&self, point: &[f64]) -> ((f64, f64), f64) {
        let along = |axis: &[f64]| -> f64 {
            let offsets = point.iter().zip(&self.origin).map(|(p, o)| p - o);
            offsets.zip(axis).map(|(offset, axis)| offset * axis).sum()
        };
        let at = (along(&self.axes[0]), along(&self.axes[1]));
        let foot = self.point(at);
        (at, distance(point, &foot))
    }
}

/// A decoded latent point.
pub struct Decode {
    pub chart: usize,
    pub point: Vec<f64>,
    pub feasible: bool,
}

/// An input and what became of it.
pub struct Projected {
    pub input: Vec<f64>,
    pub output: Vec<f64>,
    pub chart: usize,
    pub input_feasible: bool,
    pub output_feasible: bool,
}

/// An input in latent space, before the clamp.
pub struct Encoding {
    pub chart: usize,
    pub latent: Vec<f32>,
    pub feasible: bool,
}

/// A projector with its set, and the random numbers of a figure.
pub struct Source<'a> {
    pub projector: &'a Projector,
    pub set: &'a dyn Set,
    pub rng: ChaCha8Rng,
}

impl<'a> Source<'a> {
    pub fn new(projector: &'a Projector, set: &'a dyn Set, seed: u64) -> Self {
        Self {
            projector,
            set,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// A point drawn uniformly from bounds.
    pub fn uniform(&mut self, bounds: &[Interval]) -> Vec<f64> {
        let rng = &mut self.rng;
        bounds
            .iter()
            .map(|(low, high)| low + (high - low) * rng.random::<f64>())
            .collect()
    }

    /// Whether one of so many uniform draws is feasible at x.
    pub fn meets_the_set(&mut self, x: &[f64], draws: usize) -> bool {
        let bounds = self.set.bounds();
        (0..draws).any(|_| self.set.contains(&self.uniform(&bounds), x))
    }

    /// The middle of the parameters' bounds.
    pub fn middle_x(&self) -> Vec<f64> {
        let bounds = self.set.x_bounds();
        bounds
            .iter()
            .map(|(low, high)| 0.5 * (low + high))
            .collect()
    }

    /// Decodes latent points at x: `inside` of them and `surface` of them, shared among the charts.
    pub fn decodes(&mut self, x: &[f64], inside: usize, surface: usize) -> Result<Vec<Decode>> {
        let projector = self.projector;
        let mut workspace = projector.workspace();
        let mut decodes = Vec::new();
        let mut out = vec![0.0; projector.dim()];
        for index in 0..inside + surface {
            let chart = index % projector.charts();
            let (Some(set), Some(dim)) = (projector.latent_set(chart), projector.latent_dim(chart))
            else {
                continue;
            };
            let mut latent = vec![0.0; dim];
            if index < inside {
                sample::inside(&set, &mut latent, &mut self.rng);
            } else {
                sample::surface(&set, &mut latent, &mut self.rng);
            }
            projector.decode(chart, &latent, &narrow(x), &mut out, &mut workspace)?;
            let point = wide(&out);
            let feasible = self.set.contains(&point, x);
            decodes.push(Decode {
                chart,
                point,
                feasible,
            });
        }
        Ok(decodes)
    }

    /// Projects a point.
    pub fn project(&self, y: &[f64], x: &[f64]) -> Result<Projected> {
        let projector = self.projector;
        let mut workspace = projector.workspace();
        let mut out = vec![0.0; projector.dim()];
        let (narrow_y, narrow_x) = (narrow(y), narrow(x));
        let _: Status = projector.project(&narrow_y, &narrow_x, &mut out, &mut workspace)?;
        let output = wide(&out);
        Ok(Projected {
            chart: projector.chart_of(&narrow_y, &narrow_x, &mut workspace)?,
            input_feasible: self.set.contains(y, x),
            output_feasible: self.set.contains(&output, x),
            input: y.to_vec(),
            output,
        })
    }

    /// The set before equations were eliminated.
    pub fn full_set(&self) -> &'a dyn Set {
        match self.set.reduced() {
            Some(reduced) => reduced.full().as_ref(),
            None => self.set,
        }
    }

    /// [`project`](Self::project) for points of the [full set](Self::full_set).
    pub fn project_full(&self, y: &[f64], x: &[f64]) -> Result<Projected> {
        let Some(reduced) = self.set.reduced() else {
            return self.project(y, x);
        };
        let lift = reduced.lift();
        let (mut z, mut output) = (vec![0.0; self.set.dim()], vec![0.0; y.len()]);
        lift.lower(y, x, &mut z)?;
        let projected = self.project(&z, x)?;
        lift.raise(&projected.output, x, &mut output)?;
        Ok(Projected {
            input_feasible: self.full_set().contains(y, x),
            input: y.to_vec(),
            output,
            ..projected
        })
    }

    /// Encodes inputs of the region of interest, half of them feasible where that many are found.
    pub fn encodings(&mut self, count: usize) -> Result<Vec<Encoding>> {
        let (bounds, x_bounds) = (self.set.bounds(), self.set.x_bounds());
        let mut found = [Vec::new(), Vec::new()];
        for _ in 0..200 * count {
            let (y, x) = (self.uniform(&bounds), self.uniform(&x_bounds));
            let side = &mut found[usize::from(self.set.contains(&y, &x))];
            if side.len() < count / 2 {
                side.push((y, x));
            }
            if found.iter().all(|side| side.len() >= count / 2) {
                break;
            }
        }
        let projector = self.projector;
        let mut workspace = projector.workspace();
        let mut encodings = Vec::new();
        for (side, inputs) in found.iter().enumerate() {
            for (y, x) in inputs {
                let (y, x) = (narrow(y), narrow(x));
                let chart = projector.chart_of(&y, &x, &mut workspace)?;
                let mut latent = vec![0.0; projector.latent_dim(chart).unwrap_or(0)];
                projector.encode(chart, &y, &x, &mut latent, &mut workspace)?;
                encodings.push(Encoding {
                    chart,
                    latent,
                    feasible: side == 1,
                });
            }
        }
        Ok(encodings)
    }
}

pub fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|value| *value as f32).collect()
}

pub fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

fn unit(direction: &[f64]) -> Vec<f64> {
    let length = direction
        .iter()
        .map(|part| part * part)
        .sum::<f64>()
        .sqrt()
        .max(1e-12);
    direction.iter().map(|part| part / length).collect()
}

pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}
