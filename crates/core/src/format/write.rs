//! Writing weights as bytes.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use safetensors::{Dtype, View};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::read::OF_METADATA;
use super::{Header, METADATA_KEY, digest, extent};
use crate::equations::Equations;
use crate::validate::WeightsError;
use crate::weights::{Anchor, Chart, Frame, Network, Weights};

/// Why no file was written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The weights cannot run.
    #[error("invalid weights: {0}")]
    Weights(#[from] WeightsError),
    /// What goes beside the weights does not fit.
    #[error("cannot write the record beside the weights: {reason}")]
    Record {
        /// Why.
        reason: String,
    },
}

/// Header and record as one JSON object.
#[derive(Serialize)]
struct Metadata<'a, H: Serialize, R: Serialize> {
    #[serde(flatten)]
    header: &'a H,
    #[serde(flatten)]
    record: &'a R,
}

/// The bytes of a model file: the weights, and the fields of `record` in the metadata's JSON object.
/// The same input gives the same bytes.
///
/// # Errors
/// [`WriteError`] for weights that do not [validate](Weights::validate), for a record that is not a
/// struct or a map with text keys, that uses a key of the weights, or that is too long.
pub fn write_with<R: Serialize>(weights: &Weights, record: &R) -> Result<Vec<u8>, WriteError> {
    weights.validate()?;
    write(&Header::of(weights), record, tensors(weights))
}

/// The bytes of a file with this header, record and these tensors.
pub(super) fn write<H, R>(
    header: &H,
    record: &R,
    tensors: Vec<(String, Tensor)>,
) -> Result<Vec<u8>, WriteError>
where
    H: Serialize + DeserializeOwned + PartialEq,
    R: Serialize,
{
    let unfit = |reason: String| WriteError::Record { reason };
    let metadata = Metadata { header, record };
    let text = serde_json::to_string(&metadata).map_err(|error| unfit(error.to_string()))?;
    // A key that both use makes the object ambiguous; the reader's view of it decides.
    match serde_json::from_str::<H>(&text) {
        Ok(read) if read == *header => {}
        Ok(_) => return Err(unfit("it uses a key of the weights".into())),
        Err(error) => return Err(unfit(error.to_string())),
    }
    extent::check(text.as_bytes(), &OF_METADATA).map_err(|error| unfit(error.to_string()))?;
    let metadata = Some([(METADATA_KEY.to_string(), text)].into_iter().collect());
    let bytes = safetensors::serialize(tensors, metadata);
    let mut bytes = bytes.map_err(|error| unfit(error.to_string()))?;
    let header_bytes = bytes
        .first_chunk::<8>()
        .map_or(0, |length| u64::from_le_bytes(*length));
    if header_bytes > super::MAX_HEADER_BYTES as u64 {
        let limit = super::MAX_HEADER_BYTES;
        return Err(unfit(format!(
            "a header of {header_bytes} bytes; the limit is {limit}"
        )));
    }
    if bytes.len() > super::MAX_BYTES {
        let (part, found, limit) = ("the file".into(), bytes.len(), super::MAX_BYTES);
        return Err(WeightsError::TooLarge { part, found, limit }.into());
    }
    if !digest::seal(&mut bytes) {
        return Err(unfit("it has no place for the digest".into()));
    }
    Ok(bytes)
}

/// A tensor as bytes.
pub(super) struct Tensor {
    pub(super) element: Dtype,
    pub(super) shape: Vec<usize>,
    pub(super) bytes: Vec<u8>,
}

