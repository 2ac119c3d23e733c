//! Runs the guard over good and bad models, and asks a second, independent test about every output.
//!
//! ```text
//! cargo run --release --example soak -- [--calls N] [--seed N]
//! ```
//!
//! Models: trained, random, collapsed to a point that is feasible or not, and with weights so large that the
//! networks overflow to infinity and NaN. Inputs: from the region, far outside of it, huge, tiny, NaN and
//! infinite. The tests are written here again, from the definition of each set and not from its code. What must
//! hold:
//!
//! - an output that is called verified passes the second test, and every output is finite;
//! - an input that is kept comes back bit for bit, and an input that passes with a margin is kept;
//! - only a set that depends on x is called maybe-empty, and only an x that is not finite gives not-finite.
//!
//! The table, in Markdown, goes to the standard output. The exit code is 1 if anything was broken.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use fabproj::core::{Anchor, Chart, Network, Weights};
use fabproj::set::{Set, built_in, from_toml};
use fabproj::{Guard, Model, Outcome, Session, Settings, train_with};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Rows of one task.
const ROWS: usize = 1024;
/// How far rounding may put a point that is called feasible outside, and how far inside a point must be to be
/// called feasible for certain.
const ROUNDING: f64 = 1e-9;

/// How far y is inside of the set at x, negative outside: by definition, in f64.
type Depth = fn(&[f64], &[f64]) -> f64;

