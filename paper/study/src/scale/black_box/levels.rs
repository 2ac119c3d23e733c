//! Economic dispatch with minimum on-levels: a unit is off or gives at least its minimum.
//!
//! A set-point up to 0 means off, so that "off" is no plane without volume. Together the units give at least the
//! demand. x is the demand and the price of two fuels.

use fabproj::solve::FnFunctions;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::instance::Instance;
use super::Known;

/// Units.
const UNITS: usize = 5;
/// Halvings of the interval of marginal costs.
const HALVINGS: usize = 60;

/// A unit: what it costs is price · linear · p + square · p².
#[derive(Clone, Copy)]
struct Unit {
    least: f64,
    most: f64,
    linear: f64,
    square: f64,
    /// Which entry of x is its price.
    fuel: usize,
}

fn units(count: usize, number: u64) -> Vec<Unit> {
    let mut random = ChaCha8Rng::seed_from_u64(41 + number);
    let mut draw = |i: usize| {
        let most = random.random_range(20.0..60.0);
        Unit {
            most,
            least: most * random.random_range(0.3..0.5),
            linear: random.random_range(10.0..30.0),
            square: random.random_range(0.02..0.1),
            fuel: 1 + i % 2,
        }
    };
    (0..count).map(&mut draw).collect()
}

pub(super) fn instance(name: &str, number: u64) -> Instance {
    let fleet = units(UNITS, number);
    let capacity: f64 = fleet.iter().map(|unit| unit.most).sum();
    let x_bounds = vec![(0.3 * capacity, 0.8 * capacity), (0.7, 1.3), (0.7, 1.3)];
    let bounds = fleet.iter().map(|unit| (-0.25 * unit.most, unit.most));
    let (tested, valued, sloped) = (fleet.clone(), fleet.clone(), fleet.clone());
    let objective = FnFunctions::new([UNITS, 3, 0], move |y, x, _| cost(&valued, y, x))
        .with_gradient(move |y, x, _, gradient| {
            for ((slope, unit), y) in gradient.iter_mut().zip(&sloped).zip(y) {
                let on = f64::from(u8::from(*y > 0.0));
                *slope = on * (unit.linear * x[unit.fuel] + 2.0 * unit.square * y);
            }
        });
    let (problem, tests) = super::problem(
        name,
        bounds.collect(),
        x_bounds.clone(),
        move |y, x| is_feasible(&tested, y, x),
        objective,
    );
    let known = Known {
        tests,
        optimum: Box::new(move |x| optimum(&fleet, x)),
    };
    Instance::black_box(problem, x_bounds, known)
}

fn cost(fleet: &[Unit], y: &[f64], x: &[f64]) -> f64 {
    let each = fleet.iter().zip(y).map(|(unit, y)| {
        let power = y.max(0.0);
        power * (unit.linear * x[unit.fuel] + unit.square * power)
    });
    each.sum()
}

fn is_feasible(fleet: &[Unit], y: &[f64], x: &[f64]) -> bool {
    let levels = fleet.iter().zip(y);
    let given: f64 = y.iter().map(|y| y.max(0.0)).sum();
    given >= x[0]
        && levels
            .into_iter()
            .all(|(unit, y)| *y <= 0.0 || (*y >= unit.least && *y <= unit.most))
}

/// The least cost: for each choice of units that are on, the marginal costs are equal where no limit holds.
fn optimum(fleet: &[Unit], x: &[f64]) -> Option<f64> {
    let all = 0..1_u32 << fleet.len();
    let costs = all.filter_map(|choice| cost_of_choice(fleet, choice, x));
    costs.min_by(f64::total_cmp)
}

fn cost_of_choice(fleet: &[Unit], choice: u32, x: &[f64]) -> Option<f64> {
    let is_on = |i: usize| choice >> i & 1 == 1;
    let power = |marginal: f64| -> Vec<f64> {
        let each = fleet.iter().enumerate().map(|(i, unit)| {
            let free = (marginal - unit.linear * x[unit.fuel]) / (2.0 * unit.square);
            if is_on(i) {
                free.clamp(unit.least, unit.most)
            } else {
                0.0
            }
        });
        each.collect()
    };
    let enough = |power: &[f64]| power.iter().sum::<f64>() >= x[0];
    let (mut low, mut high) = (0.0, 100.0);
    if !enough(&power(high)) {
        return None;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if enough(&power(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(cost(fleet, &power(high), x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_optimum_is_that_of_a_grid() {
        let fleet = units(3, 0);
        let capacity: f64 = fleet.iter().map(|unit| unit.most).sum();
        for share in [0.25, 0.5, 0.75] {
            let x = [share * capacity, 0.8, 1.2];
            let found = optimum(&fleet, &x).unwrap();
            let level = |unit: &Unit, step: usize| match step {
                0 => 0.0,
                _ => unit.least + (unit.most - unit.least) * (step - 1) as f64 / 100.0,
            };
            let mut best = f64::INFINITY;
            for step in 0..102_usize.pow(3) {
                let y: Vec<f64> = [step % 102, step / 102 % 102, step / 102 / 102]
                    .iter()
                    .zip(&fleet)
                    .map(|(step, unit)| level(unit, *step))
                    .collect();
                if is_feasible(&fleet, &y, &x) {
                    best = best.min(cost(&fleet, &y, &x));
                }
            }
            assert!(
                found <= best + 1e-9 && best < 1.01 * found,
                "{found} {best}"
            );
        }
    }
}
