//! The gradient of an answer with respect to x.
//!
//! At an optimum ∇f + Jᵀ λ + Bᵀ ν = 0, c = 0 in the active rows J, and B y = E x. For a weight v of y let
//! H w + Jᵀ μ + Bᵀ η = v with J w = 0 and B w = 0, where H is the Hessian of the Lagrangian. Then the gradient
//! of v · y is Eᵀ η − ∂/∂x (w · ∇L + μ · c). The metric P of the solver stands for H⁻¹ along the equations, so
//! conjugate gradients preconditioned with it need few products with H; Eᵀ η = Sᵀ Bᵀ η, because the start
//! S x obeys the equations.

use alloc::vec;
use alloc::vec::Vec;

use super::learned::Packed;
use super::{Answer, Functions, Solver, SolverWorkspace};
use crate::projector::CallError;
use crate::projector::call::length;
use crate::vector::{add, dot, largest};

/// Step of central differences, as a part of the numbers' size: the cube root of the rounding error.
const DIFFERENCE: f64 = 6e-6;
/// The same for networks in single precision, as a part of the range of x.
const PROPOSAL_DIFFERENCE: f64 = 1e-3;
/// The square of the residual that ends the search for w, as a part of the first. Below 1e-16 it is rounding,
/// which would lead the search astray.
const SMALL: f64 = 1e-13;
/// Steps beyond the answer that lead to its optimum, and the length at which they end, as a part of y's size.
const REFINEMENTS: usize = 100;
const SHORT_STEP: f64 = 1e-9;
/// A row is a combination of the active ones if less than this part of its square is new.
const DEPENDENT: f64 = 1e-10;

/// Memory of [`Solver::pullback`], from [`Solver::pullback_workspace`]. One per thread.
#[derive(Clone, Debug)]
pub struct PullbackWorkspace {
    solver: SolverWorkspace,
    /// Active constraints.
    rows: Vec<usize>,
    /// Their gradients, `[active][y]`, and P times these.
    normals: Vec<f64>,
    pulls: Vec<f64>,
    /// Cholesky factor of `normals` · `pulls`, row by row.
    factor: Vec<f64>,
    /// A number for each active row.
    values: Vec<f64>,
    /// λ, then λ and μ, for each constraint.
    by_row: Vec<f64>,
    x: Vec<f64>,
    y: Vec<f64>,
    objective_gradient: Vec<f64>,
    w: Vec<f64>,
    residual: Vec<f64>,
    shortened: Vec<f64>,
    along: Vec<f64>,
    bent: Vec<f64>,
    gradient: Vec<f64>,
}

impl<F: Functions> Solver<F> {
    /// Memory for [`pullback`](Self::pullback).
    pub fn pullback_workspace(&self) -> PullbackWorkspace {
        let dim = self.dim();
        let most = self.weights.watched.len().min(dim);
        let of_y = || vec![0.0; dim];
        PullbackWorkspace {
            solver: self.workspace(),
            rows: Vec::with_capacity(most + 1),
            normals: vec![0.0; most * dim],
            pulls: vec![0.0; most * dim],
            factor: vec![0.0; most * most],
            values: vec![0.0; most],
            by_row: vec![0.0; self.weights.all_rows()],
            x: vec![0.0; self.x_dim()],
            y: of_y(),
            objective_gradient: of_y(),
            w: of_y(),
            residual: of_y(),
            shortened: of_y(),
            along: of_y(),
            bent: of_y(),
            gradient: of_y(),
        }
    }