struct Case {
    name: &'static str,
    set: Arc<dyn Set>,
    depth: Depth,
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

fn ring(y: &[f64], _x: &[f64]) -> f64 {
    let radius = norm(y.iter().copied());
    (radius - 1.0).min(2.0 - radius)
}

fn obstacle(y: &[f64], x: &[f64]) -> f64 {
    let clear = norm(y.iter().zip(x).map(|(y, x)| y - x)) - 0.6;
    (1.5 - norm(y.iter().copied())).min(clear)
}

/// Three generators share a load.
const DISPATCH: &str = r#"
y = ["p1", "p2", "p3"]
x = ["load"]
bounds = { p1 = [0, 100], p2 = [0, 80], p3 = [0, 60] }
x_bounds = { load = [60, 200] }
[[constraint]]
expr = "p1 + p2 + p3 == load"
[[constraint]]
expr = "p1 * p1 + p2 * p2 <= 11000"
"#;

/// In units of a hundredth. An input obeys an equation if both sides agree to a millionth of the larger, as
/// `docs/set-files.md` says.
fn dispatch(y: &[f64], x: &[f64]) -> f64 {
    let sum = y[0] + y[1] + y[2];
    let tolerance = 1e-6 * sum.abs().max(x[0].abs()).max(1.0);
    let balance = (tolerance - (sum - x[0]).abs()).min(0.0);
    let limits = [(0, 100.0), (1, 80.0), (2, 60.0)];
    let limits = limits.map(|(index, most)| y[index].min(most - y[index]));
    let line = (11_000.0 - y[0] * y[0] - y[1] * y[1]) / 200.0;
    limits.into_iter().fold(balance.min(line), f64::min) / 100.0
}

fn cases() -> Result<Vec<Case>, Box<dyn Error>> {
    let case = |name, set, depth| Case { name, set, depth };
    Ok(vec![
        case("ring", built_in("concentric-circles")?, ring as Depth),
        case("shell, 5 dimensions", built_in("shell-5d")?, ring),
        case("moving obstacle", built_in("moving-obstacle")?, obstacle),
        case("dispatch with an equation", from_toml(DISPATCH)?, dispatch),
    ])
}

/// A model and its kind.
struct Candidate {
    kind: &'static str,
    model: Model,
}

/// The trained model, and bad ones of the same form.
fn candidates(case: &Case, seed: u64) -> Result<Vec<Candidate>, Box<dyn Error>> {
    let settings = Settings {
        phase_two: 600,
        rounds: 1,
        seed,
        ..Settings::quick()
    };
    let trained = train_with(&case.set, &settings, &Session::new())?;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut found = Vec::new();
    let bad: [(&'static str, &mut dyn FnMut(f32) -> f32); 4] = [
        ("random", &mut |_| rng.random_range(-2.0..2.0)),
        ("collapsed", &mut |_| 0.0),
        ("huge", &mut |weight| weight * 1e20),
        ("overflowing", &mut |weight| {
            if weight < 0.0 { -3e38 } else { 3e38 }
        }),
    ];
    for (kind, change) in bad {
        let mut weights = trained.weights().clone();
        let charts = weights.charts.iter_mut();
        let networks = charts.flat_map(|chart: &mut Chart| {
            let networks = chart.decoders.iter_mut().chain(&mut chart.decoder_gate);
            networks.chain([&mut chart.encoder])
        });
        networks.for_each(|network| change_all(network, &mut *change));
        weights
            .gate
            .iter_mut()
            .for_each(|gate| change_all(gate, &mut *change));
        found.extend(candidate(kind, weights, &case.set));
    }
    let identity = |weights: &Weights| Weights {
        anchors: Vec::new(),
        ..weights.clone()
    };
    let bare = identity(trained.weights());
    found.extend(candidate("trained, no anchors", bare, &case.set));
    found.push(Candidate {
        kind: "trained",
        model: trained,
    });
    Ok(found)
}

fn change_all(network: &mut Network, change: &mut dyn FnMut(f32) -> f32) {
    for layer in &mut network.layers {
        let numbers = layer.weights.iter_mut().chain(&mut layer.bias);
        numbers.for_each(|number| *number = change(*number));
    }
    let skip = network.skip.iter_mut().flatten();
    skip.for_each(|number| *number = change(*number));
}

/// A model of changed weights; anchors are decoded again, as a model file must hold their decodes.
fn candidate(kind: &'static str, weights: Weights, set: &Arc<dyn Set>) -> Option<Candidate> {
    let model = Model::new(weights.clone(), set).or_else(|_| {
        let anchors: Vec<Anchor> = Vec::new();
        Model::new(Weights { anchors, ..weights }, set)
    });
    model.ok().map(|model| Candidate { kind, model })
}

/// What was counted of one model.
#[derive(Default)]
struct Counts {
    calls: u64,
    outcomes: BTreeMap<&'static str, u64>,
    broken: Vec<String>,
}

impl Counts {
    fn add(mut self, other: Self) -> Self {
        self.calls += other.calls;
        for (name, count) in other.outcomes {
            *self.outcomes.entry(name).or_default() += count;
        }
        self.broken.extend(other.broken);
        self.broken.truncate(5);
        self
    }
}

/// A number from the interval, or one that nobody expects.
fn number((low, high): (f64, f64), rng: &mut ChaCha8Rng) -> f64 {
    let inside = low + (high - low) * rng.random::<f64>();
    match rng.random_range(0..40) {
        0 => inside * 1e3,
        1 => inside * 1e30,
        2 => inside * 1e300,
        3 => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY][rng.random_range(0..3)],
        4 => inside * 1e-310,
        5 => [low, high, 0.0, -0.0][rng.random_range(0..4)],
        6 => inside + (high - low) * (rng.random::<f64>() - 0.5) * 20.0,
        _ => inside,
    }
}

fn task(case: &Case, guard: &Guard<Arc<dyn Set>>, seed: u64, task: u64) -> Counts {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(task);
    let (bounds, x_bounds) = (case.set.bounds(), case.set.x_bounds());
    let (dim, x_dim) = (bounds.len(), x_bounds.len());
    let (mut y, mut x) = (Vec::new(), Vec::new());
    for _ in 0..ROWS {
        y.extend(bounds.iter().map(|interval| number(*interval, &mut rng)));
        // Mostly an x of the region: elsewhere a set may be empty.
        let strange = rng.random_range(0..4) == 0;
        x.extend(x_bounds.iter().map(|(low, high)| match strange {
            true => number((*low, *high), &mut rng),
            false => low + (high - low) * rng.random::<f64>(),
        }));
    }
    let mut counts = Counts::default();
    let (out, outcomes) = match guard.project_rows(&y, &x) {
        Ok(done) => done,
        Err(error) => {
            counts.broken.push(error.to_string());
            return counts;
        }
    };
    for (row, outcome) in outcomes.iter().enumerate() {
        let of = |values: &[f64], dim: usize| values[row * dim..][..dim].to_vec();
        let (input, x, output) = (of(&y, dim), of(&x, x_dim), of(&out, dim));
        counts.calls += 1;
        *counts.outcomes.entry(outcome.name()).or_default() += 1;
        if let Some(problem) = problem(case, &input, &x, &output, *outcome) {
            counts.broken.push(format!(
                "{problem}: {input:?} at {x:?} gave {output:?}, {outcome}"
            ));
        }
    }
    counts
}

/// What is wrong with one answer.
fn problem(
    case: &Case,
    y: &[f64],
    x: &[f64],
    out: &[f64],
    outcome: Outcome,
) -> Option<&'static str> {
    let finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
    if !finite(out) {
        return Some("an output that is not finite");
    }
    if outcome.is_verified() && (case.depth)(out, x) < -ROUNDING {
        return Some("an infeasible output that is called feasible");
    }
    let same = y
        .iter()
        .zip(out)
        .all(|(y, out)| y.to_bits() == out.to_bits());
    if outcome == Outcome::Kept && !same {
        return Some("an input that was kept, and changed");
    }
    let inside = finite(y) && finite(x) && (case.depth)(y, x) > ROUNDING;
    if inside && outcome != Outcome::Kept {
        return Some("a feasible input that was not kept");
    }
    match outcome {
        Outcome::MaybeEmpty if x.is_empty() => Some("a fixed set that is called empty"),
        Outcome::NotFinite if finite(x) => Some("a finite x that is called not finite"),
        _ => None,
    }
}

