//! Outputs that have passed a membership test.

mod explore;
mod find;
mod membership;
mod repair;
mod workspace;

use alloc::vec::Vec;
use core::borrow::Borrow;

use crate::model::Anchor;
use crate::projector::{CallError, Points, Projector, Rows, all_finite, call};
use crate::status::{Status, Tally};
use crate::workspace::BLOCK;

pub use membership::Membership;
pub use workspace::GuardWorkspace;

/// The most membership tests that one call of a guard makes, for a model of up to 256 charts (one more
/// for each further chart). Nearly all calls make one or two; this many are made where a set that depends
/// on x is empty. There are at most as many calls of [`Membership::violation`].
pub const MAX_TESTS_PER_CALL: usize = 4
    + 2 * find::ANCHOR_TRIES
    + find::SEARCH_TESTS
    + repair::BISECTION_STEPS
    + explore::EXPLORATION_TESTS;

/// Why a guard could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// Without one feasible point there is nothing to fall back to.
    #[error(
        "none of the model's {anchors} anchors and of {searched} decodes passes the membership test: \
         is it the test of the set that the model was trained for?"
    )]
    NoFeasiblePoint {
        /// Anchors of the model, all tested.
        anchors: usize,
        /// Decodes tested besides.
        searched: usize,
    },
}

/// A point that has passed the test.
#[derive(Clone, Debug)]
struct Verified {
    anchor: Anchor,
    /// Whether `anchor.point` is the decode of `anchor.latent`, so that there is a way to it.
    decodes: bool,
}

/// A projector whose outputs are tested, and repaired where they fail.
///
/// Each call returns, in this order of preference: the input itself if it is feasible (unless
/// [switched off](Self::keep_feasible)); its projection; a feasible decode on the latent segment from
/// a verified anchor to the projection; the anchor. The [`Status`] says which. The output is the very
/// f32 point whose f64 values the test has accepted, whatever the networks do.
///
/// For a **fixed set** the anchors are tested once, by [`new`](Self::new), and the guarantee has no
/// exception but parameters or a membership test that change their answers. For an **input-dependent
/// set** anchors are tested at each x: the stored ones nearest in x first, then a fixed sequence of
/// decodes, then one of points around the projection and in the model's frame, within
/// [`MAX_TESTS_PER_CALL`]. If none passes, the set may be empty at this x, and the status is
/// [`Status::MaybeEmpty`]: the output has *failed* the test. It is the least violating of all points
/// tested where the test knows [violations](Membership::violation), else the projection (or, if that is
/// not finite, the projector's fallback). With x that is not finite there is no set to
/// test against: [`Status::NotFinite`] and the fallback. In all other cases the output is feasible,
/// also when y holds NaN.
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
/// // The projector maps onto the disc of radius 0.5; only its right half is feasible.
/// let right_half = |y: &[f64], _x: &[f64]| y[0] >= 0.0;
/// let guard = Guard::new(&projector, right_half)?;
/// let mut workspace = guard.workspace();
/// let mut out = [0.0; 2];
/// let status = guard.project(&[-3.0, 4.0], &[], &mut out, &mut workspace)?;
/// assert_eq!(status, Status::Repaired);
/// assert!(right_half(&out.map(f64::from), &[]));
/// assert_eq!(guard.project(&[0.6, 0.7], &[], &mut out, &mut workspace)?, Status::Kept);
/// assert_eq!(out, [0.6, 0.7]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Guard<P, M> {
    projector: P,
    membership: M,
    keep_feasible: bool,
    /// For a fixed set: not empty.
    verified: Vec<Verified>,
}

impl<P: Borrow<Projector>, M: Membership> Guard<P, M> {
    /// Guards a projector, owned or borrowed (`Projector`, `&Projector`, `Arc<Projector>`).
    ///
    /// # Errors
    /// [`GuardError`] when the set is fixed and neither an anchor of the model nor a decode of a fixed
    /// sequence of latent points is feasible.
    pub fn new(projector: P, membership: M) -> Result<Self, GuardError> {
        let mut guard = Self {
            projector,
            membership,
            keep_feasible: true,
            verified: Vec::new(),
        };
        if guard.projector().parameter_dim() == 0 {
            guard.verified = guard.verify_anchors()?;
        }
        Ok(guard)
    }

