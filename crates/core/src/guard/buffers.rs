//! The memory that a guard's calls work in.

use alloc::vec;
use alloc::vec::Vec;

use super::Membership;
use super::find::SEARCH_ROWS;
use crate::outcome::RawOutcome;
use crate::projector::Projector;
use crate::real::{Real, all_finite};
use crate::workspace::BLOCK;

/// Numbers of y and x that are tested together in a batch: 256 KiB of f64.
const BATCH_NUMBERS: usize = 32 * 1024;

/// A guard's part of a [`Workspace`](crate::Workspace).
#[derive(Clone, Debug)]
pub struct GuardBuffers {
    pub(crate) shared: Shared,
    pub(crate) narrow: PointBuffers<f32>,
    pub(crate) wide: PointBuffers<f64>,
}

/// What does not depend on the call's number type.
#[derive(Clone, Debug)]
pub struct Shared {
    pub(super) tests: Tests,
    /// Anchors of the projector.
    pub(super) anchors: usize,
    /// Rows of a batch's block that are not settled.
    pub(super) pending: Vec<usize>,
    /// What the projector did with each row of the block.
    pub(super) raw: Vec<RawOutcome>,
    pub(super) segment: Segment,
    /// Of a search: latents, and coordinates of a point.
    pub(super) latents: Vec<f32>,
    pub(super) spread: Vec<f32>,
    pub(super) reduced: Vec<f64>,
    /// Whether each candidate may be tested, and whether it passed.
    pub(super) usable: [bool; SEARCH_ROWS],
    pub(super) passed: [bool; SEARCH_ROWS],
}

/// Points of one number type.
#[derive(Clone, Debug)]
pub struct PointBuffers<T> {
    /// The point under test; where one was found, the one to return.
    pub(super) candidate: Vec<T>,
    /// Candidates that are tested together, and x once for each.
    pub(super) candidates: Vec<T>,
    pub(super) x: Vec<T>,
    /// Distance of each candidate from `near`.
    pub(super) away: [T; SEARCH_ROWS],
    /// What a feasible point should be near to, in the networks' coordinates like the two below.
    pub(super) near: Vec<T>,
    pub(super) centre: Vec<T>,
    pub(super) place: Vec<T>,
    /// Distance of each anchor in x, then in y.
    pub(super) distances: Vec<(T, T)>,
    pub(super) least: Least<T>,
}

/// Ends and middle of a latent segment.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub anchor: Vec<f32>,
    pub target: Vec<f32>,
    pub middle: Vec<f32>,
}

/// Of the points that failed the test in a call, the one that violates least.
#[derive(Clone, Debug)]
pub(super) struct Least<T> {
    /// Infinite while no violation is known.
    violation: f64,
    point: Vec<T>,
}

/// The f64 arguments of membership tests.
#[derive(Clone, Debug)]
pub(super) struct Tests {
    dim: usize,
    x_dim: usize,
    count: usize,
    y: Vec<f64>,
    x: Vec<f64>,
    inside: Vec<bool>,
    gradient: Vec<f64>,
}

impl GuardBuffers {
    /// For batches of either number type.
    pub(super) fn new(projector: &Projector) -> Self {
        let numbers = projector.dim() + projector.x_dim();
        Self::sized(
            projector,
            (BATCH_NUMBERS / numbers).clamp(SEARCH_ROWS, BLOCK),
        )
    }

    /// For one call.
    pub(super) fn single<T: Real>(projector: &Projector) -> Self {
        let mut buffers = Self {
            shared: Shared::new(projector, SEARCH_ROWS),
            narrow: PointBuffers::none(),
            wide: PointBuffers::none(),
        };
        *T::points(&mut buffers).0 = PointBuffers::new(projector);
        buffers
    }

    fn sized(projector: &Projector, block: usize) -> Self {
        Self {
            shared: Shared::new(projector, block),
            narrow: PointBuffers::new(projector),
            wide: PointBuffers::new(projector),
        }
    }

    /// Rows of a batch that are tested together.
    pub(super) fn block(&self) -> usize {
        self.shared.raw.len()
    }
}

