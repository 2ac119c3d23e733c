//! A set given by a closure: train, save, load, run under guard.

use fabproj::set::FnSet;
use fabproj::{Model, Settings};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A plate with a round hole. The bounds say where inputs come from.
    let plate = FnSet::new("plate", [(-2.0, 2.0); 2], |y, _x| {
        y[0].abs().max(y[1].abs()) <= 1.0 && y[0].hypot(y[1]) >= 0.4
    });
    let model = fabproj::train(&plate, Settings::quick())?;
    if let Some(certificate) = model.certificate() {
        println!(
            "feasible without a guard: {:.2} %",
            100.0 * certificate.raw_feasible
        );
    }
    let path = std::env::temp_dir().join("plate.safetensors");
    model.save(&path)?;

    // In another program: the file and the membership test are enough.
    let guard = Model::load(&path)?.guard(&plate)?;
    for y in [[0.2, 0.7], [0.1, 0.1], [-1.8, 1.5], [f64::NAN, 0.0]] {
        let (out, outcome) = guard.project(&y, &[])?;
        println!("{y:?} -> {out:.3?} ({outcome})");
        assert!(outcome.is_verified());
    }
    Ok(())
}
