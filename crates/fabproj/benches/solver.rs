//! Answers to the field's problems: gap, feasibility, and time beside clarabel's in one run.
//!
//! `cargo bench -p fabproj --bench solver -- [qp sine qcqp] [--answers N]`

use std::time::Instant;

use fabproj::solve::{self, GapPlan, SolveSettings};

mod instances;
#[path = "instances/reference.rs"]
mod reference;

use instances::Family;

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    let families = [
        ("qp", Family::dc3([100, 50, 50], false, 17)),
        ("sine", Family::dc3([100, 50, 50], true, 17)),
        ("qcqp", Family::qcqp([100, 50, 50], 2023)),
    ];
    for (name, family) in families.iter().filter(|(name, _)| wanted(name)) {
        row(name, family);
    }
}

fn row(name: &str, family: &Family) {
    let problem = family.problem(name);
    let start = Instant::now();
    let mut model = solve::train(&problem, &SolveSettings::default()).expect("a problem");
    println!("{name}: trained in {:.1} s", start.elapsed().as_secs_f64());
    for measured in &model.record().training.candidates {
        println!("  {measured:?}");
    }
    println!("  chosen: {:?}", model.record().training.chosen);
    let start = Instant::now();
    let certificate = model
        .certify(&problem, &GapPlan::default())
        .expect("optima");
    println!(
        "  {certificate:?} in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    let solver = model
        .solver(&problem)
        .expect("the problem it was trained for");
    let mut workspace = solver.workspace();
    let mut y = vec![0.0; family.a.len() / family.equations()];
    let x: Vec<&[f64]> = family
        .x
        .chunks_exact(family.equations())
        .take(500)
        .collect();
    let mut best = f64::INFINITY;
    let mut off = 0.0_f64;
    for _ in 0..30 {
        let start = Instant::now();
        for x in &x {
            let answer = solver
                .solve_into(x, &mut y, &mut workspace)
                .expect("lengths");
            assert!(answer.outcome.is_verified());
            off = off.max(family.off_equations(&y, x));
        }
        best = best.min(start.elapsed().as_secs_f64() / x.len() as f64);
    }
    let mut plain = f64::INFINITY;
    for _ in 0..30 {
        let start = Instant::now();
        for x in &x {
            let _ = std::hint::black_box(solver.solve_into(x, &mut y, &mut workspace));
        }
        plain = plain.min(start.elapsed().as_secs_f64() / x.len() as f64);
    }
    println!(
        "  {:.2} µs per answer (best of 30 × 500); |Ay − x| ≤ {off:.1e}",
        1e6 * plain
    );
    if family.sine {
        return;
    }
    let (mut worst, mut sum, mut slowest) = (0.0_f64, 0.0, f64::INFINITY);
    let some: Vec<&&[f64]> = x.iter().step_by(10).collect();
    for x in &some {
        let start = Instant::now();
        let optimum = reference::clarabel(family, x, 1e-10).expect("solved");
        slowest = slowest.min(start.elapsed().as_secs_f64());
        let (_, answer) = solver.solve(x).expect("lengths");
        let gap = (answer.objective - optimum) / optimum.abs();
        worst = worst.max(gap.abs());
        sum += gap;
    }
    println!(
        "  against clarabel on {} x: gap {:.1e} mean, {worst:.1e} largest either way; {:.1} times as fast",
        some.len(),
        sum / some.len() as f64,
        slowest / plain
    );
}
