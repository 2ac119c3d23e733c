//! Compares ways to guess a set from labelled points, and prints the table of `docs/labelled-data.md`.
//!
//! ```text
//! cargo run --release --example labels -- [--rows N,...] [--sets NAME,...] [--seed S]
//! ```
//!
//! Points are drawn uniformly from the set's bounds and labelled by the set, which is not asked again
//! until the guesses are judged on fresh points. Each guess is a score; its threshold is chosen on
//! held-out rows as `learn_set` does. `rare` rows are thinned out until one in a hundred is feasible.

use std::error::Error;
use std::time::Instant;

use fabproj::data::labelled::LabelledData;
use fabproj::data::tree::Tree;
use fabproj::set::{Set, built_in};
use fabproj::train::labelled::{Held, Split, choose_threshold};
use fabproj::train::{LabelledConfig, Session, learn_set};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

type Outcome<T> = Result<T, Box<dyn Error>>;

const SETS: [&str; 5] = [
    "two-moons",
    "star-shaped",
    "blob-with-bite",
    "moving-obstacle",
    "shell-5d",
];
const FRESH: usize = 40_000;
const NEIGHBOURS: usize = 9;

fn main() -> Outcome<()> {
    let (mut sets, mut rows, mut seed) = (
        SETS.map(str::to_owned).to_vec(),
        vec![2_000, 10_000, 60_000],
        1,
    );
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words.next().ok_or("a flag without a value")?;
        match flag.as_str() {
            "--sets" => sets = value.split(',').map(str::to_owned).collect(),
            "--rows" => rows = value.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--seed" => seed = value.parse()?,
            _ => return Err(format!("{flag} is unknown").into()),
        }
    }
    println!(
        "| set | rows | guess | accepted and feasible | those that only just pass | feasible and accepted | s |"
    );
    println!("|---|---|---|---|---|---|---|");
    for name in &sets {
        let set = built_in(name)?;
        for (rows, rare) in rows
            .iter()
            .map(|rows| (*rows, false))
            .chain([(10_000, true)])
        {
            let data = draw(set.as_ref(), rows, rare, seed)?;
            let fresh = draw(set.as_ref(), FRESH, false, seed + 1000)?;
            let label = format!("{name} | {rows}{}", if rare { ", rare" } else { "" });
            for (guess, score) in GUESSES {
                let started = Instant::now();
                let judged = score(&data, &fresh, seed)?.judge(&fresh);
                let seconds = started.elapsed().as_secs_f64();
                println!("| {label} | {guess} | {judged} | {seconds:.1} |");
            }
        }
    }
    Ok(())
}

type Guess = fn(&LabelledData, &LabelledData, u64) -> Outcome<Scored>;
const GUESSES: [(&str, Guess); 3] = [
    ("nearest point, with a margin", nearest),
    ("votes of 9 neighbours", votes),
    ("discriminator", discriminator),
];

/// Scores of the fresh points, and the threshold.
struct Scored {
    scores: Vec<f32>,
    threshold: f32,
}

impl Scored {
    fn judge(&self, fresh: &LabelledData) -> String {
        let mut accepted: Vec<(f32, bool)> = self
            .scores
            .iter()
            .copied()
            .zip(fresh.labels().iter().copied())
            .collect();
        accepted.retain(|(score, _)| *score > self.threshold);
        accepted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let share = |rows: &[(f32, bool)]| {
            let feasible = rows.iter().filter(|(_, feasible)| *feasible).count();
            100.0 * feasible as f64 / rows.len().max(1) as f64
        };
        let edge = &accepted[..accepted.len() / 10];
        let found = accepted.iter().filter(|(_, feasible)| *feasible).count();
        let recall = 100.0 * found as f64 / fresh.feasible() as f64;
        format!(
            "{:.2} % | {:.1} % | {recall:.1} %",
            share(&accepted),
            share(edge)
        )
    }
}

