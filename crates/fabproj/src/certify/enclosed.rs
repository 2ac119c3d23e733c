//! Inputs from bounded pieces of a set's complement, as far as a grid of cells shows them.
//!
//! Wherever a latent set without a hole is mapped onto a set with one, the map is torn, and inputs from the hole
//! show where. Decodes hardly do.

use fabproj_core::Projector;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::draw::{Purpose, inside, stream, tasks};
use super::{CertifyError, Plan, Share};
use crate::set::Set;

/// Inputs that are drawn, at most.
const SAMPLES: usize = 10_000;
/// Draws in a cell before its middle, which is infeasible, is taken.
const DRAWS: usize = 8;

/// The infeasible cells that feasible ones enclose, by their middles.
pub(super) struct Enclosed {
    /// Middles, row by row.
    middles: Vec<f64>,
    /// Sides of a cell.
    sides: Vec<f64>,
}

impl Enclosed {
    /// Looks for them in a grid: `feasible` has a switch for each cell, the first coordinate fastest. A piece that
    /// touches the border of the grid, if only by a corner, is not enclosed.
    pub(super) fn find(
        feasible: &[bool],
        counts: &[usize],
        sides: &[f64],
        middle: impl Fn(usize) -> Vec<f64>,
    ) -> Option<Self> {
        let outside = outside(feasible, counts);
        let cells = (0..feasible.len()).filter(|cell| !feasible[*cell] && !outside[*cell]);
        let middles: Vec<f64> = cells.flat_map(middle).collect();
        (!middles.is_empty()).then(|| Self {
            middles,
            sides: sides.to_vec(),
        })
    }

    /// How often projections of inputs from these cells are feasible.
    pub(super) fn measure(
        &self,
        set: &dyn Set,
        projector: &Projector,
        plan: &Plan,
    ) -> Result<Share, CertifyError> {
        let samples = SAMPLES.min(plan.samples);
        let failures = tasks(samples, |task, rows| {
            let mut rng = stream(plan.seed, Purpose::Enclosed, task as u64);
            let inputs = self.draw(set, rows, &mut rng);
            let (projected, _) = projector.project_rows(&inputs, &[])?;
            let feasible = inside(set, &projected, &[], rows);
            Ok(feasible.iter().filter(|feasible| !**feasible).count())
        })?;
        let failures = failures.into_iter().sum();
        Ok(Share::counted(samples, failures, plan.confidence))
    }

    /// Infeasible points, each of a cell that is drawn.
    fn draw(&self, set: &dyn Set, rows: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let dim = self.sides.len();
        let cells = self.middles.len() / dim;
        let middles = (0..rows).flat_map(|_| {
            let cell = rng.random_range(0..cells);
            self.middles[cell * dim..][..dim].to_vec()
        });
        let mut points: Vec<f64> = middles.collect();
        let mut waiting: Vec<usize> = (0..rows).collect();
        for _ in 0..DRAWS {
            let mut proposed = Vec::with_capacity(waiting.len() * dim);
            for row in &waiting {
                let middle = &points[row * dim..][..dim];
                let sides = middle.iter().zip(&self.sides);
                proposed.extend(
                    sides.map(|(middle, side)| middle + side * (rng.random::<f64>() - 0.5)),
                );
            }
            let feasible = inside(set, &proposed, &[], waiting.len());
            let mut left = Vec::new();
            for ((row, point), feasible) in waiting
                .into_iter()
                .zip(proposed.chunks_exact(dim))
                .zip(feasible)
            {
                match feasible {
                    true => left.push(row),
                    false => points[row * dim..][..dim].copy_from_slice(point),
                }
            }
            waiting = left;
        }
        points
    }
}

/// The infeasible cells that are connected with the border of the grid, through sides, edges or corners.
fn outside(feasible: &[bool], counts: &[usize]) -> Vec<bool> {
    let place = |mut cell: usize| -> Vec<usize> {
        let digits = counts.iter().map(|count| {
            let digit = cell % count;
            cell /= count;
            digit
        });
        digits.collect()
    };
    let at_border = |cell: usize| {
        let mut digits = place(cell).into_iter().zip(counts);
        digits.any(|(digit, count)| digit == 0 || digit + 1 == *count)
    };
    let mut outside = vec![false; feasible.len()];
    let mut open: Vec<usize> = (0..feasible.len())
        .filter(|cell| !feasible[*cell] && at_border(*cell))
        .collect();
    open.iter().for_each(|cell| outside[*cell] = true);
    while let Some(cell) = open.pop() {
        for neighbour in neighbours(&place(cell), counts) {
            if !feasible[neighbour] && !outside[neighbour] {
                outside[neighbour] = true;
                open.push(neighbour);
            }
        }
    }
    outside
}

/// The cells around one, itself included.
fn neighbours(place: &[usize], counts: &[usize]) -> Vec<usize> {
    let (mut cells, mut stride) = (vec![0], 1);
    for (digit, count) in place.iter().zip(counts) {
        let near = digit.saturating_sub(1)..=(digit + 1).min(count - 1);
        let further = near.flat_map(|digit| cells.iter().map(move |cell| cell + digit * stride));
        cells = further.collect();
        stride *= count;
    }
    cells
}
