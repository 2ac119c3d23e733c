//! Does the latent set reach all of C? Counted on a grid of cells.

use fabproj_core::Projector;

use super::decodes::decode;
use super::draw::{Purpose, ROWS, Region, inside, stream, tasks};
use super::enclosed::Enclosed;
use super::{CertifyError, CoverageGrid, Plan, Share};
use crate::data::Regime;
use crate::set::{Reduced, Set};
use fabproj_nn::sample;

/// Decodes of each chart, per feasible cell.
const DECODES_PER_CELL: usize = 100;
/// Tasks between two checks whether every cell is reached.
const TASKS_PER_ROUND: usize = 64;
/// Every so many tasks the surface of the latent set is decoded instead of its inside: it maps to the
/// boundary of C, whose cells the inside fills slowly.
const SURFACE_TASKS: usize = 4;
/// Cells of a grid, feasible or not. Sets that are tiny within their bounds get larger cells.
const MAX_CELLS: f64 = 4e6;
/// Feasible cells below which those of a fixed set are halved: a thin set meets few middles of large ones.
const ENOUGH_CELLS: usize = 50;

/// Scales that differ by this factor call for cells with sides of their own.
const MUCH: f64 = 10.0;

/// Values of x at which the cells of an input-dependent set are counted, and the most cells at each.
const PLACES: usize = 5;
const MAX_CELLS_AT_PLACE: f64 = 1e4;

/// What a grid of cells shows.
#[derive(Default)]
pub(super) struct Coverage {
    /// The feasible cells that feasible decodes reach; `None` where a grid does not serve.
    pub grid: Option<CoverageGrid>,
    /// Projections of inputs from cells that feasible ones enclose; `None` without such cells.
    pub enclosed: Option<Share>,
}

/// Counts on a grid.
pub(super) fn measure(
    set: &dyn Set,
    projector: &Projector,
    plan: &Plan,
) -> Result<Coverage, CertifyError> {
    // Cells are those of the coordinates that equations leave.
    let reduced = Reduced::of(set)?;
    let gridded: &dyn Set = match &reduced {
        Some(reduced) => reduced,
        None => set,
    };
    // In more dimensions a grid is too coarse to mean anything.
    if !Regime::of(gridded).low_dimensional() || plan.sparing {
        return Ok(Coverage::default());
    }
    let region = Region::of(set);
    let fixed = !Regime::of(set).depends_on_x();
    let places = if fixed { 1 } else { PLACES };
    let mut rng = stream(plan.seed, Purpose::CoverageAt, 0);
    let (mut grid, mut enclosed): (Option<CoverageGrid>, _) = (None, None);
    for place in 0..places {
        let x = region.x_rows(1, &mut rng);
        let cells = match fixed {
            true => Cells::of(gridded, &[], projector, (ENOUGH_CELLS, MAX_CELLS)),
            false => Cells::of(gridded, &x, projector, (1, MAX_CELLS_AT_PLACE)),
        };
        let Some(mut cells) = cells else { continue };
        if let (true, None, Some(found)) = (fixed, &reduced, cells.enclosed()) {
            enclosed = Some(found.measure(set, projector, plan)?);
        }
        let total = cells.missing;
        let decodes = fill(set, projector, plan, place, &region.at(&x), &mut cells)?;
        let grid = grid.get_or_insert(CoverageGrid {
            sides: cells.sides.clone(),
            places: 0,
            cells: 0,
            reached: 0,
            decodes: 0,
        });
        grid.places += 1;
        grid.cells += total;
        grid.reached += total - cells.missing;
        grid.decodes += decodes;
    }
    Ok(Coverage { grid, enclosed })
}

/// Decodes at one place until every cell is reached or there were decodes enough; how many there were.
fn fill(
    set: &dyn Set,
    projector: &Projector,
    plan: &Plan,
    place: usize,
    region: &Region,
    cells: &mut Cells,
) -> Result<usize, CertifyError> {
    let per_chart = DECODES_PER_CELL * cells.missing;
    let rounds = per_chart.div_ceil(ROWS * TASKS_PER_ROUND);
    let mut decodes = 0;
    for round in 0..rounds {
        for chart in 0..projector.charts() {
            if cells.missing == 0 {
                break;
            }
            let found = tasks(ROWS * TASKS_PER_ROUND, |task, rows| {
                let task = round * TASKS_PER_ROUND + task;
                let place = (place as u64) << 32;
                let mut rng = stream(plan.seed, Purpose::Coverage(chart), place | task as u64);
                let sampler = if task.is_multiple_of(SURFACE_TASKS) {
                    sample::surface
                } else {
                    sample::inside
                };
                decode(set, projector, chart, region, rows, sampler, &mut rng)
            })?;
            for decoded in found {
                decodes += decoded.feasible.len();
                for (row, y) in decoded.points.chunks_exact(projector.dim()).enumerate() {
                    let x = &decoded.x[row * projector.x_dim()..][..projector.x_dim()];
                    match projector.equations() {
                        _ if !decoded.feasible[row] => {}
                        None => cells.visit(y),
                        Some(equations) => {
                            let mut z = vec![0.0; equations.reduced_dim()];
                            equations.lower(y, x, &mut z)?;
                            cells.visit(&z);
                        }
                    }
                }
            }
        }
    }
    Ok(decodes)
}

