//! Optima by clarabel.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettingsBuilder, DefaultSolver, IPSolver, NonnegativeConeT, SecondOrderConeT,
    SolverStatus, SupportedConeT, ZeroConeT,
};
use fabproj::solve::Functions;

use super::Family;

/// The optimum of a family without sines at x; `None` if clarabel does not find it.
pub fn clarabel(family: &Family, x: &[f64], tolerance: f64) -> Option<f64> {
    let dim = family.dim();
    let mut rows: Vec<(Vec<f64>, f64)> = Vec::new();
    let mut cones: Vec<SupportedConeT<f64>> = Vec::new();
    for (normal, x) in family.a.chunks_exact(dim).zip(x) {
        rows.push((normal.to_vec(), *x));
    }
    cones.push(ZeroConeT(family.equations()));
    if family.curvature.is_empty() {
        for (normal, limit) in family.g.chunks_exact(dim).zip(&family.h) {
            rows.push((normal.to_vec(), *limit));
        }
        cones.push(NonnegativeConeT(family.rows()));
    } else {
        // ½ Σ c y² ≤ t with t = h − g y: ‖(t − 1, 2 w)‖ ≤ t + 1 with w = y √(c/2).
        let each = family.g.chunks_exact(dim).zip(&family.h);
        for ((normal, limit), curvature) in each.zip(family.curvature.chunks_exact(dim)) {
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
    let a = CscMatrix::new(rows.len(), dim, columns, places, values);
    let right: Vec<f64> = rows.iter().map(|row| row.1).collect();
    let diagonal = CscMatrix::new(
        dim,
        dim,
        (0..=dim).collect(),
        (0..dim).collect(),
        family.q.clone(),
    );
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(tolerance)
        .tol_gap_rel(tolerance)
        .tol_feas(tolerance)
        .build()
        .ok()?;
    let solver = DefaultSolver::new(&diagonal, &family.p, &a, &right, &cones, settings);
    let mut solver = solver.ok()?;
    solver.solve();
    let solved = matches!(
        solver.solution.status,
        SolverStatus::Solved | SolverStatus::AlmostSolved
    );
    solved.then_some(solver.solution.obj_val)
}
