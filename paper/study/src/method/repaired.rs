//! A solver network whose proposals are repaired one by one, as the network baselines answer.

use std::sync::Arc;

use super::{Polish, Solver, choose};
use crate::StudySet;
use crate::problem::Problem;
use crate::solver_net::{SolverNet, SolverWork};

/// Changes a point so that it may become feasible.
pub trait Repair: Send {
    /// Replaces a point that is not feasible; a feasible one should stay.
    fn repair(&mut self, point: &mut [f32]);
}

/// Points stay as they are.
pub struct NoRepair;

impl Repair for NoRepair {
    fn repair(&mut self, _point: &mut [f32]) {}
}

/// Proposals of a network, each repaired; of several, the best feasible one is the answer, polished.
pub struct RepairedNet<R> {
    net: SolverNet,
    work: SolverWork,
    points: Vec<f32>,
    repair: R,
    set: Arc<StudySet>,
    polish: Option<Polish>,
}

impl<R: Repair> RepairedNet<R> {
    /// Answers with a network and a repair.
    pub fn new(net: SolverNet, repair: R, set: Arc<StudySet>, polish: Option<Polish>) -> Self {
        Self {
            work: net.work(),
            points: vec![0.0; net.heads() * net.dim()],
            net,
            repair,
            set,
            polish,
        }
    }
}

impl<R: Repair> Solver for RepairedNet<R> {
    fn answer(&mut self, problem: &Problem, y: &mut [f32]) -> bool {
        self.net.propose(problem, &mut self.work, &mut self.points);
        for point in self.points.chunks_exact_mut(y.len()) {
            self.repair.repair(point);
        }
        if self.net.heads() == 1 {
            y.copy_from_slice(&self.points);
            return false;
        }
        let feasible = choose(problem, &self.set, &self.points, y);
        if let (true, Some(polish)) = (feasible, self.polish) {
            let repair = |point: &mut [f32]| self.repair.repair(point);
            polish.apply(problem, &self.set, y, repair);
        }
        feasible
    }
}
