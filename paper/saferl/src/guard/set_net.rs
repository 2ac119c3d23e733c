//! A network on a list of obstacles: the same small network for each, pooled, then a head.
//!
//! Slot network: [slot, velocity, input] → hidden → hidden → pooled width. Pool: maximum with 0, and
//! 0.3 · sum, over the obstacles that are present. Head: [maximum, sum, input, velocity] → hidden →
//! outputs. Hidden layers are SiLU, outputs linear. The input has two numbers: an action, or a latent.

use fabproj_core::Activation;
use fabproj_nn::{Mlp, MlpSpec, Tape};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::features::{FEATURES, SLOT_WIDTH, SLOTS};
use crate::error::Result;

/// Numbers of the input.
pub(crate) const INPUT: usize = 2;

/// Inputs of the slot network.
const SLOT_INPUTS: usize = SLOT_WIDTH + 2 + INPUT;

/// Factor of the sum in the pool.
const SUM_FACTOR: f32 = 0.3;

/// Widths of a set net.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetNetWidths {
    /// Hidden layers.
    pub hidden: usize,
    /// Pooled numbers per kind of pool.
    pub pooled: usize,
}

/// The two networks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SetNet {
    pub(crate) slot: Mlp,
    pub(crate) head: Mlp,
}

/// What a forward pass leaves behind.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetTape {
    slot: Tape,
    head: Tape,
    rows: usize,
    /// The row of each obstacle that is present.
    owners: Vec<usize>,
    /// For each row and pooled number, the obstacle with the maximum.
    winners: Vec<Option<usize>>,
}

/// Gradients of a [`SetNet`].
#[derive(Clone, Debug, Default)]
pub(crate) struct SetGradient {
    pub(crate) slot: Vec<f32>,
    pub(crate) head: Vec<f32>,
}

impl SetNet {
    pub(crate) fn new(
        widths: SetNetWidths,
        outputs: usize,
        random: &mut ChaCha8Rng,
    ) -> Result<Self> {
        let SetNetWidths { hidden, pooled } = widths;
        let silu = |spec: MlpSpec| spec.with_hidden(Activation::Silu);
        let slot = silu(MlpSpec::new(SLOT_INPUTS, &[hidden, hidden], pooled));
        let head = silu(MlpSpec::new(2 * pooled + INPUT + 2, &[hidden], outputs));
        Ok(Self {
            slot: Mlp::new(slot, random)?,
            head: Mlp::new(head, random)?,
        })
    }

    pub(crate) fn gradient(&self) -> SetGradient {
        SetGradient {
            slot: vec![0.0; self.slot.parameters().len()],
            head: vec![0.0; self.head.parameters().len()],
        }
    }

    /// Outputs for rows of (state, input). Row i belongs to state i / `per_state`.
    pub(crate) fn forward<'t>(
        &self,
        states: &[f32],
        inputs: &[f32],
        per_state: usize,
        tape: &'t mut SetTape,
    ) -> &'t [f32] {
        let rows = inputs.len() / INPUT;
        let slot_inputs = tape.gather(states, inputs, per_state);
        let count = tape.owners.len();
        let values = self.slot.forward(&slot_inputs, count, &mut tape.slot);
        let pooled = self.slot.spec().outputs;
        let width = self.head.spec().inputs;
        let mut head = vec![0.0; rows * width];
        tape.winners.clear();
        tape.winners.resize(rows * pooled, None);
        for (slot, owner) in tape.owners.iter().enumerate() {
            let row = &mut head[owner * width..][..2 * pooled];
            let (most, sum) = row.split_at_mut(pooled);
            let winners = &mut tape.winners[owner * pooled..][..pooled];
            for (index, value) in values[slot * pooled..][..pooled].iter().enumerate() {
                sum[index] += SUM_FACTOR * value;
                if *value > most[index] {
                    most[index] = *value;
                    winners[index] = Some(slot);
                }
            }
        }
        for (row, head) in head.chunks_exact_mut(width).enumerate() {
            let state = &states[row / per_state * FEATURES..];
            let rest = &mut head[2 * pooled..];
            rest[..INPUT].copy_from_slice(&inputs[row * INPUT..][..INPUT]);
            rest[INPUT..].copy_from_slice(&state[..2]);
        }
        self.head.forward(&head, rows, &mut tape.head)
    }

    /// Pulls derivatives of the outputs back: adds to `gradient`, and returns those of the inputs.
    pub(crate) fn backward(
        &self,
        tape: &mut SetTape,
        d_outputs: &[f32],
        gradient: Option<&mut SetGradient>,
    ) -> Vec<f32> {
        let (mut slot_gradient, mut head_gradient) = match gradient {
            Some(gradient) => (Some(&mut gradient.slot[..]), Some(&mut gradient.head[..])),
            None => (None, None),
        };
        let (pooled, width) = (self.slot.spec().outputs, self.head.spec().inputs);
        let mut d_head = vec![0.0; tape.rows * width];
        let head = head_gradient.take();
        self.head
            .backward(&mut tape.head, d_outputs, head, Some(&mut d_head));
        let mut d_values = vec![0.0; tape.owners.len() * pooled];
        for (slot, owner) in tape.owners.iter().enumerate() {
            let row = &d_head[owner * width..][..2 * pooled];
            for index in 0..pooled {
                let won = tape.winners[owner * pooled + index] == Some(slot);
                let most = if won { row[index] } else { 0.0 };
                d_values[slot * pooled + index] = most + SUM_FACTOR * row[pooled + index];
            }
        }
        let mut d_slots = vec![0.0; tape.owners.len() * SLOT_INPUTS];
        let slot = slot_gradient.take();
        self.slot
            .backward(&mut tape.slot, &d_values, slot, Some(&mut d_slots));
        let mut d_inputs = vec![0.0; tape.rows * INPUT];
        for (row, d_input) in d_inputs.chunks_exact_mut(INPUT).enumerate() {
            d_input.copy_from_slice(&d_head[row * width + 2 * pooled..][..INPUT]);
        }
        for (slot, owner) in tape.owners.iter().enumerate() {
            for index in 0..INPUT {
                d_inputs[owner * INPUT + index] += d_slots[slot * SLOT_INPUTS + 6 + index];
            }
        }
        d_inputs
    }
}

