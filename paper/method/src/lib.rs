//! FAB as published: the paper's training, as released and as printed.
//!
//! Phase 1 reconstructs feasible points; phase 2 structures the latent space with a discriminator and
//! five losses. [`PaperConfig::released`] follows the paper's released code, flaws included;
//! [`PaperConfig::text`] follows its equations and its appendix. Every ablation is a setting.

mod autoencoder;
mod bench;
mod blend;
mod config;
pub mod data;
mod decoders;
mod drive;
mod error;
mod geometry;
mod labelled;
mod learner;
mod losses;
mod material;
mod phases;
mod structuring;
mod trained;
mod training;
mod weights;

#[doc(hidden)]
pub use bench::PhaseTwoBench;
pub use config::{
    CheckedPaperConfig, DiscriminatorRows, GeometryPoints, PaperConfig, PaperConfigError,
    Reconstruction,
};
pub use error::PaperTrainError;
pub use labelled::LabelledPoints;
pub use losses::Losses;
pub use trained::{PaperSummary, PaperTrained, PhaseSummary, ball_score};
pub use training::{PaperTraining, PhaseOne, train, train_labelled};
pub use weights::{LossWeights, grid, select_released};
