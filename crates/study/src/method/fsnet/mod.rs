//! FSNet: a solver network followed by a step that seeks feasibility.
//!
//! "FSNet: Feasibility-Seeking Neural Network for Constrained Optimization with Guarantees", Nguyen and
//! Donti, 2025: L-BFGS on the squared violation from the network's point, trained through. The paper's
//! adapter for its sets is not public, so this is a reconstruction: the released step and loss
//! (f + 5·‖answer − point‖²) with the paper's common network, 500 steps of 32 problems. Two things differ
//! from the released step in training: each row has a line search of its own, and the gradient is not
//! unrolled through 30 iterations. A step that converges is a projection along the normal n, so that the
//! gradient of a moved row is I − n·nᵀ, and that of a feasible one I.

mod seek;

use std::sync::Arc;

use serde_json::{Value, json};

pub use self::seek::{Seeker, Style};
use super::repaired::RepairedNet;
use super::{Method, Task, Trained};
use crate::StudyError;
use crate::solver_net::{Correction, Unsupervised};

/// A network and a feasibility-seeking step.
#[derive(Clone, Debug, PartialEq)]
pub struct FsNet {
    /// How the network is trained.
    pub training: Unsupervised,
    /// How the step is made.
    pub style: Style,
}

impl Method for FsNet {
    fn settings(&self) -> Value {
        json!({ "training": self.training, "style": self.style })
    }

    fn seconds(&self, _dim: usize) -> f64 {
        self.training.seconds(1.5)
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let seeker = Seeker::new(Arc::clone(&task.set), self.style, self.training.rows);
        let mut correction = Sought {
            seeker,
            normals: Vec::new(),
            dim: task.set.dim(),
        };
        let (net, curve) = self.training.train(task, &mut correction)?;
        // Answers come one by one.
        let seeker = Seeker::new(Arc::clone(&task.set), self.style, 1);
        let solver = RepairedNet::new(net, seeker, Arc::clone(&task.set));
        Ok(Trained {
            solver: Box::new(solver),
            curve,
        })
    }
}

/// The step in training.
struct Sought {
    seeker: Seeker,
    /// Unit normals of the latest rows; zero where a row did not move.
    normals: Vec<f32>,
    dim: usize,
}

impl Correction for Sought {
    fn correct(&mut self, points: &[f32], answers: &mut [f32]) {
        self.normals.clear();
        let mut y = [0.0; 16];
        let y = &mut y[..self.dim];
        let rows = points
            .chunks_exact(self.dim)
            .zip(answers.chunks_exact_mut(self.dim));
        for (point, answer) in rows {
            for (y, value) in y.iter_mut().zip(point) {
                *y = f64::from(*value);
            }
            let normal = self.seeker.seek(y).unwrap_or_default();
            let normal = normal[..self.dim].iter().map(|value| *value as f32);
            self.normals.extend(normal);
            for (answer, y) in answer.iter_mut().zip(&*y) {
                *answer = *y as f32;
            }
        }
    }

    fn pull_back(&mut self, _points: &[f32], cotangent: &[f32], gradient: &mut [f32]) {
        let rows = self
            .normals
            .chunks_exact(self.dim)
            .zip(cotangent.chunks_exact(self.dim));
        for ((normal, cotangent), gradient) in rows.zip(gradient.chunks_exact_mut(self.dim)) {
            let along: f32 = normal.iter().zip(cotangent).map(|(n, c)| n * c).sum();
            for ((gradient, cotangent), normal) in gradient.iter_mut().zip(cotangent).zip(normal) {
                *gradient = cotangent - along * normal;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StudySet;

    #[test]
    fn the_gradient_is_that_of_the_projection_where_the_boundary_is_near() {
        // Near a sphere the Jacobian of the projection is I − n·nᵀ up to curvature times distance.
        for (name, dim) in [("concentric-circles", 2), ("shell-3d", 3)] {
            let mut correction = Sought {
                seeker: Seeker::new(
                    StudySet::open(name).unwrap(),
                    Style::Tuned { margin: 1e-4 },
                    1,
                ),
                normals: Vec::new(),
                dim,
            };
            let point: Vec<f32> = [1.6, 1.22, 0.0][..dim].to_vec();
            let cotangent: Vec<f32> = [0.3, -0.8, 0.5][..dim].to_vec();
            let mut answer = vec![0.0; dim];
            let mut value = |correction: &mut Sought, point: &[f32]| -> f32 {
                correction.correct(point, &mut answer);
                answer.iter().zip(&cotangent).map(|(a, c)| a * c).sum()
            };
            value(&mut correction, &point);
            let mut gradient = vec![0.0; dim];
            correction.pull_back(&point, &cotangent, &mut gradient);
            for index in 0..dim {
                let (mut up, mut down) = (point.clone(), point.clone());
                up[index] += 2e-3;
                down[index] -= 2e-3;
                let difference =
                    (value(&mut correction, &up) - value(&mut correction, &down)) / 4e-3;
                assert!(
                    (gradient[index] - difference).abs() < 0.02,
                    "{name} {index}: {} {difference}",
                    gradient[index]
                );
            }
        }
    }
}
