//! Every kernel against the definition in f64, and against itself for other numbers of rows.

extern crate std;
use std::vec;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;

/// Numbers in ±1 that look random.
fn numbers(length: usize, seed: u32) -> Vec<f32> {
    let mut state = u64::from(seed)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(1);
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32 / 8_388_608.0) - 1.0
    };
    core::iter::repeat_with(next).take(length).collect()
}

fn exact(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Tanh => x.tanh(),
        Activation::Silu => x / (1.0 + (-x).exp()),
    }
}

const ACTIVATIONS: [Activation; 4] = [
    Activation::Identity,
    Activation::Relu,
    Activation::Tanh,
    Activation::Silu,
];

/// Weights, bias, their packed forms and some inputs of one layer.
struct Case {
    inputs: usize,
    outputs: usize,
    weights: Vec<f32>,
    bias: Vec<f32>,
    x: Vec<f32>,
    x_stride: usize,
}

impl Case {
    fn new(inputs: usize, outputs: usize, rows: usize, gap: usize) -> Self {
        let mut bias = numbers(outputs, 2);
        bias.resize(padded(outputs), 0.0);
        let x_stride = inputs + gap;
        let mut x = numbers(rows * x_stride, 3);
        // What lies between the rows must not matter.
        for row in x.chunks_mut(x_stride) {
            row[inputs..].fill(f32::NAN);
        }
        Self {
            inputs,
            outputs,
            weights: numbers(inputs * outputs, 1),
            bias,
            x,
            x_stride,
        }
    }

    fn run(
        &self,
        kernel: Kernel,
        first: usize,
        rows: usize,
        activation: Activation,
        stride: usize,
    ) -> Vec<f32> {
        let mut packed = vec![f32::NAN; packed_length(self.inputs, self.outputs)];
        kernel.pack(&self.weights, self.inputs, self.outputs, &mut packed);
        let layer = Dense {
            weights: &packed,
            bias: &self.bias,
            inputs: self.inputs,
            outputs: self.outputs,
        };
        let mut out = vec![7.0; rows * stride + 2 * LANES];
        let x = &self.x[first * self.x_stride..];
        kernel.affine(layer, x, self.x_stride, rows, activation, &mut out, stride);
        assert!(
            out[rows * stride..].iter().all(|v| *v == 7.0),
            "written past the end"
        );
        out.truncate(rows * stride);
        out
    }

    /// As `run` without bias and activation, added to 1.
    fn add(&self, kernel: Kernel, rows: usize, stride: usize) -> Vec<f32> {
        let mut packed = vec![f32::NAN; packed_length(self.inputs, self.outputs)];
        kernel.pack(&self.weights, self.inputs, self.outputs, &mut packed);
        let layer = Dense {
            weights: &packed,
            bias: &[],
            inputs: self.inputs,
            outputs: self.outputs,
        };
        let mut out = vec![1.0; rows * stride];
        kernel.add_linear(layer, &self.x, self.x_stride, rows, &mut out, stride);
        out
    }

    fn exact(&self, row: usize, output: usize) -> f64 {
        let x = &self.x[row * self.x_stride..][..self.inputs];
        let weights = &self.weights[output * self.inputs..][..self.inputs];
        let products = x
            .iter()
            .zip(weights)
            .map(|(a, b)| f64::from(*a) * f64::from(*b));
        f64::from(self.bias[output]) + products.sum::<f64>()
    }
}

fn close(found: f32, expected: f64, terms: usize) -> bool {
    (f64::from(found) - expected).abs() <= 1e-6 * (terms as f64 + 2.0)
}

fn check_affine(inputs: usize, outputs: usize, rows: usize, gap: usize, activation: Activation) {
    let case = Case::new(inputs, outputs, rows, gap);
    let mut fused: Option<Vec<f32>> = None;
    for kernel in Kernel::all() {
        for stride in [outputs, padded(outputs), padded(outputs) + 3] {
            let out = case.run(kernel, 0, rows, activation, stride);
            for (row, values) in out.chunks(stride).enumerate() {
                for (output, value) in values.iter().enumerate() {
                    let expected = match output {
                        o if o < outputs => exact(activation, case.exact(row, o)),
                        o if stride >= padded(outputs) && o < padded(outputs) => 0.0,
                        _ => 7.0,
                    };
                    assert!(
                        close(*value, expected, inputs),
                        "{kernel:?} {inputs}→{outputs}, row {row} of {rows}, output {output}: {value}, expected {expected}"
                    );
                }
                let alone = case.run(kernel, row, 1, activation, stride);
                assert_eq!(
                    alone[..outputs],
                    values[..outputs],
                    "{kernel:?}: row {row} of {rows} alone"
                );
            }
            if stride == outputs && kernel.instruction_set() != InstructionSet::Portable {
                assert_eq!(
                    fused.get_or_insert_with(|| out.clone()),
                    &out,
                    "instruction sets differ"
                );
            }
        }
    }
}

