//! FSNet: a solver network followed by a step that seeks feasibility.
//!
//! "FSNet: Feasibility-Seeking Neural Network for Constrained Optimization with Guarantees", Nguyen and
//! Donti, 2025: L-BFGS on the squared violation from the network's point, trained through. The paper's
//! adapter for its sets is not public, so this is a reconstruction: the released step and loss
//! (f + 5·‖answer − point‖²) with the paper's common network, 500 steps of 32 problems. Two things differ
//! from the released step in training: each row has a line search of its own, and the gradient is not
//! unrolled through 30 iterations. A step that converges is a projection along the normal n, so that the
//! gradient of a moved row is I − n·nᵀ, and that of a feasible one I. Tuned, a moved row has the gradient of
//! all its iterations by differences: over a sharp tip a step slides down the other flank, which the normal
//! alone does not tell.

mod seek;

use std::sync::Arc;

use serde_json::{Value, json};

pub use self::seek::{Seeker, Style};
use super::repaired::RepairedNet;
use super::{Method, Task, Trained};
use crate::StudyError;
use crate::problem::{MOST, norm, widen};
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

    fn seconds(&self, dim: usize) -> f64 {
        // Tuned steps are differentiated by as many others.
        let others = match self.style {
            Style::Released => 0.0,
            Style::Tuned { .. } => 0.4 * (1 + dim) as f64,
        };
        self.training.seconds(1.5 + others)
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let seeker = Seeker::new(Arc::clone(&task.set), self.style, self.training.rows);
        let mut correction = Sought::new(seeker, task.set.dim());
        let (net, curve) = self.training.train(task, &mut correction)?;
        // Answers come one by one.
        let seeker = Seeker::new(Arc::clone(&task.set), self.style, 1);
        let solver = RepairedNet::new(net, seeker, Arc::clone(&task.set), self.training.polish);
        Ok(Trained {
            solver: Box::new(solver),
            curve,
        })
    }
}

/// Length of the differences.
const DIFFERENCE: f64 = 1e-4;
/// A projection has slopes of at most 1. Where a neighbour of a point ends elsewhere its slope is beyond all
/// bounds, and is shortened to this.
const STEEPEST: f64 = 3.0;

/// The step in training.
struct Sought {
    seeker: Seeker,
    /// Unit normals of the latest rows; zero where a row did not move.
    normals: Vec<f32>,
    dim: usize,
}

impl Sought {
    fn new(seeker: Seeker, dim: usize) -> Self {
        Self {
            seeker,
            normals: Vec::new(),
            dim,
        }
    }
}

/// Writes the gradient of cotangentᵀ·answer by differences.
fn differentiate(seeker: &mut Seeker, point: &[f32], cotangent: &[f32], gradient: &mut [f32]) {
    let mut along = |moved: Option<usize>| {
        let mut y = [0.0; MOST];
        let y = &mut y[..point.len()];
        widen(point, y);
        if let Some(index) = moved {
            y[index] += DIFFERENCE;
        }
        seeker.seek(y);
        let terms = y.iter().zip(cotangent).map(|(y, c)| y * f64::from(*c));
        terms.sum::<f64>()
    };
    let here = along(None);
    let (mut slope, mut steepest) = ([0.0; MOST], [0.0; MOST]);
    let (slope, steepest) = (&mut slope[..point.len()], &mut steepest[..point.len()]);
    for (index, slope) in slope.iter_mut().enumerate() {
        *slope = (along(Some(index)) - here) / DIFFERENCE;
    }
    widen(cotangent, steepest);
    let limit = STEEPEST * norm(steepest);
    let share = limit / norm(slope).max(limit).max(f64::MIN_POSITIVE);
    for (gradient, slope) in gradient.iter_mut().zip(&*slope) {
        *gradient = (share * slope) as f32;
    }
}

impl Correction for Sought {
    fn correct(&mut self, points: &[f32], answers: &mut [f32]) {
        self.normals.clear();
        let mut y = [0.0; MOST];
        let y = &mut y[..self.dim];
        let rows = points
            .chunks_exact(self.dim)
            .zip(answers.chunks_exact_mut(self.dim));
        for (point, answer) in rows {
            widen(point, y);
            let normal = self.seeker.seek(y).unwrap_or_default();
            let normal = normal[..self.dim].iter().map(|value| *value as f32);
            self.normals.extend(normal);
            for (answer, y) in answer.iter_mut().zip(&*y) {
                *answer = *y as f32;
            }
        }
    }

    fn pull_back(&mut self, points: &[f32], cotangent: &[f32], gradient: &mut [f32]) {
        let rows = self
            .normals
            .chunks_exact(self.dim)
            .zip(points.chunks_exact(self.dim))
            .zip(cotangent.chunks_exact(self.dim));
        for (((normal, point), cotangent), gradient) in
            rows.zip(gradient.chunks_exact_mut(self.dim))
        {
            let moved = normal.iter().any(|n| *n != 0.0);
            if moved && self.seeker.style() != Style::Released {
                differentiate(&mut self.seeker, point, cotangent, gradient);
                continue;
            }
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
            let point: Vec<f32> = [1.6, 1.22, 0.0][..dim].to_vec();
            let cotangent: Vec<f32> = [0.3, -0.8, 0.5][..dim].to_vec();
            let length = point[0].hypot(point[1]);
            let along: f32 = point.iter().zip(&cotangent).map(|(p, c)| p * c).sum();
            let expected = cotangent.iter().zip(&point);
            let expected: Vec<f32> = expected
                .map(|(c, p)| c - along * p / length.powi(2))
                .collect();
            for (style, tolerance) in [
                (Style::Released, 1e-5),
                (Style::Tuned { margin: 1e-4 }, 0.02),
            ] {
                let seeker = Seeker::new(StudySet::open(name).unwrap(), style, 1);
                let mut correction = Sought::new(seeker, dim);
                let (mut answer, mut gradient) = (vec![0.0; dim], vec![0.0; dim]);
                correction.correct(&point, &mut answer);
                correction.pull_back(&point, &cotangent, &mut gradient);
                for (gradient, expected) in gradient.iter().zip(&expected) {
                    let error = (gradient - expected).abs();
                    assert!(error < tolerance, "{name} {style:?}: {gradient} {expected}");
                }
                // A feasible point stays, and so does its gradient.
                let inside = vec![1.0; dim];
                correction.correct(&inside, &mut answer);
                correction.pull_back(&inside, &cotangent, &mut gradient);
                assert_eq!((answer, &gradient), (inside, &cotangent));
            }
        }
    }

    #[test]
    fn the_gradient_sees_a_step_slide_over_a_tip() {
        // Before the star's tip at (−2, 0), a little beside its axis: farther out, the step ends farther down
        // the other flank, though both normals there point outward.
        let set = StudySet::open("star-shaped").unwrap();
        let seeker = Seeker::new(Arc::clone(&set), Style::Tuned { margin: 1e-3 }, 1);
        let mut correction = Sought::new(seeker, 2);
        let (point, outward) = ([-2.3, 0.02], [-1.0, 0.0]);
        let (mut near, mut far, mut gradient) = ([0.0; 2], [0.0; 2], [0.0; 2]);
        correction.correct(&[-2.32, 0.02], &mut far);
        correction.correct(&point, &mut near);
        correction.pull_back(&point, &outward, &mut gradient);
        let difference = (near[0] - far[0]) / 0.02;
        assert!(difference < -0.2, "{near:?} {far:?}");
        assert!(
            (-gradient[0] - difference).abs() < 0.1,
            "{gradient:?} {difference}"
        );
    }
}
