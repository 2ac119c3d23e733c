//! The worked example of a power network: its equations, and the models that are trained for it.

use std::fmt::Write;

use fabproj::set::{FnSet, LabelledData, LabelledSettings, Set};
use fabproj::{Membership, Session, Settings, train_with};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "../../../../examples/power-flow/network.rs"]
mod network;
use network::{BOUNDS, NAMES, Network};

fn draw(rng: &mut ChaCha8Rng) -> [f64; 3] {
    BOUNDS.map(|(low, high)| rng.random_range(low..high))
}

fn set_points() -> FnSet {
    let network = Network::new();
    FnSet::new("set-points", BOUNDS, move |y, _| network.is_feasible(y)).with_names(&NAMES, &[])
}

fn quick() -> Settings {
    Settings {
        seed: 1,
        phase_two: 400,
        feasible: 2000,
        infeasible: 2000,
        boundary: 800,
        samples: 500,
        rounds: 1,
        ..Settings::quick()
    }
}

#[test]
fn solutions_satisfy_the_power_flow() {
    let (network, mut rng) = (Network::new(), ChaCha8Rng::seed_from_u64(1));
    for _ in 0..200 {
        let y = draw(&mut rng);
        let state = network.solve(&y).unwrap();
        assert_eq!(state.voltage[1], y[2]);
        let mut text = String::new();
        for left in network.mismatch(&state, &y) {
            write!(text, "{left:e} ").unwrap();
            assert!(left.abs() < 1e-9, "{y:?}: {text}");
        }
        // What goes in comes out, but for the losses of the lines.
        let sum: f64 = (0..5).map(|bus| network.injected(&state, bus).0).sum();
        assert!((0.0..0.2).contains(&sum), "{sum}");
    }
}

#[test]
fn the_jacobian_is_that_of_the_equations() {
    let (network, mut rng) = (Network::new(), ChaCha8Rng::seed_from_u64(2));
    for _ in 0..20 {
        let y = draw(&mut rng);
        let mut state = network.solve(&y).unwrap();
        for bus in 1..5 {
            state.angle[bus] += rng.random_range(-0.2..0.2);
        }
        let jacobian = network.jacobian(&state);
        for column in 0..6 {
            let moved = |step: f64| {
                let mut moved = state;
                if column < 4 {
                    moved.angle[column + 1] += step;
                } else {
                    moved.voltage[column - 1] += step;
                }
                network.mismatch(&moved, &y)
            };
            let (ahead, behind) = (moved(1e-6), moved(-1e-6));
            for (row, derivatives) in jacobian.iter().enumerate() {
                let slope = (ahead[row] - behind[row]) / 2e-6;
                let found = derivatives[column];
                assert!(
                    (slope - found).abs() < 1e-6 * found.abs().max(1.0),
                    "{row} {column}"
                );
            }
        }
    }
}

#[test]
fn guarded_set_points_can_be_held() {
    let set = set_points();
    let model = train_with(&set, &quick(), &Session::new()).unwrap();
    let (guard, mut rng) = (model.guard(&set).unwrap(), ChaCha8Rng::seed_from_u64(3));
    for _ in 0..300 {
        let y = draw(&mut rng);
        let (out, _) = guard.project(&y, &[]).unwrap();
        assert!(set.contains(&out, &[]), "{y:?} {out:?}");
    }
}

#[test]
fn labelled_set_points_are_enough() {
    let (set, mut rng) = (set_points(), ChaCha8Rng::seed_from_u64(4));
    let rows: Vec<[f64; 3]> = (0..8000).map(|_| draw(&mut rng)).collect();
    let labels = rows.iter().map(|y| set.contains(y, &[])).collect();
    let data =
        LabelledData::new(set.names(), rows.concat(), Vec::new(), Vec::new(), labels).unwrap();
    let config = LabelledSettings {
        steps: 1500,
        rows: 256,
        ..LabelledSettings::default()
    };
    let learned = data
        .learn("set-points", &config, 1, &Session::default())
        .unwrap();
    let (mut accepted, mut held) = (0, 0);
    for _ in 0..8000 {
        let y = draw(&mut rng);
        if learned.contains(&y, &[]) {
            accepted += 1;
            held += usize::from(set.contains(&y, &[]));
        }
    }
    assert!(
        accepted > 900 && held as f64 > 0.985 * f64::from(accepted),
        "{held} {accepted}"
    );
}
