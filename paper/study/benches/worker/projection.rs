//! One projection, and a large batch.

use std::hint::black_box;

use fabproj::Projector;
use fabproj::core::{Activation, Chart, Frame, LatentSet, Weights};
use fabproj::core::{RawOutcome, Workspace};
use fabproj_nn::{Mlp, MlpSpec};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{Case, Outcome};

pub const DIM: usize = 2;
const LARGE_BATCH: usize = 65_536;
/// Inputs that take turns in the case of one point: inside and outside the ball, so that no branch is
/// foreseen better than in use.
const POINTS: usize = 1024;
/// √6: turns PyTorch's start into one that keeps the size of signals, so that inputs matter.
const GAIN: f32 = 2.449_489_8;

/// The paper's projector for a 2-D set, with random weights.
pub fn paper_weights() -> Outcome<Weights> {
    weights(&[64; 4])
}

fn weights(hidden: &[usize]) -> Outcome<Weights> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut network = |output| -> Outcome<_> {
        let mut network = Mlp::new(MlpSpec::new(DIM, hidden, DIM).with_output(output), &mut rng)?;
        network
            .parameters_mut()
            .iter_mut()
            .for_each(|weight| *weight *= GAIN);
        Ok(network.to_network())
    };
    // The deviation of uniform points in the square of side 4.
    let frame = Frame {
        centre: vec![0.0; DIM],
        scale: vec![1.1547; DIM],
    };
    let chart = Chart {
        frame: frame.clone(),
        encoder: network(Activation::Tanh)?,
        latent: LatentSet::Ball {
            radius: 0.5,
            smooth: None,
        },
        decoders: vec![network(Activation::Identity)?],
        decoder_gate: None,
    };
    Ok(Weights {
        dim: DIM,
        x_dim: 0,
        frame,
        x_frame: Frame::unit(0),
        gate: None,
        charts: vec![chart],
        discriminator: None,
        anchors: Vec::new(),
        equations: None,
    })
}

fn inputs(rows: usize) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    (0..rows * DIM)
        .map(|_| rng.random_range(-3.0..3.0))
        .collect()
}

/// Two for each multiply-add of both networks.
pub fn flops_per_point(weights: &Weights) -> f64 {
    let chart = &weights.charts[0];
    let layers = chart.encoder.layers.iter().chain(&chart.decoders[0].layers);
    layers.map(|layer| 2.0 * layer.weights.len() as f64).sum()
}

struct Point {
    projector: Projector,
    workspace: Workspace,
    inputs: Vec<f32>,
    next: usize,
    flops: f64,
}

impl Point {
    fn case(weights: &Weights) -> Outcome<Box<dyn Case>> {
        let projector = Projector::new(weights)?;
        Ok(Box::new(Self {
            workspace: projector.workspace(),
            projector,
            inputs: inputs(POINTS),
            next: 0,
            flops: flops_per_point(weights),
        }))
    }
}

/// One point through networks of the paper's size.
pub fn point() -> Outcome<Box<dyn Case>> {
    Point::case(&paper_weights()?)
}

/// One point through the networks meant for tight loops.
pub fn small_point() -> Outcome<Box<dyn Case>> {
    Point::case(&weights(&[32; 3])?)
}

impl Case for Point {
    fn call(&mut self) -> Outcome<u64> {
        let input = &self.inputs[self.next * DIM..][..DIM];
        self.next = (self.next + 1) % POINTS;
        let mut out = [0.0; DIM];
        let (input, workspace) = (black_box(input), &mut self.workspace);
        let outcome = self.projector.project_into(input, &[], &mut out, workspace);
        black_box((outcome?, out));
        Ok(1)
    }

    fn flops(&self) -> f64 {
        self.flops
    }
}

struct Batch {
    projector: Projector,
    workspace: Workspace,
    inputs: Vec<f32>,
    outputs: Vec<f32>,
    outcomes: Vec<RawOutcome>,
    flops: f64,
}

/// 65,536 points at once.
pub fn batch() -> Outcome<Box<dyn Case>> {
    let weights = paper_weights()?;
    let projector = Projector::new(&weights)?;
    Ok(Box::new(Batch {
        workspace: projector.workspace(),
        projector,
        inputs: inputs(LARGE_BATCH),
        outputs: vec![0.0; LARGE_BATCH * DIM],
        outcomes: vec![RawOutcome::Inside; LARGE_BATCH],
        flops: LARGE_BATCH as f64 * flops_per_point(&weights),
    }))
}

impl Case for Batch {
    fn call(&mut self) -> Outcome<u64> {
        self.projector.project_rows_into(
            black_box(&self.inputs),
            &[],
            &mut self.outputs,
            &mut self.outcomes,
            &mut self.workspace,
        )?;
        black_box(&self.outputs);
        Ok(1)
    }

    fn flops(&self) -> f64 {
        self.flops
    }
}

/// Answers `project Y...`.
pub fn project_one(point: &[f32]) -> Outcome<Vec<f32>> {
    let projector = Projector::new(&paper_weights()?)?;
    Ok(projector.project(point, &[])?.0)
}
