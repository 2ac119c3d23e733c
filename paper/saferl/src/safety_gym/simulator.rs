//! MuJoCo's part of an episode: the robot, what it can touch, and time.

use std::sync::{Arc, Once};

use mujoco_rs::logging::set_log_handler;
use mujoco_rs::prelude::{MjData, MjModel};
use mujoco_rs::wrappers::mj_data::MjtWarning;
use mujoco_rs::wrappers::mj_logging::{MjLogMessage, MjtLogLevel, log_config, set_log_config};

use super::layout::{Kind, Layout};
use super::lidar::Frame;
use super::mjcf;
use crate::env::{EnvironmentError, Result};

/// Physical steps per step of the task.
const SUBSTEPS: usize = 10;

/// Numbers of the bodies: the floor's, the robot's, the first that can be moved.
const FLOOR: usize = 0;
const AGENT: usize = 1;
const FIRST_FREE: usize = 2;

/// Velocities of the robot, and of one movable body.
const AGENT_VELOCITIES: usize = 3;
const FREE_VELOCITIES: usize = 6;

/// The state of MuJoCo's integrator and the goal, in MuJoCo's order of coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct PhysicalState {
    /// Generalised positions: robot (x, y, yaw), then position and quaternion of each movable body.
    pub positions: Vec<f64>,
    /// Generalised velocities: robot, then linear and angular velocity of each movable body.
    pub velocities: Vec<f64>,
    /// Accelerations from which the solver starts.
    pub warm_start: Vec<f64>,
    /// Position of the goal.
    pub goal: [f64; 2],
}

/// Numbers of contacts, without those with the floor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contacts {
    /// Of the robot with vases or the box.
    pub free: usize,
    /// Of the robot with pillars.
    pub pillars: usize,
    /// Of other objects with each other.
    pub others: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Simulator {
    data: MjData<Arc<MjModel>>,
    /// Number of movable bodies: vases, or the box.
    free: usize,
    touched: bool,
}

impl Simulator {
    /// Compiles the model of a layout.
    pub fn new(layout: &Layout, sleep: bool) -> Result<Self> {
        keep_mujoco_quiet();
        let model = MjModel::from_xml_string(&mjcf::model(layout, sleep)).map_err(boxed)?;
        let mut data = MjData::try_new(Arc::new(model)).map_err(boxed)?;
        data.forward();
        let free = layout.of(Kind::Vase).count() + layout.of(Kind::PushBox).count();
        Ok(Self {
            data,
            free,
            touched: false,
        })
    }

    /// Applies an action for one step of the task, then computes contacts and sensors.
    pub fn advance(&mut self, action: &[f64]) {
        for (control, command) in self.data.ctrl_mut().iter_mut().zip(action) {
            *control = command.clamp(-1.0, 1.0);
        }
        self.touched = false;
        for _ in 0..SUBSTEPS {
            self.data.step();
            self.touched |= self.contacts() != Contacts::default();
        }
        self.data.forward();
        self.touched |= self.contacts() != Contacts::default();
    }

    /// Whether anything touched anything but the floor in the last step.
    pub fn touched(&self) -> bool {
        self.touched
    }

    /// What went wrong with the simulation, if anything.
    pub fn fault(&self) -> Option<String> {
        let warnings = &self.data.ffi().warning;
        let faults = [
            (MjtWarning::mjWARN_BADQPOS, "position"),
            (MjtWarning::mjWARN_BADQVEL, "velocity"),
            (MjtWarning::mjWARN_BADQACC, "acceleration"),
            (MjtWarning::mjWARN_BADCTRL, "control"),
        ];
        for (warning, what) in faults {
            if warnings[warning as usize].number > 0 {
                return Some(format!("a {what} is NaN or too large"));
            }
        }
        let full = [MjtWarning::mjWARN_CONTACTFULL, MjtWarning::mjWARN_CNSTRFULL];
        if full.iter().any(|full| warnings[*full as usize].number > 0) {
            return Some("more contacts than MuJoCo has memory for".to_owned());
        }
        let mut values = self.data.qpos().iter().chain(self.data.qvel());
        let finite = values.all(|value| value.is_finite());
        (!finite).then(|| "a position or velocity is not finite".to_owned())
    }

    /// The robot's pose.
    pub fn frame(&self) -> Frame {
        let [x, y, _] = self.data.xpos()[AGENT];
        let matrix = &self.data.xmat()[AGENT];
        Frame {
            xy: [x, y],
            forward: [matrix[0], matrix[3]],
            left: [matrix[1], matrix[4]],
        }
    }

    /// Position of the robot.
    pub fn agent(&self) -> [f64; 3] {
        self.data.xpos()[AGENT]
    }

