//! A lookup table of optima, and a network that learns it by heart.

use fabproj::solve::Problem;
use fabproj_nn::{Adam, AdamConfig, Cosine, Mlp, MlpSpec, Tape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::super::instance::Instance;
use super::search::Search;
use crate::{Context, StudyError};

/// Starts of the search for an entry, and tests of each.
const STARTS: usize = 2;
const TESTS: usize = 1_000;

/// Pairs of x and the best answer that a search found.
pub(super) struct Table {
    pub(super) entries: Vec<(Vec<f64>, Vec<f64>)>,
    middles: Vec<f64>,
    widths: Vec<f64>,
}

impl Table {
    /// As many entries as tests allow.
    pub(super) fn build(
        instance: &Instance,
        tests: u64,
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Self, StudyError> {
        let count = (tests / (STARTS * TESTS) as u64).max(1) as usize;
        let (problem, bounds) = (instance.problem(), instance.x_bounds());
        let mut entries = Vec::new();
        for x in instance.fresh_x(count, 3_000 + seed) {
            context.check_stop()?;
            if let Some(y) = optimum(problem, &x) {
                entries.push((x, y));
            }
        }
        Ok(Self {
            entries,
            middles: bounds
                .iter()
                .map(|(low, high)| 0.5 * (low + high))
                .collect(),
            widths: bounds.iter().map(|(low, high)| high - low).collect(),
        })
    }

    /// The answers at so many entries nearest in x, nearest first.
    pub(super) fn nearest(&self, x: &[f64], count: usize) -> Vec<&[f64]> {
        let away = |entry: &[f64]| -> f64 {
            let pairs = entry.iter().zip(x).zip(&self.widths);
            pairs.map(|((a, b), width)| ((a - b) / width).powi(2)).sum()
        };
        let entries = self.entries.iter().map(|(x, y)| (away(x), y.as_slice()));
        let mut all: Vec<(f64, &[f64])> = entries.collect();
        let count = count.min(all.len());
        if count < all.len() {
            all.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0));
            all.truncate(count);
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.into_iter().map(|(_, y)| y).collect()
    }

    /// x between −1 and 1, for a network.
    pub(super) fn input(&self, x: &[f64]) -> Vec<f32> {
        let frame = self.middles.iter().zip(&self.widths);
        let scaled = x.iter().zip(frame);
        scaled
            .map(|(x, (middle, width))| (2.0 * (x - middle) / width) as f32)
            .collect()
    }
}

fn optimum(problem: &Problem, x: &[f64]) -> Option<Vec<f64>> {
    let mut search = Search::new(problem, x, STARTS * TESTS);
    search.restart(TESTS);
    Some(search.best()?.1)
}

/// A network from x to the table's answers.
pub(super) fn regression(
    table: &Table,
    seed: u64,
    context: &Context<'_>,
) -> Result<Mlp, StudyError> {
    const ROWS: usize = 128;
    const STEPS: u64 = 10_000;
    let (x_dim, dim) = (table.widths.len(), table.entries[0].1.len());
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut net = Mlp::new(MlpSpec::new(x_dim, &[128; 3], dim), &mut random)?;
    let mut adam = Adam::new(AdamConfig::default(), net.parameters().len());
    let rates = Cosine {
        peak: 2e-3,
        end_fraction: 0.002,
        warm_up: 100,
        total: STEPS,
    };
    let (mut tape, mut gradient) = (Tape::new(), vec![0.0; net.parameters().len()]);
    for step in 0..STEPS {
        context.check_stop()?;
        let (mut inputs, mut targets) = (Vec::new(), Vec::new());
        for _ in 0..ROWS {
            let (x, y) = &table.entries[random.random_range(0..table.entries.len())];
            inputs.extend(table.input(x));
            targets.extend(y.iter().map(|y| *y as f32));
        }
        let outputs = net.forward(&inputs, ROWS, &mut tape);
        let pairs = outputs.iter().zip(&targets);
        let delta: Vec<f32> = pairs
            .map(|(y, target)| (y - target) / ROWS as f32)
            .collect();
        gradient.fill(0.0);
        net.backward(&mut tape, &delta, Some(&mut gradient), None);
        adam.update(net.parameters_mut(), &gradient, rates.at(step));
    }
    Ok(net)
}
