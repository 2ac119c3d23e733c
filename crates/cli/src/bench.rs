//! `fabproj bench`: how fast a model runs on this machine.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::Result;
use fabproj::core::{Answer, Frame, RawOutcome};
use fabproj::solve::{Functions, Problem, Solver, SolverModel};
use fabproj::{Model, Projector};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::failure::wrong_usage;
use crate::find::{self, Loaded};
use crate::options::Common;
use crate::show::{self, count, time};

/// Rows of the batches whose throughput is measured.
const BATCHES: [usize; 4] = [1, 32, 1024, 65_536];
/// The same for solvers.
const SOLVER_BATCHES: [usize; 3] = [1, 32, 1024];
/// Different inputs that single calls go through.
const INPUTS: usize = 4096;
/// Timed single calls.
const CALLS: usize = 200_000;
/// Seconds that each throughput is measured for.
const SECONDS: f64 = 0.4;

#[derive(clap::Args)]
#[command(
    after_help = "Single calls are timed one by one; the time that reading the clock takes is \
                        subtracted. Throughputs are medians of many runs. One thread; a \
                        projector in single precision, a solver in double precision.\n\n\
                        Example:\n  fabproj bench moons.safetensors\n  \
                        fabproj bench moons.safetensors --json | jq .p50_ns"
)]
pub struct Arguments {
    /// The model file
    model: PathBuf,

    /// Timed single calls
    #[arg(long, value_name = "N", default_value_t = CALLS)]
    calls: usize,
}

/// What was measured.
#[derive(Serialize)]
pub struct Measured {
    /// Quantiles of the time of one call.
    pub p50_ns: f64,
    pub p99_ns: f64,
    pub p999_ns: f64,
    /// Mean time of calls made in a row, without reading the clock between them.
    pub mean_ns: f64,
    /// What reading the clock takes; subtracted above.
    timer_ns: f64,
    calls: usize,
    /// By the rows of a batch.
    points_per_second: std::collections::BTreeMap<usize, f64>,
}

pub fn run(arguments: &Arguments, common: &Common) -> Result<()> {
    if arguments.calls == 0 {
        return Err(wrong_usage("--calls 0: choose at least 1"));
    }
    let measured = match find::load(&arguments.model)? {
        Loaded::Projector(model) => {
            let inputs = Inputs::draw(&model, common.seed);
            let mut measured = projector_latency(model.projector(), &inputs, arguments.calls)?;
            for rows in BATCHES {
                let rate = projector_rate(model.projector(), &inputs, rows)?;
                measured.points_per_second.insert(rows, rate);
            }
            measured
        }
        Loaded::Solver(model) => {
            let problem = find::problem_for(&model, &arguments.model, None)?;
            let solver = model.solver(&problem)?;
            let x = solver_inputs(&problem, common.seed);
            let mut measured = solver_latency(&solver, &x, arguments.calls)?;
            for rows in SOLVER_BATCHES {
                let rate = solver_rate(&solver, &x, rows)?;
                measured.points_per_second.insert(rows, rate);
            }
            measured
        }
    };
    if common.json {
        return show::print_json(&measured);
    }
    show::print(text(&measured))
}

fn text(measured: &Measured) -> String {
    let nanoseconds = |value: f64| time(value * 1e-9);
    let row = |name: &str, value: String| (name.to_owned(), value);
    let rows = [
        row("one call, median", nanoseconds(measured.p50_ns)),
        row("99 %", nanoseconds(measured.p99_ns)),
        row("99.9 %", nanoseconds(measured.p999_ns)),
        row("mean, in a row", nanoseconds(measured.mean_ns)),
        row(
            "reading the clock",
            format!("{} (subtracted)", nanoseconds(measured.timer_ns)),
        ),
    ];
    let rates = measured.points_per_second.iter();
    let rates = rates.map(|(rows, rate)| vec![count(*rows), count(*rate as usize)]);
    let table = show::table(
        &["BATCH", "POINTS PER SECOND"],
        &rates.collect::<Vec<_>>(),
        true,
    );
    format!("{}\n\n{table}", show::pairs(&rows))
}

/// Inputs like those that the projector is made for.
struct Inputs {
    y: Vec<f32>,
    x: Vec<f32>,
}

impl Inputs {
    /// From the set's bounds or, where the set cannot be rebuilt, from around the model's frames.
    fn draw(model: &Model, seed: u64) -> Self {
        let projector = model.projector();
        let (y, x) = match (model.set(), projector.equations()) {
            (Ok(set), _) => (set.bounds(), set.x_bounds()),
            (Err(_), None) => (around(projector.frame()), around(projector.x_frame())),
            (Err(_), Some(equations)) => {
                let y = equations.origin.iter().map(|y| (y - 1.0, y + 1.0));
                (y.collect(), around(projector.x_frame()))
            }
        };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut rows = |bounds: &[(f64, f64)]| -> Vec<f32> {
            let rows = (0..INPUTS).flat_map(|_| bounds.iter());
            rows.map(|(low, high)| (low + (high - low) * rng.random::<f64>()) as f32)
                .collect()
        };
        Self {
            y: rows(&y),
            x: rows(&x),
        }
    }

    fn row(&self, index: usize) -> (&[f32], &[f32]) {
        let (dim, x_dim) = (self.y.len() / INPUTS, self.x.len() / INPUTS);
        let row = index % INPUTS;
        (&self.y[row * dim..][..dim], &self.x[row * x_dim..][..x_dim])
    }
}

