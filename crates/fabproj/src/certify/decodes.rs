//! Are decodes of the latent sets feasible?

use fabproj_core::{LatentSet, Projector};
use rand_chacha::ChaCha8Rng;

use super::draw::{Purpose, Region, stream, tasks, widened};
use super::{CertifyError, ChartShares, Plan, Share};
use crate::sample;
use crate::set::ConstraintSet;

/// Latent points of a chart, drawn and decoded.
pub struct Decoded {
    /// Rows of y.
    pub points: Vec<f32>,
    /// Which rows are feasible.
    pub feasible: Vec<bool>,
}

/// How latent points are drawn.
pub type Sampler = fn(&LatentSet, &mut [f32], &mut ChaCha8Rng);

/// Decodes `rows` latent points of a chart, at parameters drawn from the region.
pub fn decode(
    set: &dyn ConstraintSet,
    projector: &Projector,
    chart: usize,
    region: &Region,
    rows: usize,
    sampler: Sampler,
    rng: &mut ChaCha8Rng,
) -> Result<Decoded, CertifyError> {
    let (Some(latent_set), Some(latent_dim)) =
        (projector.latent_set(chart), projector.latent_dim(chart))
    else {
        return Ok(Decoded {
            points: Vec::new(),
            feasible: Vec::new(),
        });
    };
    let mut latents = vec![0.0; rows * latent_dim];
    for latent in latents.chunks_exact_mut(latent_dim) {
        sampler(&latent_set, latent, rng);
    }
    let x = region.parameters(rows, rng);
    let mut points = vec![0.0; rows * projector.dim()];
    let mut workspace = projector.workspace();
    projector.decode_batch(chart, &latents, &x, &mut points, &mut workspace)?;
    let (y, x) = (widened(&points), widened(&x));
    let (dim, parameter_dim) = (projector.dim(), projector.parameter_dim());
    let feasible = (0..rows)
        .map(|row| {
            set.contains(
                &y[row * dim..][..dim],
                &x[row * parameter_dim..][..parameter_dim],
            )
        })
        .collect();
    Ok(Decoded { points, feasible })
}

/// The shares of feasible decodes of every chart.
pub fn measure(
    set: &dyn ConstraintSet,
    projector: &Projector,
    plan: &Plan,
) -> Result<Vec<ChartShares>, CertifyError> {
    let region = Region::of(set);
    let share = |chart: usize, purpose: Purpose, sampler: Sampler| {
        let failures = tasks(plan.samples, |task, rows| {
            let mut rng = stream(plan.seed, purpose, task);
            let decoded = decode(set, projector, chart, &region, rows, sampler, &mut rng)?;
            Ok(decoded
                .feasible
                .iter()
                .filter(|feasible| !**feasible)
                .count())
        })?;
        let failures = failures.into_iter().sum();
        Ok::<_, CertifyError>(Share::counted(plan.samples, failures, plan.confidence))
    };
    (0..projector.charts())
        .map(|chart| {
            Ok(ChartShares {
                inside: share(chart, Purpose::Inside(chart), sample::inside)?,
                surface: share(chart, Purpose::Surface(chart), sample::surface)?,
            })
        })
        .collect()
}