    /// Answers x, and writes the gradient of `delta` · y with respect to x, without allocation: what a
    /// training through the solver needs.
    ///
    /// It is the gradient of the optimum that the answer stands for; where the active set changes, it is that
    /// of one side. Derivatives with respect to x and products
    /// with the Hessian are central differences. Without a verified answer the gradient is zero.
    ///
    /// ```
    /// # use fabproj_core::{AffineMap, Functions, Solver, SolverWeights};
    /// # struct Capped;
    /// # impl Functions for Capped {
    /// #     fn dim(&self) -> usize { 1 }
    /// #     fn x_dim(&self) -> usize { 1 }
    /// #     fn rows(&self) -> usize { 1 }
    /// #     fn values(&self, y: &[f64], x: &[f64], c: &mut [f64], _: &mut [f64]) -> f64 {
    /// #         c[0] = y[0] - 1.0;
    /// #         0.5 * (y[0] - x[0]) * (y[0] - x[0])
    /// #     }
    /// #     fn gradient(&self, y: &[f64], x: &[f64], w: &[f64], gradient: &mut [f64], _: &mut [f64]) {
    /// #         gradient[0] = y[0] - x[0] + w[0];
    /// #     }
    /// #     fn slopes(&self, _: &[f64], _: &[f64], direction: &[f64], slopes: &mut [f64], _: &mut [f64]) {
    /// #         slopes[0] = direction[0];
    /// #     }
    /// # }
    /// # let weights = SolverWeights {
    /// #     dim: 1, x_dim: 1, rows: 1, bounds: vec![],
    /// #     start: AffineMap { constant: vec![0.0], by_x: vec![1.0] },
    /// #     multipliers: AffineMap::default(),
    /// #     anchor: AffineMap { constant: vec![0.0], by_x: vec![0.0] },
    /// #     metric: vec![1.0], watched: vec![0], pulls: vec![1.0], gram: vec![1.0], margins: vec![0.0],
    /// #     active: vec![], steps: 1, linear: true, exact: true, near: None, x_range: vec![(-2.0, 2.0)],
    /// #     proposer: None, others: vec![],
    /// # };
    /// // min ½ (y − x)² with y ≤ 1: the answer follows x up to 1
    /// let solver = Solver::new(weights, Capped)?;
    /// let mut workspace = solver.pullback_workspace();
    /// let mut gradient = [0.0];
    /// solver.pullback(&[0.5], &[2.0], &mut gradient, &mut workspace)?;
    /// assert!((gradient[0] - 2.0).abs() < 1e-6);
    /// solver.pullback(&[1.5], &[2.0], &mut gradient, &mut workspace)?;
    /// assert!(gradient[0].abs() < 1e-6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`] for slices of another length and a workspace of another solver; nothing is written then.
    pub fn pullback(
        &self,
        x: &[f64],
        delta: &[f64],
        gradient: &mut [f64],
        workspace: &mut PullbackWorkspace,
    ) -> Result<Answer, CallError> {
        length("x", x.len(), self.x_dim())?;
        length("delta", delta.len(), self.dim())?;
        length("gradient", gradient.len(), self.x_dim())?;
        let work = workspace;
        if work.solver.sizes != self.sizes() {
            return Err(CallError::Workspace);
        }
        let mut y = core::mem::take(&mut work.y);
        let answer = self.solve_into(x, &mut y, &mut work.solver);
        work.y = y;
        let answer = answer?;
        gradient.fill(0.0);
        if let Some(packed) = &self.packed {
            self.pull_back_proposal(packed, x, delta, gradient, work);
        } else if answer.outcome.is_verified() {
            self.refine(x, work)?;
            self.linearise(x, work);
            self.solve_transposed(x, delta, work);
            self.by_x(x, gradient, work);
        }
        Ok(answer)
    }

    /// The gradient of the proposal that is nearest to the answer, by central differences.
    fn pull_back_proposal(
        &self,
        packed: &Packed,
        x: &[f64],
        delta: &[f64],
        gradient: &mut [f64],
        work: &mut PullbackWorkspace,
    ) {
        let Some(own) = work.solver.learned.as_mut() else {
            return;
        };
        if !x.iter().all(|x| x.is_finite()) {
            return;
        }
        work.along
            .copy_from_slice(self.proposal_near(packed, x, &work.y, own));
        work.x.copy_from_slice(x);
        for (i, gradient) in gradient.iter_mut().enumerate() {
            let (low, high) = self.weights.x_range[i];
            let step = PROPOSAL_DIFFERENCE * (high - low).max(f64::MIN_POSITIVE);
            let mut along = |x_i: f64| {
                work.x[i] = x_i;
                dot(delta, self.proposal_near(packed, &work.x, &work.along, own))
            };
            *gradient = (along(x[i] + step) - along(x[i] - step)) / (2.0 * step);
            work.x[i] = x[i];
        }
    }

    /// Goes on with the solver's steps until they are short: rows with small multipliers may be missing from
    /// the active set of an answer that is only nearly optimal. Without convergence the answer stays.
    fn refine(&self, x: &[f64], work: &mut PullbackWorkspace) -> Result<(), CallError> {
        let basin = self.basin(work.solver.basin);
        let short = SHORT_STEP * largest(&work.y).max(1.0);
        for _ in 0..REFINEMENTS {
            work.along.copy_from_slice(&work.solver.y);
            if !basin.step(x, &mut work.solver, false) {
                break;
            }
            basin.evaluate(x, &mut work.solver);
            add(&mut work.along, -1.0, &work.solver.y);
            if largest(&work.along) <= short {
                work.y.copy_from_slice(&work.solver.y);
                return Ok(());
            }
        }
        self.solve_into(x, &mut work.y, &mut work.solver).map(drop)
    }

