//! What a question to a built-in set costs: `cargo bench -p fabproj --bench sets`.

use std::hint::black_box;
use std::time::Instant;

use fabproj::set::{self, ConstraintSet};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const POINTS: usize = 20_000;
const REPETITIONS: usize = 7;

/// The median over repetitions of the nanoseconds that one of `POINTS` calls takes.
fn nanoseconds(mut call: impl FnMut(usize)) -> f64 {
    let mut times: Vec<f64> = (0..REPETITIONS)
        .map(|_| {
            let start = Instant::now();
            (0..POINTS).for_each(&mut call);
            start.elapsed().as_secs_f64() * 1e9 / POINTS as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[REPETITIONS / 2]
}

fn draw(bounds: &[(f64, f64)], random: &mut ChaCha8Rng) -> Vec<f64> {
    bounds
        .iter()
        .map(|&(low, high)| random.random_range(low..=high))
        .collect()
}

fn main() -> set::Result<()> {
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
    for entry in set::catalogue() {
        let name = entry.name.replace('N', "10");
        let set = set::built_in(&name)?;
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let (bounds, parameter_bounds) = (set.bounds(), set.parameter_bounds());
        let rows: Vec<_> = (0..POINTS)
            .map(|_| {
                (
                    draw(&bounds, &mut random),
                    draw(&parameter_bounds, &mut random),
                )
            })
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
    Ok(())
}
