//! Checkpoints of FAB's PyTorch code.
#![allow(clippy::unwrap_used)]

use fabproj_core::{LatentSet, Projector};
use fabproj_export::{CheckpointError, checkpoint};
use safetensors::Dtype;
use safetensors::tensor::TensorView;

const BALL: LatentSet = LatentSet::Ball {
    radius: 0.5,
    smooth: None,
};

/// The file of tensors with these names, shapes and numbers.
fn file(tensors: &[(&str, &[usize], &[f32])]) -> Vec<u8> {
    let data: Vec<Vec<u8>> = tensors
        .iter()
        .map(|(_, _, numbers)| numbers.iter().flat_map(|n| n.to_le_bytes()).collect())
        .collect();
    let views = tensors
        .iter()
        .zip(&data)
        .map(|((name, shape, _), data)| {
            let view = TensorView::new(Dtype::F32, shape.to_vec(), data).unwrap();
            (*name, view)
        })
        .collect::<Vec<_>>();
    safetensors::serialize(views, None).unwrap()
}

/// y of one, x of one. The encoder is tanh(y), the decoder z + x, the predictor x − 2 y.
fn small() -> Vec<(&'static str, &'static [usize], &'static [f32])> {
    vec![
        ("encoder.0.weight", &[1, 2], &[1.0, 0.0]),
        ("encoder.0.bias", &[1], &[0.0]),
        ("decoders.0.0.weight", &[1, 2], &[1.0, 1.0]),
        ("decoders.0.0.bias", &[1], &[0.0]),
        ("feasibility_predictor_nn.0.weight", &[1, 2], &[1.0, -2.0]),
        ("feasibility_predictor_nn.0.bias", &[1], &[0.0]),
        ("mean", &[2], &[10.0, 100.0]),
        ("std", &[2], &[2.0, 3.0]),
    ]
}

#[test]
fn units_and_orders_are_those_of_the_training() {
    let weights = checkpoint(&file(&small()), BALL).unwrap();
    let discriminator = weights.discriminator.as_ref().unwrap();
    assert_eq!(discriminator.layers[0].weights, [-2.0, 1.0]);
    let projector = Projector::new(&weights).unwrap();
    // y' = 0.3 and x' = 2, then a y' that is clamped.
    let (y, _) = projector.project(&[100.9_f64], &[14.0]).unwrap();
    let wanted = 100.0 + 3.0 * (f64::tanh(0.3) + 2.0);
    assert!((y[0] - wanted).abs() < 1e-5, "{y:?}");
    let (y, _) = projector.project(&[130.0_f64], &[10.0]).unwrap();
    assert!((y[0] - 101.5).abs() < 1e-5, "{y:?}");
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    for gone in 0..4 {
        let mut tensors = small();
        let (name, ..) = tensors.remove(gone);
        let error = checkpoint(&file(&tensors), BALL).unwrap_err();
        assert!(
            matches!(&error, CheckpointError::Missing { name: found } if found == name),
            "{error}"
        );
    }
    let mut tensors = small();
    tensors[1] = ("encoder.0.bias", &[2], &[0.0, 0.0]);
    let error = checkpoint(&file(&tensors), BALL).unwrap_err().to_string();
    assert!(
        error.contains("`encoder.0.bias` of the checkpoint must be of shape [1], found [2]"),
        "{error}"
    );
    tensors = small();
    tensors[7] = ("std", &[2], &[0.0, 1.0]);
    assert!(checkpoint(&file(&tensors), BALL).is_err());
    tensors = small();
    tensors.push(("encoder.1.weight", &[1], &[1.0]));
    let error = checkpoint(&file(&tensors), BALL).unwrap_err().to_string();
    assert!(
        error.contains("`encoder.1.weight` of the checkpoint is not one"),
        "{error}"
    );
    let huge = [&((4_u64 << 20) + 1).to_le_bytes()[..], &vec![b' '; 5 << 20]].concat();
    let error = checkpoint(&huge, BALL).unwrap_err().to_string();
    assert!(error.contains("the header of the checkpoint"), "{error}");
    let error = checkpoint(b"PK\x03\x04", BALL).unwrap_err().to_string();
    assert!(error.contains("save_file"), "{error}");
}
