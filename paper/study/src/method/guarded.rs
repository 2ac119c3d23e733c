//! Any method's answers under the guard of a projector.

use std::sync::Arc;

use fabproj::core::Workspace;
use fabproj::set::Set;
use fabproj::{Guard, Projector};

use super::Solver;
use crate::problem::Problem;
use crate::{StudyError, StudySet};

/// A solver whose infeasible answers are replaced by guarded projections of them: every answer has
/// passed the membership test.
pub struct Guarded {
    inner: Box<dyn Solver>,
    guard: Guard<Arc<dyn Set>>,
    workspace: Workspace,
    raw: Vec<f32>,
}

impl Guarded {
    /// Guards `inner` by a projector for the set.
    ///
    /// # Errors
    /// [`StudyError::Guard`] when the projector has no feasible anchor.
    pub fn new(
        inner: Box<dyn Solver>,
        set: &StudySet,
        projector: &Projector,
    ) -> Result<Self, StudyError> {
        let guard = Guard::new(projector.clone(), set.shared())?;
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
        // The guard keeps what is feasible.
        let (raw, workspace) = (&self.raw, &mut self.workspace);
        let outcome = self.guard.project_into(raw, &[], y, workspace);
        // Lengths and workspace fit by construction.
        debug_assert!(outcome.is_ok());
        outcome.is_ok_and(|outcome| outcome.is_verified())
    }
}