impl SetTape {
    /// The slot network's inputs for every obstacle that is present.
    fn gather(&mut self, states: &[f32], inputs: &[f32], per_state: usize) -> Vec<f32> {
        self.rows = inputs.len() / INPUT;
        self.owners.clear();
        let mut gathered = Vec::with_capacity(self.rows * SLOTS * SLOT_INPUTS);
        for row in 0..self.rows {
            let state = &states[row / per_state * FEATURES..][..FEATURES];
            for slot in state[2..]
                .chunks_exact(SLOT_WIDTH)
                .filter(|slot| slot[3] > 0.0)
            {
                self.owners.push(row);
                gathered.extend_from_slice(slot);
                gathered.extend_from_slice(&state[..2]);
                gathered.extend_from_slice(&inputs[row * INPUT..][..INPUT]);
            }
        }
        gathered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_gradient, random_values};
    use rand::SeedableRng;

    /// States with three, one and no obstacles.
    fn states() -> Vec<f32> {
        let mut states = random_values(3 * FEATURES, 1);
        for (state, count) in states.chunks_exact_mut(FEATURES).zip([3, 1, 0]) {
            for (index, slot) in state[2..].chunks_exact_mut(SLOT_WIDTH).enumerate() {
                slot[3] = if index < count { 1.0 } else { 0.0 };
            }
        }
        states
    }

    fn net() -> SetNet {
        let widths = SetNetWidths {
            hidden: 10,
            pooled: 5,
        };
        SetNet::new(widths, 3, &mut ChaCha8Rng::seed_from_u64(2)).unwrap()
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let (mut net, states, inputs) = (net(), states(), random_values(3 * 2 * INPUT, 3));
        let weights = random_values(6 * 3, 4);
        let mut tape = SetTape::default();
        let loss = |net: &SetNet, inputs: &[f32], tape: &mut SetTape| -> f64 {
            let outputs = net.forward(&states, inputs, 2, tape);
            outputs
                .iter()
                .zip(&weights)
                .map(|(o, w)| f64::from(o * w))
                .sum()
        };
        let mut gradient = net.gradient();
        loss(&net, &inputs, &mut tape);
        let d_inputs = net.backward(&mut tape, &weights, Some(&mut gradient));
        assert_gradient(&inputs, &d_inputs, |inputs| loss(&net, inputs, &mut tape));
        let head = net.head.parameters().to_vec();
        assert_gradient(&head, &gradient.head, |parameters| {
            net.head.parameters_mut().copy_from_slice(parameters);
            loss(&net, &inputs, &mut tape)
        });
        net.head.parameters_mut().copy_from_slice(&head);
        let slot = net.slot.parameters().to_vec();
        assert_gradient(&slot, &gradient.slot, |parameters| {
            net.slot.parameters_mut().copy_from_slice(parameters);
            loss(&net, &inputs, &mut tape)
        });
    }

    #[test]
    fn the_order_of_obstacles_does_not_matter() {
        let (net, states, input) = (net(), states(), [0.3, -0.2]);
        let mut swapped = states[..FEATURES].to_vec();
        for index in 0..SLOT_WIDTH {
            swapped.swap(2 + index, 2 + SLOT_WIDTH + index);
        }
        let mut tape = SetTape::default();
        let first = net
            .forward(&states[..FEATURES], &input, 1, &mut tape)
            .to_vec();
        let second = net.forward(&swapped, &input, 1, &mut tape);
        for (a, b) in first.iter().zip(second) {
            assert!((a - b).abs() < 1e-5);
        }
    }
}
