use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

use super::{PackedNetwork, Scratch};
use crate::weights::{Activation, Layer, Network};

fn activation() -> impl Strategy<Value = Activation> {
    prop::sample::select(vec![
        Activation::Identity,
        Activation::Relu,
        Activation::Tanh,
        Activation::Silu,
    ])
}

/// A network of any shape with weights of the usual size, and inputs for it.
fn network() -> impl Strategy<Value = Network> {
    let shape = (
        prop::collection::vec(1_usize..40, 2..5),
        activation(),
        activation(),
        any::<bool>(),
    );
    shape.prop_flat_map(|(widths, hidden, output, with_skip)| {
        let layers: Vec<_> = widths
            .windows(2)
            .map(|pair| layer(pair[0], pair[1]))
            .collect();
        let outputs = widths[widths.len() - 1];
        let skip_inputs = if with_skip { widths[0].div_ceil(2) } else { 0 };
        (
            layers,
            prop::collection::vec(-1.0_f32..1.0, outputs * skip_inputs),
        )
            .prop_map(move |(layers, skip)| Network {
                layers,
                hidden,
                output,
                skip: with_skip.then_some(skip),
            })
    })
}

fn layer(inputs: usize, outputs: usize) -> impl Strategy<Value = Layer> {
    let bound = 1.0 / (inputs as f32).sqrt();
    let weights = prop::collection::vec(-bound..bound, inputs * outputs);
    let bias = prop::collection::vec(-bound..bound, outputs);
    (weights, bias).prop_map(move |(weights, bias)| Layer {
        inputs,
        outputs,
        weights,
        bias,
    })
}

/// The definition, in f64 and without packing.
fn reference(network: &Network, input: &[f64]) -> Vec<f64> {
    let mut values = input.to_vec();
    let last = network.layers.len() - 1;
    for (index, layer) in network.layers.iter().enumerate() {
        let mut sums: Vec<f64> = (0..layer.outputs)
            .map(|o| {
                let row = &layer.weights[o * layer.inputs..][..layer.inputs];
                let dot: f64 = row
                    .iter()
                    .zip(&values)
                    .map(|(w, v)| f64::from(*w) * v)
                    .sum();
                dot + f64::from(layer.bias[o])
            })
            .collect();
        if let (Some(skip), true) = (&network.skip, index == last) {
            let inputs = skip.len() / layer.outputs;
            for (o, sum) in sums.iter_mut().enumerate() {
                let row = &skip[o * inputs..][..inputs];
                *sum += row
                    .iter()
                    .zip(input)
                    .map(|(w, v)| f64::from(*w) * v)
                    .sum::<f64>();
            }
        }
        let activation = if index == last {
            network.output
        } else {
            network.hidden
        };
        values = sums
            .into_iter()
            .map(|sum| match activation {
                Activation::Identity => sum,
                Activation::Relu => sum.max(0.0),
                Activation::Tanh => sum.tanh(),
                Activation::Silu => sum / (1.0 + (-sum).exp()),
            })
            .collect();
    }
    values
}

fn inputs(network: &Network, rows: usize, seed: f32) -> Vec<f32> {
    (0..rows * network.inputs())
        .map(|index| (index as f32 * 0.7 + seed).sin())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn forward_is_the_definition(network in network(), seed in 0.0_f32..10.0) {
        let packed = PackedNetwork::new(&network);
        let rows = 5;
        let input = inputs(&network, rows, seed);
        let mut scratch = Scratch::new(rows, packed.scratch_width());
        let output = packed.forward(&input, network.inputs(), rows, &mut scratch);
        for row in 0..rows {
            let x: Vec<f64> = input[row * network.inputs()..][..network.inputs()]
                .iter().map(|x| f64::from(*x)).collect();
            for (o, expected) in reference(&network, &x).iter().enumerate() {
                let found = f64::from(output[row * packed.output_stride() + o]);
                prop_assert!((found - expected).abs() < 1e-4, "{found} against {expected}");
            }
        }
    }

    #[test]
    fn one_row_many_rows_and_tape_give_the_same_bits(network in network(), seed in 0.0_f32..10.0) {
        let packed = PackedNetwork::new(&network);
        let (rows, width, stride) = (7, network.inputs(), packed.output_stride());
        let input = inputs(&network, rows, seed);
        let mut scratch = Scratch::new(rows, packed.scratch_width());
        let many = packed.forward(&input, width, rows, &mut scratch).to_vec();
        let mut tape = vec![0.0; rows * packed.tape_width()];
        prop_assert_eq!(&many[..], &*packed.forward_taped(&input, width, rows, &mut tape));
        for row in 0..rows {
            let one = packed.forward(&input[row * width..], width, 1, &mut scratch);
            prop_assert_eq!(&*one, &many[row * stride..][..stride]);
        }
    }

    #[test]
    fn backward_agrees_with_finite_differences(network in network(), seed in 0.0_f32..10.0) {
        let packed = PackedNetwork::new(&network);
        let (rows, width, stride) = (3, network.inputs(), packed.output_stride());
        let input = inputs(&network, rows, seed);
        let mut tape = vec![0.0; rows * packed.tape_width()];
        packed.forward_taped(&input, width, rows, &mut tape);
        let mut cotangent = vec![0.0; rows * stride];
        for row in 0..rows {
            for o in 0..network.outputs() {
                cotangent[row * stride + o] = ((row * 5 + o) as f32).cos();
            }
        }
        let mut scratch = Scratch::new(rows, packed.scratch_width());
        let gradient = packed.backward(&cotangent, rows, &tape, &mut scratch);
        for row in 0..rows {
            let x: Vec<f64> = input[row * width..][..width].iter().map(|x| f64::from(*x)).collect();
            let value = |x: &[f64]| -> f64 {
                let weights = cotangent[row * stride..].iter().map(|c| f64::from(*c));
                reference(&network, x).iter().zip(weights).map(|(y, c)| y * c).sum()
            };
            for i in 0..width {
                let quotient = |step: f64| {
                    let [plus, minus] = [step, -step].map(|step| {
                        let mut moved = x.clone();
                        moved[i] += step;
                        value(&moved)
                    });
                    (plus - minus) / (2.0 * step)
                };
                let (numeric, coarse) = (quotient(1e-6), quotient(1e-5));
                let found = f64::from(gradient[row * packed.gradient_stride() + i]);
                // A ReLU's kink within the step shows as two quotients that differ.
                let smooth = (numeric - coarse).abs() < 1e-5;
                prop_assert!(!smooth || (numeric - found).abs() < 1e-4, "{found} against {numeric}");
            }
        }
    }
}
