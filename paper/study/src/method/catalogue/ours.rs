//! fabproj, without one of its parts, and under the paper's projector.

use super::fab::released;
use super::{Entry, Group};
use crate::method::ours::{NoNetwork, Ours};
use crate::method::polish::Polish;
use crate::solver_net::{Features, Unsupervised};
use crate::{Effort, ProjectorRecipe};
pub(super) fn ours() -> Vec<Entry> {
    let default = |effort: &Effort| Ours {
        projector: ProjectorRecipe::Default(effort.projector.clone()),
        solver: our_solver(effort),
    };
    let small = |effort: &Effort| Ours {
        projector: ProjectorRecipe::Default(effort.small_projector.clone()),
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

/// The paper's projector under our solver network, heads, polish and guard: what our projector adds.
pub(super) fn our_solver_with_their_projector() -> Vec<Entry> {
    let searched = |effort: &Effort| Ours {
        projector: ProjectorRecipe::Searched(released(effort)),
        solver: our_solver(effort),
    };
    let first = |effort: &Effort| Ours {
        projector: ProjectorRecipe::Paper(released(effort)),
        solver: our_solver(effort),
    };
    vec![
        Entry::new(
            ("fab-our-solver", "FAB's projector, our solver"),
            Group::Fair,
            searched,
        )
        .guarded(),
        Entry::new(
            (
                "fab-first-our-solver",
                "FAB's projector (first weights), our solver",
            ),
            Group::Fair,
            first,
        )
        .guarded(),
    ]
}

/// fabproj without one of its parts, and with the base point that knows the answer.
pub(super) fn parts() -> Vec<Entry> {
    let with = |change: fn(Unsupervised) -> Unsupervised| {
        move |effort: &Effort| Ours {
            projector: ProjectorRecipe::Default(effort.projector.clone()),
            solver: change(our_solver(effort)),
        }
    };
    let part =
        |name, label, change| Entry::new((name, label), Group::Parts, with(change)).guarded();
    let no_network = |effort: &Effort| NoNetwork {
        projector: ProjectorRecipe::Default(effort.projector.clone()),
        polish: Polish::default(),
    };
    vec![
        Entry::new(
            ("fabproj-no-network", "fabproj, no network"),
            Group::Parts,
            no_network,
        )
        .guarded(),
        part("fabproj-no-polish", "fabproj, no polish", |solver| {
            Unsupervised {
                polish: None,
                ..solver
            }
        }),
        part("fabproj-one-head", "fabproj, one head", |solver| {
            Unsupervised { heads: 1, ..solver }
        }),
        part("fabproj-rim", "fabproj, base point at the rim", |solver| {
            Unsupervised {
                features: Features::Rim,
                ..solver
            }
        }),
    ]
}

/// The training of our solver networks.
pub(super) fn our_solver(effort: &Effort) -> Unsupervised {
    Unsupervised {
        steps: effort.solver_steps,
        ..Unsupervised::default()
    }
}
