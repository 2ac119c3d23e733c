//! A second, slow implementation in f64, and gradients by central differences of it.

use fabproj_core::Activation;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Mlp, MlpSpec, Tape};

fn value(activation: Activation, a: f64) -> f64 {
    match activation {
        Activation::Identity => a,
        Activation::Relu => a.max(0.0),
        Activation::Tanh => a.tanh(),
        Activation::Silu => a / (1.0 + (-a).exp()),
    }
}

fn slope(activation: Activation, a: f64) -> f64 {
    match activation {
        Activation::Relu => f64::from(u8::from(a > 0.0)),
        _ => (value(activation, a + 1e-6) - value(activation, a - 1e-6)) / 2e-6,
    }
}

/// Outputs and, for one tangent, its image.
pub(super) fn reference(
    spec: &MlpSpec,
    parameters: &[f64],
    input: &[f64],
    tangent: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let (mut h, mut dh, mut offset) = (input.to_vec(), tangent.to_vec(), 0);
    for layer in 0..spec.layer_count() {
        let (inputs, outputs) = spec.layer_shape(layer);
        let activation = spec.activation(layer);
        let (weights, bias) = parameters[offset..].split_at(inputs * outputs);
        offset += (inputs + 1) * outputs;
        let skip = match spec.skip {
            Some(width) if layer + 1 == spec.layer_count() => {
                &parameters[offset..offset + width * outputs]
            }
            _ => &[],
        };
        let width = skip.len() / outputs;
        let dot = |row: &[f64], v: &[f64]| row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
        let sum = |o: usize, v: &[f64], first: &[f64]| {
            dot(&weights[o * inputs..(o + 1) * inputs], v)
                + dot(&skip[o * width..(o + 1) * width], first)
        };
        let a: Vec<f64> = (0..outputs).map(|o| bias[o] + sum(o, &h, input)).collect();
        dh = (0..outputs)
            .map(|o| slope(activation, a[o]) * sum(o, &dh, tangent))
            .collect();
        h = a.iter().map(|&a| value(activation, a)).collect();
    }
    (h, dh)
}

/// Networks that together reach every path: depths, odd and wide widths, activations, skips.
pub(super) fn networks() -> Vec<Mlp> {
    use Activation::{Identity, Relu, Silu, Tanh};
    let specs = [
        MlpSpec::new(2, &[64, 64], 2)
            .with_hidden(Relu)
            .with_output(Tanh),
        MlpSpec::new(3, &[5, 7], 2).with_hidden(Tanh).with_skip(2),
        MlpSpec::new(4, &[20], 3)
            .with_hidden(Silu)
            .with_output(Silu)
            .with_skip(4),
        MlpSpec::new(1, &[1], 1)
            .with_hidden(Relu)
            .with_output(Identity),
        MlpSpec::new(5, &[], 4).with_output(Tanh),
        MlpSpec::new(5, &[], 2).with_skip(3),
        MlpSpec::new(2, &[33, 17], 1).with_hidden(Relu).with_skip(1),
        MlpSpec::new(18, &[24, 40], 19)
            .with_hidden(Silu)
            .with_output(Tanh),
        MlpSpec::new(2, &[16], 9)
            .with_hidden(Tanh)
            .with_output(Relu),
    ];
    let make = |(seed, spec)| Mlp::new(spec, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
    (0u64..).zip(specs).map(make).collect()
}

pub(super) fn random(length: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..length).map(|_| rng.random_range(-1.0..1.0)).collect()
}

pub(super) fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&v| f64::from(v)).collect()
}

/// Central differences of `f` at `x`.
pub(super) fn differences(x: &[f64], mut f: impl FnMut(&[f64]) -> f64) -> Vec<f64> {
    let mut x = x.to_vec();
    (0..x.len())
        .map(|index| {
            let (at, h) = (x[index], 1e-5);
            x[index] = at + h;
            let above = f(&x);
            x[index] = at - h;
            let below = f(&x);
            x[index] = at;
            (above - below) / (2.0 * h)
        })
        .collect()
}

pub(super) fn assert_close(found: &[f32], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    for (index, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!(
            (f64::from(*f) - e).abs() < 2e-5 * scale,
            "{what}[{index}]: {f}, expected {e}"
        );
    }
}

fn dot(a: &[f64], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * f64::from(*b)).sum()
}

#[test]
fn outputs_are_those_of_the_reference_for_any_number_of_rows() {
    for network in networks() {
        let (spec, mut tape) = (network.spec().clone(), Tape::new());
        for rows in [3, 1, 0, 37, 5] {
            let input = random(rows * spec.inputs, 3);
            let outputs = network.forward(&input, rows, &mut tape).to_vec();
            let parameters = widen(network.parameters());
            let expected: Vec<f64> = input
                .chunks(spec.inputs)
                .flat_map(|x| reference(&spec, &parameters, &widen(x), &widen(x)).0)
                .collect();
            assert_close(&outputs, &expected, "outputs");
        }
    }
}