/// A grid over the bounds, aligned to multiples of its sides.
struct Cells {
    sides: Vec<f64>,
    /// Index of the first cell of each coordinate.
    first: Vec<f64>,
    /// Number of cells of each coordinate.
    counts: Vec<usize>,
    /// Which cells are feasible and not reached yet.
    waiting: Vec<bool>,
    /// How many of these there are.
    missing: usize,
}

impl Cells {
    /// Cells of the usual sides, larger if there would be more of them than the second limit allows, and
    /// smaller if fewer are feasible than the first; `None` when no cell has a feasible middle.
    fn of(set: &dyn Set, x: &[f64], projector: &Projector, limits: (usize, f64)) -> Option<Self> {
        let bounds = set.bounds();
        let number = |sides: &[f64]| -> f64 {
            let counts = bounds.iter().zip(sides);
            counts
                .map(|((low, high), side)| (high / side).ceil() - (low / side).floor())
                .product()
        };
        let scaled =
            |sides: &[f64], factor: f64| sides.iter().map(|side| factor * side).collect::<Vec<_>>();
        let mut sides = usual_sides(projector);
        while number(&sides) > limits.1 {
            sides = scaled(&sides, 2.0);
        }
        let mut cells = Self::with_sides(set, x, sides);
        loop {
            let finer = scaled(&cells.sides, 0.5);
            if cells.missing >= limits.0 || number(&finer) > limits.1 {
                break;
            }
            cells = Self::with_sides(set, x, finer);
        }
        (cells.missing > 0).then_some(cells)
    }

    fn with_sides(set: &dyn Set, x: &[f64], sides: Vec<f64>) -> Self {
        let bounds = set.bounds();
        let spans = || bounds.iter().zip(&sides);
        let first: Vec<f64> = spans()
            .map(|((low, _), side)| (low / side).floor())
            .collect();
        let counts: Vec<usize> = spans()
            .zip(&first)
            .map(|(((_, high), side), first)| ((high / side).ceil() - first).max(1.0) as usize)
            .collect();
        let total: usize = counts.iter().product();
        let mut waiting = Vec::with_capacity(total);
        let mut middles = Vec::new();
        for begin in (0..total).step_by(ROWS) {
            let rows = ROWS.min(total - begin);
            middles.clear();
            let cells = begin..begin + rows;
            middles.extend(cells.flat_map(|cell| middle(cell, &first, &counts, &sides)));
            waiting.extend(inside(set, &middles, &x.repeat(rows), rows));
        }
        Self {
            missing: waiting.iter().filter(|waiting| **waiting).count(),
            sides,
            first,
            counts,
            waiting,
        }
    }

    /// The cells that feasible ones enclose, before any is visited.
    fn enclosed(&self) -> Option<Enclosed> {
        let Self {
            sides,
            first,
            counts,
            waiting,
            ..
        } = self;
        Enclosed::find(waiting, counts, sides, |cell| {
            middle(cell, first, counts, sides)
        })
    }

    fn visit(&mut self, point: &[f64]) {
        let (mut cell, mut stride) = (0, 1);
        for (coordinate, value) in point.iter().enumerate() {
            let count = self.counts[coordinate];
            let index = (value / self.sides[coordinate]).floor();
            let index = index - self.first[coordinate];
            if !(0.0..count as f64).contains(&index) {
                return;
            }
            cell += index as usize * stride;
            stride *= count;
        }
        self.missing -= usize::from(std::mem::take(&mut self.waiting[cell]));
    }
}

/// The middle of a cell of a grid.
fn middle(mut cell: usize, first: &[f64], counts: &[usize], sides: &[f64]) -> Vec<f64> {
    let coordinates = counts.iter().enumerate().map(|(coordinate, count)| {
        let index = first[coordinate] + (cell % count) as f64;
        cell /= count;
        (index + 0.5) * sides[coordinate]
    });
    coordinates.collect()
}

/// A tenth (in three dimensions a quarter) of the power of ten nearest to the model's scale; where scales of
/// coordinates differ much, nearest to that of each.
fn usual_sides(projector: &Projector) -> Vec<f64> {
    let plane = Regime::fixed(projector.frame().scale.len()).in_plane();
    let share = if plane { 0.1 } else { 0.25 };
    let side = |scale: f64| share * 10_f64.powf(scale.log10().round());
    let scales: Vec<f64> = projector
        .frame()
        .scale
        .iter()
        .copied()
        .map(f64::from)
        .collect();
    let least = scales.iter().copied().fold(f64::INFINITY, f64::min);
    if scales.iter().all(|scale| *scale < MUCH * least) {
        let mean = scales.iter().sum::<f64>() / scales.len() as f64;
        return vec![side(mean); scales.len()];
    }
    scales.into_iter().map(side).collect()
}