impl Shared {
    fn new(projector: &Projector, block: usize) -> Self {
        let charts = 0..projector.charts();
        let latent = charts
            .filter_map(|chart| projector.latent_dim(chart))
            .max()
            .unwrap_or(0);
        let inner_dim = projector.frame().centre.len();
        Self {
            tests: Tests::new(projector, block),
            anchors: projector.anchors().len(),
            pending: Vec::with_capacity(block),
            raw: vec![RawOutcome::NotFinite; block],
            segment: Segment {
                anchor: vec![0.0; latent],
                target: vec![0.0; latent],
                middle: vec![0.0; latent],
            },
            latents: vec![0.0; SEARCH_ROWS * latent],
            spread: vec![0.0; inner_dim],
            reduced: vec![0.0; inner_dim],
            usable: [false; SEARCH_ROWS],
            passed: [false; SEARCH_ROWS],
        }
    }
}

impl<T: Real> PointBuffers<T> {
    fn new(projector: &Projector) -> Self {
        let (dim, x_dim) = (projector.dim(), projector.x_dim());
        // A fixed set's anchors are tested once, not ranked at each x.
        let ranked = if x_dim > 0 {
            projector.anchors().len()
        } else {
            0
        };
        Self::sized(dim, x_dim, projector.frame().centre.len(), ranked)
    }

    /// Of the number type that is not used.
    fn none() -> Self {
        Self::sized(0, 0, 0, 0)
    }

    fn sized(dim: usize, x_dim: usize, inner_dim: usize, ranked: usize) -> Self {
        let zeros = |count: usize| vec![T::default(); count];
        Self {
            candidate: zeros(dim),
            candidates: zeros(SEARCH_ROWS * dim),
            x: zeros(SEARCH_ROWS * x_dim),
            away: [T::default(); SEARCH_ROWS],
            near: zeros(inner_dim),
            centre: zeros(inner_dim),
            place: zeros(inner_dim),
            distances: vec![(T::default(), T::default()); ranked],
            least: Least {
                violation: f64::INFINITY,
                point: zeros(dim),
            },
        }
    }
}

impl Tests {
    fn new(projector: &Projector, rows: usize) -> Self {
        let (dim, x_dim) = (projector.dim(), projector.x_dim());
        Self {
            dim,
            x_dim,
            count: 0,
            y: vec![0.0; rows * dim],
            x: vec![0.0; rows * x_dim],
            inside: vec![false; rows],
            gradient: vec![0.0; dim],
        }
    }

    /// Tests one point; what is not finite fails without being asked.
    pub(super) fn passes<T: Real>(&mut self, test: &impl Membership, y: &[T], x: &[T]) -> bool {
        if !all_finite(y) {
            return false;
        }
        self.clear();
        self.push(y, x);
        test.contains(&self.y[..self.dim], &self.x[..self.x_dim])
    }

    /// The violation of a point that has failed.
    pub(super) fn violation<T: Real>(
        &mut self,
        test: &impl Membership,
        y: &[T],
        x: &[T],
    ) -> Option<f64> {
        if !all_finite(y) {
            return None;
        }
        self.clear();
        self.push(y, x);
        let (y, x) = (&self.y[..self.dim], &self.x[..self.x_dim]);
        test.violation(y, x, &mut self.gradient)
    }

    /// Forgets the points that were pushed.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Adds a finite point to those that are asked about next.
    pub(super) fn push<T: Real>(&mut self, y: &[T], x: &[T]) {
        widen(y, &mut self.y[self.count * self.dim..][..self.dim]);
        widen(x, &mut self.x[self.count * self.x_dim..][..self.x_dim]);
        self.count += 1;
    }

    /// The answers about all points that were pushed.
    pub(super) fn ask(&mut self, test: &impl Membership) -> &[bool] {
        let inside = &mut self.inside[..self.count];
        inside.fill(false);
        if self.count > 0 {
            let y = &self.y[..self.count * self.dim];
            let x = &self.x[..self.count * self.x_dim];
            test.contains_rows(y, x, inside);
        }
        inside
    }
}

impl<T: Real> Least<T> {
    /// For a new call.
    pub(super) fn forget(&mut self) {
        self.violation = f64::INFINITY;
    }

    /// Keeps a point if it violates less than those before it. NaN compares false, so a NaN violation
    /// is never kept.
    pub(super) fn keep(&mut self, violation: Option<f64>, point: &[T]) {
        if let Some(violation) = violation
            && violation < self.violation
        {
            self.violation = violation;
            self.point.copy_from_slice(point);
        }
    }

    /// The point; `None` while no violation is known.
    pub(super) fn point(&self) -> Option<&[T]> {
        (self.violation < f64::INFINITY).then_some(&self.point)
    }
}

fn widen<T: Real>(narrow: &[T], wide: &mut [f64]) {
    for (wide, narrow) in wide.iter_mut().zip(narrow) {
        *wide = narrow.to_f64();
    }
}
