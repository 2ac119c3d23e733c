//! A set that is known by labelled points only.

use fabproj::set::{LabelledData, LabelledSettings};
use fabproj::{Model, Session, Settings};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // 10,000 points that fill a square evenly; those in a ring are feasible.
    let place = |step: f64, row: u32| 4.0 * (step * f64::from(row)).fract() - 2.0;
    let pair = |row| [place(0.754_877_666, row), place(0.569_840_29, row)];
    let points: Vec<f64> = (0..10_000).flat_map(pair).collect();
    let feasible = |y: &[f64]| (0.8..=1.6).contains(&y[0].hypot(y[1]));
    let labels = points.chunks(2).map(feasible).collect();
    let names = vec!["a".into(), "b".into()];
    let data = LabelledData::new(names, points, Vec::new(), Vec::new(), labels)?;

    let settings = LabelledSettings::default();
    let ring = data.learn("ring", &settings, 0, &Session::new())?;
    let share = 100.0 * ring.record().calibration.precision_lower_bound;
    println!("at least {share:.1} % of what it accepts is feasible");
    let model = fabproj::train(&ring, Settings::quick())?;

    // The file holds the learned set.
    let model = Model::from_bytes(&model.to_bytes()?)?;
    let guard = model.guard(model.set()?)?;
    let (y, outcome) = guard.project(&[0.1, 0.2], &[])?;
    println!("{y:.3?} ({outcome}); feasible: {}", feasible(&y));
    Ok(())
}
