//! Outputs that have passed a membership test.

mod buffers;
mod call;
mod explore;
mod find;
mod membership;
mod repair;
mod verify;

use alloc::vec;
use alloc::vec::Vec;

use crate::outcome::{Outcome, RawOutcome};
use crate::projector::{CallError, Points, Projector, Rows, call as check};
use crate::real::{Real, all_finite};
use crate::workspace::{RunBuffers, Workspace};
use call::Call;
use verify::Verified;

pub use buffers::{GuardBuffers, PointBuffers, Shared};
pub use membership::{FnMembership, Membership};
pub use verify::GuardError;

/// The most membership tests that one call of a guard makes, for up to 256 charts (one more for each
/// further chart). Nearly all calls make one or two; this many are made where a set that depends on x is
/// empty. There are at most as many calls of [`Membership::violation`].
pub const MAX_TESTS_PER_CALL: usize = 4
    + 2 * find::ANCHOR_TRIES
    + find::SEARCH_TESTS
    + repair::BISECTION_STEPS
    + explore::EXPLORATION_TESTS;

/// A projector whose outputs are tested, and repaired where they fail.
///
/// Each call returns, in this order of preference: the input itself if it is feasible (unless
/// [switched off](Self::keep_feasible)); its projection; a feasible decode on the latent segment from
/// an anchor to the projection; the anchor. The [`Outcome`] says which. The test sees the caller's numbers:
/// x as it was given, and the very point that is returned, in f64 exactly.
///
/// For a **fixed set** the anchors are tested once, by [`new`](Self::new), and every output is feasible.
/// (One exception: f32 calls of a set with equations, if no anchor is feasible after rounding to f32.) For
/// a **set that depends on x** the guard looks for a feasible point at each x: stored anchors, then a
/// fixed sequence of decodes, then points around the projection and in the frame, within
/// [`MAX_TESTS_PER_CALL`]. If none passes, the outcome is [`Outcome::MaybeEmpty`].
///
/// ```
/// use fabproj_core::{Guard, LatentSet, Outcome, Projector, Weights};
///
/// // The projector maps onto the disc of radius 0.5; only its right half is feasible.
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let projector = Projector::new(&Weights::identity(2, disc))?;
/// let guard = Guard::from_fn(projector, |y, _x| y[0] >= 0.0)?;
/// let (y, outcome) = guard.project(&[-3.0, 4.0], &[])?;
/// assert_eq!(outcome, Outcome::Repaired);
/// assert!(y[0] >= 0.0);
/// assert_eq!(guard.project(&[0.6, 0.7], &[])?, (vec![0.6, 0.7], Outcome::Kept));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Guard<M> {
    projector: Projector,
    membership: M,
    keep_feasible: bool,
    /// For a fixed set: not empty.
    verified: Vec<Verified>,
}

impl<F: Fn(&[f64], &[f64]) -> bool> Guard<FnMembership<F>> {
    /// Guards a projector by a closure that says whether y is in C(x).
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn from_fn(projector: Projector, contains: F) -> Result<Self, GuardError> {
        Self::new(projector, FnMembership(contains))
    }
}

impl<M: Membership> Guard<M> {
    /// Guards a projector. The test may be owned, borrowed, boxed or shared.
    ///
    /// # Errors
    /// [`GuardError`] when the set is fixed and neither an anchor nor a decode of a fixed sequence of
    /// latent points is feasible.
    pub fn new(projector: Projector, membership: M) -> Result<Self, GuardError> {
        let mut guard = Self {
            projector,
            membership,
            keep_feasible: true,
            verified: Vec::new(),
        };
        if guard.projector.x_dim() == 0 {
            guard.verified = guard.verify_anchors()?;
        }
        Ok(guard)
    }

    /// Whether a feasible input is returned as it is; true unless set otherwise. If not, it is projected
    /// like any other, and returned only when no other feasible point is found.
    #[must_use]
    pub fn keep_feasible(mut self, keep: bool) -> Self {
        self.keep_feasible = keep;
        self
    }

