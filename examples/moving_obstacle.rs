//! A set that depends on an input: a disc that an obstacle at x moves through. One model serves every x.
//!
//! ```text
//! cargo run --release --example moving_obstacle
//! ```

use std::error::Error;

use fabproj::core::{Guard, Projector};
use fabproj::set::built_in;
use fabproj::train::{Session, ShapeConfig, shape};

fn main() -> Result<(), Box<dyn Error>> {
    let set = built_in("moving-obstacle")?;
    let (model, _) = shape(set.as_ref(), &ShapeConfig::quick(), 7, &Session::default())?;
    let projector = Projector::new(&model)?;
    let guard = Guard::new(&projector, |y: &[f64], x: &[f64]| set.contains(y, x))?;
    let mut workspace = guard.workspace();

    // We would like to stay at the origin while the obstacle passes right over it.
    for step in 0..=10 {
        let x = [-1.0 + 0.2 * step as f32, 0.05];
        let mut out = [0.0; 2];
        let status = guard.project(&[0.0, 0.0], &x, &mut out, &mut workspace)?;
        println!(
            "obstacle at {:5.2}: go to ({:5.2}, {:5.2}), {status}",
            x[0], out[0], out[1]
        );
        // Worth a look for any set that depends on x: at some x it might be empty.
        assert!(status.is_verified());
    }
    Ok(())
}
