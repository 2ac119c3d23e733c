//! The motion of Safety Gym's Point robot, simplified: no vases are pushed, the yaw rate is reached
//! at once, heading and force are constant within a step.

#![cfg_attr(
    not(feature = "mujoco"),
    allow(dead_code, reason = "only the tasks on MuJoCo use the model")
)]

use super::{Action, Motion};

/// Seconds of a step.
const STEP: f64 = 0.02;

/// Mass of the robot: a sphere and a box of density 1.
const MASS: f64 = 0.005_188_79;

/// Damping of the sliding joints.
const DAMPING: f64 = 0.01;

/// Force of the motor per unit of its command, which saturates at [`SATURATION`].
const FORCE: f64 = 0.3;
const SATURATION: f64 = 0.05;

/// Yaw rate per unit of the second action, and its limit.
const YAW_GAIN: f64 = 3.158;
const YAW_LIMIT: f64 = 3.0;

/// The robot as two circles (distance ahead of its centre, radius): the sphere, and the arrow with its
/// corners. With a smaller arrow (0.06) and vases of 1.25 half sides, the oracle shield still touches
/// vases: cost 59 instead of 2 with PPO on Goal2.
const CIRCLES: [(f64, f64); 2] = [(0.0, 0.1), (0.1, 0.0707)];

/// A region to keep out of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Hazard {
    pub(crate) centre: [f64; 2],
    pub(crate) radius: f64,
    /// The robot's body must not touch it; otherwise its centre must not enter it.
    pub(crate) solid: bool,
}

/// The robot among hazards.
#[derive(Clone, Debug)]
pub(crate) struct PointRobot {
    pub(crate) position: [f64; 2],
    pub(crate) yaw: f64,
    /// In the world's axes.
    pub(crate) velocity: [f64; 2],
    pub(crate) hazards: Vec<Hazard>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Body {
    position: [f64; 2],
    yaw: f64,
    velocity: [f64; 2],
}

impl Motion for PointRobot {
    type Body = Body;

    fn start(&self) -> Body {
        Body {
            position: self.position,
            yaw: self.yaw,
            velocity: self.velocity,
        }
    }

    /// m v' = F - c v, solved exactly for the force along the heading in the middle of the step.
    fn advance(&self, body: &mut Body, action: Action) {
        let turn = STEP * (YAW_GAIN * action[1]).clamp(-YAW_LIMIT, YAW_LIMIT);
        let (sin, cos) = (body.yaw + 0.5 * turn).sin_cos();
        body.yaw += turn;
        let terminal = FORCE * action[0].clamp(-SATURATION, SATURATION) / DAMPING;
        let decay = (-STEP * DAMPING / MASS).exp();
        let slide = MASS / DAMPING * (1.0 - decay);
        for (axis, direction) in [cos, sin].into_iter().enumerate() {
            let limit = terminal * direction;
            let excess = body.velocity[axis] - limit;
            body.position[axis] += limit * STEP + slide * excess;
            body.velocity[axis] = limit + decay * excess;
        }
    }

    fn costs(&self, body: &Body, margin: f64) -> bool {
        let (sin, cos) = body.yaw.sin_cos();
        self.hazards.iter().any(|hazard| {
            let within = |ahead: f64, reach: f64| {
                let x = body.position[0] + ahead * cos - hazard.centre[0];
                let y = body.position[1] + ahead * sin - hazard.centre[1];
                x * x + y * y < reach * reach
            };
            let radius = hazard.radius + margin;
            match hazard.solid {
                false => within(0.0, radius),
                true => CIRCLES
                    .iter()
                    .any(|(ahead, own)| within(*ahead, radius + own)),
            }
        })
    }

    fn manoeuvres(&self) -> usize {
        9
    }

    /// Brake, full forward, full reverse; each straight, to the left, to the right.
    fn manoeuvre(&self, body: &Body, index: usize) -> Action {
        let (sin, cos) = body.yaw.sin_cos();
        let ahead = body.velocity[0] * cos + body.velocity[1] * sin;
        let throttle = match index / 3 {
            0 => (-ahead).clamp(-SATURATION, SATURATION),
            1 => SATURATION,
            _ => -SATURATION,
        };
        [throttle, [0.0, 1.0, -1.0][index % 3]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn robot(hazards: Vec<Hazard>) -> PointRobot {
        PointRobot {
            position: [0.0; 2],
            yaw: 0.0,
            velocity: [0.0; 2],
            hazards,
        }
    }

    #[test]
    fn full_throttle_reaches_the_top_speed() {
        let model = robot(Vec::new());
        let mut body = model.start();
        // The time constant is about half a second: 26 steps.
        for _ in 0..26 {
            model.advance(&mut body, [1.0, 0.0]);
        }
        assert!((body.velocity[0] / 1.5 - 0.632).abs() < 0.01);
        for _ in 0..300 {
            model.advance(&mut body, [1.0, 0.0]);
        }
        assert!((body.velocity[0] - 1.5).abs() < 1e-3);
        assert_eq!(body.position[1], 0.0);
    }

    #[test]
    fn the_body_touches_what_its_centre_does_not_enter() {
        let ahead = |solid| Hazard {
            centre: [0.3, 0.0],
            radius: 0.15,
            solid,
        };
        let model = robot(vec![ahead(true)]);
        // The arrow reaches 0.17.
        assert!(model.costs(&model.start(), 0.0));
        let model = robot(vec![ahead(false)]);
        assert!(!model.costs(&model.start(), 0.0));
        assert!(model.costs(&model.start(), 0.16));
    }

    #[test]
    fn turns_follow_the_second_action() {
        let model = robot(Vec::new());
        let mut body = model.start();
        model.advance(&mut body, [0.0, 1.0]);
        assert!((body.yaw - 0.06).abs() < 1e-12);
        assert_eq!(model.manoeuvre(&body, 1)[1], 1.0);
    }
}
