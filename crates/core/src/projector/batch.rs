//! Many points at once: charts are chosen for a block of rows, then each chart's rows go through its
//! networks in tiles whose activations stay in the cache.

use super::tile::largest;
use super::{CallError, PackedChart, Points, Projector, call};
use crate::status::{Status, Tally};
use crate::workspace::{BLOCK, Workspace};

impl Projector {
    /// Projects rows of points: `y` and `out` hold `dim` numbers per row, `x` holds `parameter_dim`,
    /// `statuses` one entry per row. The same bits as [`project`](Self::project) row by row.
    ///
    /// ```
    /// # use fabproj_core::*;
    /// # let model = Model {
    /// #     dim: 2,
    /// #     parameter_dim: 0,
    /// #     frame: Frame::unit(2),
    /// #     parameter_frame: Frame::unit(0),
    /// #     gate: None,
    /// #     charts: vec![Chart {
    /// #         frame: Frame::unit(2),
    /// #         encoder: Network::identity(2),
    /// #         latent: LatentSet::Ball { radius: 0.5, smooth: None },
    /// #         decoders: vec![Network::identity(2)],
    /// #         decoder_gate: None,
    /// #         blend: Blend::Soft,
    /// #     }],
    /// #     discriminator: None,
    /// #     anchors: Vec::new(),
    /// #     lift: None,
    /// # };
    /// # let projector = Projector::new(&model)?;
    /// let points = [3.0, 4.0, 0.1, 0.2, f32::NAN, 0.0];
    /// let (mut out, mut statuses) = ([0.0; 6], [Status::Inside; 3]);
    /// let mut workspace = projector.workspace();
    /// let tally = projector.project_batch(&points, &[], &mut out, &mut statuses, &mut workspace)?;
    /// assert_eq!(statuses, [Status::Projected, Status::Inside, Status::NotFinite]);
    /// assert_eq!(out, [0.3, 0.4, 0.1, 0.2, 0.0, 0.0]);
    /// assert_eq!(tally.count(Status::NotFinite), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace belongs to another projector;
    /// nothing is written then.
    pub fn project_batch(
        &self,
        y: &[f32],
        x: &[f32],
        out: &mut [f32],
        statuses: &mut [Status],
        workspace: &mut Workspace,
    ) -> Result<Tally, CallError> {
        let count = self.check_batch(y, x, workspace)?;
        call::length("out", out.len(), y.len())?;
        call::length("statuses", statuses.len(), count)?;
        self.project_rows(Rows::All(count), Points { y, x }, out, statuses, workspace);
        Ok(statuses.iter().copied().collect())
    }

    /// Projects some rows of a batch whose lengths have been checked.
    pub(crate) fn project_rows(
        &self,
        rows: Rows<'_>,
        points: Points<'_>,
        out: &mut [f32],
        statuses: &mut [Status],
        workspace: &mut Workspace,
    ) {
        if rows.count() <= self.few() {
            let (dim, states) = (self.dim, self.parameter_dim);
            for row in (0..rows.count()).map(|index| rows.at(index)) {
                let point = Points {
                    y: &points.y[row * dim..][..dim],
                    x: &points.x[row * states..][..states],
                };
                statuses[row] = self.project_one(point, &mut out[row * dim..][..dim], workspace);
            }
            return;
        }
        let tile = self.layout.tile;
        self.for_each_tile(rows, points, tile, workspace, |chart, count, work| {
            self.project_tile(chart, points, count, out, work);
            for (source, status) in work.rows[..count].iter().zip(&work.statuses) {
                statuses[*source] = *status;
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

    /// Calls `run` for tiles of rows of one chart each, with `workspace.rows` filled.
    pub(super) fn for_each_tile(
        &self,
        rows: Rows<'_>,
        points: Points<'_>,
        tile: usize,
        workspace: &mut Workspace,
        mut run: impl FnMut(&PackedChart, usize, &mut Workspace),
    ) {
        for begin in (0..rows.count()).step_by(BLOCK) {
            let block = BLOCK.min(rows.count() - begin);
            self.group(rows, begin, block, points, workspace);
            let mut next = 0;
            for (index, chart) in self.charts.iter().enumerate() {
                let end = workspace.groups.end[index] as usize;
                while next < end {
                    let count = tile.min(end - next);
                    for row in 0..count {
                        let within = workspace.groups.order[next + row] as usize;
                        workspace.rows[row] = rows.at(begin + within);
                    }
                    run(chart, count, workspace);
                    next += count;
                }
            }
        }
    }

    /// Sorts the rows of a block by chart, keeping their order within each.
    fn group(
        &self,
        rows: Rows<'_>,
        begin: usize,
        block: usize,
        points: Points<'_>,
        work: &mut Workspace,
    ) {
        self.choose_block(rows, begin, block, points, work);
        let groups = &mut work.groups;
        groups.end.fill(0);
        for chart in &groups.chart[..block] {
            groups.end[*chart as usize] += 1;
        }
        // First each chart's count becomes its start; placing a row moves the start to the end.
        let mut start = 0;
        for end in &mut groups.end {
            start += core::mem::replace(end, start);
        }
        for (row, chart) in groups.chart[..block].iter().enumerate() {
            let place = &mut groups.end[*chart as usize];
            groups.order[*place as usize] = row as u32;
            *place += 1;
        }
    }

    /// Finds the chart of each row of a block.
    pub(super) fn choose_block(
        &self,
        rows: Rows<'_>,
        begin: usize,
        block: usize,
        points: Points<'_>,
        work: &mut Workspace,
    ) {
        let Some(gate) = &self.gate else {
            work.groups.chart[..block].fill(0);
            return;
        };
        let tile = self.layout.tile;
        for start in (0..block).step_by(tile) {
            let count = tile.min(block - start);
            for row in 0..count {
                work.rows[row] = rows.at(begin + start + row);
            }
            self.load(&self.frame, points, count, work);
            let stride = self.layout.input_stride;
            let logits = gate.forward(&work.input, stride, count, &mut work.scratch);
            let logits = logits.chunks_exact(gate.output_stride());
            for (chart, logits) in work.groups.chart[start..].iter_mut().zip(logits) {
                *chart = largest(&logits[..gate.outputs()]) as u32;
            }
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
