//! Local search by membership tests: steps downhill and at random from the best feasible point.

use fabproj::solve::Problem;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// The first step of a local search from a drawn point, as a share of the bounds' widths.
const LONG: f64 = 0.1;

/// One x, a budget of tests, and the best feasible point so far.
pub(super) struct Search<'a> {
    problem: &'a Problem,
    x: &'a [f64],
    pub(super) left: usize,
    rows: Vec<f64>,
    memory: Vec<f64>,
    widths: Vec<f64>,
    best: Option<(f64, Vec<f64>)>,
    random: ChaCha8Rng,
}

impl<'a> Search<'a> {
    pub(super) fn new(problem: &'a Problem, x: &'a [f64], left: usize) -> Self {
        let functions = problem.functions();
        let bounds = problem.bounds().unwrap_or(&[]).iter();
        let seed = x
            .iter()
            .fold(5, |seed: u64, x| seed.rotate_left(7) ^ x.to_bits());
        Self {
            problem,
            x,
            left,
            rows: vec![0.0; functions.rows()],
            memory: vec![0.0; functions.memory()],
            widths: bounds.map(|(low, high)| high - low).collect(),
            best: None,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// The best feasible point so far, with its objective.
    pub(super) fn best(self) -> Option<(f64, Vec<f64>)> {
        self.best
    }

    /// Tests a point: whether it is feasible, and whether it is the best so far.
    pub(super) fn test(&mut self, y: &[f64]) -> (bool, bool) {
        if self.left == 0 {
            return (false, false);
        }
        let bounds = self.problem.bounds().unwrap_or(&[]);
        let mut pairs = y.iter().zip(bounds);
        if !pairs.all(|(y, (low, high))| low <= y && y <= high) {
            return (false, false);
        }
        self.left -= 1;
        let functions = self.problem.functions();
        let value = functions.values(y, self.x, &mut self.rows, &mut self.memory);
        if self.rows.iter().any(|row| row.is_nan() || *row > 0.0) {
            return (false, false);
        }
        let better = self.best.as_ref().is_none_or(|(best, _)| value < *best);
        if better {
            self.best = Some((value, y.to_vec()));
        }
        (true, better)
    }

    /// Steps from the best point, downhill and at random in turn, until so few tests are left. A step that
    /// leaves the bounds ends there.
    pub(super) fn polish(&mut self, longest: f64, until: usize) {
        let mut strides = [longest; 2];
        let mut turn = 0;
        while let Some((_, from)) = self.best.clone() {
            if self.left <= until || strides.iter().all(|stride| *stride < 1e-12) {
                return;
            }
            let way = if turn == 0 {
                self.downhill(&from)
            } else {
                self.anywhere()
            };
            let length = way.iter().map(|way| way * way).sum::<f64>().sqrt();
            let share = strides[turn] / length.max(f64::MIN_POSITIVE);
            let y = self.moved(&from, &way, share);
            let better = y != from && self.test(&y).1;
            // At random, steps of the right size succeed one time in five.
            let shorter = if turn == 0 { 0.5 } else { 0.85 };
            strides[turn] *= if better { 1.7 } else { shorter };
            strides[turn] = strides[turn].min(1.0);
            turn = 1 - turn;
        }
    }

    /// −∇f in units of the bounds' widths.
    fn downhill(&mut self, from: &[f64]) -> Vec<f64> {
        let functions = self.problem.functions();
        let (mut way, none) = (vec![0.0; from.len()], vec![0.0; self.rows.len()]);
        functions.gradient(from, self.x, &none, &mut way, &mut self.memory);
        let pairs = way.iter_mut().zip(&self.widths);
        pairs.for_each(|(way, width)| *way *= -width);
        way
    }

    fn anywhere(&mut self) -> Vec<f64> {
        let random = &mut self.random;
        self.widths
            .iter()
            .map(|_| random.sample(StandardNormal))
            .collect()
    }

    fn moved(&self, from: &[f64], way: &[f64], share: f64) -> Vec<f64> {
        let bounds = self.problem.bounds().unwrap_or(&[]).iter();
        let steps = from.iter().zip(way).zip(bounds.zip(&self.widths));
        steps
            .map(|((y, way), ((low, high), width))| (y + share * way * width).clamp(*low, *high))
            .collect()
    }

    /// A uniform point of the bounds.
    fn draw(&mut self) -> Vec<f64> {
        let (bounds, random) = (self.problem.bounds().unwrap_or(&[]), &mut self.random);
        let one = |(low, high): &(f64, f64)| low + (high - low) * random.random::<f64>();
        bounds.iter().map(one).collect()
    }

    /// Local searches from drawn feasible points, with so many tests for each.
    pub(super) fn restart(&mut self, tests: usize) {
        let mut best: Option<(f64, Vec<f64>)> = None;
        while self.left > 0 {
            self.best = None;
            let until = self.left.saturating_sub(tests);
            while self.left > until && self.best.is_none() {
                let y = self.draw();
                self.test(&y);
            }
            // A local search that has come to its end leaves its tests to the next.
            self.polish(LONG, until);
            let lower = |one: &(f64, Vec<f64>)| best.as_ref().is_none_or(|best| one.0 < best.0);
            if self.best.as_ref().is_some_and(lower) {
                best = self.best.take();
            }
        }
        self.best = best;
    }
}
