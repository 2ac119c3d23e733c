//! Checks that [`Weights`] can run: consistent dimensions, finite numbers, sizes within limits.

use alloc::format;
use alloc::string::String;

use crate::latent::LatentError;
use crate::weights::{Anchor, Chart, Frame, Layer, Network, Weights};

pub(crate) const MAX_WIDTH: usize = 4096;
pub(crate) const MAX_LAYERS: usize = 64;
/// The most charts of a model.
pub(crate) const MAX_CHARTS: usize = 1024;
/// The most decoders of a chart.
pub(crate) const MAX_DECODERS: usize = 64;
/// The most anchors of a model.
pub(crate) const MAX_ANCHORS: usize = 65_536;
pub(crate) const MAX_EQUATIONS_DIM: usize = 1024;

impl Weights {
    /// The widest layer, and the largest dimension of y, of x and of a latent.
    pub const MAX_WIDTH: usize = MAX_WIDTH;
    /// The deepest network.
    pub const MAX_LAYERS: usize = MAX_LAYERS;
    /// The largest dimension of a y that obeys equations.
    pub const MAX_EQUATIONS_DIM: usize = MAX_EQUATIONS_DIM;
}

/// Why weights cannot run. `part` names the place, such as `charts[0].encoder.layers[2].bias`.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// A list that must hold at least one entry holds none.
    #[error("{part} is empty")]
    Empty {
        /// Where.
        part: String,
    },
    /// A length or dimension that disagrees with the other parts.
    #[error("{part} is {found}; the other parts need {expected}")]
    Dimension {
        /// Where.
        part: String,
        /// What the other parts need.
        expected: usize,
        /// What is there.
        found: usize,
    },
    /// A size beyond what this library accepts.
    #[error("{part} is {found}; the limit is {limit}")]
    TooLarge {
        /// Where.
        part: String,
        /// What is there.
        found: usize,
        /// The largest allowed.
        limit: usize,
    },
    /// NaN or infinity among weights, frames or anchors.
    #[error("{part}[{index}] is {value}; weights must be finite")]
    NotFinite {
        /// Where.
        part: String,
        /// Position within the part.
        index: usize,
        /// What is there.
        value: f32,
    },
    /// A frame's scale that is zero or negative.
    #[error("{part}[{index}] is {value}; a scale must be positive")]
    Scale {
        /// Where.
        part: String,
        /// Which coordinate.
        index: usize,
        /// What is there.
        value: f32,
    },
    /// A latent set that does not fit.
    #[error("{part}: {source}")]
    Latent {
        /// Where.
        part: String,
        /// What is wrong with it.
        source: LatentError,
    },
    /// A gate must be there exactly when there is something to choose from.
    #[error("{part} is {}, with {choices} to choose from", if *present { "present" } else { "missing" })]
    Gate {
        /// Where.
        part: String,
        /// Whether it is there.
        present: bool,
        /// How many charts or decoders there are.
        choices: usize,
    },
    /// Equations whose basis is not orthonormal.
    #[error(
        "columns {first} and {second} of equations.basis have the product {product}: they are not orthonormal"
    )]
    Basis {
        /// A column.
        first: usize,
        /// Another, or the same.
        second: usize,
        /// Their product, which should be 1 for the same column and 0 for others.
        product: f64,
    },
    /// An anchor that belongs to no chart.
    #[error("anchors[{anchor}] names chart {chart}, but there are {charts}")]
    AnchorChart {
        /// Index of the anchor.
        anchor: usize,
        /// The chart it names.
        chart: usize,
        /// Number of charts.
        charts: usize,
    },
}

impl Chart {
    /// Dimension of the chart's latent space: what its encoder gives.
    pub fn latent_dim(&self) -> usize {
        self.encoder.outputs()
    }
}

impl Weights {
    /// Checks every shape, size and number. Weights that pass run without a panic on any input.
    ///
    /// # Errors
    /// The first fault found, as a [`WeightsError`] that names the part and the values.
    pub fn validate(&self) -> Result<(), WeightsError> {
        if self.dim == 0 {
            return Err(WeightsError::Empty { part: "dim".into() });
        }
        limit(|| "dim".into(), self.dim, MAX_WIDTH)?;
        limit(|| "x_dim".into(), self.x_dim, MAX_WIDTH)?;
        limit(|| "charts".into(), self.charts.len(), MAX_CHARTS)?;
        limit(|| "anchors".into(), self.anchors.len(), MAX_ANCHORS)?;
        self.frame.validate("frame", self.dim)?;
        self.x_frame.validate("x_frame", self.x_dim)?;
        if self.charts.is_empty() {
            return Err(WeightsError::Empty {
                part: "charts".into(),
            });
        }
        let joined = self.dim + self.x_dim;
        validate_gate("gate", self.gate.as_ref(), joined, self.charts.len())?;
        for (index, chart) in self.charts.iter().enumerate() {
            chart.validate(&format!("charts[{index}]"), self.dim, self.x_dim)?;
        }
        if let Some(discriminator) = &self.discriminator {
            discriminator.validate("discriminator", joined, 1)?;
        }
        for (index, anchor) in self.anchors.iter().enumerate() {
            self.validate_anchor(index, anchor)?;
        }
        match &self.equations {
            Some(equations) => equations.validate(self.dim, self.x_dim),
            None => Ok(()),
        }
    }

