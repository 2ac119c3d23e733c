//! fabproj: our recipe for the projector, and a solver network trained by the objective itself.
//!
//! The network proposes several points; all are projected at once, tested, and the best feasible one is
//! polished and given. It is FAB with another training: encode, clamp, decode, frozen, and trained through.

use std::sync::Arc;

use fabproj::Projector;
use fabproj::core::{RawOutcome, Workspace};
use serde_json::{Value, json};

use super::{Method, Polish, Solver, Task, Trained};
use crate::problem::{MOST, Problem, widen};
use crate::solver_net::{FrozenProjector, SolverNet, SolverWork, Unsupervised, far_downhill};
use crate::{ProjectorRecipe, StudyError, StudySet};

/// Our solver network with a projector.
pub struct Ours {
    /// How the projector is trained.
    pub projector: ProjectorRecipe,
    /// How the solver network is trained.
    pub solver: Unsupervised,
}

impl Method for Ours {
    fn settings(&self) -> Value {
        json!({ "solver": self.solver })
    }

    fn projector(&self) -> Option<ProjectorRecipe> {
        Some(self.projector.clone())
    }

    fn seconds(&self, _dim: usize) -> f64 {
        let width = match &self.projector {
            ProjectorRecipe::Default(settings) => settings.width,
            ProjectorRecipe::Paper(settings) | ProjectorRecipe::Searched(settings) => {
                settings.decoder_width
            }
        };
        self.solver.seconds(2.0 * width as f64 / 64.0)
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let context = task.context;
        let shared = context.projector(&task.set, &self.projector, task.seed)?;
        let mut correction = FrozenProjector::new(Arc::clone(&shared.projector));
        let (net, curve) = self.solver.train(task, &mut correction)?;
        Ok(Trained {
            solver: Box::new(BestHead::new(
                net,
                shared.projector,
                Arc::clone(&task.set),
                self.solver.polish,
            )),
            curve,
        })
    }
}

/// All proposals, projected; the best feasible one is taken and polished.
pub struct BestHead {
    net: SolverNet,
    work: SolverWork,
    points: Vec<f32>,
    answers: Vec<f32>,
    outcomes: Vec<RawOutcome>,
    projector: Arc<Projector>,
    workspace: Workspace,
    set: Arc<StudySet>,
    polish: Option<Polish>,
}

impl BestHead {
    /// Answers with a network and the projector that it was trained through.
    pub fn new(
        net: SolverNet,
        projector: Arc<Projector>,
        set: Arc<StudySet>,
        polish: Option<Polish>,
    ) -> Self {
        let length = net.heads() * net.dim();
        Self {
            work: net.work(),
            points: vec![0.0; length],
            answers: vec![0.0; length],
            outcomes: vec![RawOutcome::Inside; net.heads()],
            workspace: projector.workspace(),
            net,
            projector,
            set,
            polish,
        }
    }
}

impl Solver for BestHead {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        self.net.propose(problem, &mut self.work, &mut self.points);
        let (answers, outcomes) = (&mut self.answers, &mut self.outcomes);
        let work = &mut self.workspace;
        let done = self
            .projector
            .project_rows_into(&self.points, &[], answers, outcomes, work);
        // Lengths and workspace fit by construction.
        debug_assert!(done.is_ok());
        let feasible = choose(problem, &self.set, &self.answers, y);
        if let (true, Some(polish)) = (feasible, self.polish) {
            let image = &mut self.answers[..y.len()];
            polish.apply(problem, &self.set, y, |point| {
                let done = self.projector.project_into(point, &[], image, work);
                debug_assert!(done.is_ok());
                point.copy_from_slice(image);
            });
        }
        feasible
    }
}

/// The projector and the polish without a network: what is projected is a point far downhill.
pub struct NoNetwork {
    /// How the projector is trained.
    pub projector: ProjectorRecipe,
    /// How the answer is improved.
    pub polish: Polish,
}

impl Method for NoNetwork {
    fn settings(&self) -> Value {
        json!({ "polish": self.polish })
    }

    fn projector(&self) -> Option<ProjectorRecipe> {
        Some(self.projector.clone())
    }

    fn train(&self, task: &Task<'_>) -> Result<Trained, StudyError> {
        let context = task.context;
        let shared = context.projector(&task.set, &self.projector, task.seed)?;
        Ok(Trained::new(ProjectedDownhill {
            workspace: shared.projector.workspace(),
            projector: shared.projector,
            set: Arc::clone(&task.set),
            polish: self.polish,
        }))
    }
}

struct ProjectedDownhill {
    projector: Arc<Projector>,
    workspace: Workspace,
    set: Arc<StudySet>,
    polish: Polish,
}

impl Solver for ProjectedDownhill {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        let (projector, work) = (&self.projector, &mut self.workspace);
        let mut project = |point: &mut [f32]| {
            let mut image = [0.0; MOST];
            let image = &mut image[..point.len()];
            let done = projector.project_into(point, &[], image, work);
            // Lengths and workspace fit by construction.
            debug_assert!(done.is_ok());
            point.copy_from_slice(image);
        };
        far_downhill(problem, y);
        project(y);
        let feasible = self.set.contains(y);
        if feasible {
            self.polish.apply(problem, &self.set, y, project);
        }
        feasible
    }
}

/// Writes the best of the feasible rows; if none is feasible, the best of all. Whether it is feasible.
pub fn choose(problem: &Problem, set: &StudySet, rows: &[f32], y: &mut [f32]) -> bool {
    let mut wide = [0.0; MOST];
    let wide = &mut wide[..y.len()];
    let mut best = (false, f64::INFINITY);
    for row in rows.chunks_exact(y.len()) {
        widen(row, wide);
        let value = problem.value(wide);
        let promising = !best.0 || value < best.1;
        if !promising {
            continue;
        }
        let feasible = set.set().contains(wide, &[]);
        if (feasible && !best.0) || (feasible == best.0 && value < best.1) {
            best = (feasible, value);
            y.copy_from_slice(row);
        }
    }
    best.0
}
