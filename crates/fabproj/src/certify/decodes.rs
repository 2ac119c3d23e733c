//! Measures decodes of the latent sets.

use fabproj_core::{Guard, Membership, Projector};
use rand_chacha::ChaCha8Rng;

use super::draw::{Purpose, Region, inside, stream, tasks};
use super::empty::looks_empty;
use super::{CertifyError, ChartShares, Plan, Share};
use crate::set::Set;
use fabproj_nn::sample::{self, Sampler};

/// Latent points of a chart, drawn and decoded.
pub(super) struct Decoded {
    /// Rows of y.
    pub points: Vec<f64>,
    /// Rows of x.
    pub x: Vec<f64>,
    /// Which rows are feasible.
    pub feasible: Vec<bool>,
}

/// Decodes `rows` latent points of a chart, at x drawn from the region.
pub(super) fn decode(
    set: &dyn Set,
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
            x: Vec::new(),
            feasible: Vec::new(),
        });
    };
    let latents = sample::rows(sampler, &latent_set, rows, latent_dim, rng);
    let x = region.x_rows(rows, rng);
    let mut points = vec![0.0; rows * projector.dim()];
    let mut workspace = projector.workspace();
    projector.decode_rows(chart, &latents, &x, &mut points, &mut workspace)?;
    let feasible = inside(set, &points, &x, rows);
    Ok(Decoded {
        points,
        x,
        feasible,
    })
}

/// The shares of feasible decodes of every chart. Decodes at x where C(x) looks empty are left out.
pub(super) fn measure<M: Membership + Sync>(
    set: &dyn Set,
    projector: &Projector,
    guard: Option<&Guard<M>>,
    plan: &Plan,
) -> Result<Vec<ChartShares>, CertifyError> {
    let region = Region::of(set);
    let share = |chart: usize, draw: Purpose, empty: Purpose, sampler: Sampler| {
        let counts = tasks(plan.samples, |task, rows| {
            let mut rng = stream(plan.seed, draw, task as u64);
            let decoded = decode(set, projector, chart, &region, rows, sampler, &mut rng)?;
            let mut rng = stream(plan.seed, empty, task as u64);
            decoded.failures(set, guard, &region, &mut rng)
        })?;
        let failures = counts.iter().map(|(failures, _)| failures).sum();
        let empty: usize = counts.iter().map(|(_, empty)| empty).sum();
        let samples = plan.samples - empty;
        Ok::<_, CertifyError>(Share::counted(samples, failures, plan.confidence))
    };
    (0..projector.charts())
        .map(|chart| {
            let (inside, surface) = (Purpose::Inside(chart), Purpose::Surface(chart));
            let empty_inside = Purpose::EmptyInside(chart);
            let empty_surface = Purpose::EmptyAtSurface(chart);
            Ok(ChartShares {
                inside: share(chart, inside, empty_inside, sample::inside)?,
                surface: share(chart, surface, empty_surface, sample::surface)?,
            })
        })
        .collect()
}

impl Decoded {
    /// How many decodes failed though C(x) is not empty, and how many at x where it looks so.
    fn failures<M: Membership>(
        &self,
        set: &dyn Set,
        guard: Option<&Guard<M>>,
        region: &Region,
        rng: &mut ChaCha8Rng,
    ) -> Result<(usize, usize), CertifyError> {
        let (mut failures, mut empty) = (0, 0);
        let x_dim = set.x_dim();
        for (row, feasible) in self.feasible.iter().enumerate() {
            if *feasible {
                continue;
            }
            let x = &self.x[row * x_dim..][..x_dim];
            match guard {
                Some(guard) if x_dim > 0 && looks_empty(set, guard, region, x, rng)? => {
                    empty += 1;
                }
                _ => failures += 1,
            }
        }
        Ok((failures, empty))
    }
}
