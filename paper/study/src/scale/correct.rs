//! DC3's correction: gradient descent with momentum on the squared violation, along the equations.
//!
//! Donti, Rolnick and Kolter's "DC3: A learning method for optimization with hard constraints", 2021. As
//! released, a training goes back through all its steps. The step's length is a share of 1/L, with L the largest
//! curvature that the squared violation can have, for a fixed length suits no two families.

use super::instance::Instance;
use super::linear::{Along, add, dot};
use super::map::{Map, Work};

/// Iterations of the power method that finds L.
const POWERS: usize = 30;
/// Length of the differences for products with the violation's Hessian.
const DIFFERENCE: f64 = 1e-6;

/// The correction with its memory.
#[derive(Default)]
pub(super) struct Corrector {
    /// Points that a step was made from.
    before: Vec<Vec<f64>>,
}

impl Corrector {
    /// Moves y by so many steps of this length, or until nothing is violated.
    pub(super) fn correct(
        &mut self,
        map: &Map<'_>,
        x: &[f64],
        y: &mut [f64],
        work: &mut Work,
        [rate, momentum]: [f64; 2],
        steps: usize,
    ) {
        self.before.clear();
        let mut step = vec![0.0; y.len()];
        for _ in 0..steps {
            let violation = map.violation(x, y, 0.0, work);
            if violation == 0.0 || !violation.is_finite() {
                return;
            }
            self.before.push(y.to_vec());
            step.iter_mut().for_each(|step| *step *= momentum);
            add(&mut step, rate, &along_equations(map.along, &work.other));
            add(y, -1.0, &step);
        }
    }

    /// From the loss's gradient by the corrected y to that by the point before, in place.
    pub(super) fn pull_back(
        &self,
        map: &Map<'_>,
        x: &[f64],
        gradient: &mut [f64],
        work: &mut Work,
        [rate, momentum]: [f64; 2],
    ) {
        // y' = y − s', s' = momentum · s + rate · ∇(y), with ∇ along the equations.
        let mut by_step = vec![0.0; gradient.len()];
        for y in self.before.iter().rev() {
            by_step.iter_mut().for_each(|value| *value *= momentum);
            add(&mut by_step, -1.0, gradient);
            let way = along_equations(map.along, &by_step);
            let length = dot(&way, &way).sqrt();
            if length == 0.0 || !length.is_finite() {
                continue;
            }
            for side in [1.0, -1.0] {
                let mut beside = y.clone();
                add(&mut beside, side * DIFFERENCE / length, &way);
                map.violation(x, &beside, 0.0, work);
                let share = side * rate * length / (2.0 * DIFFERENCE);
                add(gradient, share, &work.other);
            }
        }
    }
}

/// 1/L at the base of the first x, with all rows violated.
pub(super) fn longest_step(instance: &Instance, along: &Along, base: &[f64], x: &[f64]) -> f64 {
    let functions = instance.functions();
    let rows = functions.rows();
    let (mut slopes, mut memory) = (vec![0.0; rows], vec![0.0; functions.memory()]);
    functions.values(base, x, &mut slopes, &mut memory);
    let mut none = vec![0.0; base.len()];
    functions.gradient(base, x, &vec![0.0; rows], &mut none, &mut memory);
    let mut way: Vec<f64> = (0..base.len()).map(|i| (1.0 + i as f64).sin()).collect();
    let mut largest = 0.0_f64;
    for _ in 0..POWERS {
        way = along_equations(along, &way);
        let length = dot(&way, &way).sqrt();
        if length == 0.0 {
            break;
        }
        way.iter_mut().for_each(|value| *value /= length);
        largest = length;
        // The curvature of Σ max(c, 0)² is 2 JᵀJ where all rows are violated; bounds add their own.
        let mut image = vec![0.0; way.len()];
        functions.slopes(base, x, &way, &mut slopes, &mut memory);
        functions.gradient(base, x, &slopes, &mut image, &mut memory);
        add(&mut image, -1.0, &none);
        if !instance.bounds().is_empty() {
            add(&mut image, 1.0, &way);
        }
        image.iter_mut().for_each(|value| *value *= 2.0);
        way = image;
    }
    1.0 / largest
}

/// Z Zᵀ v: the part of a gradient that steps of the free coordinates follow.
fn along_equations(along: &Along, gradient: &[f64]) -> Vec<f64> {
    let mut step = vec![0.0; gradient.len()];
    for direction in &along.directions {
        add(&mut step, dot(direction, gradient), direction);
    }
    step
}
