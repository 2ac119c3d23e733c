//! Reads mutated real files, for a number of minutes: set and problem files, CSV, NPZ, models and solvers.
//!
//! ```text
//! cargo run --release --features csv,npz --example fuzz -- [--minutes N] [--seed N] [--corpus FOLDER]
//! ```
//!
//! Whatever the bytes are, a reader gives an answer or an error: it does not panic, and it does not take more than
//! a few seconds. What breaks this is written to the corpus folder (`fuzz-findings` by default), and the exit
//! code is 1. A model that is read must run; a set that is read must answer; a problem that is read is trained on
//! a few optima. Models and solvers are sealed again after a mutation, so that more than the digest is tried.

use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fabproj::Model;
use fabproj::core::{LatentSet, Weights};
use fabproj::set::{Columns, LabelledData, built_in, from_toml};
use fabproj::solve::{self, Problem, SolveSettings, SolverModel};
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A file that takes longer is a finding.
const SLOW: Duration = Duration::from_secs(10);

/// What a file is read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Set,
    Csv,
    Npz,
    Model,
    Problem,
    Solver,
}

/// A real file.
type Seed = (Kind, Vec<u8>);

/// Reads bytes as a kind of file; whether they were one.
fn try_reading(kind: Kind, bytes: &[u8], folder: &Path) -> bool {
    match kind {
        Kind::Set => {
            let set = std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| from_toml(text).ok());
            set.is_some_and(|set| {
                let (y, x) = (vec![0.5; set.dim()], vec![0.5; set.x_dim()]);
                let mut gradient = vec![0.0; set.dim()];
                let inside = set.contains(&y, &x);
                let violation = set.violation(&y, &x, &mut gradient);
                assert!(
                    violation.is_none_or(|found| !inside || found <= 1e-6),
                    "inside, and violated"
                );
                assert_eq!(set.description().hash().len(), 64);
                true
            })
        }
        Kind::Problem => std::str::from_utf8(bytes).is_ok_and(solves),
        Kind::Solver => SolverModel::from_bytes(bytes).is_ok_and(|model| answers(&model)),
        Kind::Csv => read_file(bytes, &folder.join("points.csv")),
        Kind::Npz => read_file(bytes, &folder.join("points.npz")),
        Kind::Model => {
            let model = Model::from_bytes(bytes);
            model.is_ok_and(|model| {
                let projector = model.projector();
                let (y, x) = (vec![0.5; projector.dim()], vec![0.5; projector.x_dim()]);
                let (out, _) = projector.project(&y, &x).expect("lengths fit");
                assert!(out.iter().all(|value: &f64| value.is_finite()));
                let again = model.to_bytes().expect("what was read can be written");
                assert_eq!(
                    Model::from_bytes(&again).expect("what was written can be read"),
                    model
                );
                true
            })
        }
    }
}

/// Whether a text is a problem; trains it on a few optima.
fn solves(text: &str) -> bool {
    let Ok(problem) = Problem::from_toml(text) else {
        return false;
    };
    let mut settings = SolveSettings::default();
    (settings.labels, settings.max_steps) = (4, 2);
    if let Ok(model) = solve::train(&problem, &settings) {
        assert!(answers(&model), "a problem that was trained");
    }
    true
}

/// Whether a solver belongs to its problem; a verified answer must obey all constraints.
fn answers(model: &SolverModel) -> bool {
    let Ok(problem) = model.problem() else {
        return false;
    };
    let Ok(solver) = model.solver(&problem) else {
        return false;
    };
    let functions = problem.functions();
    for x in [0.0, 0.5, -3.0, 1e9] {
        let x = vec![x; solver.x_dim()];
        let Ok((y, answer)) = solver.solve(&x) else {
            return false;
        };
        if answer.outcome.is_verified() {
            let mut values = vec![0.0; functions.rows()];
            let mut memory = vec![0.0; functions.memory()];
            let objective = functions.values(&y, &x, &mut values, &mut memory);
            assert!(objective.is_finite() && values.iter().all(|value| *value <= 0.0));
        }
    }
    let again = model.to_bytes().expect("what was read can be written");
    let again = SolverModel::from_bytes(&again).expect("what was written can be read");
    assert_eq!(format!("{again:?}"), format!("{model:?}"));
    true
}

fn read_file(bytes: &[u8], path: &Path) -> bool {
    std::fs::write(path, bytes).expect("a writable folder");
    LabelledData::read(path, &Columns::default()).is_ok_and(|data| {
        assert_eq!(data.points().len(), data.rows() * data.dim());
        let _ = data.clean();
        true
    })
}

/// Real files of every kind.
fn seeds() -> Result<Vec<Seed>, Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut seeds = Vec::new();
    let folders = [
        ("examples/sets", "toml", Kind::Set),
        ("examples/two-link-arm", "toml", Kind::Set),
        ("examples/labelled-data", "csv", Kind::Csv),
        ("crates/fabproj/tests/library/labelled", "csv", Kind::Csv),
        ("crates/fabproj/tests/library/labelled", "npz", Kind::Npz),
    ];
    for (folder, ending, kind) in folders {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|found| found == ending) {
                let mut bytes = std::fs::read(path)?;
                if kind == Kind::Csv {
                    // A few rows are read as thousands are.
                    bytes.truncate(4000);
                }
                seeds.push((kind, bytes));
            }
        }
    }
    seeds.push((
        Kind::Csv,
        b"y0,\"y 1\",x,label\n1,2,3,1\n\"4\",5e-1,6,no\n".to_vec(),
    ));
    let shell = LatentSet::Shell {
        inner: 1.0,
        outer: 2.0,
        smooth: None,
    };
    let ring = Model::new(
        Weights::identity(2, shell),
        &built_in("concentric-circles")?,
    )?;
    seeds.push((Kind::Model, ring.to_bytes()?));
    for text in PROBLEMS {
        seeds.push((Kind::Problem, text.as_bytes().to_vec()));
        let solver = solve::train(&Problem::from_toml(text)?, &SolveSettings::default())?;
        seeds.push((Kind::Solver, solver.to_bytes()?));
    }
    Ok(seeds)
}

