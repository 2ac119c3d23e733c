//! FAB as published: the paper's training, as released and as printed.
//!
//! Phase 1 reconstructs feasible points; phase 2 structures the latent space with a discriminator and
//! five losses. [`PaperSettings::released`] follows the paper's released code, flaws included;
//! [`PaperSettings::text`] follows its equations and its appendix. Every ablation is a setting.

mod autoencoder;
mod blend;
pub mod data;
mod decoders;
mod drive;
mod error;
mod geometry;
mod learner;
mod loss_weights;
mod losses;
mod material;
mod phases;
mod recipe;
mod settings;
mod structuring;
mod trained;
mod training;

pub use error::PaperError;
pub use loss_weights::{LossWeights, grid, select_released};
pub use losses::Losses;
pub use recipe::Paper;
pub use settings::{
    CheckedPaperSettings, DiscriminatorRows, GeometryPoints, PaperSettings, PaperSettingsError,
    Reconstruction,
};
pub use trained::{PaperSummary, PaperTrained, PhaseSummary};
pub use training::{PaperTraining, PhaseOne};