    /// The projector inside.
    pub fn projector(&self) -> &Projector {
        &self.projector
    }

    /// The membership test inside.
    pub fn membership(&self) -> &M {
        &self.membership
    }

    /// Number of verified points to fall back to; 0 for a set that depends on x, where they are found
    /// at each call.
    pub fn verified_anchors(&self) -> usize {
        self.verified.len()
    }

    /// Memory for calls without allocation: one per thread. It also serves the projector.
    pub fn workspace(&self) -> Workspace {
        Workspace {
            guard: Some(GuardBuffers::new(&self.projector)),
            ..self.projector.workspace()
        }
    }

    /// A feasible point for y; x is empty for a fixed set.
    ///
    /// In tight loops use [`project_into`](Self::project_into), which does not allocate.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length.
    pub fn project<T: Real>(&self, y: &[T], x: &[T]) -> Result<(Vec<T>, Outcome), CallError> {
        self.projector.check_point(y, x)?;
        let mut out = vec![T::default(); y.len()];
        let mut run = RunBuffers::single(self.projector.layout());
        let mut buffers = GuardBuffers::single::<T>(&self.projector);
        let outcome = Call::new(self, Points { y, x }, &mut run, &mut buffers).project(&mut out);
        Ok((out, outcome))
    }

    /// [`project`](Self::project) into `out`, without allocation.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace is not a guard's of this
    /// projector; nothing is written then.
    pub fn project_into<T: Real>(
        &self,
        y: &[T],
        x: &[T],
        out: &mut [T],
        workspace: &mut Workspace,
    ) -> Result<Outcome, CallError> {
        self.projector.check_point(y, x)?;
        check::length("out", out.len(), y.len())?;
        let (run, buffers) = self.check_workspace(workspace)?;
        Ok(Call::new(self, Points { y, x }, run, buffers).project(out))
    }

    /// [`project`](Self::project) for rows of points: `y` holds [`dim`](Projector::dim) numbers per row,
    /// `x` holds [`x_dim`](Projector::x_dim). The same bits as row by row.
    ///
    /// Inputs and projections are tested by [`Membership::contains_rows`].
    ///
    /// ```
    /// use fabproj_core::{Guard, LatentSet, Outcome, Projector, Weights};
    ///
    /// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
    /// let projector = Projector::new(&Weights::identity(2, disc))?;
    /// let guard = Guard::from_fn(projector, |y, _x| y[0].hypot(y[1]) <= 0.6)?;
    /// let (y, outcomes) = guard.project_rows(&[3.0, 4.0, 0.1, 0.2], &[])?;
    /// assert_eq!(outcomes, [Outcome::Projected, Outcome::Kept]);
    /// assert_eq!(y[2..], [0.1, 0.2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`project`](Self::project).
    pub fn project_rows<T: Real>(
        &self,
        y: &[T],
        x: &[T],
    ) -> Result<(Vec<T>, Vec<Outcome>), CallError> {
        let rows = self.projector.check_rows(y, x)?;
        let mut out = vec![T::default(); y.len()];
        let mut outcomes = vec![Outcome::NotFinite; rows];
        self.project_rows_into(y, x, &mut out, &mut outcomes, &mut self.workspace())?;
        Ok((out, outcomes))
    }

    /// [`project_rows`](Self::project_rows) into `out`, as long as `y`, and `outcomes`, one per row,
    /// without allocation.
    ///
    /// # Errors
    /// As for [`project_into`](Self::project_into).
    pub fn project_rows_into<T: Real>(
        &self,
        y: &[T],
        x: &[T],
        out: &mut [T],
        outcomes: &mut [Outcome],
        workspace: &mut Workspace,
    ) -> Result<(), CallError> {
        let rows = self.projector.check_rows(y, x)?;
        check::length("out", out.len(), y.len())?;
        check::length("outcomes", outcomes.len(), rows)?;
        let (run, buffers) = self.check_workspace(workspace)?;
        let (n, p) = (self.projector.dim(), self.projector.x_dim());
        for begin in (0..rows).step_by(buffers.block()) {
            let count = buffers.block().min(rows - begin);
            let points = Points {
                y: &y[begin * n..][..count * n],
                x: &x[begin * p..][..count * p],
            };
            let out = &mut out[begin * n..][..count * n];
            self.project_block(points, out, &mut outcomes[begin..][..count], run, buffers);
        }
        Ok(())
    }

