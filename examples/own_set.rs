//! A set of your own, given by a membership test alone: train, certify, save, load, run under guard.
//!
//! ```text
//! cargo run --release --example own_set
//! ```

use std::error::Error;

use fabproj::certify::{Plan, certify};
use fabproj::core::Guard;
use fabproj::file::{ModelFile, Record};
use fabproj::set::{FnSet, Set};
use fabproj::train::{Session, ShapeConfig, shape};

/// A unit square without a disc at one of its corners.
fn contains(y: &[f64], _x: &[f64]) -> bool {
    let in_square = y.iter().all(|value| (0.0..=1.0).contains(value));
    in_square && (y[0] - 1.0).hypot(y[1] - 1.0) >= 0.6
}

fn main() -> Result<(), Box<dyn Error>> {
    // The bounds say where inputs come from, and contain the set.
    let set = FnSet::new("bitten-square", vec![(-1.0, 2.0); 2], contains);

    // `quick` is a first impression in seconds; `ShapeConfig::default()` gives a better model.
    let config = ShapeConfig::quick();
    let (model, summary) = shape(&set, &config, 7, &Session::default())?;
    println!(
        "trained {} with {} membership queries",
        summary.chosen, summary.queries
    );

    let mut record = Record::of(&set);
    record.seed = 7;
    record.config = serde_json::to_value(&config)?;
    let mut file = ModelFile { model, record };
    let certificate = certify(&set, &file.projector()?, &Plan::default())?;
    println!(
        "feasible without a guard: {:.3} %, at least {:.3} % with {:.0} % confidence",
        100.0 * certificate.raw_feasible,
        100.0 * certificate.raw_lower_bound,
        100.0 * certificate.confidence,
    );
    file.record.certificate = Some(serde_json::to_value(&certificate)?);
    let path = std::env::temp_dir().join("bitten-square.safetensors");
    file.save(&path)?;
    println!("saved as {}", path.display());

    // From here on only the file and the membership test are needed.
    let projector = ModelFile::load(&path)?.projector()?;
    let guard = Guard::new(&projector, |y: &[f64], x: &[f64]| set.contains(y, x))?;
    let mut workspace = guard.workspace();
    let mut out = [0.0; 2];
    for y in [[0.2, 0.3], [0.9, 0.9], [-0.5, 1.8], [f32::NAN, 0.0]] {
        let status = guard.project(&y, &[], &mut out, &mut workspace)?;
        println!("{y:?} -> {out:?} ({status})");
        assert!(contains(&out.map(f64::from), &[]));
    }
    Ok(())
}
