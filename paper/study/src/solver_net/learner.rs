//! The loop that all trainings of solver networks share: outputs, a loss, Adam.

use fabproj_nn::{Adam, AdamConfig, Tape, clip_norm};

use super::SolverNet;
use crate::StudyError;
use crate::method::Task;

/// Points of a training curve.
const CURVE: u64 = 50;

/// A network that learns.
pub(super) struct Learner {
    net: SolverNet,
    adam: Adam,
    tape: Tape,
    gradient: Vec<f32>,
    /// Gradient of the loss with respect to the outputs.
    delta: Vec<f32>,
    step: u64,
    /// Steps between two points of the curve.
    every: u64,
    curve: Vec<(u64, f64)>,
}

impl Learner {
    /// Teaches a network in so many steps of so many problems.
    pub fn new(net: SolverNet, steps: u64, rows: usize) -> Self {
        let length = net.network().parameters().len();
        Self {
            adam: Adam::new(AdamConfig::default(), length),
            tape: Tape::new(),
            gradient: vec![0.0; length],
            delta: vec![0.0; rows * net.heads() * net.dim()],
            net,
            step: 0,
            every: steps.div_ceil(CURVE).max(1),
            curve: Vec::new(),
        }
    }

    /// The network as it is now.
    pub fn net(&self) -> &SolverNet {
        &self.net
    }

    /// One step. `loss` gets the outputs for the features, gives the loss and writes its gradient with
    /// respect to them; the gradient of the parameters is shortened to `clip`.
    ///
    /// # Errors
    /// [`StudyError`] when the loss is not finite or the study stops.
    pub fn step(
        &mut self,
        task: &Task<'_>,
        features: &[f32],
        (rate, clip): (f32, f32),
        loss: impl FnOnce(&[f32], &mut [f32]) -> f64,
    ) -> Result<(), StudyError> {
        task.context.check_stop()?;
        let rows = features.len() / self.net.inputs();
        let network = self.net.network();
        let outputs = network.forward(features, rows, &mut self.tape);
        let loss = loss(outputs, &mut self.delta);
        if !loss.is_finite() {
            return Err(StudyError::Diverged {
                what: "a solver network".to_owned(),
                step: self.step,
            });
        }
        if self.step.is_multiple_of(self.every) {
            self.curve.push((self.step, loss));
        }
        let gradient = &mut self.gradient;
        gradient.fill(0.0);
        network.backward(&mut self.tape, &self.delta, Some(gradient), None);
        clip_norm(gradient, clip);
        let parameters = self.net.network_mut().parameters_mut();
        self.adam.update(parameters, gradient, rate);
        self.step += 1;
        Ok(())
    }

    /// The network, and the loss along the way.
    pub fn finish(self) -> (SolverNet, Vec<(u64, f64)>) {
        (self.net, self.curve)
    }
}
