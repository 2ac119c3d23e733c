//! What a guard sees of an observation: the agent's velocity, and the nearest obstacles as a list.
//!
//! Reads raw observations in fixed units, never the running normalisation. Sensors that say nothing
//! about safety (accelerometer, gyro, magnetometer, the goal's lidar) are left out.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use crate::error::{Result, RlError};

/// Obstacles that a guard sees at most.
pub const SLOTS: usize = 8;

/// Numbers per obstacle: x, y, class, present.
pub const SLOT_WIDTH: usize = 4;

/// Numbers per observation: the velocity, then the slots.
pub const FEATURES: usize = 2 + SLOTS * SLOT_WIDTH;

/// Bins of a lidar.
const BINS: usize = 16;

/// Distance at which a lidar reads 0.
const LIDAR_REACH: f64 = 3.0;

/// How the features of a task are read from its observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FeatureMap {
    /// Velocity, goal, then relative positions of obstacles: the double integrator.
    Positions {
        /// Number of obstacles.
        obstacles: usize,
        /// Obstacles farther away are left out.
        reach: f64,
    },
    /// Safety Gym's Point robot: the velocimeter and the lidars of what costs.
    Lidars {
        /// Where each lidar starts in the observation; its place in the list is its class.
        starts: Vec<usize>,
        /// Obstacles farther away are left out.
        reach: f64,
    },
}

/// An obstacle relative to the agent.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    x: f64,
    y: f64,
    class: f64,
}

impl FeatureMap {
    /// The map of a task by its name.
    ///
    /// # Errors
    /// [`RlError::UnknownTask`].
    pub fn of_task(name: &str) -> Result<Self> {
        let lidars = |starts: &[usize]| Self::Lidars {
            starts: starts.to_vec(),
            reach: 1.2,
        };
        match crate::task::canonical(name)? {
            "double-integrator" => Ok(Self::Positions {
                obstacles: 4,
                reach: 2.5,
            }),
            "goal1" | "push1" => Ok(lidars(&[28])),
            "goal2" | "push2" => Ok(lidars(&[28, 44])),
            other => Err(RlError::UnknownTask {
                name: other.to_owned(),
                known: crate::task::TASKS.join(", "),
            }),
        }
    }

    /// Writes the features of an observation: [`FEATURES`] numbers.
    ///
    /// # Panics
    /// If the observation is shorter than the task's.
    pub fn write(&self, observation: &[f64], features: &mut [f32]) {
        let (velocity, reach, mut seen) = match self {
            Self::Positions { obstacles, reach } => {
                let positions = observation[4..][..2 * obstacles].as_chunks::<2>().0;
                let seen = positions.iter().map(|[x, y]| Seen {
                    x: *x,
                    y: *y,
                    class: 0.0,
                });
                ([observation[0], observation[1]], *reach, seen.collect())
            }
            Self::Lidars { starts, reach } => {
                let mut seen: Vec<Seen> = Vec::new();
                for (class, start) in starts.iter().enumerate() {
                    decode(&observation[*start..][..BINS], class as f64, &mut seen);
                }
                ([observation[3], observation[4]], *reach, seen)
            }
        };
        let distance = |seen: &Seen| seen.x.hypot(seen.y);
        seen.retain(|seen| distance(seen) < reach);
        seen.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
        features.fill(0.0);
        features[0] = velocity[0] as f32;
        features[1] = velocity[1] as f32;
        let slots = features[2..].chunks_exact_mut(SLOT_WIDTH);
        for (slot, seen) in slots.zip(&seen) {
            slot.copy_from_slice(&[seen.x as f32, seen.y as f32, seen.class as f32, 1.0]);
        }
    }
}

