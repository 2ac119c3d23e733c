//! What answers.

use fabproj::support::near_names;
use serde::{Deserialize, Serialize};

use crate::StudyError;

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleMethod {
    /// Our solver.
    Solver,
    /// clarabel with its own tolerance, 1e-8; convex families only.
    Clarabel,
    /// A plain network with the ray map.
    RayNet,
    /// DC3: completion and correction.
    Dc3,
    /// FSNet: a feasibility-seeking step.
    FsNet,
    /// Homeomorphic Projection: bisection in the coordinates of an invertible network.
    #[serde(rename = "hom-proj")]
    Homeomorphic,
    /// The alternating direction method of multipliers with its factor kept, started at the last answer;
    /// quadratic programs only.
    Admm,
    /// A lookup table of optima, made with as many membership tests as our training.
    Lookup,
    /// A local search from drawn points, with as many membership tests as our answer.
    Restarts,
    /// The same with as many membership tests as our training and all our answers together.
    LongRestarts,
    /// A plain network that learned the lookup table, with a guard.
    PlainNet,
}

impl ScaleMethod {
    /// All methods.
    pub const ALL: [Self; 11] = [
        Self::Solver,
        Self::Clarabel,
        Self::Admm,
        Self::RayNet,
        Self::Dc3,
        Self::FsNet,
        Self::Homeomorphic,
        Self::Lookup,
        Self::PlainNet,
        Self::Restarts,
        Self::LongRestarts,
    ];

    /// Its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solver => "solver",
            Self::Clarabel => "clarabel",
            Self::RayNet => "ray-net",
            Self::Dc3 => "dc3",
            Self::FsNet => "fsnet",
            Self::Homeomorphic => "hom-proj",
            Self::Admm => "admm",
            Self::Lookup => "table",
            Self::Restarts => "restarts",
            Self::LongRestarts => "long-restarts",
            Self::PlainNet => "plain-net",
        }
    }

    /// Its name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Solver => "fabproj solver",
            Self::Clarabel => "clarabel",
            Self::RayNet => "network with ray map",
            Self::Dc3 => "DC3",
            Self::FsNet => "FSNet",
            Self::Homeomorphic => "Homeomorphic Projection",
            Self::Admm => "ADMM, warm",
            Self::Lookup => "lookup table",
            Self::Restarts => "random restarts, our tests per answer",
            Self::LongRestarts => "random restarts, our tests in all",
            Self::PlainNet => "plain network with guard",
        }
    }

    /// The method with this name.
    ///
    /// # Errors
    /// [`StudyError::Unknown`], with the names most like it.
    pub fn find(name: &str) -> Result<Self, StudyError> {
        let found = Self::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| StudyError::Unknown {
            what: "method",
            name: name.to_owned(),
            near: near_names(name, Self::ALL.map(Self::name)),
        })
    }
}
