//! Where the objects of an episode stand.

use std::f64::consts::TAU;

use super::random::NumpyRandom;
use super::task::{Group, Task};
use crate::env::{EnvironmentError, Result};

/// Draws of one object's position before the whole layout is drawn again.
const OBJECT_TRIES: usize = 100;

/// Layouts drawn before an episode is given up.
const LAYOUT_TRIES: usize = 10_000;

/// Draws of a new goal's position.
pub(super) const GOAL_TRIES: usize = 10_000;

/// Places of the agent and the goal in the list of objects.
const AGENT: usize = 0;
const GOAL: usize = 1;

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The robot.
    Agent,
    /// A disc to reach, or to push the box onto. Not solid.
    Goal,
    /// A disc that costs to be in. Not solid.
    Hazard,
    /// A fixed cylinder.
    Pillar,
    /// A light box that can be pushed away.
    Vase,
    /// The box to push.
    PushBox,
}

impl Kind {
    /// The package's name for objects of this kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Goal => "goal",
            Self::Hazard => "hazard",
            Self::Pillar => "pillar",
            Self::Vase => "vase",
            Self::PushBox => "push_box",
        }
    }

    /// Whether the package numbers objects of this kind.
    fn is_numbered(self) -> bool {
        matches!(self, Self::Hazard | Self::Pillar | Self::Vase)
    }
}

/// One placed object.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Object {
    /// What it is.
    pub kind: Kind,
    /// Number within its kind, from 0.
    pub index: usize,
    /// Radius of the free space around it.
    pub keepout: f64,
    /// Position of its centre.
    pub xy: [f64; 2],
    /// Yaw in radians.
    pub rotation: f64,
}

impl Object {
    /// The package's name, such as `hazard3` or `goal`.
    pub fn name(&self) -> String {
        if self.kind.is_numbered() {
            format!("{}{}", self.kind.name(), self.index)
        } else {
            self.kind.name().to_owned()
        }
    }
}

/// All objects of an episode, in the package's order: agent, goal, hazards, pillars, vases or box.
///
/// ```
/// use fab_saferl::safety_gym::{Kind, Layout, NumpyRandom, Task};
///
/// let mut random = NumpyRandom::new(3);
/// let layout = Layout::sample(Task::Goal2, &mut random, 3)?;
/// assert_eq!(layout.of(Kind::Hazard).count(), 10);
/// # Ok::<(), fab_saferl::env::EnvironmentError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    task: Task,
    objects: Vec<Object>,
}

impl Layout {
    /// Draws a layout. `seed` only serves the error message.
    pub fn sample(task: Task, random: &mut NumpyRandom, seed: u32) -> Result<Self> {
        let mut failed = String::new();
        for _ in 0..LAYOUT_TRIES {
            match place_all(task, random) {
                Ok(mut objects) => {
                    for object in &mut objects {
                        object.rotation = random.uniform(0.0, TAU);
                    }
                    return Ok(Self { task, objects });
                }
                Err(name) => failed = name,
            }
        }
        Err(EnvironmentError::Layout {
            object: failed,
            tries: LAYOUT_TRIES,
            seed,
        })
    }

    /// Draws another place for the goal. Gives the number of draws, or `None` when no place was found.
    pub fn redraw_goal(&mut self, random: &mut NumpyRandom) -> Option<usize> {
        let keepout = self.goal().keepout;
        for draw in 1..=GOAL_TRIES {
            let xy = draw_place(self.task, keepout, random);
            let mut others = self.objects.iter().filter(|other| other.kind != Kind::Goal);
            if others.all(|other| is_clear(xy, keepout, other)) {
                self.objects[GOAL].xy = xy;
                return Some(draw);
            }
        }
        None
    }

    /// The task.
    pub fn task(&self) -> Task {
        self.task
    }

    /// The agent, where it was last recorded.
    pub fn agent(&self) -> &Object {
        &self.objects[AGENT]
    }

    /// The goal in force.
    pub fn goal(&self) -> &Object {
        &self.objects[GOAL]
    }

    /// All objects.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// The objects of one kind.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Object> {
        self.objects
            .iter()
            .filter(move |object| object.kind == kind)
    }

    /// Moves the objects of one kind to where they are now.
    #[cfg(feature = "mujoco")]
    pub(super) fn record(&mut self, kind: Kind, places: impl IntoIterator<Item = [f64; 2]>) {
        let objects = self.objects.iter_mut();
        let moved = objects.filter(|object| object.kind == kind);
        for (object, xy) in moved.zip(places) {
            object.xy = xy;
        }
    }
}

/// One try of a layout; the name of the object that did not fit if it fails.
fn place_all(task: Task, random: &mut NumpyRandom) -> std::result::Result<Vec<Object>, String> {
    let mut objects: Vec<Object> = Vec::new();
    for group in task.groups() {
        for index in 0..group.count {
            let mut object = object_of(group, index);
            object.xy = place(task, &objects, group.keepout, random).ok_or(object.name())?;
            objects.push(object);
        }
    }
    Ok(objects)
}

fn object_of(group: &Group, index: usize) -> Object {
    Object {
        kind: group.kind,
        index,
        keepout: group.keepout,
        xy: [0.0; 2],
        rotation: 0.0,
    }
}

fn place(
    task: Task,
    placed: &[Object],
    keepout: f64,
    random: &mut NumpyRandom,
) -> Option<[f64; 2]> {
    (0..OBJECT_TRIES)
        .map(|_| draw_place(task, keepout, random))
        .find(|xy| placed.iter().all(|other| is_clear(*xy, keepout, other)))
}

fn draw_place(task: Task, keepout: f64, random: &mut NumpyRandom) -> [f64; 2] {
    let (low, high) = (-task.extent() + keepout, task.extent() - keepout);
    let x = random.uniform(low, high);
    let y = random.uniform(low, high);
    [x, y]
}

/// Whether the free space around `xy` does not meet that of `other`.
fn is_clear(xy: [f64; 2], keepout: f64, other: &Object) -> bool {
    let [dx, dy] = [xy[0] - other.xy[0], xy[1] - other.xy[1]];
    // Not `hypot`: the last bit decides as it does in numpy.
    let distance = (dx * dx + dy * dy).sqrt();
    distance >= other.keepout + keepout
}
