//! FAB: as published, its variants and its ablations.

use super::{Entry, Group};
use crate::method::fab::Fab;
use crate::solver_net::Supervised;
use crate::{Effort, ProjectorRecipe};
use fab_method::PaperSettings;
/// The released settings with the effort's share of epochs.
pub(super) fn released(effort: &Effort) -> PaperSettings {
    PaperSettings {
        effort: effort.paper_epochs,
        ..PaperSettings::released()
    }
}

/// FAB with a changed projector and the first entry of the grid of loss weights, trained end to end.
fn fab(
    names: (&str, &str),
    group: Group,
    change: impl Fn(PaperSettings) -> PaperSettings + Send + Sync + 'static,
) -> Entry {
    let make = move |effort: &Effort| Fab {
        projector: ProjectorRecipe::Paper(change(released(effort))),
        end_to_end: true,
        solver: Supervised::default(),
    };
    Entry::new(names, group, make)
}

/// FAB as the released code makes it: the weights are searched. With a latent dimension, or that of the set.
fn searched(names: (&str, &str), latent_dim: Option<usize>, end_to_end: bool) -> Entry {
    let make = move |effort: &Effort| Fab {
        projector: ProjectorRecipe::Searched(PaperSettings {
            latent_dim,
            ..released(effort)
        }),
        end_to_end,
        solver: Supervised::default(),
    };
    Entry::new(names, Group::Main, make)
}

/// The latent dimensions that the released code tries on every shell beside the set's own.
const LATENT_DIMENSIONS: [usize; 2] = [3, 5];

/// The paper's main row: weights searched, weights of the grid's first entry, other latent dimensions.
pub(super) fn paper_method() -> Vec<Entry> {
    let first_post_hoc = |effort: &Effort| Fab {
        projector: ProjectorRecipe::Paper(released(effort)),
        end_to_end: false,
        solver: Supervised::default(),
    };
    let first_latent = |end_to_end: bool| {
        move |effort: &Effort| Fab {
            projector: ProjectorRecipe::Paper(PaperSettings {
                latent_dim: Some(3),
                ..released(effort)
            }),
            end_to_end,
            solver: Supervised::default(),
        }
    };
    let text = |effort: &Effort| Fab {
        projector: ProjectorRecipe::Paper(PaperSettings {
            effort: effort.paper_epochs,
            ..PaperSettings::text()
        }),
        end_to_end: true,
        solver: Supervised::default(),
    };
    let mut entries = vec![
        searched(("fab", "FAB, end to end"), None, true).in_paper("FAB"),
        searched(("fab-post-hoc", "FAB, post hoc"), None, false),
        fab(
            ("fab-first", "FAB, first weights, end to end"),
            Group::Main,
            |settings| settings,
        ),
        Entry::new(
            ("fab-first-post-hoc", "FAB, first weights, post hoc"),
            Group::Main,
            first_post_hoc,
        ),
        Entry::new(
            (
                "fab-first-latent-3",
                "FAB, first weights, latent dimension 3, end to end",
            ),
            Group::Main,
            first_latent(true),
        )
        .in_space_without(3),
        Entry::new(
            (
                "fab-first-latent-3-post-hoc",
                "FAB, first weights, latent dimension 3, post hoc",
            ),
            Group::Main,
            first_latent(false),
        )
        .in_space_without(3),
        Entry::new(("fab-text", "FAB, settings as printed"), Group::Main, text),
    ];
    for latent in LATENT_DIMENSIONS {
        for (end_to_end, ending, words) in
            [(true, "", "end to end"), (false, "-post-hoc", "post hoc")]
        {
            let name = format!("fab-latent-{latent}{ending}");
            let label = format!("FAB, latent dimension {latent}, {words}");
            let entry = searched((&name, &label), Some(latent), end_to_end);
            entries.push(entry.in_space_without(latent));
        }
    }
    entries
}

pub(super) fn paper_variants() -> Vec<Entry> {
    let decoders = |count: usize| {
        move |settings| PaperSettings {
            decoders: count,
            ..settings
        }
    };
    vec![
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

pub(super) fn ablations() -> Vec<Entry> {
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
