//! FAB as the paper has it: a solver network and a projector trained by the paper's method.
//!
//! "Improving Feasibility via Fast Autoencoder-based Projections", Chzhen and Donti, ICLR 2026. *End to
//! end*, the network learns through the frozen projector; *post hoc*, it learns alone and its outputs
//! are projected afterwards. The released code searches the weights of the projector's losses; the ablations are
//! settings of the projector's training.

use std::sync::Arc;

use fabproj::Projector;
use fabproj::core::Workspace;
use serde_json::{Value, json};

use super::{Method, Solver, Task, Trained};
use crate::problem::Problem;
use crate::solver_net::{
    Correction, FrozenProjector, SolverNet, SolverWork, Supervised, Uncorrected,
};
use crate::{ProjectorRecipe, StudyError};

/// The paper's method, or one of its variants.
pub struct Fab {
    /// How the projector is trained.
    pub projector: ProjectorRecipe,
    /// Whether the solver network is trained through the projector.
    pub end_to_end: bool,
    /// How the solver network is trained.
    pub solver: Supervised,
}

impl Method for Fab {
    fn settings(&self) -> Value {
        json!({ "end-to-end": self.end_to_end, "solver": self.solver })
    }

    fn projector(&self) -> Option<ProjectorRecipe> {
        Some(self.projector.clone())
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let context = task.context;
        let shared = context.projector(&task.set, &self.projector, task.seed)?;
        let mut correction: Box<dyn Correction> = if self.end_to_end {
            Box::new(FrozenProjector::new(Arc::clone(&shared.projector)))
        } else {
            Box::new(Uncorrected)
        };
        let (net, curve) = self.solver.train(task, correction.as_mut())?;
        Ok(Trained {
            solver: Box::new(ProjectedNet::new(net, shared.projector)),
            curve,
        })
    }
}

/// One proposal, projected.
struct ProjectedNet {
    net: SolverNet,
    work: SolverWork,
    point: Vec<f32>,
    projector: Arc<Projector>,
    workspace: Workspace,
}

impl ProjectedNet {
    fn new(net: SolverNet, projector: Arc<Projector>) -> Self {
        Self {
            work: net.work(),
            point: vec![0.0; net.dim()],
            net,
            workspace: projector.workspace(),
            projector,
        }
    }
}

impl Solver for ProjectedNet {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        self.net.propose(problem, &mut self.work, &mut self.point);
        let (point, workspace) = (&self.point, &mut self.workspace);
        let done = self.projector.project_into(point, &[], y, workspace);
        // Lengths and workspace fit by construction.
        debug_assert!(done.is_ok());
        false
    }
}
