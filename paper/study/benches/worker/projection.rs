//! One projection, and a large batch.

use std::hint::black_box;

use fabproj::core::{
    Activation, Blend, Chart, Frame, LatentSet, Model, Projector, Status, Workspace,
};
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
pub fn paper_model() -> Outcome<Model> {
    model(&[64; 4])
}

fn model(hidden: &[usize]) -> Outcome<Model> {
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
        blend: Blend::Soft,
    };
    Ok(Model {
        dim: DIM,
        parameter_dim: 0,
        frame,
        parameter_frame: Frame {
            centre: Vec::new(),
            scale: Vec::new(),
        },
        gate: None,
        charts: vec![chart],
        discriminator: None,
        anchors: Vec::new(),
        lift: None,
    })
}

fn inputs(rows: usize) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    (0..rows * DIM)
        .map(|_| rng.random_range(-3.0..3.0))
        .collect()
}

/// Two for each multiply-add of both networks.
pub fn flops_per_point(model: &Model) -> f64 {
    let chart = &model.charts[0];
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
    fn case(model: &Model) -> Outcome<Box<dyn Case>> {
        let projector = Projector::new(model)?;
        Ok(Box::new(Self {
            workspace: projector.workspace(),
            projector,
            inputs: inputs(POINTS),
            next: 0,
            flops: flops_per_point(model),
        }))
    }
}

/// One point through networks of the paper's size.
pub fn point() -> Outcome<Box<dyn Case>> {
    Point::case(&paper_model()?)
}

/// One point through the networks meant for tight loops.
pub fn small_point() -> Outcome<Box<dyn Case>> {
    Point::case(&model(&[32; 3])?)
}

impl Case for Point {
    fn call(&mut self) -> Outcome<u64> {
        let input = &self.inputs[self.next * DIM..][..DIM];
        self.next = (self.next + 1) % POINTS;
        let mut out = [0.0; DIM];
        let status = self
            .projector
            .project(black_box(input), &[], &mut out, &mut self.workspace);
        black_box((status?, out));
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
    statuses: Vec<Status>,
    flops: f64,
}

/// 65,536 points at once.
pub fn batch() -> Outcome<Box<dyn Case>> {
    let model = paper_model()?;
    let projector = Projector::new(&model)?;
    Ok(Box::new(Batch {
        workspace: projector.workspace(),
        projector,
        inputs: inputs(LARGE_BATCH),
        outputs: vec![0.0; LARGE_BATCH * DIM],
        statuses: vec![Status::Inside; LARGE_BATCH],
        flops: LARGE_BATCH as f64 * flops_per_point(&model),
    }))
}

impl Case for Batch {
    fn call(&mut self) -> Outcome<u64> {
        let tally = self.projector.project_batch(
            black_box(&self.inputs),
            &[],
            &mut self.outputs,
            &mut self.statuses,
            &mut self.workspace,
        );
        black_box((tally?, &self.outputs));
        Ok(1)
    }

    fn flops(&self) -> f64 {
        self.flops
    }
}

/// Answers `project Y...`.
pub fn project_one(point: &[f32]) -> Outcome<Vec<f32>> {
    let projector = Projector::new(&paper_model()?)?;
    let mut out = vec![0.0; point.len()];
    projector.project(point, &[], &mut out, &mut projector.workspace())?;
    Ok(out)
}
