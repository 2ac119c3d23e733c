//! How fast the engine is, beside the core's peak: `cargo bench --bench engine -- [--json] [--quick]`.
//!
//! All cases take turns, so that whatever else the machine does falls on all of them; what is
//! printed are medians over the rounds, and medians of each round's ratio to the peak.

mod forward;
mod peak;
mod step;

use std::error::Error;
use std::time::{Duration, Instant};

use fabproj_core::kernel::Kernel;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// One thing to be timed.
trait Case {
    /// Does it once.
    fn call(&mut self);

    /// Floating-point operations of one call that the mathematics needs.
    fn flops(&self) -> f64;
}

/// A case, and its seconds per call of each round.
struct Timed {
    case: Box<dyn Case>,
    calls: u32,
    seconds: Vec<f64>,
}

impl Timed {
    /// As many calls per round as fill `least`.
    fn new(mut case: Box<dyn Case>, least: Duration) -> Self {
        let mut calls = 1;
        loop {
            let start = Instant::now();
            (0..calls).for_each(|_| case.call());
            if start.elapsed() >= least || calls >= 1 << 24 {
                return Self {
                    case,
                    calls,
                    seconds: Vec::new(),
                };
            }
            calls *= 2;
        }
    }

    fn round(&mut self) {
        let start = Instant::now();
        (0..self.calls).for_each(|_| self.case.call());
        self.seconds
            .push(start.elapsed().as_secs_f64() / f64::from(self.calls));
    }

    fn median_seconds(&self) -> f64 {
        median(self.seconds.clone())
    }

    fn fraction_of(&self, peak: &Self) -> f64 {
        let rounds = self.seconds.iter().zip(&peak.seconds);
        let work = self.case.flops() / peak.case.flops();
        median(rounds.map(|(ours, peak)| work * peak / ours).collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let (rounds, least) = if given("--quick") { (11, 5) } else { (61, 20) };
    let make = |case: Outcome<Box<dyn Case>>| Ok(Timed::new(case?, Duration::from_millis(least)));
    let made: Outcome<Vec<Timed>> = [
        peak::case(),
        step::case(),
        forward::batch(),
        forward::point(&[64; 4]),
        forward::point(&[32; 3]),
    ]
    .into_iter()
    .map(make)
    .collect();
    let mut cases = made?;
    for _ in 0..rounds {
        cases.iter_mut().for_each(Timed::round);
    }
    let [peak, phase_one, batch, point, small_point] = &cases[..] else {
        return Ok(());
    };
    let figures = [
        (
            "fma_peak_gflops",
            peak.case.flops() / peak.median_seconds() / 1e9,
        ),
        ("phase1_steps_per_second", 1.0 / phase_one.median_seconds()),
        ("phase1_fraction_of_peak", phase_one.fraction_of(peak)),
        (
            "forward_batch_points_per_second",
            forward::BATCH as f64 / batch.median_seconds(),
        ),
        ("forward_batch_fraction_of_peak", batch.fraction_of(peak)),
        ("point_ns", point.median_seconds() * 1e9),
        ("point_32x3_ns", small_point.median_seconds() * 1e9),
    ];
    let set = format!("{:?}", Kernel::detect().instruction_set());
    if given("--json") {
        let mut object: serde_json::Map<_, _> = figures
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into()))
            .collect();
        object.insert("instruction_set".to_owned(), set.into());
        println!("{}", serde_json::Value::Object(object));
    } else {
        println!("{:<34}{set:>12}", "instruction_set");
        for (name, value) in figures {
            println!("{name:<34}{value:>12.4}");
        }
    }
    Ok(())
}
