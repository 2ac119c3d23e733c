//! Does the latent set reach all of C? Counted on a grid of cells.

use fabproj_core::Projector;

use super::decodes::decode;
use super::draw::{Purpose, ROWS, Region, stream, tasks, widened};
use super::{CertifyError, CoverageGrid, Plan};
use crate::sample;
use crate::set::ConstraintSet;

/// Above this a grid is too coarse to mean anything.
const MAX_DIM: usize = 3;
/// Decodes of each chart, per feasible cell.
const DECODES_PER_CELL: usize = 100;
/// Tasks after which the cells are looked at again: the search may be over.
const TASKS_PER_ROUND: usize = 64;
/// Every so many tasks the surface of the latent set is decoded instead of its inside: it maps to the
/// boundary of C, whose cells the inside fills slowly.
const SURFACE_TASKS: usize = 4;
/// Cells of a grid, feasible or not. Sets that are tiny within their bounds get larger cells.
const MAX_CELLS: f64 = 4e6;

/// Values of x at which the cells of an input-dependent set are counted, and the most cells at each.
const PLACES: usize = 5;
const MAX_CELLS_AT_PLACE: f64 = 1e4;

/// Counts the feasible cells that feasible decodes reach; `None` where a grid does not serve.
pub fn measure(
    set: &dyn ConstraintSet,
    projector: &Projector,
    plan: &Plan,
) -> Result<Option<CoverageGrid>, CertifyError> {
    if set.dim() > MAX_DIM || plan.sparing {
        return Ok(None);
    }
    let region = Region::of(set);
    let fixed = set.parameter_dim() == 0;
    let places = if fixed { 1 } else { PLACES };
    let mut rng = stream(plan.seed, Purpose::CoverageAt, 0);
    let mut grid: Option<CoverageGrid> = None;
    for place in 0..places {
        let x = region.parameters(1, &mut rng);
        let most = if fixed { MAX_CELLS } else { MAX_CELLS_AT_PLACE };
        let Some(mut cells) = Cells::of(set, &widened(&x), projector, most) else {
            continue;
        };
        let total = cells.missing;
        let decodes = fill(set, projector, plan, place, &region.at(&x), &mut cells)?;
        let grid = grid.get_or_insert(CoverageGrid {
            side: cells.side,
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
    Ok(grid)
}

/// Decodes at one place until every cell is reached or there were decodes enough; how many there were.
fn fill(
    set: &dyn ConstraintSet,
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
                let mut rng = stream(plan.seed, Purpose::Coverage(chart), place << 32 | task);
                let sampler = if task.is_multiple_of(SURFACE_TASKS) {
                    sample::surface
                } else {
                    sample::inside
                };
                decode(set, projector, chart, region, rows, sampler, &mut rng)
            })?;
            for decoded in found {
                decodes += decoded.feasible.len();
                let points = decoded.points.chunks_exact(projector.dim());
                let feasible = points
                    .zip(decoded.feasible)
                    .filter(|(_, feasible)| *feasible);
                feasible.for_each(|(point, _)| cells.visit(point));
            }
        }
    }
    Ok(decodes)
}

/// A grid over the bounds, aligned to multiples of its side.
struct Cells {
    side: f64,
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
    /// `None` when no cell has a feasible middle.
    fn of(set: &dyn ConstraintSet, x: &[f64], projector: &Projector, most: f64) -> Option<Self> {
        let bounds = set.bounds();
        let mut side = usual_side(projector);
        let number = |side: f64| -> f64 {
            bounds
                .iter()
                .map(|(low, high)| (high / side).ceil() - (low / side).floor())
                .product()
        };
        while number(side) > most {
            side *= 2.0;
        }
        let first: Vec<f64> = bounds.iter().map(|(low, _)| (low / side).floor()).collect();
        let counts: Vec<usize> = bounds
            .iter()
            .zip(&first)
            .map(|((_, high), first)| ((high / side).ceil() - first).max(1.0) as usize)
            .collect();
        let mut middle = vec![0.0; set.dim()];
        let waiting: Vec<bool> = (0..counts.iter().product())
            .map(|cell: usize| {
                let mut rest = cell;
                for (coordinate, count) in counts.iter().enumerate() {
                    middle[coordinate] = (first[coordinate] + (rest % count) as f64 + 0.5) * side;
                    rest /= count;
                }
                set.contains(&middle, x)
            })
            .collect();
        let missing = waiting.iter().filter(|waiting| **waiting).count();
        (missing > 0).then_some(Self {
            side,
            first,
            counts,
            waiting,
            missing,
        })
    }

    fn visit(&mut self, point: &[f32]) {
        let (mut cell, mut stride) = (0, 1);
        for ((value, first), count) in point.iter().zip(&self.first).zip(&self.counts) {
            let index = (f64::from(*value) / self.side).floor() - first;
            if !(0.0..*count as f64).contains(&index) {
                return;
            }
            cell += index as usize * stride;
            stride *= count;
        }
        self.missing -= usize::from(std::mem::take(&mut self.waiting[cell]));
    }
}

/// A tenth (in three dimensions a quarter) of the power of ten nearest to the model's scale.
fn usual_side(projector: &Projector) -> f64 {
    let scale = &projector.frame().scale;
    let mean = scale.iter().copied().map(f64::from).sum::<f64>() / scale.len() as f64;
    let share = if projector.dim() < 3 { 0.1 } else { 0.25 };
    share * 10_f64.powf(mean.log10().round())
}
