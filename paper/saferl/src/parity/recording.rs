//! One recorded episode of the original package.

use std::path::{Path, PathBuf};

use super::error::{ParityError, Result};
use super::npy::{Archive, Array};
use crate::safety_gym::{PhysicalState, Task};

/// An episode that safety-gymnasium 1.0.0 ran.
pub(super) struct Recording {
    pub path: PathBuf,
    pub task: Task,
    pub seed: u32,
    pub names: Vec<String>,
    /// Positions as drawn, with the goal of the first draw.
    pub places: Array,
    pub rotations: Array,
    pub first_goal: [f64; 2],
    pub first_observation: Array,
    pub first_random: f64,
    pub cost_names: Vec<String>,
    pub actions: Array,
    pub observations: Array,
    pub positions: Array,
    pub velocities: Array,
    pub rewards: Array,
    pub costs: Array,
    pub cost_kinds: Array,
    pub goals_reached: Array,
    pub terminated: Array,
    pub randoms: Array,
    warm_starts: Array,
    goals: Array,
    pub first_positions: Array,
    first_velocities: Array,
    first_warm_start: Array,
}

impl Recording {
    pub fn read(path: &Path) -> Result<Self> {
        let (task, seed) = parse_name(path)?;
        let archive = Archive::read(path)?;
        let names = archive.strings("layout_names")?;
        let cost_names = archive.strings("cost_kind_names")?;
        let steps = archive.numbers("reward")?.shape.iter().product();
        let objects = names.len();
        let observation = archive.numbers("obs0")?.values.len();
        let positions = archive.numbers("qpos0")?.values.len();
        let velocities = archive.numbers("qvel0")?.values.len();
        let goal = archive.shaped("goal_xy_after_reset", &[2])?;
        Ok(Self {
            path: path.to_owned(),
            task,
            seed,
            places: archive.shaped("layout_xy_sampled", &[objects, 2])?,
            rotations: archive.shaped("layout_rot", &[objects])?,
            first_goal: [goal.values[0], goal.values[1]],
            first_observation: archive.shaped("obs0", &[observation])?,
            first_random: archive.shaped("rng_next0", &[])?.values[0],
            actions: archive.shaped("action", &[steps, 2])?,
            observations: archive.shaped("obs", &[steps, observation])?,
            positions: archive.shaped("qpos", &[steps, positions])?,
            velocities: archive.shaped("qvel", &[steps, velocities])?,
            warm_starts: archive.shaped("warm", &[steps, velocities])?,
            rewards: archive.shaped("reward", &[steps])?,
            costs: archive.shaped("cost", &[steps])?,
            cost_kinds: archive.shaped("cost_kinds", &[steps, cost_names.len()])?,
            goals_reached: archive.shaped("goal_met", &[steps])?,
            terminated: archive.shaped("terminated", &[steps])?,
            randoms: archive.shaped("rng_next", &[steps])?,
            goals: archive.shaped("goal_xyz", &[steps, 3])?,
            first_positions: archive.shaped("qpos0", &[positions])?,
            first_velocities: archive.shaped("qvel0", &[velocities])?,
            first_warm_start: archive.shaped("warm0", &[velocities])?,
            names,
            cost_names,
        })
    }

    /// Number of steps.
    pub fn steps(&self) -> usize {
        self.rewards.values.len()
    }

    /// The state before step `step`.
    pub fn state_before(&self, step: usize) -> PhysicalState {
        match step.checked_sub(1) {
            None => PhysicalState {
                positions: self.first_positions.values.clone(),
                velocities: self.first_velocities.values.clone(),
                warm_start: self.first_warm_start.values.clone(),
                goal: self.first_goal,
            },
            Some(before) => PhysicalState {
                positions: self.positions.row(before).to_vec(),
                velocities: self.velocities.row(before).to_vec(),
                warm_start: self.warm_starts.row(before).to_vec(),
                goal: self.goal_after(before),
            },
        }
    }

    /// The goal in force after step `step`.
    pub fn goal_after(&self, step: usize) -> [f64; 2] {
        let goal = self.goals.row(step);
        [goal[0], goal[1]]
    }
}

/// Task and seed of a file named `Task_seedNN_policy.npz`.
fn parse_name(path: &Path) -> Result<(Task, u32)> {
    let parse = || {
        let mut parts = path.file_stem()?.to_str()?.split('_');
        let task = parts.next()?.parse().ok()?;
        let seed = parts.next()?.strip_prefix("seed")?.parse().ok()?;
        Some((task, seed))
    };
    parse().ok_or_else(|| ParityError::Name {
        path: path.to_owned(),
    })
}
