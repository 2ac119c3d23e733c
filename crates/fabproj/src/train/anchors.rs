//! Feasible points that are stored with a model as fallbacks of its guard.

use fabproj_core::{Anchor, Projector, Weights};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::data::Pool;
use crate::tree::squared_distance;
use fabproj_nn::sample;

/// Latent points tried per chart.
const CANDIDATES: usize = 2_000;
/// Copies of a candidate, moved by noise in latent space, that must be feasible as well: a fallback
/// should not sit on an edge.
const COPIES: usize = 8;
/// The size of that noise.
const NOISE: f32 = 0.05;

/// Finds up to `count` anchors, spread over the charts and over what they decode to, and verifies
/// each with the projector that will run. Where no decode is feasible, feasible rows of the pool are taken.
pub(crate) fn find(
    weights: &Weights,
    pool: &Pool,
    count: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Anchor> {
    let Ok(projector) = Projector::new(weights) else {
        return Vec::new();
    };
    let charts = weights.charts.len();
    let mut anchors = Vec::new();
    for chart in 0..charts {
        let mut candidates = candidates(&projector, pool, chart, rng);
        let share = count.div_ceil(charts);
        anchors.extend(spread_out(&mut candidates, share, &weights.frame.scale));
    }
    if anchors.is_empty() {
        anchors = rows_of_pool(weights, pool, count, rng);
    }
    anchors
}

fn candidates(
    projector: &Projector,
    pool: &Pool,
    chart: usize,
    rng: &mut ChaCha8Rng,
) -> Vec<Anchor> {
    let (Some(set), Some(latent_dim)) = (projector.latent_set(chart), projector.latent_dim(chart))
    else {
        return Vec::new();
    };
    let mut workspace = projector.workspace();
    let mut point = vec![0.0; projector.dim()];
    let mut latent = vec![0.0; latent_dim];
    let mut found: [Vec<Anchor>; 2] = Default::default();
    for _ in 0..CANDIDATES {
        sample::inside(&set, &mut latent, rng);
        let state = rng.random_range(0..pool.states.len());
        let x: Vec<f32> = pool.states[state].iter().map(|x| *x as f32).collect();
        let mut feasible = |latent: &[f32], point: &mut [f32]| -> bool {
            let decoded = projector.decode(chart, latent, &x, point, &mut workspace);
            let wide = |values: &[f32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
            decoded == Ok(true) && pool.oracle.contains_raw(&wide(point), &wide(&x))
        };
        if !feasible(&latent, &mut point) {
            continue;
        }
        let anchor = Anchor {
            chart,
            latent: latent.clone(),
            x: x.clone(),
            point: point.clone(),
        };
        let sound = (0..COPIES).all(|_| {
            let mut copy = latent.clone();
            for z in &mut copy {
                let noise: f32 = rng.sample(StandardNormal);
                *z += NOISE * noise;
            }
            set.restrict(&mut copy);
            feasible(&copy, &mut point)
        });
        found[usize::from(!sound)].push(anchor);
    }
    let [sound, fragile] = found;
    if sound.is_empty() { fragile } else { sound }
}

/// Picks `count` candidates, each the farthest from those before it.
fn spread_out(candidates: &mut Vec<Anchor>, count: usize, scale: &[f32]) -> Vec<Anchor> {
    let position = |anchor: &Anchor| -> Vec<f32> {
        let inner = anchor.point.iter().zip(scale).map(|(v, s)| v / s);
        inner.chain(anchor.x.iter().copied()).collect()
    };
    let mut distance = vec![f32::INFINITY; candidates.len()];
    let mut picked = Vec::new();
    while picked.len() < count && !candidates.is_empty() {
        let farthest = (0..candidates.len())
            .max_by(|a, b| distance[*a].total_cmp(&distance[*b]))
            .unwrap_or(0);
        let anchor = candidates.swap_remove(farthest);
        distance.swap_remove(farthest);
        let at = position(&anchor);
        for (candidate, distance) in candidates.iter().zip(&mut distance) {
            *distance = distance.min(squared_distance(&position(candidate), &at));
        }
        picked.push(anchor);
    }
    picked
}

fn rows_of_pool(weights: &Weights, pool: &Pool, count: usize, rng: &mut ChaCha8Rng) -> Vec<Anchor> {
    let dim = pool.dim();
    let mut raw = vec![0.0; dim];
    (0..count.min(pool.feasible.len()))
        .filter_map(|_| {
            let row = rng.random_range(0..pool.feasible.len());
            let x = &pool.states[pool.feasible.state[row] as usize];
            pool.oracle
                .units()
                .raw(&pool.feasible.y[row * dim..][..dim], &mut raw);
            let point: Vec<f32> = raw.iter().map(|v| *v as f32).collect();
            let wide: Vec<f64> = point.iter().map(|v| f64::from(*v)).collect();
            pool.oracle.contains_raw(&wide, x).then(|| Anchor {
                chart: 0,
                latent: vec![0.0; weights.charts[0].encoder.outputs()],
                x: x.iter().map(|x| *x as f32).collect(),
                point,
            })
        })
        .collect()
}
