//! Answers for a set with a membership test only: points proposed by a network, brought to the set by its
//! projector, the best of them improved by membership tests.

use alloc::vec;
use alloc::vec::Vec;

use super::known::{KnownAnswers, away, nearer};
use super::run::violation;
use super::{Functions, SolveOutcome, Solver, SolverWeights, SolverWorkspace};
use crate::buffer::Buffer;
use crate::dense::{PackedNetwork, Scratch};
use crate::equations::Equations;
use crate::outcome::RawOutcome;
use crate::projector::Projector;
use crate::validate::WeightsError;
use crate::vector::{add, affine, dot};
use crate::weights::{Network, Weights};
use crate::workspace::Workspace;

/// x beyond its range is read by the network as if it were so many half-widths from the middle.
const FARTHEST: f64 = 2.0;
/// Bisections of the way from a feasible point to the best proposal, where no proposal is feasible.
const BISECTIONS: usize = 12;
/// A step ends where it is shorter than this part of the first.
const SHORT: f64 = 1e-6;
/// The first straight step as a part of the first projected one.
const STRAIGHT: f64 = 0.05;

/// Points to begin with are tested one after the other, the best first. After so many infeasible ones every second
/// is left out, after twice as many two of three: 48 points take 32 tests at most, and what is left of an answer's
/// tests improves the point that was found. With 4 the mean gap of the study's `stability` is 7.4 %, with 16 5.4 %.
const PATIENCE: usize = 16;

/// A network that proposes points, and the projector that brings them to the set.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposer {
    /// Onto the set.
    pub projector: Weights,
    /// From x, each coordinate between −1 and 1 within its range (a zero where there is no x), to points
    /// one after the other, each an offset from the solver's start.
    pub network: Network,
    /// Membership tests of an answer beside one for each point of the network.
    pub tests: usize,
    /// Length of the first step downhill.
    pub stride: f64,
    /// Answers at other x, to start from as well; may be empty.
    pub known: KnownAnswers,
}

impl Proposer {
    /// Number of points that the network proposes.
    pub(crate) fn heads(&self, dim: usize) -> usize {
        self.network.outputs() / dim.max(1)
    }
}

/// A [`Proposer`] in the form that runs.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    projector: Projector,
    network: PackedNetwork,
    heads: usize,
    tests: usize,
    stride: f64,
    known: KnownAnswers,
}

/// Memory of a call.
#[derive(Clone, Debug)]
pub(super) struct Buffers {
    features: Buffer,
    scratch: Scratch,
    points: Vec<f64>,
    answers: Vec<f64>,
    x: Vec<f64>,
    outcomes: Vec<RawOutcome>,
    projector: Workspace,
    best: Vec<f64>,
    objective: f64,
    least: f64,
    direction: Vec<f64>,
    from: Vec<f64>,
    latent: Vec<f32>,
    reduced: Vec<f64>,
    /// Known answers or anchors by their distance in x, or points by their objective.
    order: Vec<(f64, usize)>,
    /// Membership tests so far.
    tests: usize,
    /// Whether the last test was that of the best point.
    at_best: bool,
}

impl Packed {
    pub(super) fn new(weights: &SolverWeights) -> Result<Option<Self>, WeightsError> {
        let Some(proposer) = &weights.proposer else {
            return Ok(None);
        };
        Ok(Some(Self {
            projector: Projector::new(&proposer.projector)?,
            network: PackedNetwork::new(&proposer.network),
            heads: proposer.heads(weights.dim),
            tests: proposer.tests,
            stride: proposer.stride,
            known: proposer.known.clone(),
        }))
    }

    pub(super) fn buffers(&self) -> Buffers {
        let (dim, x_dim) = (self.projector.dim(), self.projector.x_dim());
        let charts = 0..self.projector.charts();
        let latent = charts.filter_map(|chart| self.projector.latent_dim(chart));
        Buffers {
            features: Buffer::zeros(self.network.inputs()),
            scratch: Scratch::new(1, self.network.scratch_width()),
            points: vec![0.0; self.heads * dim],
            answers: vec![0.0; self.starts() * dim],
            x: vec![0.0; self.heads * x_dim],
            outcomes: vec![RawOutcome::NotFinite; self.heads],
            projector: self.projector.workspace(),
            best: vec![0.0; dim],
            objective: f64::INFINITY,
            least: f64::INFINITY,
            direction: vec![0.0; dim],
            from: vec![0.0; dim],
            latent: vec![0.0; latent.max().unwrap_or(0)],
            reduced: vec![0.0; self.projector.equations().map_or(0, Equations::reduced_dim)],
            order: Vec::with_capacity(
                self.projector
                    .anchors()
                    .len()
                    .max(self.known.entries(dim))
                    .max(self.starts()),
            ),
            tests: 0,
            at_best: false,
        }
    }