#[test]
fn layers_of_the_usual_shapes() {
    for (inputs, outputs) in [
        (2, 64),
        (64, 64),
        (64, 2),
        (32, 32),
        (3, 1),
        (64, 32),
        (10, 10),
        (128, 128),
    ] {
        for activation in ACTIVATIONS {
            check_affine(inputs, outputs, 29, 0, activation);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn layers_of_any_shape(
        inputs in 1usize..70,
        outputs in 1usize..150,
        rows in 0usize..40,
        gap in 0usize..20,
        activation in prop::sample::select(&ACTIVATIONS[..]),
    ) {
        check_affine(inputs, outputs, rows, gap, activation);
    }

    #[test]
    fn sums_of_layers_of_any_shape(inputs in 1usize..40, outputs in 1usize..40, rows in 0usize..20, gap in 0usize..3) {
        check_add(inputs, outputs, rows, gap);
    }

    #[test]
    fn gradients_of_inputs_of_any_shape(
        inputs in 1usize..70,
        outputs in 1usize..70,
        rows in 1usize..20,
        activation in prop::sample::select(&ACTIVATIONS[..]),
    ) {
        check_pull_back(inputs, outputs, rows, activation);
    }

    #[test]
    fn gradients_of_weights_of_any_shape(m in 1usize..40, n in 1usize..90, rows in 0usize..200, gap in 0usize..5) {
        check_outer_products(m, n, rows, gap);
    }
}

fn check_add(inputs: usize, outputs: usize, rows: usize, gap: usize) {
    let case = Case::new(inputs, outputs, rows, gap);
    for kernel in Kernel::all() {
        for stride in [outputs, padded(outputs)] {
            for (index, value) in case.add(kernel, rows, stride).iter().enumerate() {
                let (row, output) = (index / stride, index % stride);
                let expected = match output < outputs {
                    true => 1.0 + case.exact(row, output) - f64::from(case.bias[output]),
                    false => 1.0,
                };
                assert!(
                    close(*value, expected, inputs),
                    "{kernel:?} {inputs} {outputs}"
                );
            }
        }
    }
}

fn check_pull_back(inputs: usize, outputs: usize, rows: usize, activation: Activation) {
    let weights = numbers(inputs * outputs, 1);
    let delta = numbers(rows * (outputs + 1), 2);
    for kernel in Kernel::all() {
        let mut packed = vec![f32::NAN; packed_length(outputs, inputs)];
        kernel.pack_transposed(&weights, inputs, outputs, &mut packed);
        let layer = Dense {
            weights: &packed,
            bias: &[],
            inputs: outputs,
            outputs: inputs,
        };
        for stride in [inputs, padded(inputs)] {
            let before = numbers(rows * stride, 3);
            let mut after = before.clone();
            kernel.activate(activation, &mut after);
            let slope = Slope::new(activation, &after, &before);
            let mut out = vec![f32::NAN; rows * stride];
            kernel.pull_back(layer, &delta, outputs + 1, rows, slope, &mut out, stride);
            if stride == padded(inputs) {
                let (mut again, mut sums) = (out.clone(), vec![0.5; stride]);
                let found = &mut sums;
                kernel.pull_back_summed(
                    layer,
                    &delta,
                    outputs + 1,
                    rows,
                    slope,
                    &mut again,
                    stride,
                    found,
                );
                assert_eq!(again, out);
                for (column, sum) in sums.iter().enumerate().take(inputs) {
                    let total: f64 = (0..rows)
                        .map(|row| f64::from(out[row * stride + column]))
                        .sum();
                    assert!(
                        close(*sum, 0.5 + total, rows * outputs),
                        "{kernel:?} {inputs} {outputs}"
                    );
                }
            }
            for row in 0..rows {
                for input in 0..inputs {
                    let sum: f64 = (0..outputs)
                        .map(|o| {
                            f64::from(delta[row * (outputs + 1) + o])
                                * f64::from(weights[o * inputs + input])
                        })
                        .sum();
                    let mut expected = [sum as f32];
                    let at = row * stride + input;
                    kernel.times_slope(slope.starting_at(at), &mut expected);
                    assert!(
                        close(out[at], f64::from(expected[0]), outputs),
                        "{kernel:?} {inputs} {outputs}"
                    );
                }
            }
        }
    }
}

fn check_outer_products(m: usize, n: usize, rows: usize, gap: usize) {
    let (a_stride, b_stride, out_stride) = (m + gap, padded(n) + gap, n + gap);
    let (a, b) = (numbers(rows * a_stride, 1), numbers(rows * b_stride, 2));
    for kernel in Kernel::all() {
        let mut out = vec![0.5; m * out_stride];
        kernel.add_outer_products(
            (rows, m, n),
            &a,
            a_stride,
            &b,
            b_stride,
            &mut out,
            out_stride,
        );
        for (index, value) in out.iter().enumerate() {
            let (row, column) = (index / out_stride, index % out_stride);
            let term =
                |r: usize| f64::from(a[r * a_stride + row]) * f64::from(b[r * b_stride + column]);
            let expected = if column < n {
                0.5 + (0..rows).map(term).sum::<f64>()
            } else {
                0.5
            };
            assert!(
                close(*value, expected, rows),
                "{kernel:?} {m}×{n}, {rows} rows"
            );
        }
        let mut sums = vec![0.25; n];
        kernel.add_rows(&mut sums, &b, b_stride, rows);
        for (column, sum) in sums.iter().enumerate() {
            let total: f64 = (0..rows).map(|r| f64::from(b[r * b_stride + column])).sum();
            assert!(close(*sum, 0.25 + total, rows));
        }
    }
}

#[test]
fn activations_are_exact_to_a_few_roundings() {
    let mut inputs: Vec<f32> = (-4000..=4000).map(|i| i as f32 * 0.005).collect();
    inputs.extend((0..160).flat_map(|i| {
        let tiny = 1e-30 * 1.5f32.powi(i);
        [tiny, -tiny]
    }));
    for kernel in Kernel::all() {
        for activation in ACTIVATIONS {
            let mut values = inputs.clone();
            kernel.activate(activation, &mut values);
            for (x, value) in inputs.iter().zip(&values) {
                let expected = exact(activation, f64::from(*x));
                let error = (f64::from(*value) - expected).abs();
                assert!(
                    error <= 4e-7 * expected.abs() + 1e-37,
                    "{kernel:?} {activation:?}({x}) = {value}"
                );
            }
        }
    }
}

#[test]
fn what_is_not_a_number_stays_visible_and_infinity_saturates() {
    for kernel in Kernel::all() {
        for activation in ACTIVATIONS {
            let mut values = [f32::NAN, 1.0, f32::INFINITY];
            kernel.activate(activation, &mut values);
            assert!(
                values[0].is_nan() && !values[1].is_nan(),
                "{kernel:?} {activation:?}"
            );
            assert!(values[2] >= 1.0, "{kernel:?} {activation:?}");
        }
        let case = Case {
            x: vec![f32::NAN; 2 * 20],
            ..Case::new(20, 18, 2, 0)
        };
        assert!(
            case.run(kernel, 0, 2, Activation::Relu, 18)
                .iter()
                .all(|v| v.is_nan())
        );
    }
}

#[test]
fn slopes_are_derivatives() {
    let x: Vec<f32> = (-40..40).map(|i| i as f32 * 0.11 + 0.05).collect();
    for kernel in Kernel::all() {
        for activation in ACTIVATIONS {
            let mut after = x.clone();
            kernel.activate(activation, &mut after);
            let slope = Slope::new(activation, &after, &x);
            let mut first = vec![2.0; x.len()];
            kernel.times_slope(slope, &mut first);
            let mut second = vec![1.0; x.len()];
            kernel.add_curvature(slope, &vec![2.0; x.len()], &vec![3.0; x.len()], &mut second);
            for (index, x) in x.iter().enumerate() {
                let (x, h) = (f64::from(*x), 1e-4);
                let f = |x| exact(activation, x);
                let expected = (f(x + h) - f(x - h)) / (2.0 * h);
                assert!(
                    (f64::from(first[index]) - 2.0 * expected).abs() < 1e-5,
                    "{activation:?} {x}"
                );
                let expected = (f(x + h) - 2.0 * f(x) + f(x - h)) / (h * h);
                assert!(
                    (f64::from(second[index]) - 1.0 - 6.0 * expected).abs() < 1e-5,
                    "{activation:?} {x}"
                );
            }
        }
    }
}

#[test]
fn loops_run_on_every_instruction_set() {
    struct Sum<'a>(&'a [f32]);
    impl Loop for Sum<'_> {
        type Output = f32;
        #[inline(always)]
        fn run(self) -> f32 {
            self.0.iter().sum()
        }
    }
    for kernel in Kernel::all() {
        assert_eq!(kernel.vectorise(Sum(&[1.0, 2.0, 3.0])), 6.0);
    }
}

#[test]
#[should_panic(expected = "affine: x")]
fn short_inputs_are_refused() {
    let layer = Dense {
        weights: &[0.0; packed_length(4, 1)],
        bias: &[],
        inputs: 4,
        outputs: 1,
    };
    Kernel::detect().affine(layer, &[0.0; 7], 4, 2, Activation::Relu, &mut [0.0; 2], 1);
}
