//! About how long everything takes, for the time left: seconds of one core with AVX-512, release build.

use fab_method::PaperSettings;
use fabproj::Settings;

use super::Run;
use crate::weight_search::Search;
use crate::{Effort, ProjectorRecipe};

/// A projector's training.
pub(super) fn projector(recipe: &ProjectorRecipe, dim: usize) -> f64 {
    match recipe {
        ProjectorRecipe::Default(settings) => ours(settings, dim),
        ProjectorRecipe::Paper(settings) => paper(settings, dim),
    }
}

/// In the plane and in space several kinds of latent set and numbers of charts are tried; above, one.
fn ours(settings: &Settings, dim: usize) -> f64 {
    let tried = if dim > 3 { 1.0 } else { 5.0 };
    let width = settings.width as f64 / 64.0;
    tried * settings.phase_two as f64 * 1e-3 * width
}

/// The paper's two phases.
fn paper(settings: &PaperSettings, dim: usize) -> f64 {
    // 60 000 rows in the plane, 35 000 per dimension above; a tangent for each dimension.
    let rows = if dim > 2 { 0.55 * dim as f64 } else { 1.0 };
    let tangents = 0.6 + 0.2 * dim as f64;
    let capacity = (settings.decoder_width as f64 / 64.0).max(0.7) * settings.decoders as f64;
    let phases = if settings.phase_two_epochs == 0 {
        0.3
    } else {
        1.0
    };
    0.5 + 40.0 * settings.effort * rows * tangents * phases * (0.5 + 0.5 * capacity)
}

/// A run's own training, and its answers.
pub(super) fn run(run: &Run, effort: &Effort) -> f64 {
    run.entry.make(effort).seconds(run.set.dim())
}

/// One first phase and 24 second ones, which fill all threads.
pub(super) fn search(search: &Search) -> f64 {
    24.0 * 0.8 * paper(&search.key().settings, 2)
}
