//! Baselines with networks: as their authors train them, and as we would.

use super::ours::our_solver;
use super::{Entry, Group};
use crate::Effort;
use crate::method::fsnet::{FsNet, Style};
use crate::method::homeomorphic::{Homeomorphic, MappingConfig};
use crate::method::penalty_net::PenaltyNet;
use crate::solver_net::Unsupervised;
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
pub(super) fn networks() -> Vec<Entry> {
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
pub(super) fn networks_with_our_budget() -> Vec<Entry> {
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
