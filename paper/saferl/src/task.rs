//! Tasks by name, and what a picture of a task needs.

use crate::double_integrator::{DoubleIntegrator, DoubleIntegratorSettings};
use crate::env::{Environment, EnvironmentError};
use crate::error::{Result, RlError};
use crate::look_ahead::{Action, LookAheadSettings, Outlook, PointMass, outlook};

/// Names of all tasks.
pub const TASKS: [&str; 5] = ["double-integrator", "goal1", "goal2", "push1", "push2"];

/// An environment in the plane that can be drawn from above.
pub trait Task: Environment {
    /// Where the agent is. NaN before the first episode.
    fn position(&self) -> [f64; 2];

    /// Everything that a picture shows.
    fn top_view(&self) -> TopView;

    /// Actions at which the two actuators saturate. Default 1, 1.
    fn action_scale(&self) -> Action {
        [1.0; 2]
    }

    /// Looks ahead for each of some actions, by a simple model of the task.
    ///
    /// # Errors
    /// If the task has no model.
    fn outlooks(
        &self,
        _actions: &[Action],
        _settings: &LookAheadSettings,
    ) -> crate::env::Result<Vec<Outlook>> {
        let what = "the task has no model to look ahead with: implement `Task::outlooks`";
        Err(EnvironmentError::Other(what.into()))
    }

    /// Where an action pushes in the plane, relative to the largest action. Default: its first two
    /// components.
    fn action_direction(&self, action: &[f64]) -> [f64; 2] {
        let component = |index| action.get(index).map_or(0.0, |a: &f64| a.clamp(-1.0, 1.0));
        [component(0), component(1)]
    }
}

/// A task from above.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopView {
    /// Half the side of the square that the task plays in.
    pub extent: f64,
    /// Radius of the agent; 0 for a point.
    pub agent_radius: f64,
    /// The goal.
    pub goal: Disc,
    /// Regions and objects that cost.
    pub obstacles: Vec<Obstacle>,
}

/// A round region.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Disc {
    /// Its centre.
    pub centre: [f64; 2],
    /// Its radius.
    pub radius: f64,
}

/// A region or an object to avoid or to push.
#[derive(Clone, Debug, PartialEq)]
pub struct Obstacle {
    /// What it is: `hazard`, `vase`, `pillar`, `box`, `obstacle`.
    pub kind: &'static str,
    /// Where it is.
    pub disc: Disc,
    /// For a square: the angle of its sides to the axes. The disc's radius is then half the side.
    pub square: Option<f64>,
}

/// Opens a task by its name, in any case. `SafetyPointGoal2-v0` is another name of `goal2`.
///
/// ```
/// let task = fab_saferl::task::open("double-integrator")?;
/// assert_eq!(task.action_bounds().len(), 2);
/// # Ok::<(), fab_saferl::RlError>(())
/// ```
///
/// # Errors
/// [`RlError::UnknownTask`], or [`RlError::NoSimulator`] for a Safety Gym task without the feature
/// `mujoco`.
pub fn open(name: &str) -> Result<Box<dyn Task>> {
    let name = canonical(name)?;
    match name {
        "double-integrator" => Ok(Box::new(DoubleIntegrator::new(
            DoubleIntegratorSettings::default(),
        )?)),
        _ => open_safety_gym(name),
    }
}

/// The usual spelling of a task's name.
///
/// # Errors
/// [`RlError::UnknownTask`].
pub fn canonical(name: &str) -> Result<&'static str> {
    let lower = name.to_ascii_lowercase();
    let short = lower
        .strip_prefix("safetypoint")
        .and_then(|rest| rest.strip_suffix("-v0"))
        .unwrap_or(&lower);
    let known = TASKS.iter().find(|task| **task == short);
    known.copied().ok_or_else(|| RlError::UnknownTask {
        name: name.to_owned(),
        known: TASKS.join(", "),
    })
}

#[cfg(feature = "mujoco")]
fn open_safety_gym(name: &str) -> Result<Box<dyn Task>> {
    use crate::safety_gym::{SafetyGym, Task as SafetyGymTask};
    let task: SafetyGymTask = name.parse().map_err(|_| RlError::NoSimulator {
        name: name.to_owned(),
    })?;
    Ok(Box::new(SafetyGym::new(task)))
}

#[cfg(not(feature = "mujoco"))]
fn open_safety_gym(name: &str) -> Result<Box<dyn Task>> {
    Err(RlError::NoSimulator {
        name: name.to_owned(),
    })
}

impl Task for DoubleIntegrator {
    fn position(&self) -> [f64; 2] {
        DoubleIntegrator::position(self)
    }

    fn top_view(&self) -> TopView {
        let radius = self.settings().obstacle_radius;
        let obstacle = |centre: &[f64; 2]| Obstacle {
            kind: "obstacle",
            disc: Disc {
                centre: *centre,
                radius,
            },
            square: None,
        };
        TopView {
            extent: self.settings().extent,
            agent_radius: 0.0,
            goal: Disc {
                centre: self.goal(),
                radius: self.settings().goal_radius,
            },
            obstacles: self.obstacles().iter().map(obstacle).collect(),
        }
    }

