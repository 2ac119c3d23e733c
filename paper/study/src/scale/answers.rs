//! A trained method and its answers.

use std::sync::Arc;
use std::time::Instant;

use fabproj::core::{Answer, SolverWorkspace};
use fabproj::solve::{Functions, Solver, train_with};

use super::admm::Admm;
use super::black_box::Sampled;
use super::homeomorphic::{Homeomorphic, HomeomorphicSettings};
use super::instance::Instance;
use super::net::{Net, NetSettings};
use super::reference::Clarabel;
use super::{ScaleMethod, ScaleRun};
use crate::{Context, StudyError};

/// Times that each x is answered; the fastest counts.
const REPEATS: usize = 5;
/// x that a method of iterations is set up with.
const FIRST: usize = 5;

/// Our solver with its memory.
type Trained = (Solver<Arc<dyn Functions + Send + Sync>>, SolverWorkspace);

/// A trained method.
pub(super) enum Answers<'a> {
    Solver(Box<Trained>),
    Clarabel(Box<Clarabel<'a>>),
    Admm(Box<Admm<'a>>),
    Net(Box<Net<'a>>),
    Homeomorphic(Box<Homeomorphic<'a>>),
    Sampled(Box<Sampled<'a>>),
}

impl<'a> Answers<'a> {
    pub(super) fn train(
        run: &ScaleRun,
        instance: &'a Instance,
        context: &Context<'_>,
    ) -> Result<Self, StudyError> {
        let (steps, network) = (run.network_steps(context), run.family.is_network());
        let net = |settings: NetSettings| {
            let net = Net::train(instance, &settings, run.seed, context)?;
            Ok(Self::Net(Box::new(net)))
        };
        let unsuited = || StudyError::Unsuited {
            method: run.method.name(),
            family: run.family.name,
        };
        match run.method {
            ScaleMethod::Solver => {
                let model = train_with(
                    instance.problem(),
                    &run.solve_settings(),
                    &context.session(),
                )?;
                let solver = model.solver(instance.problem())?;
                let workspace = solver.workspace();
                Ok(Self::Solver(Box::new((solver, workspace))))
            }
            ScaleMethod::Clarabel => {
                let clarabel = Clarabel::of(instance).ok_or_else(unsuited)?;
                Ok(Self::Clarabel(Box::new(clarabel)))
            }
            ScaleMethod::Admm => {
                let family = instance.family.as_ref().ok_or_else(unsuited)?;
                let x = instance.fresh_x(FIRST, run.seed);
                let x: Vec<&[f64]> = x.iter().map(Vec::as_slice).collect();
                let admm = Admm::new(family, &x).ok_or_else(unsuited)?;
                Ok(Self::Admm(Box::new(admm)))
            }
            ScaleMethod::RayNet => net(NetSettings::ray(steps)),
            ScaleMethod::Dc3 => net(NetSettings::dc3(steps, network)),
            ScaleMethod::FsNet => net(NetSettings::fsnet(steps, network)),
            ScaleMethod::Homeomorphic => {
                let settings = HomeomorphicSettings::new(steps);
                let trained = Homeomorphic::train(instance, &settings, run.seed, context)?;
                Ok(Self::Homeomorphic(Box::new(trained)))
            }
            ScaleMethod::Lookup
            | ScaleMethod::Restarts
            | ScaleMethod::LongRestarts
            | ScaleMethod::PlainNet => {
                let budget = run.budget(context)?;
                let sampled = Sampled::train(run.method, instance, budget, run.seed, context)?;
                Ok(Self::Sampled(Box::new(sampled.ok_or_else(unsuited)?)))
            }
        }
    }

    /// Solvers that take milliseconds and more.
    pub(super) fn is_slow(&self) -> bool {
        match self {
            Self::Clarabel(_) | Self::Admm(_) => true,
            Self::Sampled(sampled) => sampled.is_slow(),
            Self::Solver(_) | Self::Net(_) | Self::Homeomorphic(_) => false,
        }
    }

    pub(super) fn answer(&mut self, x: &[f64], y: &mut [f64]) {
        match self {
            Self::Solver(trained) => {
                let (solver, workspace) = &mut **trained;
                let done = solver.solve_into(x, y, workspace);
                // Lengths fit by construction.
                debug_assert!(done.is_ok());
            }
            Self::Clarabel(clarabel) => {
                clarabel.solve(x, 1e-8, y);
            }
            Self::Admm(admm) => {
                admm.solve(x, y);
            }
            Self::Net(net) => net.answer(x, y),
            Self::Homeomorphic(trained) => trained.answer_rows(x, 1, y),
            Self::Sampled(sampled) => sampled.answer(x, y),
        }
    }

    /// Answers every x; the times in microseconds, sorted.
    pub(super) fn time(&mut self, x: &[&[f64]], y: &mut [Vec<f64>]) -> Vec<f64> {
        let repeats = if self.is_slow() { 1 } else { REPEATS };
        let mut times = vec![f64::INFINITY; x.len()];
        for _ in 0..repeats {
            for ((x, y), time) in x.iter().zip(&mut *y).zip(&mut times) {
                let start = Instant::now();
                self.answer(x, y);
                *time = time.min(1e6 * start.elapsed().as_secs_f64());
            }
        }
        times.sort_by(f64::total_cmp);
        times
    }

    /// Answers all x by one call where there is one; microseconds for each.
    pub(super) fn batch_time(&mut self, x: &[&[f64]], y: &mut [Vec<f64>]) -> Option<f64> {
        let all: Vec<f64> = x.concat();
        let mut out = y.concat();
        let mut done = vec![Answer::default(); x.len()];
        let mut best = f64::INFINITY;
        let repeats = if self.is_slow() { 1 } else { REPEATS };
        for _ in 0..repeats {
            let start = Instant::now();
            match self {
                Self::Solver(trained) => {
                    let (solver, workspace) = &mut **trained;
                    let result = solver.solve_rows_into(&all, &mut out, &mut done, workspace);
                    debug_assert!(result.is_ok());
                }
                Self::Net(net) => net.answer_rows(&all, x.len(), &mut out),
                Self::Homeomorphic(trained) => trained.answer_rows(&all, x.len(), &mut out),
                _ => return None,
            }
            best = best.min(1e6 * start.elapsed().as_secs_f64());
        }
        Some(best / x.len() as f64)
    }
}
