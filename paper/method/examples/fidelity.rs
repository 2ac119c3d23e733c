//! Trains the paper's method and its ablations, and prints what they reach beside the paper's figures.
//!
//! ```text
//! cargo run --release --example fidelity -- [--effort F] [--seeds N] [--sets NAME,...] [--variants NAME,...]
//! ```
//!
//! `--effort` is the share of the paper's epochs (default 0.1), `--seeds` the number of trainings per
//! line (default 3). The result is a table in Markdown; progress goes to the standard error.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error;

use fab_method::{PaperSettings, PaperTraining, PhaseOne};
use fabproj::set::{Set, built_in};
use fabproj::{Certificate, Model, Plan, Session};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The paper's tables.
const FIGURES: &str = include_str!("../../../docs/paper/optimization.csv");

const SETS: [&str; 5] = [
    "blob-with-bite",
    "concentric-circles",
    "star-shaped",
    "two-moons",
    "shell-3d",
];

/// A way to train: its name, the paper's name for it, and the settings. Variants with the same first
/// phase share it.
struct Variant {
    name: &'static str,
    in_paper: &'static str,
    phase_one: &'static str,
    settings: fn(PaperSettings) -> PaperSettings,
}

const VARIANTS: [Variant; 8] = [
    Variant {
        name: "full",
        in_paper: "FAB",
        phase_one: "released",
        settings: |base| base,
    },
    Variant {
        name: "phase-1-only",
        in_paper: "FAB: Phase 1 Only",
        phase_one: "released",
        settings: PaperSettings::phase_one_only,
    },
    Variant {
        name: "no-hinge",
        in_paper: "FAB: No Hinge Loss",
        phase_one: "released",
        settings: PaperSettings::without_hinge,
    },
    Variant {
        name: "no-discriminator",
        in_paper: "FAB: No discriminator",
        phase_one: "released",
        settings: PaperSettings::without_discriminator,
    },
    Variant {
        name: "2-decoders",
        in_paper: "FAB: 2 Decoder Nets",
        phase_one: "two",
        settings: |base| PaperSettings {
            decoders: 2,
            ..base
        },
    },
    Variant {
        name: "3-decoders",
        in_paper: "FAB: 3 Decoder Nets",
        phase_one: "three",
        settings: |base| PaperSettings {
            decoders: 3,
            ..base
        },
    },
    Variant {
        name: "coverage-10",
        in_paper: "Cov-10",
        phase_one: "thinned",
        settings: |base| PaperSettings {
            coverage: 0.1,
            ..base
        },
    },
    Variant {
        name: "paper-text",
        in_paper: "",
        phase_one: "printed",
        settings: |base| PaperSettings {
            effort: base.effort,
            ..PaperSettings::text()
        },
    },
];

struct Arguments {
    effort: f64,
    seeds: u64,
    sets: Vec<String>,
    variants: Vec<String>,
}

impl Arguments {
    fn read() -> Outcome<Self> {
        let mut arguments = Self {
            effort: 0.1,
            seeds: 3,
            sets: SETS.map(str::to_owned).to_vec(),
            variants: VARIANTS.map(|variant| variant.name.to_owned()).to_vec(),
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("{word} needs a value"))?;
            let list = || value.split(',').map(str::to_owned).collect();
            match word.as_str() {
                "--effort" => arguments.effort = value.parse()?,
                "--seeds" => arguments.seeds = value.parse()?,
                "--sets" => arguments.sets = list(),
                "--variants" => arguments.variants = list(),
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        Ok(arguments)
    }
}

/// What one training reached, as shares.
struct Reached {
    score: f64,
    certificate: Certificate,
}

/// First phases by name.
type PhaseOnes = HashMap<&'static str, PhaseOne>;

fn train(
    set: &dyn Set,
    variant: &Variant,
    base: &PaperSettings,
    seed: u64,
    phase_ones: &mut PhaseOnes,
) -> Outcome<Reached> {
    let settings = (variant.settings)(base.clone()).validate()?;
    let (training, session) = (PaperTraining::new(set, &settings, seed)?, Session::new());
    let phase_one = match phase_ones.entry(variant.phase_one) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => place.insert(training.phase_one(&session)?),
    };
    let trained = training.phase_two(phase_one, settings.weights, &session)?;
    let plan = Plan {
        samples: 20_000,
        ..Plan::default()
    };
    Ok(Reached {
        score: trained.summary.score.unwrap_or(f64::NAN),
        certificate: Model::new(trained.weights, set)?
            .certify(set, &plan)?
            .clone(),
    })
}

