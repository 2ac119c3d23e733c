//! What calls cost: one point, rows of points, the gradient, the guard. Networks of the paper's size.
//!
//! `cargo bench -p fabproj-core --bench projector [-- FILTER]`; each figure is the median of interleaved
//! repetitions.

#[path = "../tests/library/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Random, cast, projector};
use fabproj_core::kernel::{Dense, Kernel, packed_length, padded};
use fabproj_core::{Activation, Guard, Outcome, Projector, RawOutcome, Real, Weights};

/// Many and short: on a busy machine the least is what the code costs.
const REPETITIONS: usize = 301;
const POINTS: usize = 64;

/// Encoder and decoder of `depth` hidden layers of `width`.
fn weights(width: usize, depth: usize, skip: bool) -> Weights {
    let mut widths = vec![2];
    widths.extend(vec![width; depth]);
    widths.push(2);
    let mut random = Random(1);
    let shape = common::Shape {
        skip,
        ..common::Shape::plain()
    };
    let mut weights = common::paper_size();
    weights.charts[0].encoder = random.network(&widths, &shape, Activation::Tanh);
    weights.charts[0].decoders = vec![random.network(&widths, &shape, Activation::Identity)];
    weights
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
fn kernels_alone<'a>(name: &str, weights: &Weights) -> Case<'a> {
    let kernel = Kernel::detect();
    let networks = [&weights.charts[0].encoder, &weights.charts[0].decoders[0]];
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

/// Points in all directions, some of them inside.
fn inputs(rows: usize) -> Vec<f32> {
    let points =
        (0..POINTS).map(|i| [(i as f32 * 0.37).sin() * 3.0, (i as f32 * 0.11).cos() * 3.0]);
    points.flatten().cycle().take(2 * rows).collect()
}

fn single<'a, T: Real>(name: String, projector: &'a Projector) -> Case<'a> {
    let points: Vec<T> = cast(&inputs(POINTS));
    let mut workspace = projector.workspace();
    let mut out = [T::default(); 2];
    case(name, POINTS, move || {
        for y in points.chunks_exact(2) {
            let outcome = projector.project_into(black_box(y), &[], &mut out, &mut workspace);
            black_box((outcome, out)).0.expect("lengths fit");
        }
    })
}

fn batch<'a, T: Real>(name: String, projector: &'a Projector, rows: usize) -> Case<'a> {
    let y: Vec<T> = cast(&inputs(rows));
    let mut out = y.clone();
    let mut outcomes = vec![RawOutcome::Inside; rows];
    let mut workspace = projector.workspace();
    case(name, rows, move || {
        let done = projector.project_rows_into(&y, &[], &mut out, &mut outcomes, &mut workspace);
        black_box(done).expect("lengths fit");
    })
}

fn gradient<'a>(name: String, projector: &'a Projector, rows: usize) -> Case<'a> {
    let y = inputs(rows);
    let (mut out, mut d_y) = (y.clone(), y.clone());
    let mut outcomes = vec![RawOutcome::Inside; rows];
    let mut tape = projector.tape(rows);
    case(name, rows, move || {
        let done = projector.forward(&y, &[], &mut out, &mut outcomes, &mut tape);
        let done = done.and_then(|()| projector.pullback(&y, &mut d_y, &mut [], &mut tape));
        black_box(done).expect("lengths fit");
    })
}

fn single_gradient<'a>(name: String, projector: &'a Projector) -> Case<'a> {
    let mut gradient = gradient(String::new(), projector, 1);
    case(name, POINTS, move || {
        (0..POINTS).for_each(|_| (gradient.run)())
    })
}

/// For comparison: a projection, and then a gradient that projects once more.
fn project_then_gradient<'a>(name: String, projector: &'a Projector, rows: usize) -> Case<'a> {
    let mut project = batch::<f32>(String::new(), projector, rows);
    let mut gradient = gradient(String::new(), projector, rows);
    case(name, rows, move || {
        (project.run)();
        (gradient.run)();
    })
}

fn guarded<'a>(name: String, projector: &Projector, rows: Option<usize>) -> Case<'a> {
    let guard = Guard::from_fn(projector.clone(), |y, _| y[0] <= 0.0 || y[1] > 0.0);
    let guard = guard.expect("some decodes pass");
    let mut workspace = guard.workspace();
    let points = inputs(rows.unwrap_or(POINTS));
    let mut out = points.clone();
    let mut outcomes = vec![Outcome::NotFinite; points.len() / 2];
    case(name, points.len() / 2, move || {
        if rows.is_some() {
            let done =
                guard.project_rows_into(&points, &[], &mut out, &mut outcomes, &mut workspace);
            return black_box(done).expect("lengths fit");
        }
        for (y, out) in points.chunks_exact(2).zip(out.chunks_exact_mut(2)) {
            let outcome = guard.project_into(black_box(y), &[], out, &mut workspace);
            black_box(outcome).expect("lengths fit");
        }
    })
}

fn main() {
    let all = [
        ("64x4", weights(64, 4, false)),
        ("32x3", weights(32, 3, false)),
        ("32x3 with skips", weights(32, 3, true)),
    ];
    let projectors = all
        .each_ref()
        .map(|(name, weights)| (*name, projector(weights)));
    let mut cases = Vec::new();
    for ((name, projector), (_, weights)) in projectors.iter().zip(&all) {
        cases.push(kernels_alone(name, weights));
        cases.push(single::<f32>(format!("{name} project"), projector));
        cases.push(single::<f64>(format!("{name} project, f64"), projector));
        let points = inputs(POINTS);
        cases.push(case(
            format!("{name} project, allocating"),
            POINTS,
            move || {
                for y in points.chunks_exact(2) {
                    black_box(projector.project(black_box(y), &[])).expect("lengths fit");
                }
            },
        ));
        let guard = format!("{name} guard, most inputs kept");
        cases.push(guarded(guard, projector, None));
        cases.push(guarded(
            format!("{name} guard of 1024"),
            projector,
            Some(1024),
        ));
        cases.push(single_gradient(
            format!("{name} forward and pullback"),
            projector,
        ));
        for rows in [32, 1024] {
            let rows_of = |what: &str| format!("{name} {what} of {rows}");
            cases.push(batch::<f32>(rows_of("batch"), projector, rows));
            cases.push(batch::<f64>(rows_of("batch, f64,"), projector, rows));
            cases.push(gradient(rows_of("forward and pullback"), projector, rows));
            cases.push(project_then_gradient(
                rows_of("project, then gradient"),
                projector,
                rows,
            ));
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
            // Once for the caches, which hold what the case before has left.
            (case.run)();
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
            "{:44} {median:9.1} ns per point (least {least:.1})",
            case.name
        );
    }
}
