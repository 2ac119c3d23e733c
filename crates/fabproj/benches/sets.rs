//! What a question to a set costs: `cargo bench -p fabproj --bench sets`. Built-in sets, set files, and one
//! expression beside the crate exmex.

use std::hint::black_box;
use std::time::Instant;

use exmex::Express;
use fabproj::Membership;
use fabproj::set::{self, Set};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const POINTS: usize = 20_000;
const REPETITIONS: usize = 25;

/// The nanoseconds that one of `POINTS` calls takes: the least over repetitions, so that what else the
/// machine does counts little.
fn nanoseconds(mut call: impl FnMut(usize)) -> f64 {
    let times = (0..REPETITIONS).map(|_| {
        let start = Instant::now();
        (0..POINTS).for_each(&mut call);
        start.elapsed().as_secs_f64() * 1e9 / POINTS as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn draw(bounds: &[(f64, f64)], random: &mut ChaCha8Rng) -> Vec<f64> {
    bounds
        .iter()
        .map(|&(low, high)| random.random_range(low..=high))
        .collect()
}

/// A dozen operations.
const EXPRESSION: &str = "(a - 1.2)^2 + 2*(b + 0.5)^2 - a*b + sqrt(a^2 + 3)";

/// Set files that are timed beside the built-in sets.
const FILES: [(&str, &str); 3] = [
    (
        "swiss-cheese",
        include_str!("../../../examples/sets/swiss-cheese.toml"),
    ),
    ("spiral", include_str!("../../../examples/sets/spiral.toml")),
    (
        "corridor-20d",
        include_str!("../../../examples/sets/corridor-20d.toml"),
    ),
];

/// `G @ y <= h` with 50 rows of 100, beside the product in plain Rust.
fn rows() -> Result<(), Box<dyn std::error::Error>> {
    const ROWS: usize = 50;
    const COLUMNS: usize = 100;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let matrix: Vec<Vec<f64>> = (0..ROWS)
        .map(|_| draw(&[(-1.0, 1.0); COLUMNS], &mut random))
        .collect();
    let text = format!(
        "y = {COLUMNS}\nbounds = [-1, 1]\narrays = {{ G = {matrix:?} }}\n[[constraint]]\nexpr = \"G @ y <= 60\"\n"
    );
    let set = set::from_toml(&text)?;
    let points: Vec<_> = (0..POINTS / 10)
        .map(|_| draw(&set.bounds(), &mut random))
        .collect();
    let plain = |y: &[f64]| {
        let product = |row: &Vec<f64>| row.iter().zip(y).map(|(g, y)| g * y).sum::<f64>();
        matrix.iter().all(|row| product(row) <= 60.0)
    };
    assert!(points.iter().all(|y| set.contains(y, &[]) == plain(y)));
    let ours = nanoseconds(|i| {
        black_box(set.contains(black_box(&points[i % points.len()]), &[]));
    });
    let theirs = nanoseconds(|i| {
        black_box(plain(black_box(&points[i % points.len()])));
    });
    println!(
        "\nG @ y <= h, {ROWS} x {COLUMNS}: set file {ours:.0} ns, plain loops {theirs:.0} ns, ratio {:.2}",
        ours / theirs
    );
    Ok(())
}

/// Membership by one expression: ours as a set file, and exmex with the comparison written in Rust.
fn expressions() -> Result<(), Box<dyn std::error::Error>> {
    let text = format!(
        "y = [\"a\", \"b\"]\nbounds = {{ a = [-2, 2], b = [-2, 2] }}\n[[constraint]]\nexpr = \"{EXPRESSION} <= 3\"\n"
    );
    let ours = set::from_toml(&text)?;
    let theirs = exmex::parse::<f64>(EXPRESSION)?;
    let mut random = ChaCha8Rng::seed_from_u64(0);
    let rows: Vec<_> = (0..POINTS)
        .map(|_| draw(&ours.bounds(), &mut random))
        .collect();
    for row in &rows {
        assert_eq!(ours.contains(row, &[]), theirs.eval(row)? <= 3.0);
    }
    let mut gradient = [0.0; 2];
    let contains = nanoseconds(|i| {
        black_box(ours.contains(black_box(&rows[i]), &[]));
    });
    let violation = nanoseconds(|i| {
        black_box(ours.violation(black_box(&rows[i]), &[], &mut gradient));
    });
    let exmex = nanoseconds(|i| {
        black_box(
            theirs
                .eval(black_box(&rows[i]))
                .is_ok_and(|value| value <= 3.0),
        );
    });
    println!(
        "\n{EXPRESSION} <= 3: set file {contains:.1} ns ({violation:.1} ns with gradient), exmex \
         {exmex:.1} ns"
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    set::built_in("two-moons")?;
    println!(
        "first two-moons of the process: {:.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    println!(
        "{:20} {:>9} {:>10} {:>9}  (ns)",
        "set", "contains", "violation", "nearest"
    );
    let built_in = set::Entry::ALL.iter().map(|entry| {
        let name = entry.name.replace('N', "10");
        Ok((name.clone(), set::built_in(&name)?))
    });
    let files = FILES.map(|(name, text)| Ok((name.to_owned(), set::from_toml(text)?)));
    for named in built_in.chain(files) {
        let (name, set) = named.map_err(|error: set::SetError| error)?;
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let (bounds, x_bounds) = (set.bounds(), set.x_bounds());
        let rows: Vec<_> = (0..POINTS)
            .map(|_| (draw(&bounds, &mut random), draw(&x_bounds, &mut random)))
            .collect();
        let mut out = vec![0.0; set.dim()];
        let contains = nanoseconds(|i| {
            black_box(set.contains(&rows[i].0, &rows[i].1));
        });
        let violation = nanoseconds(|i| {
            black_box(set.violation(&rows[i].0, &rows[i].1, &mut out));
        });
        let nearest = nanoseconds(|i| {
            black_box(set.nearest(&rows[i].0, &rows[i].1, &mut out));
        });
        println!("{name:20} {contains:9.1} {violation:10.1} {nearest:9.1}");
    }
    expressions()?;
    rows()
}
