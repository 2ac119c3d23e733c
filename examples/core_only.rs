//! `fabproj-core` alone: a model from bytes, without the standard library and without allocation in a call.

use fabproj_core::{Guard, LatentSet, Projector, Weights};

pub(crate) fn main() -> Result<(), Box<dyn core::error::Error>> {
    // On a device: `include_bytes!("model.safetensors")`. Here: identity networks around a disc.
    let disc = LatentSet::Ball {
        radius: 0.5,
        smooth: None,
    };
    let bytes = Weights::identity(2, disc).to_bytes()?;
    let projector = Projector::from_bytes(&bytes)?;

    let (mut workspace, mut out) = (projector.workspace(), [0.0_f32; 2]);
    let outcome = projector.project_into(&[3.0, 4.0], &[], &mut out, &mut workspace)?;
    println!("{out:?} ({outcome})");
    assert_eq!(out, [0.3, 0.4]);

    let guard = Guard::from_fn(projector, |y, _x| y[0] >= 0.0)?;
    let mut workspace = guard.workspace();
    let outcome = guard.project_into(&[-3.0, 4.0], &[], &mut out, &mut workspace)?;
    println!("{out:?} ({outcome})");
    assert!(outcome.is_verified() && out[0] >= 0.0);
    Ok(())
}
