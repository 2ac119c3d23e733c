//! All methods by name.

use std::sync::LazyLock;

use fab_method::PaperSettings;
use fabproj::support::near_names;

use super::Method;
use super::augmented_lagrangian::AugmentedLagrangian;
use super::fab::Fab;
use super::fsnet::{FsNet, Style};
use super::homeomorphic::{Homeomorphic, MappingConfig};
use super::interior_point::InteriorPoint;
use super::ours::Ours;
use super::penalty::Penalty;
use super::penalty_net::PenaltyNet;
use super::projected_gradient::ProjectedGradient;
use crate::solver_net::{Supervised, Unsupervised};
use crate::{Effort, StudyError};

/// The table that a method belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Group {
    /// The paper's main tables, and ours beside them.
    Main,
    /// Baselines with our training budget, our loss, our polish and our guard.
    Fair,
    /// The paper's ablations.
    Ablations,
}

impl Group {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Main, Self::Fair, Self::Ablations];

    /// The word for the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Fair => "fair",
            Self::Ablations => "ablations",
        }
    }
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
    /// Whether the paper has it for the sets of the plane only.
    pub planar: bool,
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
            planar: false,
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
            planar: true,
            ..self
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
    let mut entries = classical();
    entries.extend(networks());
    entries.extend(paper_variants());
    entries.extend(ours());
    entries.extend(networks_with_our_budget());
    entries.extend(ablations());
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
            |names| Entry::new(names, Group::Main, |_| InteriorPoint),
        ),
    ]
}

/// Penalty NN as the paper trains it.
fn penalty_net() -> PenaltyNet {
    PenaltyNet {
        training: Unsupervised::plain(),
        weight: 10.0,
        margin: 0.0,
    }
}

/// Penalty NN as we would train it.
fn fair_penalty_net(effort: &Effort) -> PenaltyNet {
    PenaltyNet {
        training: our_solver(effort),
        weight: 5.0,
        margin: 0.02,
    }
}

/// FSNet as released, with the paper's common network.
fn fsnet() -> FsNet {
    FsNet {
        training: Unsupervised {
            stay: 5.0,
            ..Unsupervised::plain()
        },
        style: Style::Released,
    }
}

/// FSNet as we would train it.
fn fair_fsnet(effort: &Effort) -> FsNet {
    FsNet {
        training: our_solver(effort),
        style: Style::Tuned { margin: 1e-3 },
    }
}

/// Homeomorphic Projection as released, with the paper's common network.
fn homeomorphic(effort: &Effort) -> Homeomorphic {
    Homeomorphic {
        predictor: penalty_net(),
        mapping: MappingConfig {
            steps: effort.mapping_steps,
            ..MappingConfig::default()
        },
    }
}

/// Homeomorphic Projection as we would train it.
fn fair_homeomorphic(effort: &Effort) -> Homeomorphic {
    Homeomorphic {
        predictor: fair_penalty_net(effort),
        mapping: MappingConfig {
            steps: effort.mapping_steps,
            inside: true,
            ..MappingConfig::default()
        },
    }
}

/// The baselines that learn, as the paper has them.
fn networks() -> Vec<Entry> {
    vec![
        Entry::new(("penalty-net", "Penalty NN"), Group::Main, |_| {
            penalty_net()
        })
        .in_paper("Penalty NN"),
        Entry::new(("fsnet", "FSNet"), Group::Main, |_| fsnet())
            .in_paper("FSNet")
            .planar(),
        Entry::new(
            ("homeomorphic", "Homeomorphic Projection"),
            Group::Main,
            homeomorphic,
        )
        .in_paper("Homeomorphic Projection")
        .planar(),
    ]
}

/// The baselines that learn, with our budget, our loss and our guard.
fn networks_with_our_budget() -> Vec<Entry> {
    vec![
        Entry::new(
            ("penalty-net-fair", "Penalty NN, our budget"),
            Group::Fair,
            fair_penalty_net,
        )
        .guarded(),
        Entry::new(
            ("fsnet-fair", "FSNet, tuned, our budget"),
            Group::Fair,
            fair_fsnet,
        )
        .guarded(),
        Entry::new(
            ("homeomorphic-fair", "Homeomorphic Projection, our budget"),
            Group::Fair,
            fair_homeomorphic,
        )
        .guarded(),
    ]
}

