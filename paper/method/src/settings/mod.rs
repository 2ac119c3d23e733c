//! Settings of the paper's training.

mod check;

use fabproj_core::LatentSet;
use serde::{Deserialize, Serialize};

pub use self::check::{CheckedPaperSettings, PaperSettingsError};
use super::loss_weights::LossWeights;

/// Settings of the paper's training; the defaults are [`released`](Self::released).
///
/// ```
/// use fab_method::PaperSettings;
///
/// let settings = PaperSettings { decoders: 2, effort: 0.1, ..PaperSettings::released() };
/// let checked = settings.validate()?;
/// assert_eq!(checked.phase_one_epochs(), 50);
/// # Ok::<(), fab_method::PaperSettingsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PaperSettings {
    /// Width of the encoder's hidden layers; default 64.
    pub encoder_width: usize,
    /// Number of the encoder's hidden layers; default 4.
    pub encoder_depth: usize,
    /// W, width of a decoder's hidden layers; default 64.
    pub decoder_width: usize,
    /// D, number of a decoder's hidden layers; default 4.
    pub decoder_depth: usize,
    /// k, the latent dimension; default none, which is the dimension of y.
    pub latent_dim: Option<usize>,
    /// ρ, the number of decoders, blended by a soft gate when there are several; default 1.
    pub decoders: usize,
    /// Widths of the gate's hidden layers; default 32, 16.
    pub gate: Vec<usize>,
    /// Widths of the discriminator's hidden layers; default 64, 32.
    pub discriminator: Vec<usize>,
    /// Radius of the latent ball; default 0.5.
    pub radius: f32,
    /// Sharpness of a smooth clamp to the ball in the finished model; default none, the hard clamp.
    pub smooth: Option<f32>,
    /// Points to draw from the set; default none, as many as the released code draws.
    pub samples: Option<usize>,
    /// Share of the points that is held back; default 0.2.
    pub validation_share: f64,
    /// Share of the feasible points that training may see; default 1.
    pub coverage: f64,
    /// Rows per step; default 256.
    pub batch: usize,
    /// Epochs of phase 1; default 500.
    pub phase_one_epochs: usize,
    /// Learning rate of phase 1; default 1e-3.
    pub phase_one_rate: f32,
    /// Epochs of phase 2, where 0 is the ablation without it; default 100.
    pub phase_two_epochs: usize,
    /// Learning rate of encoder, decoders and gate in phase 2; default 1e-3.
    pub phase_two_rate: f32,
    /// Learning rate of the discriminator; default 1e-3.
    pub discriminator_rate: f32,
    /// Discriminator steps per batch; default 3.
    pub discriminator_steps: usize,
    /// Weights of the losses of phase 2; default 1.5, 1, 1, 0.025, 0.5 (the grid's first entry).
    pub weights: LossWeights,
    /// Whether there is a discriminator; without it two losses have no meaning; default true.
    pub use_discriminator: bool,
    /// Whether cross-entropies weigh "feasible" by (infeasible rows)/(feasible rows); default true.
    pub positive_weight: bool,
    /// What the discriminator learns from; default real and generated points, labelled by the set.
    pub discriminator_rows: DiscriminatorRows,
    /// Where the decoder's Jacobian is taken for the geometry loss; default at encodings.
    pub geometry_points: GeometryPoints,
    /// Rows of a batch that enter the geometry loss; default 32.
    pub geometry_rows: usize,
    /// How squared errors are added over coordinates; default their mean.
    pub reconstruction: Reconstruction,
    /// Mask mode: only labels are known. Default none: on when they are, or when coverage is below 1.
    pub mask: Option<bool>,
    /// Factor of both numbers of epochs, each staying at least 1; default 1.
    pub effort: f64,
    /// Ball decodes that the score is measured on; default 500.
    pub score_samples: usize,
}

/// What the discriminator learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscriminatorRows {
    /// The batch, its reconstructions and decoded latents, all labelled by membership (as released).
    RealAndGenerated,
    /// The batch with its labels (as printed, and in mask mode).
    Real,
}

/// Where the decoder's Jacobian is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GeometryPoints {
    /// At the encodings of the batch's first rows (as released).
    Encodings,
    /// At points of the latent ball (as printed).
    Ball,
}

/// How squared errors are added over coordinates; over rows it is always the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reconstruction {
    /// Their mean (as released).
    Mean,
    /// Their sum (as printed).
    Sum,
}

impl Default for PaperSettings {
    fn default() -> Self {
        Self::released()
    }
}