/// A quadratic problem with an equation, and one with curved functions.
const PROBLEMS: [&str; 2] = [
    r#"
name = "dispatch"
y = 3
bounds = [0.0, 5.0]
x = 1
x_bounds = [1.0, 4.0]
arrays = { cost = [1.0, 2.0, 4.0] }
[objective]
minimise = "cost @ y^2"
[[constraint]]
expr = "sum(y) == x[0]"
[[constraint]]
expr = "y[0] <= 1 + y[1]"
"#,
    r#"
y = ["a", "b"]
bounds = { a = [-2, 2], b = [-1, 3] }
x = ["load"]
x_bounds = { load = [0, 1] }
[let]
r = "1.5 - load / 2"
[objective]
minimise = "exp(a - b) + sin(a)^2 + load * b"
[[constraint]]
all = ["a^2 + b^2 <= r", "a >= -1"]
"#,
];

/// Pieces that readers trip over.
const PIECES: [&[u8]; 24] = [
    b"\"",
    b"\n",
    b"\r",
    b",",
    b";",
    b"{",
    b"}",
    b"[[",
    b"(",
    b")",
    b"=",
    b"nan",
    b"inf",
    b"1e999",
    b"-0",
    b"9999999999999999999",
    b"\\u0000",
    b"\xff\xfe",
    b"\0\0\0\0",
    b"\x7f\xff\xff\xff",
    b"PK\x03\x04",
    b"null",
    b"[constraint]",
    b"^",
];

/// Some changes of a file: bits, bytes, pieces, cuts, repetitions.
fn mutate(bytes: &mut Vec<u8>, rng: &mut ChaCha8Rng) {
    for _ in 0..rng.random_range(1..6) {
        if bytes.is_empty() {
            bytes.extend_from_slice(b"y = [\"a\"]\n");
        }
        let place = rng.random_range(0..bytes.len());
        let length = rng.random_range(0..=(bytes.len() - place).min(64));
        match rng.random_range(0..7) {
            0 => bytes[place] ^= 1 << rng.random_range(0..8),
            1 => bytes[place] = rng.random(),
            2 => drop(bytes.splice(
                place..place,
                PIECES.choose(rng).copied().unwrap_or(b"").to_vec(),
            )),
            3 => drop(bytes.drain(place..place + length)),
            4 => {
                let piece = bytes[place..place + length].repeat(rng.random_range(1..20));
                drop(bytes.splice(place..place, piece));
            }
            5 => bytes.truncate(place),
            _ => {
                let other = rng.random_range(0..bytes.len());
                bytes.swap(place, other);
            }
        }
    }
}

/// Puts the digest of a changed model file right, as an attacker would.
fn seal(bytes: &mut [u8]) {
    let key = br#"\"digest\":\""#;
    let place = bytes.windows(key.len()).position(|window| window == key);
    let Some(digits) = place.map(|place| place + key.len()..place + key.len() + 64) else {
        return;
    };
    if digits.end <= bytes.len() {
        bytes[digits.clone()].fill(b'0');
        use sha2::Digest;
        let digest = sha2::Sha256::digest(&*bytes);
        let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        bytes[digits].copy_from_slice(text.as_bytes());
    }
}

fn option(name: &str) -> Option<String> {
    let words: Vec<String> = std::env::args().collect();
    let place = words.iter().position(|word| word == name)?;
    words.get(place + 1).cloned()
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let minutes: f64 = option("--minutes").map_or(Ok(1.0), |text| text.parse())?;
    let seed: u64 = option("--seed").map_or(Ok(1), |text| text.parse())?;
    let findings = PathBuf::from(option("--corpus").unwrap_or_else(|| "fuzz-findings".to_owned()));
    let (seeds, folder) = (seeds()?, tempfile::tempdir()?);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let started = Instant::now();
    // How many files of a kind were tried, and how many were read.
    let mut counts: BTreeMap<Kind, (u64, u64)> = BTreeMap::new();
    let mut broken = 0;
    std::panic::set_hook(Box::new(|_| {}));
    while started.elapsed().as_secs_f64() < 60.0 * minutes {
        let Some((kind, seed)) = seeds.choose(&mut rng) else {
            break;
        };
        let mut bytes = seed.clone();
        mutate(&mut bytes, &mut rng);
        if matches!(kind, Kind::Model | Kind::Solver) && rng.random() {
            seal(&mut bytes);
        }
        let begun = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            try_reading(*kind, &bytes, folder.path())
        }));
        let count = counts.entry(*kind).or_default();
        count.0 += 1;
        count.1 += u64::from(matches!(outcome, Ok(true)));
        if outcome.is_err() || begun.elapsed() > SLOW {
            broken += 1;
            std::fs::create_dir_all(&findings)?;
            let path = findings.join(format!(
                "{kind:?}-{seed}-{broken}",
                seed = option("--seed").unwrap_or_default()
            ));
            std::fs::write(&path, &bytes)?;
            eprintln!(
                "{:?} after {:.1?}: {}",
                outcome.map_err(|_| "panic"),
                begun.elapsed(),
                path.display()
            );
        }
    }
    for (kind, (tried, read)) in counts {
        println!("{kind:?}: {tried} files, {read} of them read");
    }
    println!("{broken} broken");
    Ok(ExitCode::from(u8::from(broken > 0)))
}
