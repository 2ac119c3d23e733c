//! One episode: the simulator with goal, hazards, reward and observation around it.

use super::cost::raw_costs;
use super::layout::{GOAL_TRIES, Kind, Layout};
use super::lidar::{self, BINS};
use super::random::NumpyRandom;
use super::scene::{GOAL_RADIUS, Scene};
use super::simulator::{PhysicalState, Simulator};
use super::task::Task;
use crate::env::{EnvironmentError, Result};

/// Height of a goal's centre, which counts where distances are spatial.
const GOAL_HEIGHT: f64 = 0.16;

/// Rewards beyond this are clipped.
const LARGEST_REWARD: f64 = 10.0;

/// Paid for reaching a goal.
const GOAL_REWARD: f64 = 1.0;

/// Distances whose decrease is the reward: robot to box, and box or robot to goal.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Distances {
    to_box: f64,
    to_goal: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Episode {
    pub layout: Layout,
    pub seed: u32,
    pub steps: usize,
    simulator: Simulator,
    random: NumpyRandom,
    last: Distances,
}

impl Episode {
    /// Draws a layout and starts the simulator.
    pub fn new(task: Task, seed: u32, sleep: bool) -> Result<Self> {
        let mut random = NumpyRandom::new(seed);
        let mut layout = Layout::sample(task, &mut random, seed)?;
        let simulator = Simulator::new(&layout, sleep)?;
        // The package draws the goal of a layout twice, and uses the second.
        let drawn = layout.redraw_goal(&mut random);
        drawn.ok_or(EnvironmentError::Layout {
            object: "goal".into(),
            tries: GOAL_TRIES,
            seed,
        })?;
        let last = distances(&layout, &simulator);
        Ok(Self {
            layout,
            seed,
            steps: 0,
            simulator,
            random,
            last,
        })
    }

    /// Moves the world by one step.
    pub fn advance(&mut self, action: &[f64]) -> Result<()> {
        self.steps += 1;
        // The package draws the number of physical steps, which is always ten.
        self.random.double();
        self.simulator.advance(action);
        match self.simulator.fault() {
            None => Ok(()),
            Some(what) => Err(EnvironmentError::Diverged {
                what,
                seed: self.seed,
                step: self.steps,
            }),
        }
    }

    /// The reward of the last step, and whether it reached the goal.
    pub fn reward(&mut self) -> (f64, bool) {
        let now = distances(&self.layout, &self.simulator);
        let mut reward = (self.last.to_box - now.to_box) + (self.last.to_goal - now.to_goal);
        self.last = now;
        let reached = now.to_goal <= GOAL_RADIUS;
        if reached {
            reward += GOAL_REWARD;
        }
        (reward.clamp(-LARGEST_REWARD, LARGEST_REWARD), reached)
    }

    /// Moves the goal. Gives whether a place was found.
    pub fn next_goal(&mut self) -> bool {
        let [x, y, _] = self.simulator.agent();
        self.layout.record(Kind::Agent, [[x, y]]);
        let free = if self.layout.task().pushes() {
            Kind::PushBox
        } else {
            Kind::Vase
        };
        let places = self.simulator.free_positions().map(|[x, y, _]| [x, y]);
        self.layout.record(free, places);
        let found = self.layout.redraw_goal(&mut self.random).is_some();
        self.last = distances(&self.layout, &self.simulator);
        found
    }

    /// The costs of the last step by kind, before they are turned into indicators.
    pub fn raw_costs(&self, costs: &mut [f64]) {
        raw_costs(&self.layout, &self.simulator, costs);
    }

    /// Writes the observation: the sensors, then one lidar per kind of object.
    pub fn observe(&self, observation: &mut [f64]) {
        let sensors = self.simulator.sensors();
        let (head, tail) = observation.split_at_mut(sensors.len());
        head.copy_from_slice(sensors);
        let frame = self.simulator.frame();
        let kinds = self.layout.task().lidars();
        for (kind, bins) in kinds.iter().zip(tail.chunks_exact_mut(BINS)) {
            if matches!(kind, Kind::Vase | Kind::PushBox) {
                let places = self.simulator.free_positions().map(|[x, y, _]| [x, y]);
                lidar::scan(&frame, places, bins);
            } else {
                let places = self.layout.of(*kind).map(|object| object.xy);
                lidar::scan(&frame, places, bins);
            }
        }
    }

    /// Whether anything touched anything but the floor in the last step.
    pub fn touched(&self) -> bool {
        self.simulator.touched()
    }

    pub fn random(&self) -> &NumpyRandom {
        &self.random
    }

    pub fn scene(&self) -> Scene {
        Scene::new(&self.layout, &self.simulator)
    }

    pub fn physical_state(&self) -> PhysicalState {
        self.simulator.physical_state(self.layout.goal().xy)
    }

    /// Starts again from another state of the simulator. Random stream and time stay.
    pub fn restart(&mut self, state: &PhysicalState) -> Result<()> {
        self.simulator.restart(state)?;
        self.layout.record(Kind::Goal, [state.goal]);
        self.last = distances(&self.layout, &self.simulator);
        Ok(())
    }

    /// Becomes a copy of `other`.
    pub fn copy_from(&mut self, other: &Self) -> Result<()> {
        self.simulator.copy_from(&other.simulator)?;
        self.layout.clone_from(&other.layout);
        self.random.clone_from(&other.random);
        self.seed = other.seed;
        self.steps = other.steps;
        self.last = other.last;
        Ok(())
    }
}

fn distances(layout: &Layout, simulator: &Simulator) -> Distances {
    let agent = simulator.agent();
    let [x, y] = layout.goal().xy;
    let goal = [x, y, GOAL_HEIGHT];
    match simulator.free_positions().next() {
        Some(push_box) if layout.task().pushes() => Distances {
            to_box: distance(&push_box, &agent),
            to_goal: distance(&push_box, &goal),
        },
        _ => Distances {
            to_box: 0.0,
            to_goal: distance(&agent[..2], &goal[..2]),
        },
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
    squares.sum::<f64>().sqrt()
}
