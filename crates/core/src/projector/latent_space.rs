//! The two halves of a projection by themselves: for certificates, plots and solvers that work in
//! latent space.

use super::batch::Rows;
use super::tile::{all_finite, enter};
use super::{CallError, PackedChart, Points, Projector, call};
use crate::status::Status;
use crate::workspace::{BLOCK, Workspace};

impl Projector {
    /// The chart that projects y.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace belongs to another projector.
    pub fn chart_of(
        &self,
        y: &[f32],
        x: &[f32],
        workspace: &mut Workspace,
    ) -> Result<usize, CallError> {
        self.check_point(y, x, workspace)?;
        Ok(self.choose_one(Points { y, x }, workspace))
    }

    /// [`chart_of`](Self::chart_of) rows of points.
    ///
    /// # Errors
    /// As for [`chart_of`](Self::chart_of).
    pub fn charts_of(
        &self,
        y: &[f32],
        x: &[f32],
        charts: &mut [usize],
        workspace: &mut Workspace,
    ) -> Result<(), CallError> {
        let count = self.check_batch(y, x, workspace)?;
        call::length("charts", charts.len(), count)?;
        for (index, charts) in charts.chunks_mut(BLOCK).enumerate() {
            let (rows, points) = (Rows::All(count), Points { y, x });
            self.choose_block(rows, index * BLOCK, charts.len(), points, workspace);
            for (chart, chosen) in charts.iter_mut().zip(&workspace.groups.chart) {
                *chart = *chosen as usize;
            }
        }
        Ok(())
    }

    /// Writes E(y, x) of a chart, before the clamp (see [`LatentSet::clamp`](crate::LatentSet::clamp)),
    /// and says whether it is finite; zeros are written if not.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length, there is no such chart, or the workspace belongs
    /// to another projector.
    pub fn encode(
        &self,
        chart: usize,
        y: &[f32],
        x: &[f32],
        latent: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<bool, CallError> {
        self.check_point(y, x, workspace)?;
        Ok(self.encode_batch(chart, y, x, latent, workspace)? == 0)
    }

    /// [`encode`](Self::encode) of rows of points; the number of rows that were not finite.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode).
    pub fn encode_batch(
        &self,
        chart: usize,
        y: &[f32],
        x: &[f32],
        latent: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<usize, CallError> {
        let count = self.check_batch(y, x, workspace)?;
        self.check_chart(chart)?;
        let chart = &self.charts[chart];
        let dim = chart.latent_dim();
        call::length("latent", latent.len(), count * dim)?;
        let mut bad = 0;
        let tile = self.layout.tile;
        for begin in (0..count).step_by(tile) {
            let rows = tile.min(count - begin);
            (0..rows).for_each(|row| workspace.rows[row] = begin + row);
            self.load(&chart.frame, Points { y, x }, rows, workspace);
            let stride = self.layout.input_stride;
            let scratch = &mut workspace.scratch;
            let encoded = chart
                .encoder
                .forward(&workspace.input, stride, rows, scratch);
            let latents = latent[begin * dim..].chunks_exact_mut(dim);
            let encoded = encoded.chunks_exact(chart.encoder.output_stride());
            for ((latent, encoded), status) in latents.zip(encoded).zip(&workspace.statuses) {
                latent.copy_from_slice(&encoded[..dim]);
                if *status == Status::NotFinite || !all_finite(latent) {
                    latent.fill(0.0);
                    bad += 1;
                }
            }
        }
        Ok(bad)
    }

    /// Writes R(z, x) of a chart in raw units and says whether it is finite; the
    /// [fallback](Self::fallback) is written if not. The latent is taken as it is: clamp it before.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length, there is no such chart, or the workspace belongs
    /// to another projector.
    pub fn decode(
        &self,
        chart: usize,
        latent: &[f32],
        x: &[f32],
        out: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<bool, CallError> {
        self.check_chart(chart)?;
        call::length("latent", latent.len(), self.charts[chart].latent_dim())?;
        Ok(self.decode_batch(chart, latent, x, out, workspace)? == 0)
    }

    /// [`decode`](Self::decode) of rows of latents; the number of rows that were not finite.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode).
    pub fn decode_batch(
        &self,
        chart: usize,
        latent: &[f32],
        x: &[f32],
        out: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<usize, CallError> {
        self.check_workspace(workspace)?;
        self.check_chart(chart)?;
        let chart = &self.charts[chart];
        let count = call::rows("latent", latent.len(), chart.latent_dim())?;
        call::length("x", x.len(), count * self.parameter_dim)?;
        call::length("out", out.len(), count * self.dim)?;
        let mut bad = 0;
        let tile = self.layout.tile;
        for begin in (0..count).step_by(tile) {
            let rows = tile.min(count - begin);
            self.load_latents(chart, latent, x, begin, rows, workspace);
            let work = &mut *workspace;
            let decoded = self.decode_tile(chart, rows, &mut work.decode, &mut work.scratch);
            let statuses = &mut work.statuses[..rows];
            self.store(chart, decoded, statuses, &work.rows[..rows], out);
            bad += statuses
                .iter()
                .filter(|status| **status == Status::NotFinite)
                .count();
        }
        Ok(bad)
    }

    fn load_latents(
        &self,
        chart: &PackedChart,
        latent: &[f32],
        x: &[f32],
        begin: usize,
        rows: usize,
        work: &mut Workspace,
    ) {
        let (dim, stride) = (chart.latent_dim(), self.layout.latent_stride);
        for row in 0..rows {
            let source = begin + row;
            let z = &latent[source * dim..][..dim];
            let x = &x[source * self.parameter_dim..][..self.parameter_dim];
            let joined = &mut work.decode.latent[row * stride..][..dim + self.parameter_dim];
            work.rows[row] = source;
            if all_finite(z) && all_finite(x) {
                joined[..dim].copy_from_slice(z);
                enter(&self.parameter_frame, x, &mut joined[dim..]);
                work.statuses[row] = Status::Inside;
            } else {
                joined.fill(0.0);
                work.statuses[row] = Status::NotFinite;
            }
        }
    }

    /// Whether the model was saved with a discriminator.
    pub fn has_discriminator(&self) -> bool {
        self.discriminator.is_some()
    }

    /// The discriminator's score of rows of points: positive where it holds them for feasible, −∞
    /// where the input or the score is not finite.
    ///
    /// # Errors
    /// [`CallError`] when there is no discriminator, a slice has the wrong length, or the workspace
    /// belongs to another projector.
    pub fn score_batch(
        &self,
        y: &[f32],
        x: &[f32],
        scores: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<(), CallError> {
        let discriminator = self
            .discriminator
            .as_ref()
            .ok_or(CallError::NoDiscriminator)?;
        let count = self.check_batch(y, x, workspace)?;
        call::length("scores", scores.len(), count)?;
        let (tile, stride) = (self.layout.tile, self.layout.input_stride);
        for begin in (0..count).step_by(tile) {
            let rows = tile.min(count - begin);
            (0..rows).for_each(|row| workspace.rows[row] = begin + row);
            self.load(&self.frame, Points { y, x }, rows, workspace);
            let scratch = &mut workspace.scratch;
            let logits = discriminator.forward(&workspace.input, stride, rows, scratch);
            let logits = logits.iter().step_by(discriminator.output_stride());
            let known = logits.zip(&workspace.statuses);
            for (score, (logit, status)) in scores[begin..].iter_mut().zip(known) {
                let finite = *status != Status::NotFinite && logit.is_finite();
                *score = if finite { *logit } else { f32::NEG_INFINITY };
            }
        }
        Ok(())
    }
}
