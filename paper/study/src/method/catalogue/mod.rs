//! All methods by name.

mod baselines;
mod fab;
mod ours;

use std::sync::LazyLock;

use fabproj::support::near_names;

use super::Method;
use super::augmented_lagrangian::AugmentedLagrangian;
use super::exact::Exact;
use super::interior_point::InteriorPoint;
use super::lookup::Lookup;
use super::penalty::Penalty;
use super::projected_gradient::ProjectedGradient;
use super::violation_descent::ViolationDescent;
use crate::{Effort, StudyError};

/// The table that a method belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Group {
    /// The paper's main tables, and ours beside them.
    Main,
    /// Baselines with our training budget, our loss, our polish and our guard.
    Fair,
    /// fabproj without one of its parts.
    Parts,
    /// The paper's ablations.
    Ablations,
}

impl Group {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Main, Self::Fair, Self::Parts, Self::Ablations];

    /// The word for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Fair => "fair",
            Self::Parts => "parts",
            Self::Ablations => "ablations",
        }
    }
}

/// The sets that tables have a method for.
#[derive(Clone, Copy)]
enum Scope {
    /// All.
    All,
    /// Those of the plane: the paper has it there only.
    Plane,
    /// Those of space that do not have this dimension, since another entry stands for that one.
    SpaceWithout(usize),
}

type Maker = Box<dyn Fn(&Effort) -> Box<dyn Method> + Send + Sync>;

/// A method in the catalogue.
pub struct Entry {
    /// Its name on the command line and in the store.
    pub name: String,
    /// Its name in tables.
    pub label: String,
    /// The name of its row in the paper's tables, if there is one.
    pub paper: Option<String>,
    /// The table that it belongs to.
    pub group: Group,
    /// The sets that tables have it for.
    scope: Scope,
    /// Whether its answers are asked for under our guard as well.
    pub guarded: bool,
    make: Maker,
}

impl Entry {
    fn new<M: Method + 'static>(
        (name, label): (&str, &str),
        group: Group,
        make: impl Fn(&Effort) -> M + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            label: label.to_owned(),
            paper: None,
            group,
            scope: Scope::All,
            guarded: false,
            make: Box::new(move |effort| Box::new(make(effort))),
        }
    }

    /// A row of the paper's tables.
    fn in_paper(self, row: &str) -> Self {
        Self {
            paper: Some(row.to_owned()),
            ..self
        }
    }

    fn planar(self) -> Self {
        Self {
            scope: Scope::Plane,
            ..self
        }
    }

    /// For sets of more than two dimensions, but not of so many.
    fn in_space_without(self, dim: usize) -> Self {
        Self {
            scope: Scope::SpaceWithout(dim),
            ..self
        }
    }

    /// Whether tables have it for a set of this dimension.
    pub fn is_for(&self, dim: usize) -> bool {
        match self.scope {
            Scope::All => true,
            Scope::Plane => dim == 2,
            Scope::SpaceWithout(other) => dim > 2 && dim != other,
        }
    }

    fn guarded(self) -> Self {
        Self {
            guarded: true,
            ..self
        }
    }

    /// The method with the settings of an effort.
    pub fn make(&self, effort: &Effort) -> Box<dyn Method> {
        (self.make)(effort)
    }
}

/// All methods, in the order of the tables.
pub fn catalogue() -> &'static [Entry] {
    static CATALOGUE: LazyLock<Vec<Entry>> = LazyLock::new(entries);
    &CATALOGUE
}

/// A method by its name.
///
/// # Errors
/// [`StudyError::Unknown`] with the names most like it.
pub fn find(name: &str) -> Result<&'static Entry, StudyError> {
    let found = catalogue().iter().find(|entry| entry.name == name);
    found.ok_or_else(|| StudyError::Unknown {
        what: "method",
        name: name.to_owned(),
        near: near_names(name, catalogue().iter().map(|entry| entry.name.as_str())),
    })
}

fn entries() -> Vec<Entry> {
    let mut entries = simple();
    entries.extend(classical());
    entries.extend(baselines::networks());
    entries.extend(fab::paper_method());
    entries.extend(fab::paper_variants());
    entries.extend(ours::ours());
    entries.extend(baselines::networks_with_our_budget());
    entries.extend(ours::our_solver_with_their_projector());
    entries.extend(ours::parts());
    entries.extend(fab::ablations());
    entries
}

fn classical() -> Vec<Entry> {
    let classical = |name, label, row: &str, entry: fn((&'static str, &'static str)) -> Entry| {
        entry((name, label)).in_paper(row).planar()
    };
    vec![
        classical(
            "projected-gradient",
            "projected gradient",
            "Projected Gradient",
            |names| Entry::new(names, Group::Main, |_| ProjectedGradient),
        ),
        classical("penalty", "penalty method", "Penalty Method", |names| {
            Entry::new(names, Group::Main, |_| Penalty)
        }),
        classical(
            "augmented-lagrangian",
            "augmented Lagrangian",
            "Augmented Lagrangian",
            |names| Entry::new(names, Group::Main, |_| AugmentedLagrangian),
        ),
        classical(
            "interior-point",
            "interior point",
            "Interior Point",
            |names| {
                let make = |_: &Effort| InteriorPoint {
                    starts_inside: true,
                };
                Entry::new(names, Group::Main, make)
            },
        ),
        Entry::new(
            ("interior-point-released", "interior point, as released"),
            Group::Main,
            |_| InteriorPoint {
                starts_inside: false,
            },
        )
        .planar(),
    ]
}

/// Simple competitors that know the set: by closed forms, by a table, by its violation.
fn simple() -> Vec<Entry> {
    vec![
        Entry::new(("exact", "exact solver"), Group::Main, |_| Exact),
        Entry::new(("lookup", "table of 1000 points"), Group::Main, |_| {
            Lookup::default()
        }),
        Entry::new(
            (
                "violation-descent",
                "projected gradient along the violation",
            ),
            Group::Main,
            |_| ViolationDescent,
        ),
    ]
}