impl PaperSettings {
    /// What the released code does: preset `paper`.
    pub fn released() -> Self {
        Self {
            encoder_width: 64,
            encoder_depth: 4,
            decoder_width: 64,
            decoder_depth: 4,
            latent_dim: None,
            decoders: 1,
            gate: vec![32, 16],
            discriminator: vec![64, 32],
            radius: 0.5,
            smooth: None,
            samples: None,
            validation_share: 0.2,
            coverage: 1.0,
            batch: 256,
            phase_one_epochs: 500,
            phase_one_rate: 1e-3,
            phase_two_epochs: 100,
            phase_two_rate: 1e-3,
            discriminator_rate: 1e-3,
            discriminator_steps: 3,
            weights: LossWeights::default(),
            use_discriminator: true,
            positive_weight: true,
            discriminator_rows: DiscriminatorRows::RealAndGenerated,
            geometry_points: GeometryPoints::Encodings,
            geometry_rows: 32,
            reconstruction: Reconstruction::Mean,
            mask: None,
            effort: 1.0,
            score_samples: 500,
        }
    }

    /// What the paper prints: preset `paper-text`. The losses are those of its equations 4 to 9, the
    /// numbers those of its appendix. The appendix also lists a weight for a feasibility loss that the
    /// equations do not have; it is 0 here.
    pub fn text() -> Self {
        Self {
            phase_two_epochs: 150,
            phase_two_rate: 5e-4,
            weights: LossWeights {
                reconstruction: 1.0,
                feasibility: 0.0,
                latent: 1.0,
                geometry: 0.1,
                hinge: 0.1,
            },
            positive_weight: false,
            discriminator_rows: DiscriminatorRows::Real,
            geometry_points: GeometryPoints::Ball,
            geometry_rows: 256,
            reconstruction: Reconstruction::Sum,
            ..Self::released()
        }
    }

    /// The ablation without phase 2: phase-1 weights, no change of units.
    pub fn phase_one_only(self) -> Self {
        Self {
            phase_two_epochs: 0,
            ..self
        }
    }

    /// The ablation without the hinge loss.
    pub fn without_hinge(mut self) -> Self {
        self.weights.hinge = 0.0;
        self
    }

    /// The ablation without a discriminator and the two losses that need it.
    pub fn without_discriminator(self) -> Self {
        Self {
            use_discriminator: false,
            ..self
        }
    }

    /// The latent ball with its clamp.
    pub fn latent_set(&self) -> LatentSet {
        LatentSet::Ball {
            radius: self.radius,
            smooth: self.smooth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_valid_and_differ_where_the_paper_and_its_code_do() {
        let (released, text) = (PaperSettings::released(), PaperSettings::text());
        assert_ne!(released, text);
        released.clone().validate().unwrap();
        let text = text.validate().unwrap();
        assert_eq!(text.phase_two_epochs(), 150);
        assert_eq!(text.weights.feasibility, 0.0);
        assert_eq!(PaperSettings::default(), released);
    }

    #[test]
    fn bad_values_are_named() {
        let base = PaperSettings::released();
        let named = |settings: PaperSettings| settings.validate().unwrap_err().to_string();
        let zero = PaperSettings {
            decoders: 0,
            ..base.clone()
        };
        assert_eq!(named(zero), "decoders is 0; it must be from 1 to 16");
        let nan = PaperSettings {
            effort: f64::NAN,
            ..base.clone()
        };
        assert!(named(nan).starts_with("effort is NaN"));
        let mut negative = base.clone();
        negative.weights.latent = -1.0;
        assert!(named(negative).starts_with("weights.latent is -1"));
        let radius = PaperSettings {
            radius: 0.0,
            ..base.clone()
        };
        assert!(named(radius).contains("radius is 0"));
        let unmasked = PaperSettings {
            mask: Some(false),
            coverage: 0.5,
            ..base
        };
        assert_eq!(
            unmasked.validate(),
            Err(PaperSettingsError::CoverageWithoutMask { coverage: 0.5 })
        );
    }

    #[test]
    fn effort_scales_epochs_but_leaves_one() {
        let settings = |effort| PaperSettings {
            effort,
            ..PaperSettings::released()
        };
        let tiny = settings(1e-6).validate().unwrap();
        assert_eq!((tiny.phase_one_epochs(), tiny.phase_two_epochs()), (1, 1));
        let tenth = settings(0.1).phase_one_only().validate().unwrap();
        assert_eq!(
            (tenth.phase_one_epochs(), tenth.phase_two_epochs()),
            (50, 0)
        );
    }

    #[test]
    fn settings_are_read_with_defaults_and_without_strangers() {
        let settings: PaperSettings =
            toml::from_str("decoders = 3\n[weights]\nhinge = 1.0\n").unwrap();
        assert_eq!((settings.decoders, settings.weights.hinge), (3, 1.0));
        assert_eq!(settings.weights.reconstruction, 1.5);
        assert!(toml::from_str::<PaperSettings>("decoder = 3\n").is_err());
        let text = toml::to_string(&PaperSettings::text()).unwrap();
        assert_eq!(
            toml::from_str::<PaperSettings>(&text).unwrap(),
            PaperSettings::text()
        );
    }
}