impl View for Tensor {
    fn dtype(&self) -> Dtype {
        self.element
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Tensors in the making, with their names.
pub(super) struct Tensors(pub(super) Vec<(String, Tensor)>);

pub(super) fn tensors(weights: &Weights) -> Vec<(String, Tensor)> {
    let mut tensors = Tensors(Vec::new());
    tensors.frame("frame", &weights.frame);
    tensors.frame("x_frame", &weights.x_frame);
    tensors.optional_network("gate", weights.gate.as_ref());
    for (index, chart) in weights.charts.iter().enumerate() {
        tensors.chart(&format!("charts.{index}"), chart);
    }
    tensors.optional_network("discriminator", weights.discriminator.as_ref());
    let latent_dims = weights.charts.iter().map(Chart::latent_dim);
    tensors.anchors(&weights.anchors, latent_dims.max().unwrap_or(0));
    if let Some(equations) = &weights.equations {
        tensors.equations(equations);
    }
    tensors.0
}

impl Tensors {
    fn floats<'a>(
        &mut self,
        name: String,
        shape: Vec<usize>,
        values: impl IntoIterator<Item = &'a f32>,
    ) {
        // Arrays without elements are not stored; the reader knows their shapes.
        if shape.contains(&0) {
            return;
        }
        let bytes = values
            .into_iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.0.push((
            name,
            Tensor {
                element: Dtype::F32,
                shape,
                bytes,
            },
        ));
    }

    fn frame(&mut self, name: &str, frame: &Frame) {
        let shape = vec![frame.centre.len()];
        self.floats(format!("{name}.centre"), shape.clone(), &frame.centre);
        self.floats(format!("{name}.scale"), shape, &frame.scale);
    }

    fn chart(&mut self, name: &str, chart: &Chart) {
        self.frame(&format!("{name}.frame"), &chart.frame);
        self.network(&format!("{name}.encoder"), &chart.encoder);
        for (index, decoder) in chart.decoders.iter().enumerate() {
            self.network(&format!("{name}.decoders.{index}"), decoder);
        }
        self.optional_network(&format!("{name}.decoder_gate"), chart.decoder_gate.as_ref());
    }

    fn optional_network(&mut self, name: &str, network: Option<&Network>) {
        if let Some(network) = network {
            self.network(name, network);
        }
    }

    pub(super) fn network(&mut self, name: &str, network: &Network) {
        for (index, layer) in network.layers.iter().enumerate() {
            let shape = vec![layer.outputs, layer.inputs];
            let prefix = format!("{name}.layers.{index}");
            self.floats(format!("{prefix}.weight"), shape, &layer.weights);
            self.floats(format!("{prefix}.bias"), vec![layer.outputs], &layer.bias);
        }
        if let Some(skip) = &network.skip {
            let outputs = network.outputs();
            let shape = vec![outputs, skip.len() / outputs.max(1)];
            self.floats(format!("{name}.skip.weight"), shape, skip);
        }
    }

    fn equations(&mut self, equations: &Equations) {
        let dim = equations.dim();
        self.doubles("equations.origin", vec![dim], &equations.origin);
        let shape = vec![dim, equations.reduced_dim()];
        self.doubles("equations.basis", shape, &equations.basis);
        let shape = vec![dim, equations.x_dim()];
        self.doubles("equations.by_x", shape, &equations.by_x);
    }

    fn doubles(&mut self, name: &str, shape: Vec<usize>, values: &[f64]) {
        if shape.contains(&0) {
            return;
        }
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        let tensor = Tensor {
            element: Dtype::F64,
            shape,
            bytes: bytes.collect(),
        };
        self.0.push((name.into(), tensor));
    }

    /// Latents of charts with fewer dimensions than the widest are filled up with zeros.
    fn anchors(&mut self, anchors: &[Anchor], widest: usize) {
        let Some(first) = anchors.first() else { return };
        let count = anchors.len();
        let charts = anchors
            .iter()
            .flat_map(|anchor| (anchor.chart as u32).to_le_bytes());
        let bytes = charts.collect();
        let shape = vec![count];
        self.0.push((
            "anchors.chart".into(),
            Tensor {
                element: Dtype::U32,
                shape,
                bytes,
            },
        ));
        let latents = anchors.iter().flat_map(|anchor| {
            let filling = core::iter::repeat_n(&0.0, widest - anchor.latent.len());
            anchor.latent.iter().chain(filling)
        });
        self.floats("anchors.latent".into(), vec![count, widest], latents);
        let points = anchors.iter().flat_map(|anchor| &anchor.point);
        self.floats(
            "anchors.point".into(),
            vec![count, first.point.len()],
            points,
        );
        let x = anchors.iter().flat_map(|anchor| &anchor.x);
        self.floats("anchors.x".into(), vec![count, first.x.len()], x);
    }
}