/// The training of our solver networks.
fn our_solver(effort: &Effort) -> Unsupervised {
    Unsupervised {
        steps: effort.solver_steps,
        ..Unsupervised::default()
    }
}

/// The released settings with the effort's share of epochs.
fn released(effort: &Effort) -> PaperSettings {
    PaperSettings {
        effort: effort.paper_epochs,
        ..PaperSettings::released()
    }
}

/// FAB with a changed projector, trained end to end.
fn fab(
    names: (&str, &str),
    group: Group,
    change: impl Fn(PaperSettings) -> PaperSettings + Send + Sync + 'static,
) -> Entry {
    let make = move |effort: &Effort| Fab {
        projector: change(released(effort)),
        end_to_end: true,
        solver: Supervised::default(),
    };
    Entry::new(names, group, make)
}

fn paper_variants() -> Vec<Entry> {
    let decoders = |count: usize| {
        move |settings| PaperSettings {
            decoders: count,
            ..settings
        }
    };
    let post_hoc = |effort: &Effort| Fab {
        projector: released(effort),
        end_to_end: false,
        solver: Supervised::default(),
    };
    vec![
        fab(("fab", "FAB, end to end"), Group::Main, |settings| settings).in_paper("FAB"),
        Entry::new(("fab-post-hoc", "FAB, post hoc"), Group::Main, post_hoc),
        fab(
            ("fab-2-decoders", "FAB, 2 decoders"),
            Group::Main,
            decoders(2),
        )
        .in_paper("FAB: 2 Decoder Nets")
        .planar(),
        fab(
            ("fab-3-decoders", "FAB, 3 decoders"),
            Group::Main,
            decoders(3),
        )
        .in_paper("FAB: 3 Decoder Nets")
        .planar(),
        fab(
            ("fab-phase-1-only", "FAB, phase 1 only"),
            Group::Main,
            PaperSettings::phase_one_only,
        )
        .in_paper("FAB: Phase 1 Only")
        .planar(),
        fab(
            ("fab-no-hinge", "FAB, no hinge"),
            Group::Main,
            PaperSettings::without_hinge,
        )
        .in_paper("FAB: No Hinge Loss")
        .planar(),
        fab(
            ("fab-no-discriminator", "FAB, no discriminator"),
            Group::Main,
            PaperSettings::without_discriminator,
        )
        .in_paper("FAB: No discriminator")
        .planar(),
    ]
}

fn ours() -> Vec<Entry> {
    let default = |effort: &Effort| Ours {
        projector: effort.projector.clone(),
        solver: our_solver(effort),
    };
    let small = |effort: &Effort| Ours {
        projector: effort.small_projector.clone(),
        solver: Unsupervised {
            steps: effort.solver_steps,
            ..Unsupervised::small()
        },
    };
    vec![
        Entry::new(("fabproj", "fabproj"), Group::Main, default).guarded(),
        Entry::new(("fabproj-small", "fabproj, small"), Group::Main, small).guarded(),
    ]
}

fn ablations() -> Vec<Entry> {
    let coverage = [10, 25, 50, 75].map(|percent: u8| {
        let (name, label) = (
            format!("fab-coverage-{percent}"),
            format!("FAB, {percent} % of the data"),
        );
        fab((&name, &label), Group::Ablations, move |settings| {
            PaperSettings {
                coverage: f64::from(percent) / 100.0,
                ..settings
            }
        })
        .in_paper(&format!("Cov-{percent}"))
        .planar()
    });
    let sizes = [32, 64, 128]
        .into_iter()
        .flat_map(|width| [2, 4, 6].map(|depth| (width, depth)));
    let capacity = sizes.map(|(width, depth)| {
        let (name, label) = (
            format!("fab-w{width}-d{depth}"),
            format!("FAB, decoder {width} × {depth}"),
        );
        fab((&name, &label), Group::Ablations, move |settings| {
            PaperSettings {
                decoder_width: width,
                decoder_depth: depth,
                ..settings
            }
        })
        .in_paper(&format!("W{width}-D{depth}"))
        .planar()
    });
    coverage.into_iter().chain(capacity).collect()
}
