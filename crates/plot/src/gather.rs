//! What figures show, computed: points, projections, encodings.

use fabproj::Projector;
use fabproj::core::Workspace;
use fabproj::set::Set;
use fabproj_nn::sample;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::error::Result;
use crate::space::{Space, distance};

/// A decoded latent point.
pub struct Decode {
    pub chart: usize,
    pub point: Vec<f64>,
    pub feasible: bool,
}

/// An input and its projection.
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
    pub space: Space<'a>,
    pub rng: ChaCha8Rng,
    workspace: Workspace,
}

impl<'a> Source<'a> {
    pub fn new(projector: &'a Projector, set: &'a dyn Set, seed: u64) -> Self {
        Self {
            projector,
            set,
            space: Space::of(projector),
            rng: ChaCha8Rng::seed_from_u64(seed),
            workspace: projector.workspace(),
        }
    }

    /// A point drawn uniformly from bounds.
    fn uniform(&mut self, bounds: &[(f64, f64)]) -> Vec<f64> {
        let rng = &mut self.rng;
        bounds
            .iter()
            .map(|(low, high)| low + (high - low) * rng.random::<f64>())
            .collect()
    }

    /// y and x drawn uniformly from the set's bounds.
    pub fn input(&mut self) -> (Vec<f64>, Vec<f64>) {
        let y = self.uniform(&self.set.bounds());
        (y, self.uniform(&self.set.x_bounds()))
    }

    /// An [`input`](Self::input), moved onto the equations.
    pub fn settled_input(&mut self) -> Result<(Vec<f64>, Vec<f64>)> {
        let (y, x) = self.input();
        Ok((self.space.nearest(y, &x)?, x))
    }

    /// Whether one of so many uniform draws is feasible at x.
    pub fn meets_the_set(&mut self, x: &[f64], draws: usize) -> Result<bool> {
        let bounds = self.set.bounds();
        for _ in 0..draws {
            let y = self.uniform(&bounds);
            if self.set.contains(&self.space.nearest(y, x)?, x) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The middle of the bounds of x.
    pub fn middle_x(&self) -> Vec<f64> {
        let bounds = self.set.x_bounds();
        bounds
            .iter()
            .map(|(low, high)| 0.5 * (low + high))
            .collect()
    }

    /// The centre of the model's units.
    pub fn centre(&self, x: &[f64]) -> Result<Vec<f64>> {
        let centre = self.projector.frame().centre.iter();
        self.space
            .point(centre.copied().map(f64::from).collect(), x)
    }

    /// Decodes latent points at x: `inside` of them and `surface` of them, shared among the charts.
    pub fn decodes(&mut self, x: &[f64], inside: usize, surface: usize) -> Result<Vec<Decode>> {
        let projector = self.projector;
        let mut decodes = Vec::new();
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
            let point = self.decode(chart, &latent, x)?;
            let feasible = self.set.contains(&point, x);
            decodes.push(Decode {
                chart,
                point,
                feasible,
            });
        }
        Ok(decodes)
    }

    fn decode(&mut self, chart: usize, latent: &[f32], x: &[f64]) -> Result<Vec<f64>> {
        let mut point = vec![0.0; self.projector.dim()];
        self.projector
            .decode(chart, latent, x, &mut point, &mut self.workspace)?;
        Ok(point)
    }

    fn encode(&mut self, chart: usize, y: &[f64], x: &[f64]) -> Result<Vec<f32>> {
        let mut latent = vec![0.0; self.projector.latent_dim(chart).unwrap_or(0)];
        self.projector
            .encode(chart, y, x, &mut latent, &mut self.workspace)?;
        Ok(latent)
    }

    /// Projects a point.
    pub fn project(&mut self, y: &[f64], x: &[f64]) -> Result<Projected> {
        let (output, _) = self.projector.project(y, x)?;
        Ok(Projected {
            chart: self.chart_of(y, x, &output)?,
            input_feasible: self.set.contains(y, x),
            output_feasible: self.set.contains(&output, x),
            input: y.to_vec(),
            output,
        })
    }

    /// The chart that made this output: the one whose own output is the nearest.
    fn chart_of(&mut self, y: &[f64], x: &[f64], output: &[f64]) -> Result<usize> {
        let mut nearest = (f64::INFINITY, 0);
        if self.projector.charts() == 1 {
            return Ok(0);
        }
        for chart in 0..self.projector.charts() {
            let mut latent = self.encode(chart, y, x)?;
            if let Some(set) = self.projector.latent_set(chart) {
                set.clamp(&mut latent);
            }
            let away = distance(&self.decode(chart, &latent, x)?, output);
            if away < nearest.0 {
                nearest = (away, chart);
            }
        }
        Ok(nearest.1)
    }

    /// Encodes inputs of the region of interest, half of them feasible where that many are found.
    pub fn encodings(&mut self, count: usize) -> Result<Vec<Encoding>> {
        let mut found = [Vec::new(), Vec::new()];
        for _ in 0..200 * count {
            let (y, x) = self.settled_input()?;
            let side = &mut found[usize::from(self.set.contains(&y, &x))];
            if side.len() < count / 2 {
                side.push((y, x));
            }
            if found.iter().all(|side| side.len() >= count / 2) {
                break;
            }
        }
        let mut encodings = Vec::new();
        for (side, inputs) in found.iter().enumerate() {
            for (y, x) in inputs {
                let chart = self.project(y, x)?.chart;
                encodings.push(Encoding {
                    chart,
                    latent: self.encode(chart, y, x)?,
                    feasible: side == 1,
                });
            }
        }
        Ok(encodings)
    }
}
