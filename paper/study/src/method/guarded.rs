//! Any method's answers under the guard of a projector.

use std::sync::Arc;

use fabproj::core::{Guard, GuardWorkspace, Membership, Projector};

use super::Solver;
use crate::problem::Problem;
use crate::{StudyError, StudySet};

/// The set's own membership test.
struct Member(Arc<StudySet>);

impl Membership for Member {
    #[inline]
    fn contains(&self, y: &[f64], x: &[f64]) -> bool {
        self.0.set().contains(y, x)
    }
}

/// A solver whose infeasible answers are replaced by guarded projections of them: every answer has
/// passed the membership test.
pub struct Guarded {
    inner: Box<dyn Solver>,
    guard: Guard<Arc<Projector>, Member>,
    workspace: GuardWorkspace,
    raw: Vec<f32>,
}

impl Guarded {
    /// Guards `inner` by a projector for the set.
    ///
    /// # Errors
    /// [`StudyError::Guard`] when the projector knows no feasible point.
    pub fn new(
        inner: Box<dyn Solver>,
        set: &Arc<StudySet>,
        projector: Arc<Projector>,
    ) -> Result<Self, StudyError> {
        let guard = Guard::new(projector, Member(Arc::clone(set)))?;
        Ok(Self {
            inner,
            workspace: guard.workspace(),
            guard,
            raw: vec![0.0; set.dim()],
        })
    }
}

impl Solver for Guarded {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        if self.inner.answer(problem, &mut self.raw) {
            y.copy_from_slice(&self.raw);
            return true;
        }
        // The guard keeps what is feasible. Lengths and workspace fit by construction.
        let status = self.guard.project(&self.raw, &[], y, &mut self.workspace);
        debug_assert!(status.is_ok());
        true
    }
}