    fn outlooks(
        &self,
        actions: &[Action],
        settings: &LookAheadSettings,
    ) -> crate::env::Result<Vec<Outlook>> {
        let model = PointMass::new(self);
        let look = |action: &Action| outlook(&model, *action, settings);
        Ok(actions.iter().map(look).collect())
    }
}

#[cfg(feature = "mujoco")]
impl Task for crate::safety_gym::SafetyGym {
    fn position(&self) -> [f64; 2] {
        self.scene().map_or([f64::NAN; 2], |scene| scene.agent.xy)
    }

    fn top_view(&self) -> TopView {
        self.scene().map_or_else(|_| TopView::default(), top_view)
    }

    fn action_scale(&self) -> Action {
        [0.05, 1.0]
    }

    fn outlooks(
        &self,
        actions: &[Action],
        settings: &LookAheadSettings,
    ) -> crate::env::Result<Vec<Outlook>> {
        let model = model(self.scene()?, self.cost_kinds());
        let look = |action: &Action| outlook(&model, *action, settings);
        Ok(actions.iter().map(look).collect())
    }

    /// Throttle along the robot's direction, turn to its left. The throttle saturates at 0.05.
    fn action_direction(&self, action: &[f64]) -> [f64; 2] {
        let yaw = self.scene().map_or(0.0, |scene| scene.agent.yaw);
        let (throttle, turn) = (
            (action[0] / 0.05).clamp(-1.0, 1.0),
            action[1].clamp(-1.0, 1.0),
        );
        let (sin, cos) = yaw.sin_cos();
        [throttle * cos - turn * sin, throttle * sin + turn * cos]
    }
}

/// A simple model of the robot among everything that costs.
#[cfg(feature = "mujoco")]
fn model(scene: crate::safety_gym::Scene, cost_kinds: &[&str]) -> crate::look_ahead::PointRobot {
    use crate::look_ahead::{Hazard, PointRobot};
    // The circle around a vase: its yaw cannot be seen, and a touch costs long after.
    let vase_radius = std::f64::consts::SQRT_2 * scene.vase_half;
    let hazard = |centre, radius, solid| Hazard {
        centre,
        radius,
        solid,
    };
    let hazards = scene.hazards.iter();
    let pillars_cost = cost_kinds.contains(&"pillars");
    let vases_cost = cost_kinds.contains(&"vases_contact");
    let pillars = scene.pillars.iter().filter(|_| pillars_cost);
    let vases = scene.vases.iter().filter(|_| vases_cost);
    let hazards = hazards
        .map(|disc| hazard(disc.centre, disc.radius, false))
        .chain(pillars.map(|disc| hazard(disc.centre, disc.radius, true)))
        .chain(vases.map(|vase| hazard(vase.xy, vase_radius, true)));
    PointRobot {
        position: scene.agent.xy,
        yaw: scene.agent.yaw,
        velocity: scene.velocity,
        hazards: hazards.collect(),
    }
}

#[cfg(feature = "mujoco")]
fn top_view(scene: crate::safety_gym::Scene) -> TopView {
    use crate::safety_gym::{Disc as Round, Pose};
    let disc = |round: &Round| Disc {
        centre: round.centre,
        radius: round.radius,
    };
    let round = |kind, round: &Round| Obstacle {
        kind,
        disc: disc(round),
        square: None,
    };
    let square = |kind, pose: &Pose, radius| Obstacle {
        kind,
        disc: Disc {
            centre: pose.xy,
            radius,
        },
        square: Some(pose.yaw),
    };
    let hazards = scene.hazards.iter().map(|hazard| round("hazard", hazard));
    let pillars = scene.pillars.iter().map(|pillar| round("pillar", pillar));
    let vases = scene
        .vases
        .iter()
        .map(|vase| square("vase", vase, scene.vase_half));
    let boxes = scene
        .push_box
        .iter()
        .map(|pose| square("box", pose, scene.box_half));
    TopView {
        extent: scene.extent,
        agent_radius: 0.1,
        goal: disc(&scene.goal),
        obstacles: hazards.chain(pillars).chain(vases).chain(boxes).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_spelling() {
        assert_eq!(canonical("SafetyPointGoal2-v0").unwrap(), "goal2");
        assert_eq!(canonical("Push1").unwrap(), "push1");
        let unknown = open("goal3").err().unwrap().to_string();
        assert!(
            unknown.contains("`goal3`") && unknown.contains("push2"),
            "{unknown}"
        );
    }

    #[cfg(not(feature = "mujoco"))]
    #[test]
    fn a_missing_simulator_is_named_with_its_remedy() {
        let missing = open("goal2").err().unwrap().to_string();
        assert!(missing.contains("cargo xtask mujoco"), "{missing}");
    }
}