/// Twice the units around the centre of a frame.
fn around(frame: &Frame) -> Vec<(f64, f64)> {
    let parts = frame.centre.iter().zip(&frame.scale);
    let parts = parts.map(|(c, s)| (f64::from(*c), 2.0 * f64::from(*s)));
    parts.map(|(c, s)| (c - s, c + s)).collect()
}

/// Times single calls. Also for the summary of a training.
pub fn quick_latency(model: &Model, calls: usize) -> Result<Measured> {
    projector_latency(model.projector(), &Inputs::draw(model, 0), calls)
}

/// Times single answers. Also for the summary of a training.
pub fn quick_solver_latency(
    model: &SolverModel,
    problem: &Problem,
    calls: usize,
) -> Result<Measured> {
    solver_latency(&model.solver(problem)?, &solver_inputs(problem, 0), calls)
}

/// Rows of x as a solver is trained for.
fn solver_inputs(problem: &Problem, seed: u64) -> Vec<f64> {
    let rows = problem.draw_x(INPUTS, seed);
    let numbers = INPUTS * problem.x_dim();
    rows.iter().copied().cycle().take(numbers).collect()
}

fn solver_latency<F: Functions>(solver: &Solver<F>, x: &[f64], calls: usize) -> Result<Measured> {
    let mut workspace = solver.workspace();
    let mut y = vec![0.0; solver.dim()];
    let x_dim = solver.x_dim();
    latency(calls, |index| {
        let x = &x[index % INPUTS * x_dim..][..x_dim];
        black_box(solver.solve_into(black_box(x), &mut y, &mut workspace)?);
        Ok(())
    })
}

fn solver_rate<F: Functions>(solver: &Solver<F>, x: &[f64], rows: usize) -> Result<f64> {
    let x = &x[..rows * solver.x_dim()];
    let mut y = vec![0.0; rows * solver.dim()];
    let mut answers = vec![Answer::default(); rows];
    let mut workspace = solver.workspace();
    throughput(rows, || {
        solver.solve_rows_into(black_box(x), &mut y, &mut answers, &mut workspace)?;
        black_box(&y);
        Ok(())
    })
}

fn projector_latency(projector: &Projector, inputs: &Inputs, calls: usize) -> Result<Measured> {
    let mut workspace = projector.workspace();
    let mut out = vec![0.0; projector.dim()];
    latency(calls, |index| {
        let (y, x) = inputs.row(index);
        let (y, x) = (black_box(y), black_box(x));
        black_box(projector.project_into(y, x, &mut out, &mut workspace)?);
        Ok(())
    })
}

/// Times calls, each with the number of its input.
fn latency(calls: usize, mut call: impl FnMut(usize) -> Result<()>) -> Result<Measured> {
    for index in 0..INPUTS {
        call(index)?;
    }
    let start = Instant::now();
    for index in 0..calls {
        call(index)?;
    }
    let mean_ns = start.elapsed().as_secs_f64() * 1e9 / calls as f64;
    let timer_ns = clock(calls);
    let mut times = Vec::with_capacity(calls);
    for index in 0..calls {
        let start = Instant::now();
        call(index)?;
        times.push(start.elapsed().as_nanos() as f64 - timer_ns);
    }
    times.sort_by(f64::total_cmp);
    Ok(Measured {
        p50_ns: quantile(&times, 0.5),
        p99_ns: quantile(&times, 0.99),
        p999_ns: quantile(&times, 0.999),
        mean_ns,
        timer_ns,
        calls,
        points_per_second: Default::default(),
    })
}

/// The median time between two readings of the clock with nothing between them.
fn clock(readings: usize) -> f64 {
    let mut times: Vec<f64> = (0..readings)
        .map(|_| {
            let start = Instant::now();
            start.elapsed().as_nanos() as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    quantile(&times, 0.5)
}

fn quantile(sorted: &[f64], share: f64) -> f64 {
    let index = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[index].max(0.0)
}

fn projector_rate(projector: &Projector, inputs: &Inputs, rows: usize) -> Result<f64> {
    let (dim, x_dim) = (projector.dim(), projector.x_dim());
    let y: Vec<f32> = inputs.y.iter().copied().cycle().take(rows * dim).collect();
    let x: Vec<f32> = inputs
        .x
        .iter()
        .copied()
        .cycle()
        .take(rows * x_dim)
        .collect();
    let mut out = vec![0.0; y.len()];
    let mut outcomes = vec![RawOutcome::Inside; rows];
    let mut workspace = projector.workspace();
    throughput(rows, || {
        let (y, x) = (black_box(&y), black_box(&x));
        projector.project_rows_into(y, x, &mut out, &mut outcomes, &mut workspace)?;
        black_box(&out);
        Ok(())
    })
}

/// Points per second in batches of so many rows: the median over runs.
fn throughput(rows: usize, mut batch: impl FnMut() -> Result<()>) -> Result<f64> {
    // So many batches between readings of the clock that the readings do not count.
    let batches = (INPUTS / rows).max(1);
    let mut run = || -> Result<f64> {
        let start = Instant::now();
        for _ in 0..batches {
            batch()?;
        }
        Ok((rows * batches) as f64 / start.elapsed().as_secs_f64().max(1e-12))
    };
    run()?;
    let mut rates = Vec::new();
    let start = Instant::now();
    while rates.len() < 3 || start.elapsed().as_secs_f64() < SECONDS {
        rates.push(run()?);
    }
    rates.sort_by(f64::total_cmp);
    Ok(quantile(&rates, 0.5))
}
