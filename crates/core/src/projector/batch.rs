//! Many points at once: charts are chosen for a block of rows, then each chart's rows go through its
//! networks in tiles whose activations stay in the cache.

use alloc::vec;
use alloc::vec::Vec;

use super::tile::largest;
use super::{CallError, Points, Projector, call};
use crate::dense::PackedNetwork;
use crate::outcome::RawOutcome;
use crate::real::Real;
use crate::workspace::{BLOCK, Groups, RunBuffers, Workspace};

impl Projector {
    /// [`project`](Self::project) for rows of points: `y` holds [`dim`](Self::dim) numbers per row, `x`
    /// holds [`x_dim`](Self::x_dim). The same bits as row by row.
    ///
    /// ```
    /// use fabproj_core::{LatentSet, Projector, RawOutcome, Weights};
    ///
    /// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
    /// let projector = Projector::new(&Weights::identity(2, disc))?;
    /// let (y, outcomes) = projector.project_rows(&[3.0_f32, 4.0, 0.1, 0.2, f32::NAN, 0.0], &[])?;
    /// assert_eq!(y, [0.3, 0.4, 0.1, 0.2, 0.0, 0.0]);
    /// assert_eq!(outcomes, [RawOutcome::Clamped, RawOutcome::Inside, RawOutcome::NotFinite]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length.
    pub fn project_rows<T: Real>(
        &self,
        y: &[T],
        x: &[T],
    ) -> Result<(Vec<T>, Vec<RawOutcome>), CallError> {
        let rows = self.check_rows(y, x)?;
        let mut out = vec![T::default(); y.len()];
        let mut outcomes = vec![RawOutcome::NotFinite; rows];
        let mut run = if rows <= self.few() {
            RunBuffers::single(self.layout)
        } else {
            RunBuffers::new(self.layout)
        };
        let points = Points { y, x };
        self.run_rows(Rows::All(rows), points, &mut out, &mut outcomes, &mut run);
        Ok((out, outcomes))
    }

    /// [`project_rows`](Self::project_rows) into `out`, as long as `y`, and `outcomes`, one per row,
    /// without allocation.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace belongs to another projector;
    /// nothing is written then.
    pub fn project_rows_into<T: Real>(
        &self,
        y: &[T],
        x: &[T],
        out: &mut [T],
        outcomes: &mut [RawOutcome],
        workspace: &mut Workspace,
    ) -> Result<(), CallError> {
        let rows = self.check_rows(y, x)?;
        call::length("out", out.len(), y.len())?;
        call::length("outcomes", outcomes.len(), rows)?;
        let run = self.check_workspace(workspace)?;
        self.run_rows(Rows::All(rows), Points { y, x }, out, outcomes, run);
        Ok(())
    }

    /// Projects some rows of a batch whose lengths have been checked.
    pub(crate) fn run_rows<T: Real>(
        &self,
        rows: Rows<'_>,
        points: Points<'_, T>,
        out: &mut [T],
        outcomes: &mut [RawOutcome],
        run: &mut RunBuffers,
    ) {
        if rows.count() <= self.few() {
            for row in (0..rows.count()).map(|index| rows.at(index)) {
                let out = &mut out[row * self.layout.dim..][..self.layout.dim];
                outcomes[row] = self.project_one(self.row(points, row), out, run);
            }
            return;
        }
        self.for_each_tile(rows, points, run, |chart, count, run| {
            self.project_tile(&self.charts[chart], points, count, out, run);
            for (source, outcome) in run.rows[..count].iter().zip(&run.outcomes) {
                outcomes[*source] = *outcome;
            }
        });
    }

    /// So many rows are faster one after the other, as measured: those of several charts seldom meet in a
    /// tile, and tiles are for rows that share the loads of large weights.
    fn few(&self) -> usize {
        match self.gate {
            Some(_) => 3,
            None if self.layout.width <= 32 => 2,
            None => 1,
        }
    }

    /// Calls `run_tile` for tiles of rows of one chart each, with `run.rows` filled.
    pub(super) fn for_each_tile<T: Real>(
        &self,
        rows: Rows<'_>,
        points: Points<'_, T>,
        run: &mut RunBuffers,
        mut run_tile: impl FnMut(usize, usize, &mut RunBuffers),
    ) {
        for begin in (0..rows.count()).step_by(BLOCK) {
            let block = BLOCK.min(rows.count() - begin);
            if let Some(gate) = &self.gate {
                self.choose_block(gate, rows, begin, block, points, run);
                run.groups.sort(block);
            }
            let mut next = 0;
            for chart in 0..self.charts.len() {
                let end = match self.gate {
                    Some(_) => run.groups.end[chart] as usize,
                    None => block,
                };
                while next < end {
                    let count = run.tile().min(end - next);
                    for row in 0..count {
                        let within = match self.gate {
                            Some(_) => run.groups.order[next + row] as usize,
                            None => next + row,
                        };
                        run.rows[row] = rows.at(begin + within);
                    }
                    run_tile(chart, count, run);
                    next += count;
                }
            }
        }
    }

    /// Finds the chart of each row of a block.
    fn choose_block<T: Real>(
        &self,
        gate: &PackedNetwork,
        rows: Rows<'_>,
        begin: usize,
        block: usize,
        points: Points<'_, T>,
        run: &mut RunBuffers,
    ) {
        let tile = run.tile();
        for start in (0..block).step_by(tile) {
            let count = tile.min(block - start);
            for row in 0..count {
                run.rows[row] = rows.at(begin + start + row);
            }
            self.load(&self.frame, points, count, run);
            let stride = self.layout.input_stride;
            let logits = gate.forward(&run.input, stride, count, &mut run.scratch);
            let logits = logits.chunks_exact(gate.output_stride());
            for (chart, logits) in run.groups.chart[start..].iter_mut().zip(logits) {
                *chart = largest(&logits[..gate.outputs()]) as u32;
            }
        }
    }
}

impl Groups {
    /// Sorts the rows of a block by chart, keeping their order within each.
    fn sort(&mut self, block: usize) {
        self.end.fill(0);
        for chart in &self.chart[..block] {
            self.end[*chart as usize] += 1;
        }
        // First each chart's count becomes its start; placing a row moves the start to the end.
        let mut start = 0;
        for end in &mut self.end {
            start += core::mem::replace(end, start);
        }
        for (row, chart) in self.chart[..block].iter().enumerate() {
            let place = &mut self.end[*chart as usize];
            self.order[*place as usize] = row as u32;
            *place += 1;
        }
    }
}

/// Which rows of a batch.
#[derive(Clone, Copy)]
pub(crate) enum Rows<'a> {
    /// The first so many.
    All(usize),
    /// These.
    Some(&'a [usize]),
}

impl Rows<'_> {
    fn count(&self) -> usize {
        match self {
            Self::All(count) => *count,
            Self::Some(rows) => rows.len(),
        }
    }

    #[inline]
    fn at(&self, index: usize) -> usize {
        match self {
            Self::All(_) => index,
            Self::Some(rows) => rows[index],
        }
    }
}