#[test]
fn backward_equals_finite_differences() {
    for network in networks() {
        let (spec, rows, mut tape) = (network.spec().clone(), 5, Tape::new());
        let (input, d_output) = (
            random(rows * spec.inputs, 1),
            random(rows * spec.outputs, 2),
        );
        let mut gradient = vec![0.5; network.parameters().len()];
        let mut d_input = vec![f32::NAN; input.len()];
        network.forward(&input, rows, &mut tape);
        network.backward(
            &mut tape,
            &d_output,
            Some(&mut gradient),
            Some(&mut d_input),
        );
        let loss = |parameters: &[f64], input: &[f64]| -> f64 {
            let rows = input.chunks(spec.inputs).zip(d_output.chunks(spec.outputs));
            rows.map(|(x, d)| dot(&reference(&spec, parameters, x, x).0, d))
                .sum()
        };
        let (parameters, wide) = (widen(network.parameters()), widen(&input));
        gradient.iter_mut().for_each(|g| *g -= 0.5);
        assert_close(
            &gradient,
            &differences(&parameters, |p| loss(p, &wide)),
            "gradient",
        );
        assert_close(
            &d_input,
            &differences(&wide, |x| loss(&parameters, x)),
            "d_input",
        );
        let mut alone = vec![f32::NAN; input.len()];
        network.backward(&mut tape, &d_output, None, Some(&mut alone));
        assert_eq!(alone, d_input);
    }
}

#[test]
fn tangents_and_their_derivatives_equal_finite_differences() {
    for network in networks() {
        for (with_output, tangent_rows) in [(true, 3), (false, 2), (true, 0)] {
            check_tangents(&network, with_output, tangent_rows);
        }
    }
}

fn check_tangents(network: &Mlp, with_output: bool, tangent_rows: usize) {
    let (spec, rows, columns, mut tape) = (network.spec().clone(), 3, 2, Tape::new());
    let input = random(rows * spec.inputs, 1);
    let tangents = random(tangent_rows * columns * spec.inputs, 4);
    let mut d_output = random(rows * spec.outputs, 2);
    let d_tangents = random(tangent_rows * columns * spec.outputs, 5);
    network.forward(&input, rows, &mut tape);
    let images = network
        .forward_tangents(&mut tape, &tangents, columns)
        .to_vec();
    let mut gradient = vec![0.0; network.parameters().len()];
    let (mut d_input, mut d_tangent_input) =
        (vec![f32::NAN; input.len()], vec![f32::NAN; tangents.len()]);
    network.backward_tangents(
        &mut tape,
        with_output.then_some(&d_output),
        &d_tangents,
        Some(&mut gradient),
        Some(&mut d_input),
        Some(&mut d_tangent_input),
    );
    if !with_output {
        d_output.fill(0.0);
    }
    let loss = |parameters: &[f64], input: &[f64], tangents: &[f64]| -> (f64, Vec<f64>) {
        let (mut total, mut images) = (0.0, Vec::new());
        for (row, x) in input.chunks(spec.inputs).enumerate() {
            let (outputs, _) = reference(&spec, parameters, x, x);
            total += dot(
                &outputs,
                &d_output[row * spec.outputs..(row + 1) * spec.outputs],
            );
            for index in row * columns..((row + 1) * columns).min(tangent_rows * columns) {
                let tangent = &tangents[index * spec.inputs..(index + 1) * spec.inputs];
                let (_, image) = reference(&spec, parameters, x, tangent);
                total += dot(
                    &image,
                    &d_tangents[index * spec.outputs..(index + 1) * spec.outputs],
                );
                images.extend(image);
            }
        }
        (total, images)
    };
    let (p, x, t) = (widen(network.parameters()), widen(&input), widen(&tangents));
    assert_close(&images, &loss(&p, &x, &t).1, "tangents");
    assert_close(
        &gradient,
        &differences(&p, |p| loss(p, &x, &t).0),
        "gradient",
    );
    assert_close(&d_input, &differences(&x, |x| loss(&p, x, &t).0), "d_input");
    assert_close(
        &d_tangent_input,
        &differences(&t, |t| loss(&p, &x, t).0),
        "d_tangent_input",
    );
}

#[test]
fn evaluation_in_pieces_gives_the_bits_of_one_pass() {
    for network in networks() {
        let (spec, rows) = (network.spec(), 301);
        let input = random(rows * spec.inputs, 6);
        let mut output = vec![f32::NAN; rows * spec.outputs];
        network.evaluate(&input, rows, &mut Tape::new(), &mut output);
        assert_eq!(output, network.forward(&input, rows, &mut Tape::new()));
    }
}
