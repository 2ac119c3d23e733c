//! The memory that a guard's calls work in.

use alloc::vec;
use alloc::vec::Vec;

use super::Membership;
use super::find::SEARCH_ROWS;
use crate::projector::{CallError, Projector, all_finite};
use crate::workspace::{BLOCK, Workspace};

/// Memory for the calls of one [`Guard`](super::Guard), from [`Guard::workspace`](super::Guard::workspace).
#[derive(Clone, Debug)]
pub struct GuardWorkspace {
    pub(super) inner: Workspace,
    pub(super) wide: Wide,
    /// Rows of a block that need a projection.
    pub(super) pending: Vec<usize>,
    pub(super) segment: Segment,
    /// A decode under test.
    pub(super) candidate: Vec<f32>,
    /// Distance of each anchor in x, then in y.
    pub(super) distances: Vec<(f32, f32)>,
    pub(super) search: Search,
    pub(super) exploration: Exploration,
    pub(super) least: Least,
}

/// The f64 arguments of a membership test.
#[derive(Clone, Debug)]
pub(super) struct Wide {
    y: Vec<f64>,
    x: Vec<f64>,
}

/// Ends and middle of a latent segment.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub anchor: Vec<f32>,
    pub target: Vec<f32>,
    pub middle: Vec<f32>,
}

/// Rows of a search for a feasible decode.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub latents: Vec<f32>,
    pub parameters: Vec<f32>,
    pub decodes: Vec<f32>,
}

/// Points of a search in the space of y.
#[derive(Clone, Debug)]
pub(super) struct Exploration {
    pub centre: Vec<f32>,
    pub point: Vec<f32>,
}

/// Of the points that failed the test in a call, the one that violates least.
#[derive(Clone, Debug)]
pub(super) struct Least {
    /// Infinite while no violation is known.
    violation: f64,
    point: Vec<f32>,
}

impl GuardWorkspace {
    pub(super) fn new(projector: &Projector) -> Self {
        let charts = 0..projector.charts();
        let latent = charts
            .filter_map(|chart| projector.latent_dim(chart))
            .max()
            .unwrap_or(0);
        let (dim, parameter_dim) = (projector.dim(), projector.parameter_dim());
        Self {
            inner: projector.workspace(),
            wide: Wide {
                y: vec![0.0; dim],
                x: vec![0.0; parameter_dim],
            },
            pending: Vec::with_capacity(BLOCK),
            segment: Segment {
                anchor: vec![0.0; latent],
                target: vec![0.0; latent],
                middle: vec![0.0; latent],
            },
            candidate: vec![0.0; dim],
            distances: vec![(0.0, 0.0); projector.anchors().len()],
            search: Search {
                latents: vec![0.0; SEARCH_ROWS * latent],
                parameters: vec![0.0; SEARCH_ROWS * parameter_dim],
                decodes: vec![0.0; SEARCH_ROWS * dim],
            },
            exploration: Exploration {
                centre: vec![0.0; dim],
                point: vec![0.0; dim],
            },
            least: Least {
                violation: f64::INFINITY,
                point: vec![0.0; dim],
            },
        }
    }
}

impl GuardWorkspace {
    /// What the projector's own check of its workspace cannot see: the anchors.
    pub(super) fn check(&self, projector: &Projector) -> Result<(), CallError> {
        if self.distances.len() == projector.anchors().len() {
            return Ok(());
        }
        Err(CallError::Workspace)
    }
}

impl Wide {
    pub(super) fn test(&mut self, membership: &impl Membership, y: &[f32], x: &[f32]) -> bool {
        if !all_finite(y) {
            return false;
        }
        widen(y, &mut self.y);
        widen(x, &mut self.x);
        membership.contains(&self.y, &self.x)
    }

    /// Tests a point, and remembers one that fails if it violates less than those before it.
    pub(super) fn test_for(
        &mut self,
        least: &mut Least,
        membership: &impl Membership,
        y: &[f32],
        x: &[f32],
    ) -> bool {
        let passed = self.test(membership, y, x);
        if !passed {
            self.weigh(least, membership, y, x);
        }
        passed
    }

    /// Remembers a point that has failed if it violates less than those before it.
    pub(super) fn weigh(
        &mut self,
        least: &mut Least,
        membership: &impl Membership,
        y: &[f32],
        x: &[f32],
    ) {
        if !all_finite(y) {
            return;
        }
        widen(y, &mut self.y);
        widen(x, &mut self.x);
        // A violation that is NaN is less than none.
        if let Some(violation) = membership.violation(&self.y, &self.x)
            && violation < least.violation
        {
            least.violation = violation;
            least.point.copy_from_slice(y);
        }
    }
}

impl Least {
    /// For a new call.
    pub(super) fn forget(&mut self) {
        self.violation = f64::INFINITY;
    }

    /// The point; `None` while no violation is known.
    pub(super) fn point(&self) -> Option<&[f32]> {
        (self.violation < f64::INFINITY).then_some(&self.point)
    }
}

fn widen(narrow: &[f32], wide: &mut [f64]) {
    for (wide, narrow) in wide.iter_mut().zip(narrow) {
        *wide = f64::from(*narrow);
    }
}
