//! Runs exported graphs of every kind in tract, and prints the largest difference to the projector.

#[path = "../../kinds/mod.rs"]
mod kinds;

use std::io::Cursor;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use fabproj_core::{Projector, Weights};
use tract_onnx::prelude::{Framework, InferenceModelExt, TValue, TVec, Tensor};

use kinds::{Numbers, cases};

const POINTS: usize = 10_000;
/// Differences beyond this are failures.
const LARGEST: f32 = 1e-5;
/// Rows that may differ: those where two charts are equally good.
const TIES: usize = 2;

fn main() -> Result<ExitCode> {
    println!("tract beside the projector, {POINTS} points each");
    let mut failed = false;
    for (name, weights) in cases() {
        let (largest, ties) = difference(&weights)?;
        println!("{name:10} largest difference {largest:.1e}, rows beyond 1e-5: {ties}");
        failed |= ties > TIES;
    }
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The largest difference of all rows but ties, and the number of rows beyond it.
fn difference(weights: &Weights) -> Result<(f32, usize)> {
    let projector = Projector::new(weights)?;
    let (dim, x_dim) = (projector.dim(), projector.x_dim());
    let mut numbers = Numbers(11);
    let mut y = numbers.many(POINTS * dim, 5.0);
    y[dim] = f32::NAN;
    let x = numbers.many(POINTS * x_dim, 1.5);
    let found = run(&fabproj_export::onnx(weights, &[])?, (&y, dim), (&x, x_dim))?;
    ensure!(found.len() == y.len(), "{} numbers came out", found.len());
    let (mut largest, mut ties) = (0.0_f32, 0);
    for row in 0..POINTS {
        let (y, x) = (&y[row * dim..][..dim], &x[row * x_dim..][..x_dim]);
        let (wanted, _) = projector.project(y, x)?;
        let pairs = wanted.iter().zip(&found[row * dim..][..dim]);
        let scale = wanted
            .iter()
            .fold(1.0_f32, |most, value| most.max(value.abs()));
        let error = pairs.fold(0.0_f32, |most, (a, b)| most.max((a - b).abs() / scale));
        if error <= LARGEST {
            largest = largest.max(error);
        } else {
            ties += 1;
        }
    }
    Ok((largest, ties))
}

/// The graph's output for rows of y, and of x if it has any.
fn run(onnx: &[u8], y: (&[f32], usize), x: (&[f32], usize)) -> Result<Vec<f32>> {
    let model = tract_onnx::onnx().model_for_read(&mut Cursor::new(onnx))?;
    let model = model.into_optimized()?.into_runnable()?;
    let mut inputs: TVec<TValue> = TVec::new();
    for (values, width) in [y, x].into_iter().filter(|(_, width)| *width > 0) {
        let rows = values.len() / width;
        inputs.push(Tensor::from_shape(&[rows, width], values)?.into());
    }
    let outputs = model.run(inputs)?;
    Ok(outputs[0].as_slice::<f32>()?.to_vec())
}
