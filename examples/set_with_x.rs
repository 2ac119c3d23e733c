//! A set that moves with an input x: one model serves every x.

use fabproj::Settings;
use fabproj::set::FnSet;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Stay in a disc, at least 0.5 away from an obstacle at x.
    let set = FnSet::new("obstacle", [(-1.5, 1.5); 2], |y, x| {
        y[0].hypot(y[1]) <= 1.2 && (y[0] - x[0]).hypot(y[1] - x[1]) >= 0.5
    })
    .with_x([(-1.0, 1.0), (-0.3, 0.3)]);
    let model = fabproj::train(&set, Settings::quick())?;
    let guard = model.guard(&set)?;

    // We would like to stay at the origin while the obstacle passes over it.
    for step in 0..=10 {
        let x = [-1.0 + 0.2 * f64::from(step), 0.05];
        let (y, outcome) = guard.project(&[0.0, 0.0], &x)?;
        println!("obstacle at {:5.2}: go to {y:5.2?}, {outcome}", x[0]);
        // At some x a set might be empty: the outcome says so.
        assert!(outcome.is_verified());
    }
    Ok(())
}