    /// Number of points that an answer begins with.
    fn starts(&self) -> usize {
        self.heads + self.known.nearest
    }

    /// Writes the known answers nearest in x behind those of the network, moved onto the equations.
    fn recall(&self, weights: &SolverWeights, x: &[f64], own: &mut Buffers) {
        let dim = weights.dim;
        self.known.rank(dim, x, &weights.x_range, &mut own.order);
        let rows = own.answers[self.heads * dim..].chunks_exact_mut(dim);
        for (row, (_, index)) in rows.zip(&own.order) {
            row.copy_from_slice(&self.known.y[index * dim..][..dim]);
            if let Some(equations) = self.projector.equations() {
                equations.lower_point(row, x, &mut own.reduced);
                equations.raise_point(&own.reduced, x, row);
            }
        }
    }

    /// Writes the points that the network proposes at x, brought to the set, into `answers`.
    fn propose(&self, weights: &SolverWeights, x: &[f64], own: &mut Buffers) {
        let dim = weights.dim;
        let pairs = own.features.iter_mut().zip(x);
        for ((feature, x), (low, high)) in pairs.zip(&weights.x_range) {
            let half = 0.5 * (high - low);
            let place = if half > 0.0 {
                (x - low - half) / half
            } else {
                0.0
            };
            *feature = place.clamp(-FARTHEST, FARTHEST) as f32;
        }
        affine(
            &weights.start.constant,
            &weights.start.by_x,
            x,
            &mut own.from,
        );
        let inputs = own.features.len();
        let outputs = self
            .network
            .forward(&own.features, inputs, 1, &mut own.scratch);
        let rows = own.points.chunks_exact_mut(dim);
        for (point, offset) in rows.zip(outputs.chunks_exact(dim)) {
            for ((point, start), offset) in point.iter_mut().zip(&own.from).zip(offset) {
                *point = start + f64::from(*offset);
            }
        }
        if !x.is_empty() {
            own.x
                .chunks_exact_mut(x.len())
                .for_each(|row| row.copy_from_slice(x));
        }
        let (points, answers) = (&own.points, &mut own.answers[..self.heads * dim]);
        let (outcomes, workspace) = (&mut own.outcomes, &mut own.projector);
        let done = self
            .projector
            .project_rows_into(points, &own.x, answers, outcomes, workspace);
        // All lengths are the projector's own.
        debug_assert!(done.is_ok());
    }

    /// Brings `from` + `share` · `direction` to the set.
    fn step(&self, share: f64, x: &[f64], own: &mut Buffers, y: &mut [f64]) {
        let point = &mut own.points[..y.len()];
        point.copy_from_slice(&own.from);
        add(point, share, &own.direction);
        let done = self.projector.project_into(point, x, y, &mut own.projector);
        debug_assert!(done.is_ok());
    }

    /// Puts the anchors in order, the nearest in x first.
    fn rank(&self, weights: &SolverWeights, x: &[f64], own: &mut Buffers) {
        own.order.clear();
        for (index, anchor) in self.projector.anchors().iter().enumerate() {
            let distance = away(&anchor.x, x, &weights.x_range);
            own.order.push((distance, index));
        }
        own.order.sort_unstable_by(nearer);
    }
}