/// The paper's feasibility of its solver's outputs by objective: quadratic, linear, distance.
fn printed(set: &str, method: &str) -> String {
    let set = set.replace('-', "_");
    let found = FIGURES.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let [_, name, _, known, _, feasible, ..] = cells[..] else {
            return None;
        };
        (name == set && known == method).then_some(feasible)
    });
    let found: Vec<&str> = found.take(3).collect();
    if found.is_empty() {
        "–".to_owned()
    } else {
        found.join(" / ")
    }
}

/// The mean, and the range where there is one, in the given unit.
fn spread(values: &[f64], unit: f64, digits: usize) -> String {
    if values.is_empty() {
        return "–".to_owned();
    }
    let mean = unit * values.iter().sum::<f64>() / values.len() as f64;
    let low = unit * values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = unit * values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [mean, low, high] = [mean, low, high].map(|value| format!("{value:.digits$}"));
    if low == high {
        mean
    } else {
        format!("{mean} ({low}–{high})")
    }
}

fn line(set: &str, variant: &Variant, reached: &[Reached]) -> String {
    let each = |part: fn(&Reached) -> Option<f64>| -> Vec<f64> {
        reached.iter().filter_map(part).collect()
    };
    let percent = |values: Vec<f64>| spread(&values, 100.0, 1);
    format!(
        "| {set} | {} | {} | {} | {} | {} | {} | {} | {} |",
        variant.name,
        percent(each(|r| Some(r.score))),
        percent(each(|r| Some(r.certificate.inside_feasible))),
        percent(each(|r| Some(r.certificate.surface_feasible))),
        percent(each(|r| Some(r.certificate.raw_feasible))),
        percent(each(|r| r.certificate.coverage)),
        spread(&each(|r| r.certificate.mean_move), 1.0, 2),
        printed(set, variant.in_paper),
    )
}

fn main() -> Outcome<()> {
    let arguments = Arguments::read()?;
    let base = PaperSettings {
        effort: arguments.effort,
        ..PaperSettings::released()
    };
    println!(
        "Effort {} of the paper's epochs, {} trainings per line: mean (least–most).\n",
        arguments.effort, arguments.seeds
    );
    println!(
        "| set | variant | score % | ball % | surface % | inputs % | coverage % | move | paper: feasible % (quadratic / linear / distance) |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let variants = arguments.variants.iter().map(|name| {
        let known = VARIANTS.iter().find(|variant| variant.name == name);
        known.ok_or_else(|| format!("unknown variant {name}"))
    });
    let variants = variants.collect::<Result<Vec<_>, _>>()?;
    for name in &arguments.sets {
        let set = built_in(name)?;
        let mut reached: Vec<Vec<Reached>> = variants.iter().map(|_| Vec::new()).collect();
        for seed in 1..=arguments.seeds {
            let mut phase_ones = PhaseOnes::new();
            for (variant, reached) in variants.iter().zip(&mut reached) {
                eprintln!("{name}, {}, seed {seed}", variant.name);
                let outcome = train(&set, variant, &base, seed, &mut phase_ones)?;
                reached.push(outcome);
            }
        }
        for (variant, reached) in variants.iter().zip(&reached) {
            println!("{}", line(name, variant, reached));
        }
    }
    Ok(())
}