    /// Velocity of the robot's origin in the plane, and its yaw rate.
    pub fn agent_velocity(&self) -> ([f64; 2], f64) {
        let [vx, vy, rate] = [0, 1, 2].map(|axis| self.data.qvel()[axis]);
        // The slides are turned with the robot's first pose.
        let [w, _, _, z] = self.data.model().body_quat()[AGENT];
        let (cos, sin) = (w * w - z * z, 2.0 * w * z);
        ([cos * vx - sin * vy, sin * vx + cos * vy], rate)
    }

    /// Positions of the movable bodies.
    pub fn free_positions(&self) -> impl Iterator<Item = [f64; 3]> {
        let bodies = FIRST_FREE..FIRST_FREE + self.free;
        self.data.xpos()[bodies].iter().copied()
    }

    /// Yaw angles of the movable bodies.
    pub fn free_yaws(&self) -> impl Iterator<Item = f64> {
        let bodies = FIRST_FREE..FIRST_FREE + self.free;
        let matrices = self.data.xmat()[bodies].iter();
        matrices.map(|matrix| matrix[3].atan2(matrix[0]))
    }

    /// Speeds of the movable bodies.
    pub fn free_speeds(&self) -> impl Iterator<Item = f64> {
        let velocities = self.data.qvel()[AGENT_VELOCITIES..].chunks_exact(FREE_VELOCITIES);
        velocities.map(|v| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt())
    }

    /// Accelerometer, velocimeter, gyroscope and magnetometer.
    pub fn sensors(&self) -> &[f64] {
        self.data.sensordata()
    }

    /// Contacts that are there now.
    pub fn contacts(&self) -> Contacts {
        let bodies = self.data.model().geom_bodyid();
        let first_pillar = FIRST_FREE + self.free;
        let mut contacts = Contacts::default();
        for contact in self.data.contact() {
            match contact.geom.map(|geom| bodies[geom as usize] as usize) {
                [FLOOR, _] | [_, FLOOR] => {}
                [AGENT, other] | [other, AGENT] if other < first_pillar => contacts.free += 1,
                [AGENT, _] | [_, AGENT] => contacts.pillars += 1,
                _ => contacts.others += 1,
            }
        }
        contacts
    }

    /// The integrator's state.
    pub fn physical_state(&self, goal: [f64; 2]) -> PhysicalState {
        PhysicalState {
            positions: self.data.qpos().to_vec(),
            velocities: self.data.qvel().to_vec(),
            warm_start: self.data.qacc_warmstart().to_vec(),
            goal,
        }
    }

    /// Starts again from a state, with every body awake.
    pub fn restart(&mut self, state: &PhysicalState) -> Result<()> {
        let velocities = self.data.qvel().len();
        check_length("positions", state.positions.len(), self.data.qpos().len())?;
        check_length("velocities", state.velocities.len(), velocities)?;
        check_length("warm-start values", state.warm_start.len(), velocities)?;
        self.data.reset();
        self.data.qpos_mut().copy_from_slice(&state.positions);
        self.data.qvel_mut().copy_from_slice(&state.velocities);
        let warm_start = self.data.qacc_warmstart_mut();
        warm_start.copy_from_slice(&state.warm_start);
        self.data.forward();
        self.touched = false;
        Ok(())
    }

    /// Becomes a copy of `other`, without allocation where both have the same model.
    pub fn copy_from(&mut self, other: &Self) -> Result<()> {
        let same = std::ptr::eq(self.data.model(), other.data.model());
        if !same {
            *self = other.clone();
            return Ok(());
        }
        other.data.copy_to(&mut self.data).map_err(boxed)?;
        self.touched = other.touched;
        Ok(())
    }
}

fn check_length(what: &str, found: usize, expected: usize) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    Err(EnvironmentError::OtherTask(format!(
        "it has {found} {what}, not {expected}"
    )))
}

fn boxed(error: impl std::error::Error + Send + Sync + 'static) -> EnvironmentError {
    EnvironmentError::Other(Box::new(error))
}

/// MuJoCo prints warnings and writes them to a file in the current folder. What matters of them is
/// reported by [`Simulator::fault`]; errors end the process and are still printed.
fn keep_mujoco_quiet() {
    static QUIET: Once = Once::new();
    fn handler(message: &MjLogMessage) {
        if message.level() == MjtLogLevel::mjLOG_ERROR {
            eprintln!("MuJoCo: {}", message.subject());
        }
    }
    // SAFETY: every use of MuJoCo in this crate starts with a `Simulator`, whose constructor waits here.
    QUIET.call_once(|| unsafe {
        set_log_handler(handler);
        set_log_config(log_config().with_topics(0));
    });
}
