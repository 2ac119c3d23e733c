//! The check that settings make sense, which turns them into a type that can be trained.

use std::ops::Deref;

use fabproj_core::LatentError;
use serde::Serialize;
use thiserror::Error;

use super::{DiscriminatorRows, PaperSettings};
use crate::error::PaperError;
use crate::loss_weights::LossWeights;

const WIDTHS: (usize, usize) = (1, fabproj_core::Weights::MAX_WIDTH);
const DEPTHS: (usize, usize) = (1, fabproj_core::Weights::MAX_LAYERS - 1);

impl PaperSettings {
    /// Checks every field; only what this returns can be trained.
    ///
    /// # Errors
    /// The first field found at fault, with its value.
    pub fn validate(self) -> Result<CheckedPaperSettings, PaperSettingsError> {
        self.check_sizes()?;
        self.check_numbers()?;
        self.latent_set().validate(self.latent_dim.unwrap_or(1))?;
        if self.mask == Some(false) && self.coverage < 1.0 {
            return Err(PaperSettingsError::CoverageWithoutMask {
                coverage: self.coverage,
            });
        }
        Ok(CheckedPaperSettings(self))
    }

    fn check_sizes(&self) -> Result<(), PaperSettingsError> {
        let sizes = [
            ("encoder_width", self.encoder_width, WIDTHS),
            ("encoder_depth", self.encoder_depth, DEPTHS),
            ("decoder_width", self.decoder_width, WIDTHS),
            ("decoder_depth", self.decoder_depth, DEPTHS),
            ("latent_dim", self.latent_dim.unwrap_or(1), WIDTHS),
            ("decoders", self.decoders, (1, 16)),
            ("batch", self.batch, (1, 1 << 20)),
            ("discriminator_steps", self.discriminator_steps, (0, 1000)),
            ("geometry_rows", self.geometry_rows, (0, 1 << 20)),
            ("samples", self.samples.unwrap_or(10), (10, 1 << 30)),
            ("score_samples", self.score_samples, (1, 1 << 30)),
            ("phase_one_epochs", self.phase_one_epochs, (1, 1 << 30)),
            ("phase_two_epochs", self.phase_two_epochs, (0, 1 << 30)),
        ];
        let gate = self.gate.iter().map(|width| ("gate", *width, WIDTHS));
        let widths = self.discriminator.iter();
        let discriminator = widths.map(|width| ("discriminator", *width, WIDTHS));
        for (field, value, range) in sizes.into_iter().chain(gate).chain(discriminator) {
            let (least, most) = range;
            if value < least || value > most {
                return Err(PaperSettingsError::Size {
                    field,
                    value,
                    least,
                    most,
                });
            }
        }
        for (field, value) in [
            ("gate", self.gate.len()),
            ("discriminator", self.discriminator.len()),
        ] {
            let (least, most) = (0, DEPTHS.1);
            if value > most {
                return Err(PaperSettingsError::Size {
                    field,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }

    fn check_numbers(&self) -> Result<(), PaperSettingsError> {
        let rate = (f64::MIN_POSITIVE, 1.0);
        let weight = (0.0, 1e6);
        let numbers = [
            ("phase_one_rate", f64::from(self.phase_one_rate), rate),
            ("phase_two_rate", f64::from(self.phase_two_rate), rate),
            (
                "discriminator_rate",
                f64::from(self.discriminator_rate),
                rate,
            ),
            ("validation_share", self.validation_share, (0.0, 0.99)),
            ("coverage", self.coverage, rate),
            ("effort", self.effort, (f64::MIN_POSITIVE, 1e3)),
        ];
        let weights = self.weights.named();
        let weights = weights
            .iter()
            .map(|(name, value)| (*name, f64::from(*value), weight));
        for (field, value, (least, most)) in numbers.into_iter().chain(weights) {
            // Written so that NaN fails.
            if !(value >= least && value <= most) {
                return Err(PaperSettingsError::Number {
                    field,
                    value,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}

/// Settings that passed [`PaperSettings::validate`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedPaperSettings(PaperSettings);

impl Deref for CheckedPaperSettings {
    type Target = PaperSettings;

    fn deref(&self) -> &PaperSettings {
        &self.0
    }
}

impl CheckedPaperSettings {
    /// Epochs of phase 1 with the effort taken into account.
    pub fn phase_one_epochs(&self) -> u64 {
        scaled(self.0.phase_one_epochs, self.effort)
    }

    /// Epochs of phase 2 with the effort taken into account; 0 where it is left out.
    pub fn phase_two_epochs(&self) -> u64 {
        match self.0.phase_two_epochs {
            0 => 0,
            epochs => scaled(epochs, self.effort),
        }
    }

    /// Whether labels alone are enough for these settings.
    ///
    /// # Errors
    /// [`PaperError::LabelsOnly`] when generated points are to be judged.
    pub(crate) fn check_labels_only(&self) -> Result<(), PaperError> {
        let generated = self.use_discriminator
            && self.discriminator_rows == DiscriminatorRows::RealAndGenerated;
        if generated && self.mask == Some(false) {
            return Err(PaperError::LabelsOnly);
        }
        Ok(())
    }

    /// The same settings with other weights of the losses.
    ///
    /// # Errors
    /// When a weight is negative or NaN.
    pub(crate) fn with_weights(&self, weights: LossWeights) -> Result<Self, PaperSettingsError> {
        let settings = PaperSettings {
            weights,
            ..self.0.clone()
        };
        settings.validate()
    }
}

fn scaled(epochs: usize, effort: f64) -> u64 {
    ((epochs as f64 * effort).round() as u64).max(1)
}

/// A setting out of its range.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PaperSettingsError {
    /// A whole number out of its range.
    #[error("{field} is {value}; it must be from {least} to {most}")]
    Size {
        /// The field.
        field: &'static str,
        /// Its value.
        value: usize,
        /// The smallest allowed.
        least: usize,
        /// The largest allowed.
        most: usize,
    },
    /// A number out of its range.
    #[error("{field} is {value}; it must be from {least} to {most}")]
    Number {
        /// The field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The smallest allowed.
        least: f64,
        /// The largest allowed.
        most: f64,
    },
    /// Unseen feasible points are labelled infeasible, which only mask mode is made for.
    #[error("a coverage of {coverage} needs mask mode: leave `mask` out or set it to true")]
    CoverageWithoutMask {
        /// The share of feasible points that may be seen.
        coverage: f64,
    },
    /// A radius or sharpness out of its range.
    #[error(transparent)]
    Latent(#[from] LatentError),
}
