//! AC optimal power flow: from a case file to answers.
//!
//! ```text
//! cargo run --release --example optimal_power_flow                       # 57 buses, loads ±10 %
//! cargo run --release --example optimal_power_flow -- case118 0.1 10000  # case, range of loads, fresh loads
//! cargo run --release --example optimal_power_flow -- case30 0.1 50 answers.csv  # writes feasible answers
//! ```
//!
//! `examples/power-flow/README.md` explains.

use std::error::Error;
use std::time::Instant;

use fabproj::core::SolveOutcome;
use fabproj::solve::{self, Functions, GapPlan, SolveSettings, Solver};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "power-flow/grid.rs"]
mod grid;
use grid::Grid;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word =
        |place: usize, otherwise: &str| words.get(place).cloned().unwrap_or(otherwise.into());
    let (name, part, fresh) = (word(0, "case57"), word(1, "0.1"), word(2, "1000"));
    let (part, fresh): (f64, usize) = (part.parse()?, fresh.parse()?);
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/power-flow/cases"
    );
    let grid = Grid::from_json(&std::fs::read_to_string(format!("{folder}/{name}.json"))?)?;
    let start = Instant::now();
    let (grid, _) = grid.at_optimum()?;
    let problem = grid.problem(&name, part);
    let mut model = solve::train(&problem, &SolveSettings::default())?;
    let training = &model.record().training;
    println!(
        "{name}: trained in {:.1} s on {} optima",
        start.elapsed().as_secs_f64(),
        training.labels
    );
    println!("{:#?}", training.chosen);
    let solver = model.solver(&problem)?;
    let mut workspace = solver.workspace();
    let mut y = vec![0.0; solver.dim()];
    let mut random = ChaCha8Rng::seed_from_u64(99);
    let (mut feasible, mut pulled, mut times) = (0, 0, Vec::new());
    let mut table = header(&solver);
    for _ in 0..fresh {
        let load = |_| 1.0 + part * (2.0 * random.random::<f64>() - 1.0);
        let x: Vec<f64> = (0..grid.x_dim()).map(load).collect();
        let start = Instant::now();
        let answer = solver.solve_into(&x, &mut y, &mut workspace)?;
        times.push(start.elapsed().as_secs_f64());
        feasible += usize::from(answer.outcome.is_verified());
        pulled += usize::from(answer.outcome == SolveOutcome::Pulled);
        if answer.outcome.is_verified() {
            let numbers = [&[answer.objective], x.as_slice(), &y].concat();
            let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
            table += &format!("{}\n", numbers.join(","));
        }
    }
    if let Some(path) = words.get(3) {
        std::fs::write(path, table)?;
    }
    times.sort_by(f64::total_cmp);
    println!(
        "{fresh} fresh loads: {feasible} feasible, {pulled} pulled; {:.1} µs median",
        1e6 * times[fresh / 2]
    );
    if part == 0.1 {
        let table = std::fs::read_to_string(format!("{folder}/{name}-optima.csv"))?;
        let mut gaps = Vec::new();
        for line in table.lines().skip(1) {
            let values: Vec<f64> = line.split(',').map(str::parse).collect::<Result<_, _>>()?;
            let (p, q) = values[1..].split_at((values.len() - 1) / 2);
            let (_, answer) = solver.solve(&grid.x_of(p, q))?;
            if !answer.outcome.is_verified() {
                println!("no feasible answer at a known optimum");
                continue;
            }
            gaps.push((answer.objective - values[0]) / values[0]);
        }
        let worst = gaps.iter().fold(f64::MIN, |most, gap| most.max(*gap));
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        println!(
            "known optima: gap {:.5} % mean, {:.5} % worst of {}",
            100.0 * mean,
            100.0 * worst,
            gaps.len()
        );
    }
    let certificate = model.certify(&problem, &GapPlan::default())?;
    println!("{certificate:#?}");
    Ok(())
}

/// The first line of a table of answers.
fn header<F: Functions>(solver: &Solver<F>) -> String {
    let x = (0..solver.x_dim()).map(|i| format!("x{i}"));
    let y = (0..solver.dim()).map(|i| format!("y{i}"));
    let names: Vec<String> = x.chain(y).collect();
    format!("objective,{}\n", names.join(","))
}
