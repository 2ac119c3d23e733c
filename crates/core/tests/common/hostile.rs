//! What must hold for any bytes at all. Shared by the property tests and the fuzz target.

use fabproj_core::{FormatError, Guard, Model, Projector};

/// Reads `bytes` as a model. If they are one: it is written again, and it runs.
pub fn read(bytes: &[u8]) -> Result<Model, FormatError> {
    let model = Model::from_bytes(bytes)?;
    let written = model.to_bytes().expect("what was read can be written");
    let again = Model::from_bytes(&written).expect("what was written can be read");
    assert_eq!(again, model, "the same model after a round trip");

    let projector = Projector::new(&model).expect("what was read can run");
    let mut workspace = projector.workspace();
    let mut out = vec![f32::NAN; model.dim];
    for value in [0.0, 1e30, -2.5, f32::NAN] {
        let (y, x) = (vec![value; model.dim], vec![value; model.parameter_dim]);
        projector
            .project(&y, &x, &mut out, &mut workspace)
            .expect("lengths fit");
        assert!(out.iter().all(|value| value.is_finite()));
    }
    let positive = |y: &[f64], _: &[f64]| y[0] > 0.0;
    if let Ok(guard) = Guard::new(&projector, positive) {
        let (y, x) = (vec![-1.0; model.dim], vec![0.5; model.parameter_dim]);
        let status = guard
            .project(&y, &x, &mut out, &mut guard.workspace())
            .expect("lengths fit");
        assert_eq!(status.is_verified(), out[0] > 0.0);
    }
    Ok(model)
}
