//! Finding a feasible point to fall back to.

use alloc::vec::Vec;
use core::borrow::Borrow;

use super::workspace::{GuardWorkspace, Search};
use super::{Guard, GuardError, Membership, Verified};
use crate::latent::spread_step;
use crate::model::{Anchor, Frame};
use crate::projector::Projector;

/// Latent points of one chart that are decoded together in a search.
pub(super) const SEARCH_ROWS: usize = 32;
/// Decodes tested in a search, over all charts; one per chart if there are more charts.
pub(super) const SEARCH_TESTS: usize = 256;
/// Stored anchors that are tried at one x.
pub(super) const ANCHOR_TRIES: usize = 16;

/// A feasible point that was found for a call: its latent is in the workspace's segment, its decode in
/// the workspace's candidate.
pub(super) enum Found {
    /// The decode of a latent point of this chart.
    Decode { chart: usize },
    /// A stored point without a latent that leads to it.
    Point,
}

/// Squared distance in a frame's units; finite, so that what was taken away is always farther.
pub(super) fn distance(frame: &Frame, a: &[f32], b: &[f32]) -> f32 {
    let differences = a
        .iter()
        .zip(b)
        .zip(&frame.scale)
        .map(|((a, b), scale)| (a - b) / scale);
    let square: f32 = differences.map(|difference| difference * difference).sum();
    square.min(f32::MAX)
}

impl<P: Borrow<Projector>, M: Membership> Guard<P, M> {
    /// Tests the model's anchors for a fixed set: each one's decode on this machine, else its stored
    /// point. If all fail, searches.
    pub(super) fn verify_anchors(&self) -> Result<Vec<Verified>, GuardError> {
        let projector = self.projector();
        let mut workspace = self.workspace();
        let mut verified = Vec::new();
        for anchor in projector.anchors() {
            if self.decode(anchor.chart, &anchor.latent, &[], &mut workspace) {
                let point = workspace.candidate.clone();
                verified.push(Verified {
                    anchor: Anchor {
                        point,
                        ..anchor.clone()
                    },
                    decodes: true,
                });
            } else if self.passes(&anchor.point, &[], &mut workspace) {
                verified.push(Verified {
                    anchor: anchor.clone(),
                    decodes: false,
                });
            }
        }
        if !verified.is_empty() {
            return Ok(verified);
        }
        let near = projector.fallback();
        let (found, searched) = self.search(near, &[], &mut workspace);
        let Some(chart) = found else {
            let anchors = projector.anchors().len();
            return Err(GuardError::NoFeasiblePoint { anchors, searched });
        };
        let latent_dim = projector.latent_dim(chart).unwrap_or(0);
        verified.push(Verified {
            anchor: Anchor {
                chart,
                latent: workspace.segment.anchor[..latent_dim].to_vec(),
                parameters: Vec::new(),
                point: workspace.candidate.clone(),
            },
            decodes: true,
        });
        Ok(verified)
    }

    /// Decodes into the workspace's candidate and tests it.
    pub(super) fn decode(
        &self,
        chart: usize,
        latent: &[f32],
        x: &[f32],
        workspace: &mut GuardWorkspace,
    ) -> bool {
        let GuardWorkspace {
            inner,
            wide,
            candidate,
            least,
            ..
        } = workspace;
        let decoded = self.projector().decode(chart, latent, x, candidate, inner);
        decoded == Ok(true) && wide.test_for(least, &self.membership, candidate, x)
    }

    /// A feasible point at x for an input-dependent set: stored anchors, those of the nearest
    /// parameters first and among these the nearest to `near`, then a search.
    pub(super) fn find(
        &self,
        near: &[f32],
        x: &[f32],
        workspace: &mut GuardWorkspace,
    ) -> Option<Found> {
        let projector = self.projector();
        let anchors = projector.anchors();
        for (distances, anchor) in workspace.distances.iter_mut().zip(anchors) {
            let in_x = distance(projector.parameter_frame(), &anchor.parameters, x);
            *distances = (in_x, distance(projector.frame(), &anchor.point, near));
        }
        let mut point = None;
        for _ in 0..ANCHOR_TRIES.min(anchors.len()) {
            let index = take_nearest(&mut workspace.distances);
            let anchor = &anchors[index];
            if self.decode(anchor.chart, &anchor.latent, x, workspace) {
                let latent = &mut workspace.segment.anchor[..anchor.latent.len()];
                latent.copy_from_slice(&anchor.latent);
                return Some(Found::Decode {
                    chart: anchor.chart,
                });
            }
            let GuardWorkspace { wide, least, .. } = &mut *workspace;
            if point.is_none() && wide.test_for(least, &self.membership, &anchor.point, x) {
                point = Some(&anchor.point);
            }
        }
        if let (Some(chart), _) = self.search(near, x, workspace) {
            return Some(Found::Decode { chart });
        }
        workspace.candidate.copy_from_slice(point?);
        Some(Found::Point)
    }

