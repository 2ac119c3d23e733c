//! A learned solver beside a lookup table, a random-restart local search and a plain network, all with the same
//! number of membership tests per answer.
//!
//! ```sh
//! cargo run --release -p fabproj --example black_box -- examples/arm/arm.toml [--quick]
//! ```
//!
//! Everyone knows the objective and its gradient, and of the constraints only whether a point obeys them. Table
//! and network learn from optima that took, all in all, as many tests as the training of the solver.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use fabproj::Session;
use fabproj::solve::{self, Functions, Problem, SolveSettings, Tool};
use fabproj_nn::{Adam, AdamConfig, Cosine, Mlp, MlpSpec, Tape};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// x that all methods answer.
const SAMPLES: usize = 300;
/// Starts of a search for the best answer, and tests of each.
const STARTS: usize = 8;
const TESTS: usize = 1_000;
/// Entries of the table that are tried for an answer.
const NEAREST: usize = 16;

/// Counts how often the constraints are asked.
struct Counting {
    functions: Arc<dyn Functions + Send + Sync>,
    tests: Arc<AtomicU64>,
}

impl Functions for Counting {
    fn dim(&self) -> usize {
        self.functions.dim()
    }
    fn x_dim(&self) -> usize {
        self.functions.x_dim()
    }
    fn rows(&self) -> usize {
        self.functions.rows()
    }
    fn memory(&self) -> usize {
        self.functions.memory()
    }
    fn values(&self, y: &[f64], x: &[f64], rows: &mut [f64], memory: &mut [f64]) -> f64 {
        self.tests.fetch_add(1, Ordering::Relaxed);
        self.functions.values(y, x, rows, memory)
    }
    fn gradient(&self, y: &[f64], x: &[f64], w: &[f64], g: &mut [f64], memory: &mut [f64]) {
        self.functions.gradient(y, x, w, g, memory);
    }
    fn slopes(&self, y: &[f64], x: &[f64], d: &[f64], s: &mut [f64], memory: &mut [f64]) {
        self.functions.slopes(y, x, d, s, memory);
    }
}

/// The best feasible point so far, with its objective.
type Best = Option<(f64, Vec<f64>)>;

/// One x, a budget of tests, and the best feasible point so far.
struct Search<'a> {
    problem: &'a Problem,
    x: &'a [f64],
    left: usize,
    rows: Vec<f64>,
    memory: Vec<f64>,
    best: Best,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem, x: &'a [f64], left: usize) -> Self {
        let functions = problem.functions();
        let (rows, memory) = (vec![0.0; functions.rows()], vec![0.0; functions.memory()]);
        Self {
            problem,
            x,
            left,
            rows,
            memory,
            best: None,
        }
    }

    /// Tests a point: whether it is feasible, and whether it is the best so far.
    fn test(&mut self, y: &[f64]) -> (bool, bool) {
        if self.left == 0 {
            return (false, false);
        }
        self.left -= 1;
        let functions = self.problem.functions();
        let f = functions.values(y, self.x, &mut self.rows, &mut self.memory);
        let bounds = self.problem.bounds().unwrap_or(&[]);
        let bounded = y
            .iter()
            .zip(bounds)
            .all(|(y, (low, high))| low <= y && y <= high);
        if !bounded || self.rows.iter().any(|row| row.is_nan() || *row > 0.0) {
            return (false, false);
        }
        let better = self.best.as_ref().is_none_or(|(best, _)| f < *best);
        if better {
            self.best = Some((f, y.to_vec()));
        }
        (true, better)
    }

    /// Steps from the best point, downhill and at random in turn, until so few tests are left.
    fn polish(&mut self, longest: f64, until: usize, random: &mut ChaCha8Rng) {
        let mut strides = [longest; 2];
        while let Some((_, from)) = self.best.clone() {
            let (dim, turn) = (from.len(), self.left % 2);
            if self.left <= until {
                return;
            }
            let mut way = vec![0.0; dim];
            if turn == 0 {
                let functions = self.problem.functions();
                functions.values(&from, self.x, &mut self.rows, &mut self.memory);
                let none = vec![0.0; self.rows.len()];
                functions.gradient(&from, self.x, &none, &mut way, &mut self.memory);
                way.iter_mut().for_each(|way| *way = -*way);
            } else {
                way.fill_with(|| random.sample(StandardNormal));
            }
            let length = way.iter().map(|way| way * way).sum::<f64>().sqrt();
            let share = strides[turn] / length.max(f64::MIN_POSITIVE);
            let y: Vec<f64> = from
                .iter()
                .zip(&way)
                .map(|(y, way)| y + share * way)
                .collect();
            strides[turn] *= if self.test(&y).1 { 1.7 } else { 0.5 };
        }
    }

    /// A uniform point of the bounds.
    fn draw(&self, random: &mut ChaCha8Rng) -> Vec<f64> {
        let bounds = self.problem.bounds().unwrap_or(&[]).iter();
        bounds
            .map(|(low, high)| low + (high - low) * random.random::<f64>())
            .collect()
    }

    /// Local searches from drawn feasible points, with so many tests for each.
    fn restart(&mut self, tests: usize, random: &mut ChaCha8Rng) {
        let mut best: Best = None;
        while self.left > 0 {
            self.best = None;
            let until = self.left.saturating_sub(tests);
            while self.left > until && self.best.is_none() {
                let y = self.draw(random);
                self.test(&y);
            }
            self.polish(0.5, until, random);
            let lower = |one: &(f64, Vec<f64>)| best.as_ref().is_none_or(|best| one.0 < best.0);
            if self.best.as_ref().is_some_and(lower) {
                best = self.best.take();
            }
        }
        self.best = best;
    }
}