impl<F: Functions> Solver<F> {
    /// The answer of the network, its projector and membership tests. The point is in `work.y`.
    pub(super) fn run_learned(
        &self,
        packed: &Packed,
        x: &[f64],
        work: &mut SolverWorkspace,
    ) -> (SolveOutcome, f64) {
        let Some(mut own) = work.learned.take() else {
            return (SolveOutcome::NotFinite, f64::NAN);
        };
        work.memory.fill(0.0);
        (own.objective, own.least) = (f64::INFINITY, f64::INFINITY);
        (own.tests, own.at_best) = (0, false);
        packed.propose(&self.weights, x, &mut own);
        packed.recall(&self.weights, x, &mut own);
        self.begin(packed, x, &mut own, work);
        let mut outcome = SolveOutcome::Solved;
        if own.objective == f64::INFINITY {
            outcome = SolveOutcome::Pulled;
            self.recover(packed, x, &mut own, work);
        }
        let answer = if own.objective < f64::INFINITY {
            self.polish(packed, x, &mut own, work);
            work.y.copy_from_slice(&own.best);
            (outcome, own.objective)
        } else {
            work.y.copy_from_slice(&work.least_violating);
            let objective = self.basin(0).verify(x, work);
            (SolveOutcome::MaybeInfeasible, objective)
        };
        work.learned = Some(own);
        answer
    }

