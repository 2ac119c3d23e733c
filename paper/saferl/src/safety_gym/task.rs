//! The figures of the tasks.

use std::fmt;
use std::str::FromStr;

use super::layout::Kind;

/// A task with the Point robot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Drive to goals. 8 hazards, 1 vase.
    Goal1,
    /// Drive to goals. 10 hazards, 10 vases; touching or moving a vase costs.
    Goal2,
    /// Push a box to goals. 2 hazards, 1 pillar.
    Push1,
    /// Push a box to goals. 4 hazards, 4 pillars; touching a pillar costs.
    Push2,
}

/// Objects of one kind in a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// What the objects are.
    pub kind: Kind,
    /// How many there are.
    pub count: usize,
    /// Radius of the free space around each when objects are placed.
    pub keepout: f64,
}

const fn group(kind: Kind, count: usize, keepout: f64) -> Group {
    Group {
        kind,
        count,
        keepout,
    }
}

/// The groups in the order in which the package places them.
const GOAL1: [Group; 4] = [
    group(Kind::Agent, 1, 0.4),
    group(Kind::Goal, 1, 0.305),
    group(Kind::Hazard, 8, 0.18),
    group(Kind::Vase, 1, 0.15),
];
const GOAL2: [Group; 4] = [
    group(Kind::Agent, 1, 0.4),
    group(Kind::Goal, 1, 0.305),
    group(Kind::Hazard, 10, 0.18),
    group(Kind::Vase, 10, 0.15),
];
const PUSH1: [Group; 5] = [
    group(Kind::Agent, 1, 0.4),
    group(Kind::Goal, 1, 0.4),
    group(Kind::Hazard, 2, 0.4),
    group(Kind::Pillar, 1, 0.3),
    group(Kind::PushBox, 1, 0.2),
];
const PUSH2: [Group; 5] = [
    group(Kind::Agent, 1, 0.4),
    group(Kind::Goal, 1, 0.4),
    group(Kind::Hazard, 4, 0.4),
    group(Kind::Pillar, 4, 0.3),
    group(Kind::PushBox, 1, 0.2),
];

impl Task {
    /// All tasks.
    pub const ALL: [Self; 4] = [Self::Goal1, Self::Goal2, Self::Push1, Self::Push2];

    /// The short name, such as `Goal2`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Goal1 => "Goal1",
            Self::Goal2 => "Goal2",
            Self::Push1 => "Push1",
            Self::Push2 => "Push2",
        }
    }

    /// The package's name, such as `SafetyPointGoal2-v0`.
    pub fn id(self) -> String {
        format!("SafetyPoint{}-v0", self.name())
    }

    /// Whether a box is to be pushed.
    pub fn pushes(self) -> bool {
        matches!(self, Self::Push1 | Self::Push2)
    }

    /// Objects are placed in the square [-extent, extent]².
    pub fn extent(self) -> f64 {
        match self {
            Self::Goal1 | Self::Push1 => 1.5,
            Self::Goal2 | Self::Push2 => 2.0,
        }
    }

    /// Radius of a hazard.
    pub fn hazard_radius(self) -> f64 {
        if self.pushes() { 0.3 } else { 0.2 }
    }

    /// The groups of objects, in the order in which they are placed.
    pub fn groups(self) -> &'static [Group] {
        match self {
            Self::Goal1 => &GOAL1,
            Self::Goal2 => &GOAL2,
            Self::Push1 => &PUSH1,
            Self::Push2 => &PUSH2,
        }
    }

    /// Names of the kinds of cost.
    pub fn cost_kinds(self) -> &'static [&'static str] {
        match self {
            Self::Goal1 | Self::Push1 => &["hazards"],
            Self::Goal2 => &["hazards", "vases_contact", "vases_velocity"],
            Self::Push2 => &["hazards", "pillars"],
        }
    }

    /// The kinds of object that have a lidar, in the order of the observation.
    pub fn lidars(self) -> &'static [Kind] {
        if self.pushes() {
            &[Kind::Goal, Kind::Hazard, Kind::Pillar, Kind::PushBox]
        } else {
            &[Kind::Goal, Kind::Hazard, Kind::Vase]
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A name that is not a task's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown task `{0}`; the tasks are Goal1, Goal2, Push1, Push2")]
pub struct UnknownTask(pub String);

impl FromStr for Task {
    type Err = UnknownTask;

    /// Reads the short name or the package's, in any case.
    fn from_str(text: &str) -> Result<Self, UnknownTask> {
        let known = |task: &Self| {
            text.eq_ignore_ascii_case(task.name()) || text.eq_ignore_ascii_case(&task.id())
        };
        let task = Self::ALL.into_iter().find(known);
        task.ok_or_else(|| UnknownTask(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for task in Task::ALL {
            assert_eq!(task.to_string().parse(), Ok(task));
            assert_eq!(task.id().to_lowercase().parse(), Ok(task));
        }
        let error = "Goal3".parse::<Task>().unwrap_err();
        assert!(error.to_string().contains("`Goal3`"));
    }
}
