//! What becomes of inputs from the region of interest.

use std::collections::BTreeMap;

use fabproj_core::{Guard, Membership, Projector, Status, Tally};
use rand_chacha::ChaCha8Rng;

use super::draw::{Purpose, ROWS, Region, stream, tasks, widened};
use super::empty::no_draw_is_feasible;
use super::slices::{Outcome, Slices};
use super::{CertifyError, Plan};
use crate::set::Set;

/// Feasible inputs that a mean move should be the mean of.
const WANTED_FEASIBLE: usize = 1000;
/// How many times `samples` further inputs are drawn in search of feasible ones, at most.
const FURTHER_INPUTS: usize = 20;
/// Tasks of the search after which it may end.
const TASKS_PER_ROUND: usize = 64;

/// Counts and sums over inputs.
#[derive(Default)]
pub struct Inputs {
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
    tally: Tally,
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

impl Inputs {
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
        self.tally += other.tally;
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
    pub fn statuses(&self) -> BTreeMap<String, usize> {
        let named = self
            .tally
            .iter()
            .map(|(status, count)| (status.name().to_owned(), count));
        named.collect()
    }
}

/// Projects `plan.samples` inputs, with and without the guard.
pub fn measure<M: Membership + Sync>(
    set: &dyn Set,
    projector: &Projector,
    guard: Option<&Guard<&Projector, M>>,
    plan: &Plan,
) -> Result<Inputs, CertifyError> {
    let region = Region::of(set);
    let parts = tasks(plan.samples, |task, rows| {
        let mut rng = stream(plan.seed, Purpose::Inputs, task);
        let x = region.parameters(rows, &mut rng);
        let batch = Batch {
            y: region.inputs(set, &x, &mut rng, rows),
            x,
            rows,
        };
        let mut rng = stream(plan.seed, Purpose::EmptyAtInputs, task);
        batch.measure(set, projector, guard, &region, &mut rng)
    })?;
    let mut inputs = Inputs::new(set.x_dim());
    parts.into_iter().for_each(|part| inputs.add(part));
    Ok(inputs)
}

/// Rows that are measured together.
struct Batch {
    y: Vec<f32>,
    x: Vec<f32>,
    rows: usize,
}

impl Batch {
    fn project(&self, projector: &Projector) -> Result<Vec<f32>, CertifyError> {
        let mut out = vec![0.0; self.y.len()];
        let mut statuses = vec![Status::Inside; self.rows];
        let mut workspace = projector.workspace();
        projector.project_batch(&self.y, &self.x, &mut out, &mut statuses, &mut workspace)?;
        Ok(out)
    }

    fn measure<M: Membership>(
        &self,
        set: &dyn Set,
        projector: &Projector,
        guard: Option<&Guard<&Projector, M>>,
        region: &Region,
        rng: &mut ChaCha8Rng,
    ) -> Result<Inputs, CertifyError> {
        let mut inputs = Inputs::new(set.x_dim());
        let raw = widened(&self.project(projector)?);
        let mut statuses = vec![Status::Inside; self.rows];
        let guarded = match guard {
            Some(guard) => {
                let mut out = vec![0.0; self.y.len()];
                let mut workspace = guard.workspace();
                let (y, x) = (&self.y, &self.x);
                inputs.tally =
                    guard.project_batch(y, x, &mut out, &mut statuses, &mut workspace)?;
                Some(widened(&out))
            }
            None => None,
        };
        let (y, x) = (widened(&self.y), widened(&self.x));
        for (row, status) in statuses.into_iter().enumerate() {
            let y = of_row(&y, row, set.dim());
            let x = of_row(&x, row, set.x_dim());
            let raw = of_row(&raw, row, set.dim());
            let guarded = guarded
                .as_ref()
                .map(|guarded| of_row(guarded, row, set.dim()));
            // The guard knows of no feasible point at x: the raw projection has failed too.
            if status == Status::MaybeEmpty && no_draw_is_feasible(set, region, x, rng) {
                inputs.empty += 1;
                let bounds = region.x_bounds();
                inputs.slices.count(bounds, x, Outcome::Empty);
            } else {
                inputs.count(set, y, x, raw, guarded, region);
            }
        }
        Ok(inputs)
    }
}

impl Inputs {
    fn count(
        &mut self,
        set: &dyn Set,
        y: &[f64],
        x: &[f64],
        raw: &[f64],
        guarded: Option<&[f64]>,
        region: &Region,
    ) {
        let failed = !set.contains(raw, x);
        self.raw_failures += usize::from(failed);
        let passes = guarded.is_some_and(|guarded| set.contains(guarded, x));
        self.guarded_failures += usize::from(!passes);
        let moved = distance(y, raw);
        let outcome = if set.contains(y, x) {
            Outcome::Feasible { failed }
        } else {
            let distance = moved;
            Outcome::Infeasible { failed, distance }
        };
        self.slices.count(region.x_bounds(), x, outcome);
        if let Outcome::Feasible { .. } = outcome {
            self.feasible += 1;
            self.moved += moved;
            return;
        }
        self.infeasible += 1;
        self.raw_failures_of_infeasible += usize::from(failed);
        self.distance += moved;
        self.guarded_distance += guarded.map_or(0.0, |guarded| distance(y, guarded));
        if let Some(sum) = &mut self.nearest {
            let mut nearest = vec![0.0; y.len()];
            if set.nearest(y, x, &mut nearest) {
                *sum += distance(y, &nearest);
            } else {
                self.nearest = None;
            }
        }
    }
}

/// How many feasible inputs were projected, and how far they moved on average. Where the inputs of the
/// measurement held too few, more are drawn until there are enough or the search has taken long.
pub fn moves(
    set: &dyn Set,
    projector: &Projector,
    inputs: &Inputs,
    plan: &Plan,
) -> Result<(usize, Option<f64>), CertifyError> {
    let region = Region::of(set);
    let (mut count, mut sum) = (inputs.feasible, inputs.moved);
    let further = if plan.sparing { 0 } else { FURTHER_INPUTS };
    let rounds = (further * plan.samples).div_ceil(ROWS * TASKS_PER_ROUND);
    for round in 0..rounds {
        if count >= WANTED_FEASIBLE.min(plan.samples) {
            break;
        }
        let parts = tasks(ROWS * TASKS_PER_ROUND, |task, rows| {
            let mut rng = stream(
                plan.seed,
                Purpose::FurtherInputs,
                round * TASKS_PER_ROUND + task,
            );
            let x = region.parameters(rows, &mut rng);
            let y = region.inputs(set, &x, &mut rng, rows);
            let batch = feasible_rows(set, &y, &x, rows);
            let raw = widened(&batch.project(projector)?);
            let y = widened(&batch.y);
            let rows = y.chunks_exact(set.dim()).zip(raw.chunks_exact(set.dim()));
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

fn feasible_rows(set: &dyn Set, y: &[f32], x: &[f32], rows: usize) -> Batch {
    let (dim, x_dim) = (set.dim(), set.x_dim());
    let (wide_y, wide_x) = (widened(y), widened(x));
    let mut batch = Batch {
        y: Vec::new(),
        x: Vec::new(),
        rows: 0,
    };
    for row in 0..rows {
        if set.contains(of_row(&wide_y, row, dim), of_row(&wide_x, row, x_dim)) {
            batch.y.extend_from_slice(&y[row * dim..][..dim]);
            batch.x.extend_from_slice(&x[row * x_dim..][..x_dim]);
            batch.rows += 1;
        }
    }
    batch
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