    /// Writes the answers of all proposals at x into `own`, and returns that nearest to `near`.
    pub(super) fn proposal_near<'o>(
        &self,
        packed: &Packed,
        x: &[f64],
        near: &[f64],
        own: &'o mut Buffers,
    ) -> &'o [f64] {
        packed.propose(&self.weights, x, own);
        let away = |row: &[f64]| -> f64 {
            let pairs = row.iter().zip(near);
            pairs.map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let heads = packed.heads * self.dim();
        let rows = own.answers[..heads].chunks_exact(self.dim());
        let nearest = rows.min_by(|a, b| away(a).total_cmp(&away(b)));
        nearest.unwrap_or(&own.best)
    }

    /// Keeps the best feasible one of the points to begin with. Where the objective can be asked for alone, they
    /// are tested from the best one on, until one is feasible.
    fn begin(&self, packed: &Packed, x: &[f64], own: &mut Buffers, work: &mut SolverWorkspace) {
        let dim = self.dim();
        let mut apart = true;
        own.order.clear();
        for (place, point) in own.answers.chunks_exact(dim).enumerate() {
            work.memory.fill(0.0);
            let objective = self.functions.objective(point, x, &mut work.memory);
            apart &= objective.is_some();
            own.order.push((objective.unwrap_or(0.0), place));
        }
        own.order.sort_unstable_by(nearer);
        // Where all of those are infeasible, what was left out is tested as well.
        for patience in [PATIENCE, usize::MAX] {
            let mut turn = 0;
            while turn < packed.starts() && !(apart && own.objective < f64::INFINITY) {
                let place = own.order[turn].1;
                work.y.copy_from_slice(&own.answers[place * dim..][..dim]);
                self.consider(x, own, work);
                turn += if apart { 1 + own.tests / patience } else { 1 };
            }
            if !apart || own.objective < f64::INFINITY {
                return;
            }
        }
    }

    /// Whether `work.y` is feasible and better than the best so far, which it becomes then. What is outside of the
    /// bounds or not better takes no membership test.
    fn improves(&self, x: &[f64], own: &mut Buffers, work: &mut SolverWorkspace) -> bool {
        let mut pairs = work.y.iter().zip(&self.weights.bounds);
        if pairs.any(|(y, (low, high))| y < low || y > high) {
            return false;
        }
        work.memory.fill(0.0);
        let objective = self.functions.objective(&work.y, x, &mut work.memory);
        objective.is_none_or(|objective| objective < own.objective) && self.consider(x, own, work).1
    }

    /// Tests `work.y` and keeps it if it is the best so far. Whether it is feasible, and whether it was kept.
    fn consider(&self, x: &[f64], own: &mut Buffers, work: &mut SolverWorkspace) -> (bool, bool) {
        own.tests += 1;
        own.at_best = false;
        let objective = self.basin(0).verify(x, work);
        let violation = violation(&work.constraints);
        if violation <= 0.0 && objective.is_finite() {
            let better = objective < own.objective;
            own.at_best = better;
            if better {
                own.objective = objective;
                own.best.copy_from_slice(&work.y);
            }
            return (true, better);
        }
        if violation < own.least || own.least == f64::INFINITY {
            own.least = violation;
            work.least_violating.copy_from_slice(&work.y);
        }
        (false, false)
    }

    /// A feasible point where no proposal is: an anchor, and from there toward the nearest proposal.
    fn recover(&self, packed: &Packed, x: &[f64], own: &mut Buffers, work: &mut SolverWorkspace) {
        if !self.try_anchors(packed, x, own, work) {
            return;
        }
        own.from.copy_from_slice(&own.best);
        let away = |row: &&[f64]| -> f64 {
            let pairs = row.iter().zip(&own.from);
            pairs.map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let rows = own.answers.chunks_exact(own.from.len());
        let Some(nearest) = rows.min_by(|a, b| away(a).total_cmp(&away(b))) else {
            return;
        };
        own.direction.copy_from_slice(nearest);
        add(&mut own.direction, -1.0, &own.from);
        let (mut inside, mut outside) = (0.0, 1.0);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (inside + outside);
            packed.step(middle, x, own, &mut work.y);
            if self.consider(x, own, work).0 {
                inside = middle;
            } else {
                outside = middle;
            }
        }
    }

    /// Decodes stored anchors at x until one is feasible.
    fn try_anchors(
        &self,
        packed: &Packed,
        x: &[f64],
        own: &mut Buffers,
        work: &mut SolverWorkspace,
    ) -> bool {
        packed.rank(&self.weights, x, own);
        for place in 0..own.order.len() {
            let anchor = &packed.projector.anchors()[own.order[place].1];
            let latent = &mut own.latent[..anchor.latent.len()];
            latent.copy_from_slice(&anchor.latent);
            let decoded =
                packed
                    .projector
                    .decode(anchor.chart, latent, x, &mut work.y, &mut own.projector);
            if decoded == Ok(true) && self.consider(x, own, work).0 {
                return true;
            }
        }
        false
    }

    /// Improves the best point: steps downhill, in turn brought back to the set by the projector, which
    /// follows the boundary, and straight, which reaches it. Whatever is kept has passed the test.
    fn polish(&self, packed: &Packed, x: &[f64], own: &mut Buffers, work: &mut SolverWorkspace) {
        if packed.tests == 0 {
            return;
        }
        let budget = (packed.heads + packed.tests).max(own.tests + packed.tests / 4);
        if !own.at_best {
            // The gradient is asked for at the point of the last evaluation.
            work.y.copy_from_slice(&own.best);
            self.basin(0).evaluate(x, work);
            own.tests += 1;
        }
        let mut slope = self.downhill(x, own, work);
        let mut strides = [packed.stride, STRAIGHT * packed.stride];
        let least = SHORT * packed.stride;
        let mut turn = 0;
        while own.tests < budget {
            turn += 1;
            let straight = turn % 2 == 0 && strides[1] > least || strides[0] <= least;
            let stride = &mut strides[usize::from(straight)];
            if !slope || *stride <= least {
                return;
            }
            if straight {
                work.y.copy_from_slice(&own.from);
                add(&mut work.y, *stride, &own.direction);
            } else {
                packed.step(*stride, x, own, &mut work.y);
            }
            if self.improves(x, own, work) {
                *stride *= if straight { 2.0 } else { 1.5 };
                slope = self.downhill(x, own, work);
            } else {
                *stride *= if straight { 0.3 } else { 0.4 };
            }
        }
    }

    /// Writes the direction downhill along the equations, of unit length, and where it begins; false where
    /// there is no slope.
    fn downhill(&self, x: &[f64], own: &mut Buffers, work: &mut SolverWorkspace) -> bool {
        work.by_row.fill(0.0);
        let (rows, _) = work.by_row.split_at(self.weights.rows);
        let memory = &mut work.memory;
        self.functions
            .gradient(&work.y, x, rows, &mut work.gradient, memory);
        let metric = self.weights.metric.chunks_exact(self.dim());
        for (row, direction) in metric.zip(&mut own.direction) {
            *direction = -dot(row, &work.gradient);
        }
        own.from.copy_from_slice(&own.best);
        let length = libm::sqrt(dot(&own.direction, &own.direction));
        let is_slope = length.is_finite() && length > 0.0;
        if is_slope {
            own.direction.iter_mut().for_each(|value| *value /= length);
        }
        is_slope
    }
}