/// Pairs of x and the best answer that a search found.
struct Table {
    entries: Vec<(Vec<f64>, Vec<f64>)>,
    widths: Vec<f64>,
}

impl Table {
    /// The entries nearest in x.
    fn nearest(&self, x: &[f64]) -> Vec<&Vec<f64>> {
        let away = |entry: &[f64]| -> f64 {
            let pairs = entry.iter().zip(x).zip(&self.widths);
            pairs.map(|((a, b), width)| ((a - b) / width).powi(2)).sum()
        };
        let mut all: Vec<(f64, &Vec<f64>)> =
            self.entries.iter().map(|(x, y)| (away(x), y)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.into_iter().take(NEAREST).map(|(_, y)| y).collect()
    }
}

/// A network that learns the table by heart.
fn regression(table: &Table, random: &mut ChaCha8Rng) -> Result<Mlp, Box<dyn Error>> {
    const ROWS: usize = 128;
    const STEPS: u64 = 10_000;
    let (x_dim, dim) = (table.entries[0].0.len(), table.entries[0].1.len());
    let mut net = Mlp::new(MlpSpec::new(x_dim, &[128; 3], dim), random)?;
    let mut adam = Adam::new(AdamConfig::default(), net.parameters().len());
    let rates = Cosine {
        peak: 2e-3,
        end_fraction: 0.002,
        warm_up: 100,
        total: STEPS,
    };
    let (mut tape, mut gradient) = (Tape::new(), vec![0.0; net.parameters().len()]);
    for step in 0..STEPS {
        let (mut inputs, mut targets) = (Vec::new(), Vec::new());
        for _ in 0..ROWS {
            let (x, y) = &table.entries[random.random_range(0..table.entries.len())];
            inputs.extend(x.iter().map(|x| *x as f32));
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

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("name a problem file")?;
    let mut settings = SolveSettings::default();
    settings.tool = Some(Tool::Learned);
    settings.quick = arguments.any(|word| word == "--quick");

    let tests = Arc::new(AtomicU64::new(0));
    let problem = Problem::from_file(&file)?;
    let functions = problem.functions().clone();
    let counting = Counting {
        functions,
        tests: tests.clone(),
    };
    let counted = problem.clone().with_functions(Arc::new(counting));
    let session = Session::new();
    let started = Instant::now();
    let model = solve::train_with(&problem, &settings, &session)?;
    let queries = session.queries();
    let trained = started.elapsed().as_secs_f64();
    let solver = model.solver(&counted)?;

    // Of the learned solver: its answers and how many tests they took.
    let x_dim = problem.x_dim();
    let x = problem.draw_x(SAMPLES, 77);
    let x: Vec<&[f64]> = x.chunks(x_dim).collect();
    let mut answers: Vec<Vec<Best>> = Vec::new();
    let solved = x.iter().map(|x| {
        let (y, answer) = solver.solve(x)?;
        Ok(answer
            .outcome
            .is_verified()
            .then_some((answer.objective, y)))
    });
    answers.push(solved.collect::<Result<_, Box<dyn Error>>>()?);
    let budget = tests.load(Ordering::Relaxed) as usize / SAMPLES;

    let mut random = ChaCha8Rng::seed_from_u64(5);
    let started = Instant::now();
    let rows = queries as usize / (2 * TESTS);
    let inputs = problem.draw_x(rows, 78);
    let optimum = |x: &[f64], random: &mut ChaCha8Rng| {
        let mut search = Search::new(&problem, x, 2 * TESTS);
        search.restart(TESTS, random);
        Some((x.to_vec(), search.best?.1))
    };
    let entries = inputs
        .chunks(x_dim)
        .filter_map(|x| optimum(x, &mut random))
        .collect();
    let widths = model
        .weights()
        .x_range
        .iter()
        .map(|(low, high)| high - low)
        .collect();
    let table = Table { entries, widths };
    println!(
        "{file}: {SAMPLES} x, {budget} membership tests per answer\nlearned solver: {queries} tests, {trained:.0} s \
         of training; table: {} optima, {:.0} s",
        table.entries.len(),
        started.elapsed().as_secs_f64()
    );
    let looked_up = |x: &&[f64], random: &mut ChaCha8Rng| {
        let mut search = Search::new(&problem, x, budget);
        for y in table.nearest(x) {
            search.test(y);
        }
        search.polish(0.1, 0, random);
        search.best
    };
    answers.push(x.iter().map(|x| looked_up(x, &mut random)).collect());
    let restarted = |x: &&[f64], random: &mut ChaCha8Rng| {
        let mut search = Search::new(&problem, x, budget);
        search.restart(budget, random);
        search.best
    };
    answers.push(x.iter().map(|x| restarted(x, &mut random)).collect());
    let net = regression(&table, &mut random)?;
    let predicted = |x: &&[f64], random: &mut ChaCha8Rng| {
        let mut search = Search::new(&problem, x, budget);
        let mut tape = Tape::new();
        let input: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let output = net.forward(&input, 1, &mut tape);
        let output: Vec<f64> = output.iter().map(|y| f64::from(*y)).collect();
        if !search.test(&output).0 {
            // The guard: from a feasible entry of the table toward the network's point.
            let anchor = table.nearest(x).into_iter().find(|y| search.test(y).0);
            let (mut inside, mut outside) = (0.0, 1.0);
            for _ in 0..if anchor.is_some() { 8 } else { 0 } {
                let share = 0.5 * (inside + outside);
                let pairs = anchor.into_iter().flatten().zip(&output);
                let y: Vec<f64> = pairs.map(|(a, y)| a + share * (y - a)).collect();
                if search.test(&y).0 {
                    inside = share
                } else {
                    outside = share
                }
            }
        }
        search.polish(0.1, 0, random);
        search.best
    };
    answers.push(x.iter().map(|x| predicted(x, &mut random)).collect());

    // The best that anyone knows, with a long search of its own.
    let best: Vec<f64> = x
        .iter()
        .enumerate()
        .map(|(index, x)| {
            let mut search = Search::new(&problem, x, STARTS * TESTS);
            search.restart(TESTS, &mut random);
            let found = answers.iter().filter_map(|all| all[index].clone());
            for (_, y) in found {
                search.left = TESTS;
                search.test(&y);
                search.polish(0.05, 0, &mut random);
            }
            search.best.map_or(f64::INFINITY, |(best, _)| best)
        })
        .collect();
    let names = [
        "learned solver",
        "lookup table",
        "random restarts",
        "plain network and guard",
    ];
    println!(
        "{:<24} {:>9} {:>10} {:>10} {:>10}",
        "", "feasible", "mean gap", "median", "99 %"
    );
    for (name, answers) in names.iter().zip(&answers) {
        let pairs = answers.iter().zip(&best);
        let mut gaps: Vec<f64> = pairs
            .filter_map(|(answer, best)| Some((answer.as_ref()?.0 - best) / best.abs()))
            .collect();
        gaps.sort_by(f64::total_cmp);
        let at = |share: f64| 100.0 * gaps[(share * (gaps.len() - 1) as f64) as usize];
        let mean = 100.0 * gaps.iter().sum::<f64>() / gaps.len() as f64;
        println!(
            "{name:<24} {:>9} {mean:>8.2} % {:>8.2} % {:>8.1} %",
            format!("{}/{}", gaps.len(), answers.len()),
            at(0.5),
            at(0.99)
        );
    }
    Ok(())
}
