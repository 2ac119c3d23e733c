//! Writing a model as bytes.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use safetensors::{Dtype, View};
use serde::Serialize;

use super::{Header, METADATA_KEY};
use crate::lift::Lift;
use crate::model::{Anchor, Chart, Frame, Model, Network};
use crate::validate::ModelError;

/// Why a model was not written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The model could not be read back.
    #[error("a model that cannot run is not written: {0}")]
    Model(#[from] ModelError),
    /// What goes beside the model does not fit.
    #[error("the record beside the model cannot be written: {reason}")]
    Record {
        /// Why.
        reason: String,
    },
}

/// The header and the record as one JSON object.
#[derive(Serialize)]
struct Metadata<'a, R: Serialize> {
    #[serde(flatten)]
    header: &'a Header,
    #[serde(flatten)]
    record: &'a R,
}

/// The bytes of a model file: the model, and the fields of `record` beside those of the [`Header`].
/// The same input gives the same bytes.
///
/// # Errors
/// [`WriteError`] for a model that does not [validate](Model::validate), for a record that is not a
/// struct or a map with text keys, that uses a key of the header, or that is too long.
pub fn write_with<R: Serialize>(model: &Model, record: &R) -> Result<Vec<u8>, WriteError> {
    model.validate()?;
    let unfit = |reason: String| WriteError::Record { reason };
    let header = Header::of(model);
    let metadata = Metadata {
        header: &header,
        record,
    };
    let text = serde_json::to_string(&metadata).map_err(|error| unfit(error.to_string()))?;
    // A key that both use makes the object ambiguous; the reader's view of it decides.
    match serde_json::from_str::<Header>(&text) {
        Ok(read) if read == header => {}
        Ok(_) => return Err(unfit("it changes the header".into())),
        Err(error) => return Err(unfit(error.to_string())),
    }
    let metadata = Some([(METADATA_KEY.to_string(), text)].into_iter().collect());
    let bytes = safetensors::serialize(tensors(model), metadata);
    let bytes = bytes.map_err(|error| unfit(error.to_string()))?;
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
        return Err(ModelError::TooLarge { part, found, limit }.into());
    }
    Ok(bytes)
}

/// A tensor as bytes.
struct Tensor {
    element: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
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
struct Tensors(Vec<(String, Tensor)>);

fn tensors(model: &Model) -> Vec<(String, Tensor)> {
    let mut tensors = Tensors(Vec::new());
    tensors.frame("frame", &model.frame);
    tensors.frame("parameter_frame", &model.parameter_frame);
    tensors.optional_network("gate", model.gate.as_ref());
    for (index, chart) in model.charts.iter().enumerate() {
        tensors.chart(&format!("charts.{index}"), chart);
    }
    tensors.optional_network("discriminator", model.discriminator.as_ref());
    let latent_dims = model.charts.iter().map(Chart::latent_dim);
    tensors.anchors(&model.anchors, latent_dims.max().unwrap_or(0));
    if let Some(lift) = &model.lift {
        tensors.lift(lift);
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

    fn network(&mut self, name: &str, network: &Network) {
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

    fn lift(&mut self, lift: &Lift) {
        let dim = lift.dim();
        self.doubles("lift.origin", vec![dim], &lift.origin);
        self.doubles("lift.basis", vec![dim, lift.reduced_dim()], &lift.basis);
        let shape = vec![dim, lift.parameter_dim()];
        self.doubles("lift.by_parameter", shape, &lift.by_parameter);
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
        let parameters = anchors.iter().flat_map(|anchor| &anchor.parameters);
        let shape = vec![count, first.parameters.len()];
        self.floats("anchors.parameters".into(), shape, parameters);
    }
}
