//! What a user would call otherwise: clarabel where a problem is convex, a local search where it is not.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT,
    SolverStatus, SupportedConeT, ZeroConeT,
};
use fabproj::solve::Functions;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::family::{Family, Rows};
use super::instance::Instance;

/// A convex family in clarabel's form: A y + s = b, s in cones.
pub(super) struct Clarabel<'a> {
    family: &'a Family,
    quadratic: CscMatrix<f64>,
    matrix: CscMatrix<f64>,
    /// b; it begins with x.
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl<'a> Clarabel<'a> {
    /// None for an instance that is not convex.
    pub(super) fn of(instance: &'a Instance) -> Option<Self> {
        let family = instance.family.as_ref()?;
        family.is_convex().then(|| Self::new(family))
    }

    fn new(family: &'a Family) -> Self {
        let dim = family.dim();
        let mut rows: Vec<(Vec<f64>, f64)> = Vec::new();
        let equations = family.a.chunks_exact(dim);
        rows.extend(equations.map(|normal| (normal.to_vec(), 0.0)));
        let mut cones = vec![ZeroConeT(rows.len())];
        match &family.rows {
            Rows::Linear { g, h } | Rows::Sine { g, h } => {
                let limits = g.chunks_exact(dim).zip(h);
                rows.extend(limits.map(|(normal, limit)| (normal.to_vec(), *limit)));
                cones.push(NonnegativeConeT(h.len()));
            }
            Rows::Quadratic { g, h, curvature } => {
                // ½ Σ c y² ≤ t with t = h − g y: ‖(t − 1, 2 w)‖ ≤ t + 1 with w = y √(c/2).
                let each = g.chunks_exact(dim).zip(h);
                for ((normal, limit), curvature) in each.zip(curvature.chunks_exact(dim)) {
                    rows.push((normal.to_vec(), limit + 1.0));
                    rows.push((normal.to_vec(), limit - 1.0));
                    for (i, curvature) in curvature.iter().enumerate() {
                        let mut row = vec![0.0; dim];
                        row[i] = -2.0 * (0.5 * curvature).sqrt();
                        rows.push((row, 0.0));
                    }
                    cones.push(SecondOrderConeT(dim + 2));
                }
            }
            Rows::Cones { g, h, c, d } => {
                let height = h.len() / d.len();
                let negative = |row: &[f64]| row.iter().map(|value| -value).collect();
                for (i, (normal, constant)) in c.chunks_exact(dim).zip(d).enumerate() {
                    rows.push((negative(normal), *constant));
                    let matrix = g[i * height * dim..].chunks_exact(dim);
                    for (row, offset) in matrix.zip(&h[i * height..][..height]) {
                        rows.push((negative(row), *offset));
                    }
                    cones.push(SecondOrderConeT(height + 1));
                }
            }
        }
        if let Some(limit) = family.limit {
            for i in 0..2 * dim {
                let mut row = vec![0.0; dim];
                row[i / 2] = if i % 2 == 0 { 1.0 } else { -1.0 };
                rows.push((row, limit));
            }
            cones.push(NonnegativeConeT(2 * dim));
        }
        let quadratic = CscMatrix::new(
            dim,
            dim,
            (0..=dim).collect(),
            (0..dim).collect(),
            family.q.clone(),
        );
        Self {
            family,
            quadratic,
            matrix: by_columns(&rows, dim),
            right: rows.iter().map(|row| row.1).collect(),
            cones,
        }
    }

    /// Writes the optimum at x and returns the objective; `None` if clarabel does not find it.
    pub(super) fn solve(&mut self, x: &[f64], tolerance: f64, y: &mut [f64]) -> Option<f64> {
        let equations = self.family.equations();
        self.right[..equations].copy_from_slice(&x[..equations]);
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(tolerance)
            .tol_gap_rel(tolerance)
            .tol_feas(tolerance)
            .build()
            .ok()?;
        let cost = self.family.cost(x);
        let (matrix, right) = (&self.matrix, &self.right);
        let solver =
            DefaultSolver::new(&self.quadratic, cost, matrix, right, &self.cones, settings);
        let mut solver = solver.ok()?;
        solver.solve();
        y.copy_from_slice(&solver.solution.x);
        let solved = matches!(
            solver.solution.status,
            SolverStatus::Solved | SolverStatus::AlmostSolved
        );
        solved.then_some(solver.solution.obj_val)
    }
}

fn by_columns(rows: &[(Vec<f64>, f64)], dim: usize) -> CscMatrix<f64> {
    let mut columns = vec![0];
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for column in 0..dim {
        for (place, (row, _)) in rows.iter().enumerate() {
            if row[column] != 0.0 {
                places.push(place);
                values.push(row[column]);
            }
        }
        columns.push(places.len());
    }
    CscMatrix::new(rows.len(), dim, columns, places, values)
}

/// Random starts beside the middle, for families that may have several optima.
const STARTS: usize = 6;

/// The best local optimum at x: searches from the middle and from random points. Those of a power network start
/// at the middle alone: elsewhere a power flow has no solution. Sets with a membership test only have searches
/// of their own.
pub(super) fn best_known(instance: &Instance, x: &[f64]) -> Option<f64> {
    if instance.is_black_box() {
        return instance.best_by_tests(x);
    }
    let mut random = ChaCha8Rng::seed_from_u64(x[0].to_bits());
    let wild = if instance.family.is_some() { STARTS } else { 0 };
    let wild = (0..wild).map(|_| {
        let one = |_| random.random_range(-2.0..2.0);
        (0..instance.dim()).map(one).collect::<Vec<f64>>()
    });
    let starts = std::iter::once(instance.middle.clone()).chain(wild);
    let problem = instance.problem();
    let found = starts.filter_map(|start| Some(problem.local_optimum(x, &start)?.1));
    found.min_by(f64::total_cmp)
}
