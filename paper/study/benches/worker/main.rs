//! Our side of `cargo xtask bench`: a process that times parts of fabproj on request.
//!
//! It speaks the protocol of `bench/worker.py`, the side of the Python peers: first the line
//! `cases NAME...`, then one line for each line of the standard input:
//!
//! ```text
//! warm NAME                prepares the case and calls it until it is warm    ->  ok
//! run NAME REPETITIONS     times it                                           ->  seconds S...
//! project Y...             projects one point, to compare the sides           ->  point P...
//! flops NAME               floating-point operations of one call              ->  flops N
//! ```
//!
//! Each S is the mean time of one call over a repetition of at least `--milliseconds`, on the wall's
//! clock or, with `--cpu-time`, on the process's. With `--write FILE` it only writes the model that it is timed with, for the other side to read.

mod answer;
mod clock;
mod peak;
mod projection;
mod training;

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::time::Duration;

use clock::Clock;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// One thing to be timed.
trait Case {
    /// Does it once, or as often as comes naturally; returns how often.
    fn call(&mut self) -> Outcome<u64>;

    /// Floating-point operations of doing it once that the mathematics needs.
    fn flops(&self) -> f64;
}

/// How to make a case.
type Maker = fn() -> Outcome<Box<dyn Case>>;

/// All cases by name.
const CASES: [(&str, Maker); 7] = [
    ("peak", peak::case),
    ("point", projection::point),
    ("small-point", projection::small_point),
    ("batch", projection::batch),
    ("answer", answer::case),
    ("phase-one", training::phase_one),
    ("phase-two", training::phase_two),
];

/// A case with the number of calls that fill a repetition.
struct Timed {
    case: Box<dyn Case>,
    calls: u64,
    clock: Clock,
}

impl Timed {
    fn new(mut case: Box<dyn Case>, least: Duration, clock: Clock) -> Outcome<Self> {
        case.call()?;
        let mut timed = Self {
            case,
            calls: 1,
            clock,
        };
        loop {
            let (spent, _) = timed.repetition()?;
            if spent >= least.as_secs_f64() {
                return Ok(timed);
            }
            let growth = (1.2 * least.as_secs_f64() / spent.max(1e-9)).clamp(1.5, 10.0);
            timed.calls = (timed.calls as f64 * growth) as u64 + 1;
        }
    }

    /// Seconds, and how often it was done in them.
    fn repetition(&mut self) -> Outcome<(f64, u64)> {
        let (start, mut times) = (self.clock.seconds(), 0);
        for _ in 0..self.calls {
            times += self.case.call()?;
        }
        Ok((self.clock.seconds() - start, times))
    }
}

struct Worker {
    least: Duration,
    clock: Clock,
    warm: HashMap<&'static str, Timed>,
}

impl Worker {
    fn answer(&mut self, request: &str) -> Outcome<String> {
        match request.split_whitespace().collect::<Vec<_>>()[..] {
            ["warm", name] => self.prepared(name).map(|_| "ok".into()),
            ["flops", name] => Ok(format!("flops {:e}", self.prepared(name)?.case.flops())),
            ["run", name, repetitions] => {
                let repetitions: usize = repetitions.parse()?;
                let timed = self.prepared(name)?;
                let mut answer = "seconds".to_owned();
                for _ in 0..repetitions {
                    let (seconds, times) = timed.repetition()?;
                    answer += &format!(" {:e}", seconds / times as f64);
                }
                Ok(answer)
            }
            ["project", ref point @ ..] => {
                let point: Vec<f32> = point.iter().map(|y| y.parse()).collect::<Result<_, _>>()?;
                let projection = projection::project_one(&point)?;
                let values = projection.iter().map(|value| format!(" {value}"));
                Ok("point".to_owned() + &values.collect::<String>())
            }
            _ => Err(format!("unknown request: {request}").into()),
        }
    }

    fn prepared(&mut self, name: &str) -> Outcome<&mut Timed> {
        let found = CASES.iter().find(|(known, _)| *known == name);
        let &(name, make) = found.ok_or_else(|| format!("unknown case: {name}"))?;
        if !self.warm.contains_key(name) {
            self.warm
                .insert(name, Timed::new(make()?, self.least, self.clock)?);
        }
        self.warm.get_mut(name).ok_or_else(|| name.into())
    }
}

/// The value after an option; whatever cargo adds to the arguments is ignored.
fn option(name: &str) -> Option<String> {
    std::env::args()
        .skip_while(|argument| argument != name)
        .nth(1)
}

fn main() -> Outcome<()> {
    if let Some(path) = option("--write") {
        return Ok(std::fs::write(
            path,
            projection::paper_weights()?.to_bytes()?,
        )?);
    }
    let milliseconds: f64 = option("--milliseconds").map_or(Ok(50.0), |text| text.parse())?;
    let least = Duration::try_from_secs_f64(milliseconds / 1000.0)?;
    let mut worker = Worker {
        least,
        clock: Clock::new(std::env::args().any(|argument| argument == "--cpu-time")),
        warm: HashMap::new(),
    };
    let mut answers = io::stdout().lock();
    let names: Vec<&str> = CASES.iter().map(|(name, _)| *name).collect();
    writeln!(answers, "cases {}", names.join(" "))?;
    answers.flush()?;
    for request in io::stdin().lock().lines() {
        match worker.answer(&request?) {
            Ok(answer) => writeln!(answers, "{answer}")?,
            Err(error) => writeln!(answers, "error {error}")?,
        }
        answers.flush()?;
    }
    Ok(())
}
