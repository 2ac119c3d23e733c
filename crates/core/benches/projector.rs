//! What calls cost: one point, batches, the gradient, the guard. Networks of the paper's size.
//!
//! `cargo bench -p fabproj-core --bench projector [-- FILTER]`; each figure is the median of interleaved
//! repetitions.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Random, projector};
use fabproj_core::kernel::{Dense, Kernel, packed_length, padded};
use fabproj_core::{Activation, Gradient, Guard, Model, Status};

/// Many and short: on a busy machine the least is what the code costs.
const REPETITIONS: usize = 301;
const POINTS: usize = 64;

/// Encoder and decoder of `depth` hidden layers of `width`.
fn model(width: usize, depth: usize, skip: bool) -> Model {
    let mut widths = vec![2];
    widths.extend(vec![width; depth]);
    widths.push(2);
    let mut random = Random(1);
    let shape = common::Shape {
        skip,
        ..common::Shape::plain()
    };
    let mut model = common::paper_size();
    model.charts[0].encoder = random.network(&widths, &shape, Activation::Tanh);
    model.charts[0].decoders = vec![random.network(&widths, &shape, Activation::Identity)];
    model
}

struct Case<'a> {
    name: String,
    points: usize,
    run: Box<dyn FnMut() + 'a>,
    seconds: Vec<f64>,
}

fn case<'a>(name: String, points: usize, run: impl FnMut() + 'a) -> Case<'a> {
    Case {
        name,
        points,
        run: Box::new(run),
        seconds: Vec::new(),
    }
}

/// A slice on a cache line's start, which is never freed.
fn aligned(values: &[f32]) -> &'static mut [f32] {
    let space = vec![0.0; values.len() + 16].leak();
    let offset = space.as_ptr().align_offset(64);
    let slice = &mut space[offset..][..values.len()];
    slice.copy_from_slice(values);
    slice
}

/// The layers of encoder and decoder without frames, clamp and checks: the floor for one point.
fn kernels_alone<'a>(name: &str, model: &Model) -> Case<'a> {
    let kernel = Kernel::detect();
    let networks = [&model.charts[0].encoder, &model.charts[0].decoders[0]];
    let layers: Vec<_> = networks
        .iter()
        .flat_map(|network| &network.layers)
        .map(|layer| {
            let mut weights = vec![0.0; packed_length(layer.inputs, layer.outputs)];
            kernel.pack(&layer.weights, layer.inputs, layer.outputs, &mut weights);
            let mut bias = layer.bias.clone();
            bias.resize(padded(layer.outputs), 0.0);
            (
                aligned(&weights),
                aligned(&bias),
                layer.inputs,
                layer.outputs,
            )
        })
        .collect();
    let [mut ping, mut pong] = [aligned(&[0.1; 64]), aligned(&[0.0; 64])];
    case(format!("{name} kernels alone"), POINTS, move || {
        for _ in 0..POINTS {
            for (weights, bias, inputs, outputs) in &layers {
                let (inputs, outputs) = (*inputs, *outputs);
                let layer = Dense {
                    weights,
                    bias,
                    inputs,
                    outputs,
                };
                kernel.affine(layer, ping, 64, 1, Activation::Relu, pong, 64);
                std::mem::swap(&mut ping, &mut pong);
            }
            black_box(&ping);
        }
    })
}

fn main() {
    let models = [
        ("64x4", model(64, 4, false)),
        ("32x3", model(32, 3, false)),
        ("32x3 with skips", model(32, 3, true)),
    ];
    let projectors = models
        .each_ref()
        .map(|(name, model)| (*name, projector(model)));
    let mut cases = Vec::new();
    for ((name, projector), (_, model)) in projectors.iter().zip(&models) {
        let inputs: Vec<[f32; 2]> = (0..POINTS)
            .map(|i| [(i as f32 * 0.37).sin() * 3.0, (i as f32 * 0.11).cos() * 3.0])
            .collect();
        cases.push(kernels_alone(name, model));
        let points = inputs.clone();
        let mut workspace = projector.workspace();
        let mut out = [0.0; 2];
        cases.push(case(format!("{name} project"), POINTS, move || {
            for y in &points {
                let status = projector.project(black_box(y), &[], &mut out, &mut workspace);
                black_box((status, out)).0.expect("lengths fit");
            }
        }));
        let points = inputs.clone();
        let mut workspace = projector.workspace();
        cases.push(case(format!("{name} vjp"), POINTS, move || {
            let mut dy = [0.0; 2];
            for y in &points {
                let gradient = Gradient {
                    y: &mut dy,
                    x: &mut [],
                };
                let status = projector.vjp(
                    black_box(y),
                    &[],
                    &[1.0, -1.0],
                    &mut out,
                    gradient,
                    &mut workspace,
                );
                black_box((status, dy)).0.expect("lengths fit");
            }
        }));
        let half_plane = |y: &[f64], _: &[f64]| y[0] <= 0.0 || y[1] > 0.0;
        let guard = Guard::new(projector, half_plane).expect("some decodes pass");
        let mut workspace = guard.workspace();
        let points = inputs.clone();
        cases.push(case(
            format!("{name} guard, most inputs kept"),
            POINTS,
            move || {
                for y in &points {
                    let status = guard.project(black_box(y), &[], &mut out, &mut workspace);
                    black_box((status, out)).0.expect("lengths fit");
                }
            },
        ));
        for rows in [32, 1024] {
            let y: Vec<f32> = inputs
                .iter()
                .flatten()
                .copied()
                .cycle()
                .take(2 * rows)
                .collect();
            let mut out = vec![0.0; y.len()];
            let mut statuses = vec![Status::Inside; rows];
            let mut workspace = projector.workspace();
            let input = y.clone();
            cases.push(case(format!("{name} batch of {rows}"), rows, move || {
                let tally =
                    projector.project_batch(&input, &[], &mut out, &mut statuses, &mut workspace);
                black_box(tally).expect("lengths fit");
            }));
            let (mut out, mut dy) = (vec![0.0; y.len()], vec![0.0; y.len()]);
            let mut workspace = projector.workspace();
            cases.push(case(format!("{name} vjp of {rows}"), rows, move || {
                let gradient = Gradient {
                    y: &mut dy,
                    x: &mut [],
                };
                let tally = projector.vjp_batch(&y, &[], &y, &mut out, gradient, &mut workspace);
                black_box(tally).expect("lengths fit");
            }));
        }
    }
    // As with other benches: only the cases that contain the argument.
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    cases.retain(|case| {
        filter
            .as_ref()
            .is_none_or(|filter| case.name.contains(filter))
    });
    for _ in 0..REPETITIONS {
        for case in &mut cases {
            let start = Instant::now();
            (case.run)();
            case.seconds
                .push(start.elapsed().as_secs_f64() / case.points as f64);
        }
    }
    for mut case in cases {
        case.seconds.sort_by(f64::total_cmp);
        let [least, median] = [case.seconds[0], case.seconds[REPETITIONS / 2]].map(|s| s * 1e9);
        println!(
            "{:32} {median:9.1} ns per point (least {least:.1})",
            case.name
        );
    }
}