    /// Normals of the active rows, their factor, and λ.
    fn linearise(&self, x: &[f64], work: &mut PullbackWorkspace) {
        let dim = self.dim();
        work.by_row.fill(0.0);
        work.rows.clear();
        self.lagrangian_gradient(x, work);
        work.objective_gradient.copy_from_slice(&work.gradient);
        let held = core::mem::take(&mut work.solver.program.active);
        for place in &held {
            if work.solver.program.multipliers[*place] <= 0.0 {
                continue;
            }
            let row = self.weights.watched[*place];
            work.by_row[row] = 1.0;
            self.lagrangian_gradient(x, work);
            work.by_row[row] = 0.0;
            let count = work.rows.len();
            if count == work.values.len() {
                break;
            }
            let normal = &mut work.normals[count * dim..][..dim];
            normal.copy_from_slice(&work.gradient);
            add(normal, -1.0, &work.objective_gradient);
            let pull = &mut work.pulls[count * dim..][..dim];
            self.precondition(work.solver.basin, normal, pull);
            if work.extend_factor(dim) {
                work.rows.push(row);
            }
        }
        work.solver.program.active = held;
        self.precondition(work.solver.basin, &work.objective_gradient, &mut work.along);
        work.project(dim);
        for (row, value) in work.rows.iter().zip(&work.values) {
            work.by_row[*row] = -value;
        }
    }

    /// w, and what H w leaves of delta.
    fn solve_transposed(&self, x: &[f64], delta: &[f64], work: &mut PullbackWorkspace) {
        let dim = self.dim();
        work.w.fill(0.0);
        work.residual.copy_from_slice(delta);
        work.along.fill(0.0);
        let (mut before, mut first) = (0.0, 0.0);
        for round in 0..2 * dim {
            self.shorten(work);
            let square = dot(&work.residual, &work.shortened);
            if round == 0 {
                first = square;
            }
            if square.partial_cmp(&(SMALL * first)) != Some(core::cmp::Ordering::Greater) {
                break;
            }
            let kept = if round == 0 { 0.0 } else { square / before };
            before = square;
            let pairs = work.along.iter_mut().zip(&work.shortened);
            pairs.for_each(|(along, shortened)| *along = shortened + kept * *along);
            self.bend(x, work);
            let curvature = dot(&work.along, &work.bent);
            if curvature <= 0.0 {
                // Not a strict optimum: the rest of delta cannot move it.
                break;
            }
            let step = square / curvature;
            add(&mut work.w, step, &work.along);
            add(&mut work.residual, -step, &work.bent);
        }
        // μ from what is left.
        self.precondition(work.solver.basin, &work.residual, &mut work.along);
        work.project(dim);
    }

    /// Eᵀ η − ∂/∂x (w · ∇L + μ · c)
    fn by_x(&self, x: &[f64], gradient: &mut [f64], work: &mut PullbackWorkspace) {
        let (dim, x_dim) = (self.dim(), self.x_dim());
        for (normal, value) in work
            .normals
            .chunks_exact(dim)
            .zip(&work.values)
            .take(work.rows.len())
        {
            add(&mut work.residual, -value, normal);
        }
        for (row, rest) in work.residual.iter().enumerate() {
            add(
                gradient,
                *rest,
                &self.weights.start.by_x[row * x_dim..][..x_dim],
            );
        }
        work.x.copy_from_slice(x);
        for (i, gradient) in gradient.iter_mut().enumerate() {
            let step = DIFFERENCE * x[i].abs().max(1.0);
            let mut moved = core::mem::take(&mut work.x);
            moved[i] = x[i] + step;
            let above = self.linear_form(&moved, work);
            moved[i] = x[i] - step;
            let below = self.linear_form(&moved, work);
            moved[i] = x[i];
            work.x = moved;
            *gradient -= (above - below) / (2.0 * step);
        }
    }

    /// w · ∇L + μ · c at the answer, for another x.
    fn linear_form(&self, x: &[f64], work: &mut PullbackWorkspace) -> f64 {
        work.solver.memory.fill(0.0);
        self.lagrangian_gradient(x, work);
        let constraints = &work.solver.constraints;
        let pairs = work.rows.iter().zip(&work.values);
        // Bounds do not depend on x.
        let own = pairs.filter(|(row, _)| **row < self.weights.rows);
        let of_rows: f64 = own.map(|(row, value)| value * constraints[*row]).sum();
        dot(&work.w, &work.gradient) + of_rows
    }