    /// Projects so many rows as are tested together.
    fn project_block<T: Real>(
        &self,
        points: Points<'_, T>,
        out: &mut [T],
        outcomes: &mut [Outcome],
        run: &mut RunBuffers,
        buffers: &mut GuardBuffers,
    ) {
        let shared = &mut buffers.shared;
        self.settle(points, out, outcomes, shared);
        let pending = Rows::Some(&shared.pending);
        self.projector
            .run_rows(pending, points, out, &mut shared.raw, run);
        self.accept(points, out, outcomes, shared);
        let pending = core::mem::take(&mut shared.pending);
        for row in &pending {
            let out = &mut out[row * self.projector.dim()..][..self.projector.dim()];
            let (raw, at) = (buffers.shared.raw[*row], self.projector.row(points, *row));
            outcomes[*row] = Call::new(self, at, run, buffers).repair(raw, out);
        }
        buffers.shared.pending = pending;
    }

    /// Settles rows that need no projection: those without a set, and inputs that are kept. The others
    /// are pending.
    fn settle<T: Real>(
        &self,
        points: Points<'_, T>,
        out: &mut [T],
        outcomes: &mut [Outcome],
        shared: &mut Shared,
    ) {
        let n = self.projector.dim();
        shared.pending.clear();
        shared.tests.clear();
        let asked = |y: &[T]| self.keep_feasible && all_finite(y);
        for (row, outcome) in outcomes.iter_mut().enumerate() {
            let Points { y, x } = self.projector.row(points, row);
            if !all_finite(x) {
                self.projector.fall_back(x, &mut out[row * n..][..n]);
                *outcome = Outcome::NotFinite;
                continue;
            }
            shared.pending.push(row);
            if asked(y) {
                shared.tests.push(y, x);
            }
        }
        let mut answers = shared.tests.ask(&self.membership).iter();
        shared.pending.retain(|row| {
            let y = self.projector.row(points, *row).y;
            let kept = asked(y) && answers.next() == Some(&true);
            if kept {
                out[row * n..][..n].copy_from_slice(y);
                outcomes[*row] = Outcome::Kept;
            }
            !kept
        });
    }

    /// Tests the projections of pending rows; those that fail stay pending.
    fn accept<T: Real>(
        &self,
        points: Points<'_, T>,
        out: &[T],
        outcomes: &mut [Outcome],
        shared: &mut Shared,
    ) {
        let (n, raw) = (self.projector.dim(), &shared.raw);
        let asked = |row: usize| raw[row] != RawOutcome::NotFinite;
        shared.tests.clear();
        for row in shared.pending.iter().filter(|row| asked(**row)) {
            let x = self.projector.row(points, *row).x;
            shared.tests.push(&out[row * n..][..n], x);
        }
        let mut answers = shared.tests.ask(&self.membership).iter();
        shared.pending.retain(|row| {
            let passed = asked(*row) && answers.next() == Some(&true);
            if passed {
                outcomes[*row] = Outcome::Projected;
            }
            !passed
        });
    }

    /// The buffers of a workspace that fits.
    fn check_workspace<'w>(
        &self,
        workspace: &'w mut Workspace,
    ) -> Result<(&'w mut RunBuffers, &'w mut GuardBuffers), CallError> {
        let Workspace { run, guard } = workspace;
        match guard {
            Some(buffers)
                if run.layout == self.projector.layout()
                    && buffers.shared.anchors == self.projector.anchors().len() =>
            {
                Ok((run, buffers))
            }
            _ => Err(CallError::Workspace),
        }
    }
}
