//! The JSON header: all that the tensors' names and shapes follow from.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::digest;
use crate::equations::Equations;
use crate::latent::LatentSet;
use crate::validate::{
    MAX_ANCHORS, MAX_CHARTS, MAX_DECODERS, MAX_EQUATIONS_DIM, MAX_LAYERS, MAX_WIDTH, WeightsError,
    limit,
};
use crate::weights::{Activation, Chart, Network, Weights};

/// The sizes and kinds of all parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    /// Version of the format.
    pub format: u32,
    /// [`digest`](super::digest) of the file, in hexadecimal.
    pub digest: String,
    /// Dimension of y; with equations of the reduced coordinates.
    pub dim: usize,
    /// Dimension of x.
    pub x_dim: usize,
    /// The chart gate.
    #[serde(default)]
    pub gate: Option<NetworkHeader>,
    /// The charts.
    pub charts: Vec<ChartHeader>,
    /// The discriminator.
    #[serde(default)]
    pub discriminator: Option<NetworkHeader>,
    /// Number of anchors.
    pub anchors: usize,
    /// Dimension of a y that obeys equations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equations_dim: Option<usize>,
}

/// One chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ChartHeader {
    /// The encoder.
    pub encoder: NetworkHeader,
    /// The latent set.
    pub latent: LatentSet,
    /// The decoders.
    pub decoders: Vec<NetworkHeader>,
    /// The decoder gate.
    #[serde(default)]
    pub decoder_gate: Option<NetworkHeader>,
}

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct NetworkHeader {
    /// Inputs, hidden widths, outputs.
    pub widths: Vec<usize>,
    /// After every layer but the last.
    pub hidden: Activation,
    /// After the last.
    pub output: Activation,
    /// How many inputs the skip reads; 0 without a skip.
    #[serde(default)]
    pub skip_inputs: usize,
}

impl Header {
    pub(super) fn of(weights: &Weights) -> Self {
        Self {
            format: super::VERSION,
            digest: digest::BLANK.to_string(),
            dim: weights.dim,
            x_dim: weights.x_dim,
            gate: weights.gate.as_ref().map(NetworkHeader::of),
            charts: weights.charts.iter().map(ChartHeader::of).collect(),
            discriminator: weights.discriminator.as_ref().map(NetworkHeader::of),
            anchors: weights.anchors.len(),
            equations_dim: weights.equations.as_ref().map(Equations::dim),
        }
    }

    /// Checks every size against its limit, before any of them is used to allocate.
    pub(super) fn check_limits(&self) -> Result<(), WeightsError> {
        limit(|| "dim".into(), self.dim, MAX_WIDTH)?;
        limit(|| "x_dim".into(), self.x_dim, MAX_WIDTH)?;
        limit(|| "charts".into(), self.charts.len(), MAX_CHARTS)?;
        limit(|| "anchors".into(), self.anchors, MAX_ANCHORS)?;
        let equations_dim = self.equations_dim.unwrap_or(0);
        limit(|| "equations_dim".into(), equations_dim, MAX_EQUATIONS_DIM)?;
        let outer = [("gate", &self.gate), ("discriminator", &self.discriminator)];
        for (part, network) in outer {
            network
                .iter()
                .try_for_each(|network| network.check_limits(part))?;
        }
        for (index, chart) in self.charts.iter().enumerate() {
            let part = format!("charts[{index}]");
            limit(
                || format!("{part}.decoders"),
                chart.decoders.len(),
                MAX_DECODERS,
            )?;
            let inner = chart.decoders.iter().chain(&chart.decoder_gate);
            for network in inner.chain([&chart.encoder]) {
                network.check_limits(&part)?;
            }
        }
        Ok(())
    }
}

impl ChartHeader {
    fn of(chart: &Chart) -> Self {
        Self {
            encoder: NetworkHeader::of(&chart.encoder),
            latent: chart.latent,
            decoders: chart.decoders.iter().map(NetworkHeader::of).collect(),
            decoder_gate: chart.decoder_gate.as_ref().map(NetworkHeader::of),
        }
    }

    /// The latent dimension.
    pub(super) fn latent_dim(&self) -> usize {
        self.encoder.widths.last().copied().unwrap_or(0)
    }
}

impl NetworkHeader {
    pub(super) fn of(network: &Network) -> Self {
        let outputs = network.layers.iter().map(|layer| layer.outputs);
        let widths = core::iter::once(network.inputs()).chain(outputs).collect();
        let skip = network.skip.as_ref().map_or(0, Vec::len);
        Self {
            widths,
            hidden: network.hidden,
            output: network.output,
            skip_inputs: skip / network.outputs().max(1),
        }
    }

    pub(super) fn check_limits(&self, part: &str) -> Result<(), WeightsError> {
        limit(
            || format!("{part}'s layers"),
            self.widths.len().saturating_sub(1),
            MAX_LAYERS,
        )?;
        limit(|| format!("{part}'s skip"), self.skip_inputs, 2 * MAX_WIDTH)?;
        // Twice: the first layer reads y and x.
        let mut widths = self.widths.iter();
        widths.try_for_each(|width| limit(|| format!("{part}'s width"), *width, 2 * MAX_WIDTH))
    }
}
