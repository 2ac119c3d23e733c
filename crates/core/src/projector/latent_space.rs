//! The two halves of a projection by themselves: for certificates, plots and solvers that work in
//! latent space.

use super::tile::{Stored, enter};
use super::{CallError, PackedChart, Points, Projector, call};
use crate::outcome::RawOutcome;
use crate::real::{Real, all_finite};
use crate::workspace::{RunBuffers, Workspace};

impl Projector {
    /// Writes E(y, x) of a chart, before the clamp (see [`LatentSet::clamp`](crate::LatentSet::clamp)),
    /// and says whether it is finite; zeros are written if not.
    ///
    /// ```
    /// use fabproj_core::{LatentSet, Projector, Weights};
    ///
    /// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
    /// let projector = Projector::new(&Weights::identity(2, disc))?;
    /// let mut workspace = projector.workspace();
    /// let (mut latent, mut y) = ([0.0; 2], [0.0; 2]);
    /// assert!(projector.encode(0, &[3.0, 4.0], &[], &mut latent, &mut workspace)?);
    /// disc.clamp(&mut latent);
    /// assert!(projector.decode(0, &latent, &[], &mut y, &mut workspace)?);
    /// assert_eq!(projector.project(&[3.0, 4.0], &[])?.0, y);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length, the chart does not exist, or the workspace
    /// belongs to another projector; nothing is written then.
    pub fn encode<T: Real>(
        &self,
        chart: usize,
        y: &[T],
        x: &[T],
        latent: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<bool, CallError> {
        self.check_point(y, x)?;
        self.check_chart(chart)?;
        call::length("latent", latent.len(), self.charts[chart].latent_dim())?;
        let run = self.check_workspace(workspace)?;
        Ok(self.encode_one(chart, Points { y, x }, latent, run))
    }

    /// [`encode`](Self::encode) with lengths that have been checked.
    pub(crate) fn encode_one<T: Real>(
        &self,
        chart: usize,
        points: Points<'_, T>,
        latent: &mut [f32],
        run: &mut RunBuffers,
    ) -> bool {
        let chart = &self.charts[chart];
        run.rows[0] = 0;
        self.load(&chart.frame, points, 1, run);
        let (stride, scratch) = (self.layout.input_stride, &mut run.scratch);
        let encoded = chart.encoder.forward(&run.input, stride, 1, scratch);
        latent.copy_from_slice(&encoded[..chart.latent_dim()]);
        let finite = run.outcomes[0] != RawOutcome::NotFinite && all_finite(latent);
        if !finite {
            latent.fill(0.0);
        }
        finite
    }

    /// Writes R(z, x) of a chart in raw units and says whether it is finite; what
    /// [`RawOutcome::NotFinite`] says is written if not. The latent is taken as it is: clamp it before.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length, the chart does not exist, or the workspace
    /// belongs to another projector; nothing is written then.
    pub fn decode<T: Real>(
        &self,
        chart: usize,
        latent: &[f32],
        x: &[T],
        out: &mut [T],
        workspace: &mut Workspace,
    ) -> Result<bool, CallError> {
        self.check_chart(chart)?;
        call::length("latent", latent.len(), self.charts[chart].latent_dim())?;
        Ok(self.decode_rows(chart, latent, x, out, workspace)? == 0)
    }

    /// [`decode`](Self::decode) of rows of latents; returns the number of rows that were not finite.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode).
    pub fn decode_rows<T: Real>(
        &self,
        chart: usize,
        latent: &[f32],
        x: &[T],
        out: &mut [T],
        workspace: &mut Workspace,
    ) -> Result<usize, CallError> {
        self.check_chart(chart)?;
        let rows = call::rows("latent", latent.len(), self.charts[chart].latent_dim())?;
        call::length("x", x.len(), rows * self.x_dim)?;
        call::length("out", out.len(), rows * self.layout.dim)?;
        let run = self.check_workspace(workspace)?;
        Ok(self.decode_checked(chart, latent, x, out, run))
    }

    /// [`decode_rows`](Self::decode_rows) with lengths that have been checked.
    pub(crate) fn decode_checked<T: Real>(
        &self,
        chart: usize,
        latent: &[f32],
        x: &[T],
        out: &mut [T],
        run: &mut RunBuffers,
    ) -> usize {
        let chart = &self.charts[chart];
        let count = latent.len() / chart.latent_dim();
        let mut bad = 0;
        for begin in (0..count).step_by(run.tile()) {
            let rows = run.tile().min(count - begin);
            self.load_latents(chart, latent, x, begin, rows, run);
            let decoded = self.decode_tile(chart, rows, &mut run.decode, &mut run.scratch);
            let mut stored = Stored {
                outcomes: &mut run.outcomes[..rows],
                sources: &run.rows[..rows],
                reduced: &mut run.reduced,
            };
            self.store(chart, decoded, x, out, &mut stored);
            let outcomes = run.outcomes[..rows].iter();
            bad += outcomes
                .filter(|outcome| **outcome == RawOutcome::NotFinite)
                .count();
        }
        bad
    }

    fn load_latents<T: Real>(
        &self,
        chart: &PackedChart,
        latent: &[f32],
        x: &[T],
        begin: usize,
        rows: usize,
        run: &mut RunBuffers,
    ) {
        let (dim, stride) = (chart.latent_dim(), self.layout.latent_stride);
        for row in 0..rows {
            let source = begin + row;
            let z = &latent[source * dim..][..dim];
            let x = &x[source * self.x_dim..][..self.x_dim];
            let joined = &mut run.decode.latent[row * stride..][..dim + self.x_dim];
            run.rows[row] = source;
            joined[..dim].copy_from_slice(z);
            run.outcomes[row] = RawOutcome::Inside;
            if !all_finite(z) || !enter(&self.x_frame, x, &mut joined[dim..]) {
                joined.fill(0.0);
                run.outcomes[row] = RawOutcome::NotFinite;
            }
        }
    }

    /// Whether the weights hold a discriminator.
    pub fn has_discriminator(&self) -> bool {
        self.discriminator.is_some()
    }

    /// The discriminator's scores of rows of points: positive where it takes them for feasible, −∞
    /// where the input or the score is not finite.
    ///
    /// # Errors
    /// [`CallError`] when there is no discriminator, a slice has the wrong length, or the workspace
    /// belongs to another projector; nothing is written then.
    pub fn score_rows<T: Real>(
        &self,
        y: &[T],
        x: &[T],
        scores: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<(), CallError> {
        let discriminator = self.discriminator.as_ref();
        let discriminator = discriminator.ok_or(CallError::NoDiscriminator)?;
        let count = self.check_rows(y, x)?;
        call::length("scores", scores.len(), count)?;
        let run = self.check_workspace(workspace)?;
        let (tile, stride) = (run.tile(), self.layout.input_stride);
        for begin in (0..count).step_by(tile) {
            let rows = tile.min(count - begin);
            (0..rows).for_each(|row| run.rows[row] = begin + row);
            self.load(&self.frame, Points { y, x }, rows, run);
            let scratch = &mut run.scratch;
            let logits = discriminator.forward(&run.input, stride, rows, scratch);
            let logits = logits.iter().step_by(discriminator.output_stride());
            let known = logits.zip(&run.outcomes);
            for (score, (logit, outcome)) in scores[begin..].iter_mut().zip(known) {
                let finite = *outcome != RawOutcome::NotFinite && logit.is_finite();
                *score = if finite { *logit } else { f32::NEG_INFINITY };
            }
        }
        Ok(())
    }
}