fn option(name: &str, otherwise: u64) -> Result<u64, Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    match words.iter().position(|word| word == name) {
        Some(place) => Ok(words.get(place + 1).ok_or("a number is missing")?.parse()?),
        None => Ok(otherwise),
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (calls, seed) = (option("--calls", 100_000_000)?, option("--seed", 1)?);
    let cases = cases()?;
    let mut runs = Vec::new();
    for case in &cases {
        for candidate in candidates(case, seed)? {
            // A guard that finds no feasible point is an error, and answers nothing.
            match candidate.model.guard(case.set.clone()) {
                Ok(guard) => runs.push((case, candidate.kind, guard)),
                Err(error) => eprintln!("{}, {}: no guard: {error}", case.name, candidate.kind),
            }
        }
    }
    let tasks = calls.div_ceil((runs.len() * ROWS) as u64);
    println!("| set | model | calls | outcomes | broken |\n|---|---|---|---|---|");
    let (mut total, mut broken) = (0, 0);
    for (case, kind, guard) in &runs {
        let tasks = (0..tasks).into_par_iter();
        let counts = tasks.map(|index| task(case, guard, seed, index));
        let counts = counts.reduce(Counts::default, Counts::add);
        let outcomes = counts.outcomes.iter();
        let outcomes: Vec<String> = outcomes
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        println!(
            "| {} | {kind} | {} | {} | {} |",
            case.name,
            counts.calls,
            outcomes.join(", "),
            counts.broken.len()
        );
        counts
            .broken
            .iter()
            .for_each(|problem| eprintln!("{problem}"));
        total += counts.calls;
        broken += counts.broken.len();
    }
    println!("\n{total} calls, {broken} broken.");
    Ok(ExitCode::from(u8::from(broken > 0)))
}