    /// Whether an input that is feasible is returned as it is; true unless set otherwise. If not, it is
    /// projected like any other, and returned only when no other feasible point is found.
    #[must_use]
    pub fn keep_feasible(mut self, keep: bool) -> Self {
        self.keep_feasible = keep;
        self
    }

    /// The projector inside.
    pub fn projector(&self) -> &Projector {
        self.projector.borrow()
    }

    /// The membership test inside.
    pub fn membership(&self) -> &M {
        &self.membership
    }

    /// How many verified points there are to fall back to; 0 for an input-dependent set, where they
    /// are found at each call.
    pub fn verified_anchors(&self) -> usize {
        self.verified.len()
    }

    /// Memory for calls: one per thread.
    pub fn workspace(&self) -> GuardWorkspace {
        GuardWorkspace::new(self.projector())
    }

    /// A feasible point for y, with the parameters x (empty for a fixed set). No allocation.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace belongs to another projector;
    /// nothing is written then.
    pub fn project(
        &self,
        y: &[f32],
        x: &[f32],
        out: &mut [f32],
        workspace: &mut GuardWorkspace,
    ) -> Result<Status, CallError> {
        let projector = self.projector();
        projector.check_point(y, x, &workspace.inner)?;
        workspace.check(projector)?;
        call::length("out", out.len(), projector.dim())?;
        if let Some(status) = self.settle(y, x, out, workspace) {
            return Ok(status);
        }
        let status = projector.project(y, x, out, &mut workspace.inner)?;
        Ok(self.finish(y, x, status, out, workspace))
    }

    /// [`project`](Self::project) for rows of points: `y` and `out` hold `dim` numbers per row, `x`
    /// holds `parameter_dim`, `statuses` one entry per row. The same bits as row by row.
    ///
    /// # Errors
    /// As for [`project`](Self::project).
    pub fn project_batch(
        &self,
        y: &[f32],
        x: &[f32],
        out: &mut [f32],
        statuses: &mut [Status],
        workspace: &mut GuardWorkspace,
    ) -> Result<Tally, CallError> {
        let projector = self.projector();
        let count = projector.check_batch(y, x, &workspace.inner)?;
        workspace.check(projector)?;
        call::length("out", out.len(), y.len())?;
        call::length("statuses", statuses.len(), count)?;
        let (n, p) = (projector.dim(), projector.parameter_dim());
        let mut pending = core::mem::take(&mut workspace.pending);
        for begin in (0..count).step_by(BLOCK) {
            pending.clear();
            for row in begin..count.min(begin + BLOCK) {
                let (y, x) = (&y[row * n..][..n], &x[row * p..][..p]);
                match self.settle(y, x, &mut out[row * n..][..n], workspace) {
                    Some(status) => statuses[row] = status,
                    None => pending.push(row),
                }
            }
            let rows = Rows::Some(&pending);
            projector.project_rows(rows, Points { y, x }, out, statuses, &mut workspace.inner);
            for row in &pending {
                let (y, x) = (&y[row * n..][..n], &x[row * p..][..p]);
                let out = &mut out[row * n..][..n];
                statuses[*row] = self.finish(y, x, statuses[*row], out, workspace);
            }
        }
        workspace.pending = pending;
        Ok(statuses.iter().copied().collect())
    }

    /// What needs no projection: parameters without a set, and inputs that stay.
    fn settle(
        &self,
        y: &[f32],
        x: &[f32],
        out: &mut [f32],
        workspace: &mut GuardWorkspace,
    ) -> Option<Status> {
        if !all_finite(x) {
            out.copy_from_slice(self.projector().fallback());
            return Some(Status::NotFinite);
        }
        if self.keep_feasible && self.passes(y, x, workspace) {
            out.copy_from_slice(y);
            return Some(Status::Kept);
        }
        None
    }

    /// Tests the projection in `out`, and repairs it if it fails.
    fn finish(
        &self,
        y: &[f32],
        x: &[f32],
        status: Status,
        out: &mut [f32],
        workspace: &mut GuardWorkspace,
    ) -> Status {
        if status != Status::NotFinite && self.passes(out, x, workspace) {
            return status;
        }
        self.repair(y, x, status, out, workspace)
    }

    /// The test, in f64 on the exact f32 values; what is not finite fails without being asked.
    fn passes(&self, y: &[f32], x: &[f32], workspace: &mut GuardWorkspace) -> bool {
        workspace.wide.test(&self.membership, y, x)
    }
}
