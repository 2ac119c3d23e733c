//! Measures projections of inputs.

use std::collections::BTreeMap;

use fabproj_core::{Guard, Membership, Outcome, Projector};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::draw::{Purpose, ROWS, Region, inside, stream, tasks};
use super::empty::no_draw_is_feasible;
use super::slices::{Fate, Slices};
use super::{CertifyError, Inputs, Plan};
use crate::set::Set;

/// Feasible inputs that a mean move should be the mean of.
const WANTED_FEASIBLE: usize = 1000;
/// How many times `samples` further inputs are drawn in search of feasible ones, at most.
const FURTHER_INPUTS: usize = 20;
/// Tasks of the search after which it may end.
const TASKS_PER_ROUND: usize = 64;

/// Counts and sums over inputs.
#[derive(Default)]
pub(super) struct Counts {
    /// Inputs at x where C(x) looks empty, which nothing else counts.
    pub empty: usize,
    /// Inputs that were infeasible.
    pub infeasible: usize,
    /// Projections that are infeasible.
    pub raw_failures: usize,
    /// Those of them whose input was infeasible.
    pub raw_failures_of_infeasible: usize,
    /// Outputs of the guard that are infeasible; all without a guard.
    pub guarded_failures: usize,
    outcomes: BTreeMap<&'static str, usize>,
    feasible: usize,
    /// Sum of the distances that feasible inputs move.
    moved: f64,
    /// Sum of the distances from infeasible inputs to their projections.
    pub distance: f64,
    /// The same for the guard.
    pub guarded_distance: f64,
    /// The same to the true nearest points; `None` once one of them is unknown.
    pub nearest: Option<f64>,
    /// The same by slices of x.
    pub slices: Slices,
}

impl Counts {
    fn new(x_dim: usize) -> Self {
        Self {
            nearest: Some(0.0),
            slices: Slices::new(x_dim),
            ..Self::default()
        }
    }

    fn add(&mut self, other: Self) {
        self.empty += other.empty;
        self.infeasible += other.infeasible;
        self.raw_failures += other.raw_failures;
        self.raw_failures_of_infeasible += other.raw_failures_of_infeasible;
        self.guarded_failures += other.guarded_failures;
        for (name, count) in other.outcomes {
            *self.outcomes.entry(name).or_default() += count;
        }
        self.feasible += other.feasible;
        self.moved += other.moved;
        self.distance += other.distance;
        self.guarded_distance += other.guarded_distance;
        self.nearest = self
            .nearest
            .zip(other.nearest)
            .map(|(sum, more)| sum + more);
        self.slices.merge(&other.slices);
    }

    /// What the guard did, by name.
    pub(super) fn outcomes(&self) -> BTreeMap<String, usize> {
        let named = self.outcomes.iter();
        named
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect()
    }
}

/// Projects the plan's inputs, with and without the guard.
pub(super) fn measure<M: Membership + Sync>(
    set: &dyn Set,
    projector: &Projector,
    guard: Option<&Guard<M>>,
    plan: &Plan,
) -> Result<Counts, CertifyError> {
    let region = Region::of(set);
    let parts = tasks(plan.input_rows(set.dim()), |task, rows| {
        let mut rng = stream(plan.seed, Purpose::Inputs, task as u64);
        let batch = Batch::draw(set, &plan.inputs, &region, (task * ROWS, rows), &mut rng);
        let mut rng = stream(plan.seed, Purpose::EmptyAtInputs, task as u64);
        batch.measure(set, projector, guard, &region, &mut rng)
    })?;
    let mut counts = Counts::new(set.x_dim());
    parts.into_iter().for_each(|part| counts.add(part));
    Ok(counts)
}

/// Rows that are measured together.
struct Batch {
    y: Vec<f64>,
    x: Vec<f64>,
    rows: usize,
}

impl Batch {
    /// Inputs from their distribution: `rows` of them, where the first has the given number.
    fn draw(
        set: &dyn Set,
        inputs: &Inputs,
        region: &Region,
        (first, rows): (usize, usize),
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let (dim, x_dim) = (set.dim(), set.x_dim());
        let (y, x) = match inputs {
            Inputs::Region => {
                let x = region.x_rows(rows, rng);
                let mut y = vec![0.0; rows * dim];
                for (row, y) in y.chunks_exact_mut(dim).enumerate() {
                    set.draw_input(of_row(&x, row, x_dim), &mut || rng.random::<f64>(), y);
                }
                (y, x)
            }
            Inputs::Rows { y, x, .. } => (
                y[first * dim..][..rows * dim].to_vec(),
                x[first * x_dim..][..rows * x_dim].to_vec(),
            ),
            Inputs::Draw { draw, .. } => {
                let (mut y, mut x) = (vec![0.0; rows * dim], vec![0.0; rows * x_dim]);
                for (row, y) in y.chunks_exact_mut(dim).enumerate() {
                    let x = &mut x[row * x_dim..][..x_dim];
                    draw(&mut || rng.random::<f64>(), y, x);
                }
                (y, x)
            }
        };
        Self { y, x, rows }
    }

    fn project(&self, projector: &Projector) -> Result<Vec<f64>, CertifyError> {
        Ok(projector.project_rows(&self.y, &self.x)?.0)
    }

