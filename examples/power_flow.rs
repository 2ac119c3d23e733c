//! The generator set-points that a network of five buses can hold, learned from a closure that solves the
//! power flow for every question.
//!
//! ```text
//! cargo run --release --example power_flow                    # train, project, check
//! cargo run --release --example power_flow -- points.csv 20000   # write labelled points instead
//! ```
//!
//! `examples/power-flow/README.md` shows both.

use std::error::Error;
use std::fmt::Write;

use fabproj::set::FnSet;
use fabproj::{Session, Settings, train_with};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "power-flow/network.rs"]
mod network;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [] => train(),
        [file, rows] => Ok(std::fs::write(file, labelled_points(rows.parse()?))?),
        _ => Err("usage: power_flow [FILE ROWS]".into()),
    }
}

/// What can be held, as a set: each membership test solves the power flow.
fn set_points() -> FnSet {
    let network = network::Network::new();
    let held = move |y: &[f64], _: &[f64]| network.is_feasible(y);
    FnSet::new("five-bus set-points", network::BOUNDS, held).with_names(&network::NAMES, &[])
}

fn train() -> Result<(), Box<dyn Error>> {
    let set = set_points();
    let settings = Settings {
        seed: 1,
        ..Settings::default()
    };
    let session = Session::new();
    let mut model = train_with(&set, &settings, &session)?;
    let plan = settings.plan(session.queries(), model.projector().charts());
    let certificate = model.certify(&set, &plan)?;
    let queries = session.queries() + certificate.queries;
    println!("{queries} power flows solved");
    println!(
        "feasible: {:.2} % projected, {:.2} % guarded",
        100.0 * certificate.raw_feasible,
        100.0 * certificate.guarded_feasible
    );
    let wanted = [1.2, 0.9, 1.06];
    let (held, outcome) = model.guard(&set)?.project(&wanted, &[])?;
    println!("{wanted:?} cannot be held; {held:?} can ({outcome})");
    Ok(())
}

/// Set-points drawn at random, with what the network says of them.
fn labelled_points(rows: usize) -> String {
    let network = network::Network::new();
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut text = format!("{},label\n", network::NAMES.join(","));
    for _ in 0..rows {
        // What the file holds is what gets labelled.
        let y =
            network::BOUNDS.map(|(low, high)| (1e5 * rng.random_range(low..high)).round() / 1e5);
        let label = u8::from(network.is_feasible(&y));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:.5},{:.5},{:.5},{label}", y[0], y[1], y[2]);
    }
    text
}