    fn validate_anchor(&self, index: usize, anchor: &Anchor) -> Result<(), WeightsError> {
        let Some(chart) = self.charts.get(anchor.chart) else {
            let (chart, charts) = (anchor.chart, self.charts.len());
            return Err(WeightsError::AnchorChart {
                anchor: index,
                chart,
                charts,
            });
        };
        let parts = [
            ("latent", &anchor.latent, chart.latent_dim()),
            ("x", &anchor.x, self.x_dim),
            ("point", &anchor.point, self.dim),
        ];
        for (name, values, expected) in parts {
            numbers(|| format!("anchors[{index}].{name}"), values, expected)?;
        }
        Ok(())
    }
}

impl Chart {
    fn validate(&self, part: &str, dim: usize, x_dim: usize) -> Result<(), WeightsError> {
        self.frame.validate(&format!("{part}.frame"), dim)?;
        let latent = self.latent_dim();
        self.encoder
            .validate(&format!("{part}.encoder"), dim + x_dim, latent)?;
        self.latent
            .validate(latent)
            .map_err(|source| WeightsError::Latent {
                part: format!("{part}.latent"),
                source,
            })?;
        if self.decoders.is_empty() {
            return Err(WeightsError::Empty {
                part: format!("{part}.decoders"),
            });
        }
        limit(
            || format!("{part}.decoders"),
            self.decoders.len(),
            MAX_DECODERS,
        )?;
        let joined = latent + x_dim;
        for (index, decoder) in self.decoders.iter().enumerate() {
            decoder.validate(&format!("{part}.decoders[{index}]"), joined, dim)?;
        }
        let gate = format!("{part}.decoder_gate");
        validate_gate(
            &gate,
            self.decoder_gate.as_ref(),
            joined,
            self.decoders.len(),
        )
    }
}

impl Network {
    pub(crate) fn validate(
        &self,
        part: &str,
        inputs: usize,
        outputs: usize,
    ) -> Result<(), WeightsError> {
        if self.layers.is_empty() {
            return Err(WeightsError::Empty {
                part: format!("{part}.layers"),
            });
        }
        limit(|| format!("{part}.layers"), self.layers.len(), MAX_LAYERS)?;
        dimension(|| format!("{part}'s inputs"), self.inputs(), inputs)?;
        dimension(|| format!("{part}'s outputs"), self.outputs(), outputs)?;
        let mut width = inputs;
        for (index, layer) in self.layers.iter().enumerate() {
            layer.validate(&format!("{part}.layers[{index}]"), width)?;
            width = layer.outputs;
        }
        let Some(skip) = &self.skip else {
            return Ok(());
        };
        let columns = skip.len() / outputs.max(1);
        if columns == 0 {
            return Err(WeightsError::Empty {
                part: format!("{part}.skip"),
            });
        }
        limit(|| format!("{part}.skip's inputs"), columns, inputs)?;
        numbers(|| format!("{part}.skip"), skip, columns * outputs)
    }
}

impl Layer {
    fn validate(&self, part: &str, inputs: usize) -> Result<(), WeightsError> {
        dimension(|| format!("{part}'s inputs"), self.inputs, inputs)?;
        limit(|| format!("{part}'s inputs"), self.inputs, 2 * MAX_WIDTH)?;
        limit(|| format!("{part}'s outputs"), self.outputs, MAX_WIDTH)?;
        if self.outputs == 0 {
            return Err(WeightsError::Empty {
                part: format!("{part}'s outputs"),
            });
        }
        let weights = self.inputs * self.outputs;
        numbers(|| format!("{part}.weights"), &self.weights, weights)?;
        numbers(|| format!("{part}.bias"), &self.bias, self.outputs)
    }
}

impl Frame {
    fn validate(&self, part: &str, dim: usize) -> Result<(), WeightsError> {
        numbers(|| format!("{part}.centre"), &self.centre, dim)?;
        numbers(|| format!("{part}.scale"), &self.scale, dim)?;
        match self.scale.iter().position(|scale| *scale <= 0.0) {
            None => Ok(()),
            Some(index) => {
                let part = format!("{part}.scale");
                Err(WeightsError::Scale {
                    part,
                    index,
                    value: self.scale[index],
                })
            }
        }
    }
}

fn validate_gate(
    part: &str,
    gate: Option<&Network>,
    inputs: usize,
    choices: usize,
) -> Result<(), WeightsError> {
    match gate {
        Some(gate) if choices > 1 => gate.validate(part, inputs, choices),
        None if choices == 1 => Ok(()),
        _ => {
            let present = gate.is_some();
            Err(WeightsError::Gate {
                part: part.into(),
                present,
                choices,
            })
        }
    }
}

/// Compares with a limit; the part's name is made only for an error.
pub(crate) fn limit(
    part: impl Fn() -> String,
    found: usize,
    limit: usize,
) -> Result<(), WeightsError> {
    if found <= limit {
        return Ok(());
    }
    Err(WeightsError::TooLarge {
        part: part(),
        found,
        limit,
    })
}

pub(crate) fn dimension(
    part: impl Fn() -> String,
    found: usize,
    expected: usize,
) -> Result<(), WeightsError> {
    if found == expected {
        return Ok(());
    }
    Err(WeightsError::Dimension {
        part: part(),
        expected,
        found,
    })
}

fn numbers(part: impl Fn() -> String, values: &[f32], expected: usize) -> Result<(), WeightsError> {
    dimension(
        || format!("the length of {}", part()),
        values.len(),
        expected,
    )?;
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(index) => {
            let value = values[index];
            Err(WeightsError::NotFinite {
                part: part(),
                index,
                value,
            })
        }
    }
}