    /// Decodes a fixed sequence of latent points of every chart, and takes the feasible one nearest to
    /// `near` from the first rows of a chart that hold any. Returns its chart, and how many decodes
    /// were tested.
    fn search(
        &self,
        near: &[f32],
        x: &[f32],
        workspace: &mut GuardWorkspace,
    ) -> (Option<usize>, usize) {
        let charts = self.projector().charts();
        let rows = (SEARCH_TESTS / charts).clamp(1, SEARCH_ROWS);
        let rounds = (SEARCH_TESTS / (rows * charts)).max(1);
        let mut tested = 0;
        for round in 0..rounds {
            for chart in 0..charts {
                tested += rows;
                if self.search_rows(chart, round * rows, rows, near, x, workspace) {
                    return (Some(chart), tested);
                }
            }
        }
        (None, tested)
    }

    fn search_rows(
        &self,
        chart: usize,
        first: usize,
        rows: usize,
        near: &[f32],
        x: &[f32],
        workspace: &mut GuardWorkspace,
    ) -> bool {
        let projector = self.projector();
        let (Some(set), Some(latent_dim)) =
            (projector.latent_set(chart), projector.latent_dim(chart))
        else {
            return false;
        };
        let Search {
            latents,
            parameters,
            decodes,
        } = &mut workspace.search;
        let (latents, parameters) = (
            &mut latents[..rows * latent_dim],
            &mut parameters[..rows * x.len()],
        );
        let decodes = &mut decodes[..rows * projector.dim()];
        let step = spread_step(latent_dim);
        for (row, latent) in latents.chunks_exact_mut(latent_dim).enumerate() {
            set.spread_by(step, (first + row) as u32, latent);
            parameters[row * x.len()..][..x.len()].copy_from_slice(x);
        }
        let inner = &mut workspace.inner;
        if projector
            .decode_batch(chart, latents, parameters, decodes, inner)
            .is_err()
        {
            return false;
        }
        let mut nearest = None;
        for (row, decode) in decodes.chunks_exact(projector.dim()).enumerate() {
            let away = distance(projector.frame(), decode, near);
            let nearer = nearest.is_none_or(|(_, best)| away < best);
            let least = &mut workspace.least;
            if nearer && workspace.wide.test_for(least, &self.membership, decode, x) {
                nearest = Some((row, away));
            }
        }
        let Some((row, _)) = nearest else {
            return false;
        };
        workspace
            .candidate
            .copy_from_slice(&decodes[row * projector.dim()..][..projector.dim()]);
        let latent = &latents[row * latent_dim..][..latent_dim];
        workspace.segment.anchor[..latent_dim].copy_from_slice(latent);
        true
    }

    /// The verified point of a fixed set nearest to `near`: one with a way to it in `chart` if there is
    /// any, else of any chart.
    pub(super) fn nearest_verified(&self, near: &[f32], chart: Option<usize>) -> Option<&Verified> {
        let frame = self.projector().frame();
        let away = |verified: &Verified| distance(frame, &verified.anchor.point, near);
        let reachable =
            |verified: &&Verified| verified.decodes && Some(verified.anchor.chart) == chart;
        let own_chart = self.verified.iter().filter(reachable);
        own_chart
            .min_by(|a, b| away(a).total_cmp(&away(b)))
            .or_else(|| {
                self.verified
                    .iter()
                    .min_by(|a, b| away(a).total_cmp(&away(b)))
            })
    }
}

/// Index of the nearest that is left, which is then taken away.
fn take_nearest(distances: &mut [(f32, f32)]) -> usize {
    let mut best = 0;
    for (index, distance) in distances.iter().enumerate() {
        if *distance < distances[best] {
            best = index;
        }
    }
    distances[best] = (f32::INFINITY, f32::INFINITY);
    best
}