fn draw(set: &dyn Set, rows: usize, rare: bool, seed: u64) -> Outcome<LabelledData> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (mut points, mut parameters, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    let mut left = [rows - rows / 100, rows / 100];
    while labels.len() < rows {
        let mut uniform = |bounds: Vec<(f64, f64)>| -> Vec<f64> {
            let values = bounds
                .iter()
                .map(|(low, high)| low + (high - low) * rng.random::<f64>());
            values.collect()
        };
        let (y, x) = (uniform(set.bounds()), uniform(set.x_bounds()));
        let label = set.contains(&y, &x);
        let left = &mut left[usize::from(label)];
        if rare && *left == 0 {
            continue;
        }
        *left = left.saturating_sub(1);
        points.extend(y);
        parameters.extend(x);
        labels.push(label);
    }
    Ok(LabelledData::new(
        set.names(),
        points,
        set.x_names(),
        parameters,
        labels,
    )?)
}

fn joined(data: &LabelledData, row: usize) -> Vec<f32> {
    let values = data.y(row).iter().chain(data.x(row));
    values.map(|value| *value as f32).collect()
}

/// Chooses the threshold of a score on the rows that it has not seen.
fn thresholded(
    data: &LabelledData,
    fresh: &LabelledData,
    split: &Split,
    score: impl Fn(&[f32]) -> f32,
) -> Scored {
    let held: Vec<Held> = split
        .choosing
        .iter()
        .map(|row| Held {
            score: score(&joined(data, *row)),
            feasible: data.labels()[*row],
        })
        .collect();
    Scored {
        threshold: choose_threshold(&held, 0.99, 0.99),
        scores: (0..fresh.rows())
            .map(|row| score(&joined(fresh, row)))
            .collect(),
    }
}

fn trees(data: &LabelledData, split: &Split) -> [Tree; 2] {
    [false, true].map(|label| {
        let rows = split
            .training
            .iter()
            .filter(|row| data.labels()[**row] == label);
        let points: Vec<f32> = rows.flat_map(|row| joined(data, *row)).collect();
        Tree::new(&points, data.dim() + data.x_dim())
    })
}

/// How much nearer the nearest feasible point is than the nearest infeasible one.
fn nearest(data: &LabelledData, fresh: &LabelledData, seed: u64) -> Outcome<Scored> {
    let split = Split::new(data, &mut ChaCha8Rng::seed_from_u64(seed));
    let trees = trees(data, &split);
    let distance = |tree: &Tree, point: &[f32]| {
        tree.nearest(point)
            .map_or(f32::INFINITY, |(_, square)| square.sqrt())
    };
    Ok(thresholded(data, fresh, &split, |point| {
        distance(&trees[0], point) - distance(&trees[1], point)
    }))
}

/// The share of feasible ones among the nearest points, nearer ones counting more.
fn votes(data: &LabelledData, fresh: &LabelledData, seed: u64) -> Outcome<Scored> {
    let split = Split::new(data, &mut ChaCha8Rng::seed_from_u64(seed));
    let points: Vec<f32> = split
        .training
        .iter()
        .flat_map(|row| joined(data, *row))
        .collect();
    let tree = Tree::new(&points, data.dim() + data.x_dim());
    Ok(thresholded(data, fresh, &split, |point| {
        let mut found = [(0.0, 0); NEIGHBOURS];
        tree.nearest_several(point, &mut found);
        let known = found.iter().filter(|(_, index)| *index != u32::MAX);
        let weighed = known.map(|(square, index)| {
            let weight = 1.0 / (square.sqrt() + 1e-6);
            let feasible = data.labels()[split.training[*index as usize]];
            (weight, if feasible { weight } else { 0.0 })
        });
        let (all, feasible) =
            weighed.fold((0.0, 0.0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
        feasible / all
    }))
}

/// What `learn_set` does.
fn discriminator(data: &LabelledData, fresh: &LabelledData, seed: u64) -> Outcome<Scored> {
    let set = learn_set(
        "points",
        data,
        &LabelledConfig::default(),
        seed,
        &Session::default(),
    )?;
    Ok(Scored {
        threshold: 0.0,
        scores: (0..fresh.rows())
            .map(|row| set.score(fresh.y(row), fresh.x(row)))
            .collect(),
    })
}
