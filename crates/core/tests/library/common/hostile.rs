//! What must hold for any bytes at all. Shared by the property tests and the fuzz target.

use fabproj_core::{FormatError, Guard, Projector, Weights};

/// Reads `bytes` as a model file. If they are one: it is written again, and it runs.
pub fn read(bytes: &[u8]) -> Result<Weights, FormatError> {
    let weights = Weights::from_bytes(bytes)?;
    let written = weights.to_bytes().expect("what was read can be written");
    let again = Weights::from_bytes(&written).expect("what was written can be read");
    assert_eq!(again, weights, "the same weights after a round trip");

    let projector = Projector::new(&weights).expect("what was read can run");
    let (dim, x_dim) = (projector.dim(), projector.x_dim());
    for value in [0.0, 1e30, -2.5, f32::NAN] {
        let (y, x) = (vec![value; dim], vec![value; x_dim]);
        let (out, _) = projector.project(&y, &x).expect("lengths fit");
        assert!(out.iter().all(|value| value.is_finite()));
    }
    for value in [1e300, -2.5, f64::INFINITY] {
        let (y, x) = (vec![value; dim], vec![value; x_dim]);
        let (out, _) = projector.project(&y, &x).expect("lengths fit");
        assert!(out.iter().all(|value| value.is_finite()));
    }
    if let Ok(guard) = Guard::from_fn(projector, |y, _| y[0] > 0.0) {
        let (y, x) = (vec![-1.0_f64; dim], vec![0.5; x_dim]);
        let (out, outcome) = guard.project(&y, &x).expect("lengths fit");
        assert_eq!(outcome.is_verified(), out[0] > 0.0);
    }
    Ok(weights)
}