    fn measure<M: Membership>(
        &self,
        set: &dyn Set,
        projector: &Projector,
        guard: Option<&Guard<M>>,
        region: &Region,
        rng: &mut ChaCha8Rng,
    ) -> Result<Counts, CertifyError> {
        let mut counts = Counts::new(set.x_dim());
        let raw = self.project(projector)?;
        let guarded = guard
            .map(|guard| guard.project_rows(&self.y, &self.x))
            .transpose()?;
        let asked = |y: &[f64]| inside(set, y, &self.x, self.rows);
        let (input_inside, raw_inside) = (asked(&self.y), asked(&raw));
        let guarded_inside = guarded.as_ref().map(|(guarded, _)| asked(guarded));
        for row in 0..self.rows {
            let x = of_row(&self.x, row, set.x_dim());
            let outcome = guarded.as_ref().map(|(_, outcomes)| outcomes[row]);
            if let Some(outcome) = outcome {
                *counts.outcomes.entry(outcome.name()).or_default() += 1;
            }
            // The guard knows of no feasible point at x: the raw projection has failed too.
            if outcome == Some(Outcome::MaybeEmpty) && no_draw_is_feasible(set, region, x, rng) {
                counts.empty += 1;
                counts.slices.count(region.x_bounds(), x, Fate::Empty);
                continue;
            }
            let guarded = guarded.as_ref().map(|(guarded, _)| guarded);
            counts.count(
                set,
                &Row {
                    y: of_row(&self.y, row, set.dim()),
                    x,
                    inside: input_inside[row],
                    raw: of_row(&raw, row, set.dim()),
                    raw_inside: raw_inside[row],
                    guarded: guarded.map(|guarded| of_row(guarded, row, set.dim())),
                    guarded_inside: guarded_inside.as_ref().is_some_and(|inside| inside[row]),
                },
                region,
            );
        }
        Ok(counts)
    }
}

/// One input and what became of it.
struct Row<'a> {
    y: &'a [f64],
    x: &'a [f64],
    inside: bool,
    raw: &'a [f64],
    raw_inside: bool,
    guarded: Option<&'a [f64]>,
    guarded_inside: bool,
}

impl Counts {
    fn count(&mut self, set: &dyn Set, row: &Row, region: &Region) {
        let failed = !row.raw_inside;
        self.raw_failures += usize::from(failed);
        self.guarded_failures += usize::from(!row.guarded_inside);
        let moved = distance(row.y, row.raw);
        let fate = if row.inside {
            Fate::Feasible { failed }
        } else {
            let distance = moved;
            Fate::Infeasible { failed, distance }
        };
        self.slices.count(region.x_bounds(), row.x, fate);
        if row.inside {
            self.feasible += 1;
            self.moved += moved;
            return;
        }
        self.infeasible += 1;
        self.raw_failures_of_infeasible += usize::from(failed);
        self.distance += moved;
        self.guarded_distance += row.guarded.map_or(0.0, |guarded| distance(row.y, guarded));
        if let Some(sum) = &mut self.nearest {
            let mut nearest = vec![0.0; row.y.len()];
            if set.nearest(row.y, row.x, &mut nearest) {
                *sum += distance(row.y, &nearest);
            } else {
                self.nearest = None;
            }
        }
    }
}

/// How many feasible inputs were projected, and how far they moved on average. Where the inputs of the
/// measurement held too few, more are drawn until there are enough or the search has taken long.
pub(super) fn moves(
    set: &dyn Set,
    projector: &Projector,
    inputs: &Counts,
    plan: &Plan,
) -> Result<(usize, Option<f64>), CertifyError> {
    let region = Region::of(set);
    let (mut count, mut sum) = (inputs.feasible, inputs.moved);
    // There are no further rows of a file.
    let rows = matches!(plan.inputs, Inputs::Rows { .. });
    let further = if plan.sparing || rows {
        0
    } else {
        FURTHER_INPUTS
    };
    let rounds = (further * plan.samples).div_ceil(ROWS * TASKS_PER_ROUND);
    for round in 0..rounds {
        if count >= WANTED_FEASIBLE.min(plan.samples) {
            break;
        }
        let parts = tasks(ROWS * TASKS_PER_ROUND, |task, rows| {
            let task = (round * TASKS_PER_ROUND + task) as u64;
            let mut rng = stream(plan.seed, Purpose::FurtherInputs, task);
            let batch = Batch::draw(set, &plan.inputs, &region, (0, rows), &mut rng).feasible(set);
            let raw = batch.project(projector)?;
            let rows = batch.y.chunks_exact(set.dim());
            let rows = rows.zip(raw.chunks_exact(set.dim()));
            Ok((
                batch.rows,
                rows.map(|(y, raw)| distance(y, raw)).sum::<f64>(),
            ))
        })?;
        for (more, moved) in parts {
            count += more;
            sum += moved;
        }
    }
    Ok((count, (count > 0).then(|| sum / count as f64)))
}

impl Batch {
    /// The rows that are feasible.
    fn feasible(self, set: &dyn Set) -> Self {
        let (dim, x_dim) = (set.dim(), set.x_dim());
        let inside = inside(set, &self.y, &self.x, self.rows);
        let kept: Vec<usize> = (0..self.rows).filter(|row| inside[*row]).collect();
        let rows_of = |values: &[f64], dim: usize| -> Vec<f64> {
            let rows = kept.iter().flat_map(|row| of_row(values, *row, dim));
            rows.copied().collect()
        };
        Self {
            y: rows_of(&self.y, dim),
            x: rows_of(&self.x, x_dim),
            rows: kept.len(),
        }
    }
}

fn of_row(values: &[f64], row: usize, dim: usize) -> &[f64] {
    &values[row * dim..][..dim]
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt()
}