    /// ∇f + Σ `by_row`_i ∇c_i at `y` into `gradient`, c into the solver's `constraints`.
    fn lagrangian_gradient(&self, x: &[f64], work: &mut PullbackWorkspace) {
        let rows = self.weights.rows;
        let (own, bounds) = work.by_row.split_at(rows);
        let (constraints, memory) = (&mut work.solver.constraints, &mut work.solver.memory);
        self.functions
            .values(&work.y, x, &mut constraints[..rows], memory);
        self.functions
            .gradient(&work.y, x, own, &mut work.gradient, memory);
        for (gradient, pair) in work.gradient.iter_mut().zip(bounds.chunks_exact(2)) {
            *gradient += pair[0] - pair[1];
        }
    }

    /// H · `along` into `bent`.
    fn bend(&self, x: &[f64], work: &mut PullbackWorkspace) {
        let size = largest(&work.y).max(1.0);
        let step = DIFFERENCE * size / largest(&work.along).max(f64::MIN_POSITIVE);
        work.solver.y.copy_from_slice(&work.y);
        add(&mut work.y, step, &work.along);
        self.lagrangian_gradient(x, work);
        work.bent.copy_from_slice(&work.gradient);
        work.y.copy_from_slice(&work.solver.y);
        add(&mut work.y, -step, &work.along);
        self.lagrangian_gradient(x, work);
        work.y.copy_from_slice(&work.solver.y);
        let pairs = work.bent.iter_mut().zip(&work.gradient);
        pairs.for_each(|(above, below)| *above = (*above - below) / (2.0 * step));
    }

    /// The residual times P, without what the active rows forbid.
    fn shorten(&self, work: &mut PullbackWorkspace) {
        let dim = self.dim();
        // `project` reads `along`, which holds the last direction.
        core::mem::swap(&mut work.along, &mut work.bent);
        self.precondition(work.solver.basin, &work.residual, &mut work.along);
        work.project(dim);
        work.shortened.copy_from_slice(&work.along);
        core::mem::swap(&mut work.along, &mut work.bent);
        let pulls = work.pulls.chunks_exact(dim).zip(&work.values);
        for (pull, value) in pulls.take(work.rows.len()) {
            add(&mut work.shortened, -value, pull);
        }
    }

    /// P · from
    fn precondition(&self, basin: usize, from: &[f64], to: &mut [f64]) {
        let metric = &self.basin(basin).weights.metric;
        for (row, to) in metric.chunks_exact(self.dim()).zip(to) {
            *to = dot(row, from);
        }
    }
}

impl PullbackWorkspace {
    /// The factor's next row, of the normal after the active ones. Whether it is independent of them.
    fn extend_factor(&mut self, dim: usize) -> bool {
        let (count, width) = (self.rows.len(), self.values.len());
        let normal = &self.normals[count * dim..][..dim];
        for place in 0..count {
            let row = &self.factor[place * width..][..place + 1];
            let known = dot(&row[..place], &self.values[..place]);
            let square = dot(normal, &self.pulls[place * dim..][..dim]);
            self.values[place] = (square - known) / row[place];
        }
        let square = dot(normal, &self.pulls[count * dim..][..dim]);
        let new = square - dot(&self.values[..count], &self.values[..count]);
        if new.partial_cmp(&(DEPENDENT * square)) != Some(core::cmp::Ordering::Greater) {
            return false;
        }
        let target = &mut self.factor[count * width..][..count + 1];
        target[..count].copy_from_slice(&self.values[..count]);
        target[count] = libm::sqrt(new);
        true
    }

    /// `values` = (J P Jᵀ)⁻¹ J · `along`
    fn project(&mut self, dim: usize) {
        let (count, width) = (self.rows.len(), self.values.len());
        for place in 0..count {
            let row = &self.factor[place * width..][..place + 1];
            let known = dot(&row[..place], &self.values[..place]);
            let right = dot(&self.normals[place * dim..][..dim], &self.along);
            self.values[place] = (right - known) / row[place];
        }
        for place in (0..count).rev() {
            let row = &self.factor[place * width..][..place + 1];
            let value = self.values[place] / row[place];
            self.values[place] = value;
            add(&mut self.values[..place], -value, &row[..place]);
        }
    }
}
