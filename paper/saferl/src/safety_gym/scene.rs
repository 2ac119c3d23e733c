//! Where everything is, for pictures and for models of the task.

use super::layout::{Kind, Layout};
use super::mjcf::{BOX_HALF, PILLAR_RADIUS, VASE_HALF};
use super::simulator::Simulator;

/// Radius of a goal.
pub(super) const GOAL_RADIUS: f64 = 0.3;

/// A round object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disc {
    /// Its centre.
    pub centre: [f64; 2],
    /// Its radius.
    pub radius: f64,
}

/// A place and a direction in the plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// The place.
    pub xy: [f64; 2],
    /// The direction in radians, from the x axis to the left.
    pub yaw: f64,
}

/// A task from above.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Objects are placed in the square [-extent, extent]². The robot can leave it.
    pub extent: f64,
    /// The robot: a sphere of radius 0.1 with a box in front that reaches to 0.15.
    pub agent: Pose,
    /// The robot's velocity in the plane.
    pub velocity: [f64; 2],
    /// The robot's yaw rate.
    pub yaw_rate: f64,
    /// The goal.
    pub goal: Disc,
    /// The hazards.
    pub hazards: Vec<Disc>,
    /// The pillars.
    pub pillars: Vec<Disc>,
    /// The vases.
    pub vases: Vec<Pose>,
    /// Half the side of a vase.
    pub vase_half: f64,
    /// The box to push.
    pub push_box: Option<Pose>,
    /// Half the side of the box, without its corners. With them it reaches 0.3.
    pub box_half: f64,
}

impl Scene {
    pub(super) fn new(layout: &Layout, simulator: &Simulator) -> Self {
        let frame = simulator.frame();
        let (velocity, yaw_rate) = simulator.agent_velocity();
        let discs = |kind, radius| {
            let objects = layout.of(kind);
            let disc = move |object: &super::Object| Disc {
                centre: object.xy,
                radius,
            };
            objects.map(disc).collect::<Vec<_>>()
        };
        let places = simulator.free_positions().zip(simulator.free_yaws());
        let free = places.map(|([x, y, _], yaw)| Pose { xy: [x, y], yaw });
        let pushes = layout.task().pushes();
        let (boxes, vases): (Vec<_>, Vec<_>) = free.partition(|_| pushes);
        Self {
            extent: layout.task().extent(),
            agent: Pose {
                xy: frame.xy,
                yaw: frame.forward[1].atan2(frame.forward[0]),
            },
            velocity,
            yaw_rate,
            goal: Disc {
                centre: layout.goal().xy,
                radius: GOAL_RADIUS,
            },
            hazards: discs(Kind::Hazard, layout.task().hazard_radius()),
            pillars: discs(Kind::Pillar, PILLAR_RADIUS),
            vases,
            vase_half: VASE_HALF,
            push_box: boxes.first().copied(),
            box_half: BOX_HALF,
        }
    }
}
