//! Gains of a controller that damp a chain of three masses, decided by simulating the closed loop.
//!
//! The outer masses stand on slopes that drive them away; a motor at each sees the place and the speed of its
//! own mass and the place of the middle one, and acts one sample later. A set of gains is feasible if after 12.8
//! seconds the matrix that takes initial states to what is left of them has a norm of at most 0.3. The smallest
//! gains are wanted. x is the stiffness between masses, how steep the slopes are, and the middle mass.

use fabproj::solve::{FnFunctions, Problem};

use super::super::instance::Instance;
use super::{Known, best_by_gradients};

/// Gains.
const GAINS: usize = 6;
/// Places, speeds, and the forces of the last sample.
const STATES: usize = 8;
/// Seconds between samples.
const SAMPLE: f64 = 0.05;
/// Squarings of the step's matrix: 256 samples.
const SQUARINGS: usize = 8;
/// The norm of what may be left.
const LEFT: f64 = 0.3;
/// The motors' places in the chain.
const MOTORS: [usize; 2] = [0, 2];

type Matrix = [[f64; STATES]; STATES];

pub(super) fn instance(name: &str) -> Instance {
    let x_bounds = vec![(0.5, 2.0), (0.2, 0.6), (0.5, 1.5)];
    let bounds = [(0.0, 5.0), (0.0, 4.0), (-1.5, 1.5)].repeat(2);
    let smooth = FnFunctions::new([GAINS, 3, 1], |y, x, constraints| {
        constraints[0] = (left(y, x) / LEFT).ln();
        size(y)
    });
    let smooth = Problem::new(name, smooth)
        .with_bounds(bounds.clone())
        .with_x(x_bounds.clone());
    let objective = FnFunctions::new([GAINS, 3, 0], |y, _, _| size(y))
        .with_gradient(|y, _, _, gradient| gradient.copy_from_slice(y));
    let is_damped = |y: &[f64], x: &[f64]| left(y, x) <= LEFT;
    let (problem, tests) = super::problem(name, bounds, x_bounds.clone(), is_damped, objective);
    let black_box = problem.clone();
    let optimum = move |x: &[f64]| best_by_gradients(&smooth, &black_box, x);
    let known = Known {
        tests,
        optimum: Box::new(optimum),
    };
    Instance::black_box(problem, x_bounds, known)
}

/// ½ ‖gains‖²
fn size(gains: &[f64]) -> f64 {
    gains.iter().map(|gain| 0.5 * gain * gain).sum()
}

/// One sample: forces of the last one act, places follow the new speeds, and new forces are decided.
fn step(state: &[f64; STATES], gains: &[f64], x: &[f64]) -> [f64; STATES] {
    let [stiffness, slope, middle] = [x[0], x[1], x[2]];
    let (places, speeds, forces) = (&state[..3], &state[3..6], &state[6..]);
    let apart = [places[1] - places[0], places[2] - places[1]];
    let pushes = [
        slope * places[0] + stiffness * apart[0] + forces[0],
        stiffness * (apart[1] - apart[0]),
        slope * places[2] - stiffness * apart[1] + forces[1],
    ];
    let masses = [1.0, middle, 1.0];
    let mut next = [0.0; STATES];
    for i in 0..3 {
        next[3 + i] = speeds[i] + SAMPLE * pushes[i] / masses[i];
        next[i] = places[i] + SAMPLE * next[3 + i];
    }
    for ((force, own), gains) in [6, 7].into_iter().zip(MOTORS).zip(gains.chunks_exact(3)) {
        next[force] = -gains[0] * places[own] - gains[1] * speeds[own] - gains[2] * places[1];
    }
    next
}

/// The norm of the matrix from initial states to those after 256 samples.
fn left(gains: &[f64], x: &[f64]) -> f64 {
    let mut power: Matrix = [[0.0; STATES]; STATES];
    // The columns are the images of the unit states; kept as rows, squares are the same.
    for (i, image) in power.iter_mut().enumerate() {
        let mut unit = [0.0; STATES];
        unit[i] = 1.0;
        *image = step(&unit, gains, x);
    }
    for _ in 0..SQUARINGS {
        power = squared(&power);
    }
    let squares = power.iter().flatten().map(|entry| entry * entry);
    squares.sum::<f64>().sqrt()
}

fn squared(matrix: &Matrix) -> Matrix {
    let mut product = [[0.0; STATES]; STATES];
    for (row, out) in matrix.iter().zip(&mut product) {
        for (factor, other) in row.iter().zip(matrix) {
            for (out, other) in out.iter_mut().zip(other) {
                *out += factor * other;
            }
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_is_what_samples_one_by_one_give() {
        let x = [1.2, 0.5, 0.9];
        let damped = [2.0, 2.5, 0.1, 1.8, 2.2, -0.2];
        for gains in [[0.0; 6], damped, [3.0; 6]] {
            let mut squares = 0.0;
            for i in 0..STATES {
                let mut state = [0.0; STATES];
                state[i] = 1.0;
                for _ in 0..1 << SQUARINGS {
                    state = step(&state, &gains, &x);
                }
                squares += state.iter().map(|entry| entry * entry).sum::<f64>();
            }
            let (found, expected) = (left(&gains, &x), squares.sqrt());
            assert!(
                (found / expected - 1.0).abs() < 1e-6,
                "{gains:?} {found} {expected}"
            );
        }
        assert!(left(&damped, &x) <= LEFT && left(&[0.0; 6], &x) > LEFT);
    }
}
