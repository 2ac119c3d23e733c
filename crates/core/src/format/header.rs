//! The JSON header: all that the tensors' names and shapes follow from.

use alloc::format;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::latent::LatentSet;
use crate::lift::{Lift, MAX_LIFTED_DIM};
use crate::model::{Activation, Blend, Chart, Model, Network};
use crate::validate::{
    MAX_ANCHORS, MAX_CHARTS, MAX_DECODERS, MAX_LAYERS, MAX_WIDTH, ModelError, limit,
};

/// The sizes and kinds of a model's parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub format: u32,
    /// Dimension of y.
    pub dim: usize,
    /// Dimension of x.
    pub parameter_dim: usize,
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
    /// Dimension of the points that obey equations, where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifted_dim: Option<usize>,
}

/// One chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChartHeader {
    /// The encoder.
    pub encoder: NetworkHeader,
    /// The latent set.
    pub latent: LatentSet,
    /// The decoders.
    pub decoders: Vec<NetworkHeader>,
    /// The decoder gate.
    #[serde(default)]
    pub decoder_gate: Option<NetworkHeader>,
    /// How decoders are combined.
    pub blend: Blend,
}

/// One network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkHeader {
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
    /// The header of a model.
    pub fn of(model: &Model) -> Self {
        Self {
            format: super::VERSION,
            dim: model.dim,
            parameter_dim: model.parameter_dim,
            gate: model.gate.as_ref().map(NetworkHeader::of),
            charts: model.charts.iter().map(ChartHeader::of).collect(),
            discriminator: model.discriminator.as_ref().map(NetworkHeader::of),
            anchors: model.anchors.len(),
            lifted_dim: model.lift.as_ref().map(Lift::dim),
        }
    }

    /// Checks every size against its limit, before any of them is used to allocate.
    pub(super) fn check_limits(&self) -> Result<(), ModelError> {
        limit(|| "dim".into(), self.dim, MAX_WIDTH)?;
        limit(|| "parameter_dim".into(), self.parameter_dim, MAX_WIDTH)?;
        limit(|| "charts".into(), self.charts.len(), MAX_CHARTS)?;
        limit(|| "anchors".into(), self.anchors, MAX_ANCHORS)?;
        let lifted_dim = self.lifted_dim.unwrap_or(0);
        limit(|| "lifted_dim".into(), lifted_dim, MAX_LIFTED_DIM)?;
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
            blend: chart.blend,
        }
    }

    /// The latent dimension.
    pub(super) fn latent_dim(&self) -> usize {
        self.encoder.widths.last().copied().unwrap_or(0)
    }
}

impl NetworkHeader {
    fn of(network: &Network) -> Self {
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

    fn check_limits(&self, part: &str) -> Result<(), ModelError> {
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