/// Objects from a lidar.
///
/// An object at angle (b + α) w fills its bin b with l, bin b+1 with α l and bin b-1 with (1-α) l. So
/// a bin is an object's own if it is a local maximum, or more than its neighbours' objects explain.
fn decode(bins: &[f64], class: f64, seen: &mut Vec<Seen>) {
    let at = |index: usize| bins[index % BINS];
    let share = |index: usize| {
        let (next, last, own) = (at(index + 1), at(index + BINS - 1), at(index));
        (0.5 + (next - last) / (2.0 * own.max(1e-9))).clamp(0.0, 1.0)
    };
    for bin in 0..BINS {
        let (own, next, last) = (at(bin), at(bin + 1), at(bin + BINS - 1));
        if own <= 0.0 {
            continue;
        }
        let explained = (share(bin + BINS - 1) * last).max((1.0 - share(bin + 1)) * next);
        // An object between two bins fills both alike: it is the first one's.
        let peak = own >= next && own > last;
        if peak || own > explained + 0.02 {
            let distance = LIDAR_REACH * (1.0 - own);
            let angle = (bin as f64 + share(bin)) * TAU / BINS as f64;
            seen.push(Seen {
                x: distance * angle.cos(),
                y: distance * angle.sin(),
                class,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lidar reading, as the task makes it.
    fn scan(objects: &[[f64; 2]]) -> Vec<f64> {
        let (mut bins, width) = (vec![0.0f64; BINS], TAU / BINS as f64);
        for [x, y] in objects {
            let angle = y.atan2(*x).rem_euclid(TAU);
            let bin = ((angle / width) as usize).min(BINS - 1);
            let reading = (LIDAR_REACH - x.hypot(*y)).max(0.0) / LIDAR_REACH;
            let share = (angle - bin as f64 * width) / width;
            for (index, value) in [
                (bin, reading),
                (bin + 1, share * reading),
                (bin + BINS - 1, (1.0 - share) * reading),
            ] {
                let slot = &mut bins[index % BINS];
                *slot = slot.max(value);
            }
        }
        bins
    }

    fn slots(features: &[f32]) -> Vec<[f32; SLOT_WIDTH]> {
        let slots = features[2..].as_chunks::<SLOT_WIDTH>().0;
        slots.iter().filter(|s| s[3] > 0.0).copied().collect()
    }

    #[test]
    fn single_objects_are_decoded_exactly() {
        for index in 0..40 {
            let angle = f64::from(index) * 0.157 + 0.01;
            let object = [0.7 * angle.cos(), 0.7 * angle.sin()];
            let mut observation = vec![0.0; 60];
            observation[3] = 0.5;
            observation[44..60].copy_from_slice(&scan(&[object]));
            let mut features = vec![f32::NAN; FEATURES];
            FeatureMap::of_task("goal2")
                .unwrap()
                .write(&observation, &mut features);
            assert_eq!(features[..2], [0.5, 0.0]);
            let found = slots(&features);
            assert_eq!(found.len(), 1, "{angle}: {found:?}");
            let error =
                (f64::from(found[0][0]) - object[0]).hypot(f64::from(found[0][1]) - object[1]);
            assert!(error < 1e-6, "{angle}: {error}");
            assert_eq!(found[0][2], 1.0);
        }
    }

    #[test]
    fn near_objects_of_two_classes_come_first_and_far_ones_are_left_out() {
        let mut observation = vec![0.0; 60];
        observation[28..44].copy_from_slice(&scan(&[[0.9, 0.1], [-2.0, 0.5]]));
        observation[44..60].copy_from_slice(&scan(&[[0.0, 0.4]]));
        let mut features = vec![0.0; FEATURES];
        FeatureMap::of_task("goal2")
            .unwrap()
            .write(&observation, &mut features);
        let found = slots(&features);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0][2], found[1][2]), (1.0, 0.0));
        FeatureMap::of_task("goal1")
            .unwrap()
            .write(&observation, &mut features);
        assert_eq!(slots(&features).len(), 1);
    }

    #[test]
    fn positions_are_taken_as_they_are() {
        let mut observation = vec![0.0; 14];
        observation[..2].copy_from_slice(&[0.3, -0.2]);
        observation[4..12].copy_from_slice(&[1.0, 0.0, 9.0, 9.0, 0.0, 0.5, 2.0, 0.0]);
        let mut features = vec![0.0; FEATURES];
        let map = FeatureMap::of_task("double-integrator").unwrap();
        map.write(&observation, &mut features);
        assert_eq!(features[..2], [0.3, -0.2]);
        let found = slots(&features);
        assert_eq!(found[0][..2], [0.0, 0.5]);
        assert_eq!(found.len(), 3);
    }
}
