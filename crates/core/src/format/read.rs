//! Reading bytes that may be hostile.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::extent::{self, Limits};
use super::{ChartHeader, FormatError, Header, NetworkHeader, digest};
use super::{MAX_BYTES, MAX_CONTAINERS, MAX_HEADER_BYTES, MAX_TENSORS, MAX_VALUES};
use super::{METADATA_KEY, VERSION};
use crate::equations::Equations;
use crate::weights::{Anchor, Chart, Frame, Layer, Network, Weights};

/// For a file with nothing beside the weights.
#[derive(Serialize, Deserialize)]
pub(super) struct Nothing {}

/// The part of the metadata that every version has.
#[derive(Deserialize)]
pub(super) struct Versioned {
    format: u32,
    #[serde(default)]
    digest: String,
    /// Only in the file of a solver.
    #[serde(default)]
    pub(super) solver: Option<serde::de::IgnoredAny>,
}

pub(super) fn damaged(error: serde_json::Error) -> FormatError {
    FormatError::Metadata {
        reason: error.to_string(),
    }
}

/// Limits of the safetensors header: a tensor is an object with two arrays.
const OF_HEADER: Limits = Limits {
    what: "the safetensors header",
    containers: 3 * MAX_TENSORS + 2,
    values: MAX_VALUES,
};
/// Limits of the metadata.
pub(super) const OF_METADATA: Limits = Limits {
    what: "the metadata entry `fabproj`",
    containers: MAX_CONTAINERS,
    values: MAX_VALUES,
};

/// Reads the weights, and whatever else `R` finds among the other fields of the metadata's JSON object.
///
/// ```
/// use std::collections::BTreeMap;
/// use fabproj_core::{LatentSet, Weights, format};
///
/// #[derive(serde::Deserialize)]
/// struct Record { seed: u64 }
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let weights = Weights::identity(2, disc);
/// let bytes = format::write_with(&weights, &BTreeMap::from([("seed", 7)]))?;
/// let (read, record) = format::read_with::<Record>(&bytes)?;
/// assert_eq!((read, record.seed), (weights, 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FormatError`]; no bytes make this panic.
pub fn read_with<R: DeserializeOwned>(bytes: &[u8]) -> Result<(Weights, R), FormatError> {
    let (tensors, (header, record)) = open(bytes, parse::<R>)?;
    let weights = tensors.weights(&header)?;
    weights.validate()?;
    Ok((weights, record))
}

/// The tensors of a file, and what `parse` makes of its metadata once the whole file has its digest.
pub(super) fn open<T>(
    bytes: &[u8],
    parse: impl FnOnce(&Versioned, &str) -> Result<T, FormatError>,
) -> Result<(Tensors<'_>, T), FormatError> {
    extent::check(header_text(bytes)?, &OF_HEADER)?;
    let container = |error: safetensors::SafeTensorError| FormatError::Container {
        reason: error.to_string(),
    };
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(container)?;
    let text = metadata
        .metadata()
        .as_ref()
        .and_then(|entries| entries.get(METADATA_KEY));
    let text = text.ok_or(FormatError::NoMetadata)?;
    let stated: Versioned = serde_json::from_str(text).map_err(damaged)?;
    if stated.format != VERSION {
        return Err(FormatError::Version {
            found: stated.format,
            newest: VERSION,
        });
    }
    digest::check(bytes, &stated.digest)?;
    extent::check(text.as_bytes(), &OF_METADATA)?;
    let parsed = parse(&stated, text)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(container)?;
    if tensors.len() > MAX_TENSORS {
        return Err(FormatError::TooManyTensors {
            found: tensors.len(),
            limit: MAX_TENSORS,
        });
    }
    Ok((Tensors { tensors }, parsed))
}

/// The text of the safetensors header, if the sizes are plausible.
fn header_text(bytes: &[u8]) -> Result<&[u8], FormatError> {
    let found = bytes.len();
    if found > MAX_BYTES {
        return Err(FormatError::TooLarge {
            found,
            limit: MAX_BYTES,
        });
    }
    let Some(length) = bytes.first_chunk::<8>() else {
        return Err(FormatError::Truncated { found, needed: 8 });
    };
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER_BYTES as u64 {
        return Err(FormatError::HeaderTooLarge {
            found: length,
            limit: MAX_HEADER_BYTES,
        });
    }
    let header = bytes[8..].get(..length as usize);
    header.ok_or(FormatError::Truncated {
        found,
        needed: length + 8,
    })
}

/// Header and record from the metadata.
fn parse<R: DeserializeOwned>(stated: &Versioned, text: &str) -> Result<(Header, R), FormatError> {
    if stated.solver.is_some() {
        return Err(FormatError::Solver);
    }
    let header: Header = serde_json::from_str(text).map_err(damaged)?;
    header.check_limits()?;
    let record = serde_json::from_str(text).map_err(damaged)?;
    Ok((header, record))
}

/// Tensors by name. Shapes are compared with the header before anything is copied.
pub(super) struct Tensors<'data> {
    tensors: SafeTensors<'data>,
}

impl Tensors<'_> {
    pub(super) fn weights(&self, header: &Header) -> Result<Weights, FormatError> {
        let charts = header.charts.iter().enumerate();
        Ok(Weights {
            dim: header.dim,
            x_dim: header.x_dim,
            frame: self.frame("frame", header.dim)?,
            x_frame: self.frame("x_frame", header.x_dim)?,
            gate: self.optional_network("gate", header.gate.as_ref())?,
            charts: charts
                .map(|(index, chart)| self.chart(&format!("charts.{index}"), chart, header.dim))
                .collect::<Result<_, _>>()?,
            discriminator: self.optional_network("discriminator", header.discriminator.as_ref())?,
            anchors: self.anchors(header)?,
            equations: self.equations(header)?,
        })
    }

    fn chart(&self, name: &str, header: &ChartHeader, dim: usize) -> Result<Chart, FormatError> {
        let decoders = header.decoders.iter().enumerate();
        Ok(Chart {
            frame: self.frame(&format!("{name}.frame"), dim)?,
            encoder: self.network(&format!("{name}.encoder"), &header.encoder)?,
            latent: header.latent,
            decoders: decoders
                .map(|(index, decoder)| self.network(&format!("{name}.decoders.{index}"), decoder))
                .collect::<Result<_, _>>()?,
            decoder_gate: self.optional_network(
                &format!("{name}.decoder_gate"),
                header.decoder_gate.as_ref(),
            )?,
        })
    }

    fn frame(&self, name: &str, dim: usize) -> Result<Frame, FormatError> {
        Ok(Frame {
            centre: self.floats(&format!("{name}.centre"), &[dim])?,
            scale: self.floats(&format!("{name}.scale"), &[dim])?,
        })
    }

    fn optional_network(
        &self,
        name: &str,
        header: Option<&NetworkHeader>,
    ) -> Result<Option<Network>, FormatError> {
        header.map(|header| self.network(name, header)).transpose()
    }

    pub(super) fn network(
        &self,
        name: &str,
        header: &NetworkHeader,
    ) -> Result<Network, FormatError> {
        let pairs = header.widths.windows(2).enumerate();
        let layers = pairs.map(|(index, pair)| {
            let (inputs, outputs) = (pair[0], pair[1]);
            let layer = format!("{name}.layers.{index}");
            Ok(Layer {
                inputs,
                outputs,
                weights: self.floats(&format!("{layer}.weight"), &[outputs, inputs])?,
                bias: self.floats(&format!("{layer}.bias"), &[outputs])?,
            })
        });
        let layers = layers.collect::<Result<Vec<_>, FormatError>>()?;
        let outputs = header.widths.last().copied().unwrap_or(0);
        let skip = (header.skip_inputs > 0).then(|| {
            self.floats(
                &format!("{name}.skip.weight"),
                &[outputs, header.skip_inputs],
            )
        });
        Ok(Network {
            layers,
            hidden: header.hidden,
            output: header.output,
            skip: skip.transpose()?,
        })
    }

    fn anchors(&self, header: &Header) -> Result<Vec<Anchor>, FormatError> {
        let count = header.anchors;
        if count == 0 {
            return Ok(Vec::new());
        }
        let latent_dims: Vec<_> = header.charts.iter().map(ChartHeader::latent_dim).collect();
        let widest = latent_dims.iter().copied().max().unwrap_or(0);
        let (dim, x_dim) = (header.dim, header.x_dim);
        let charts = self.integers("anchors.chart", &[count])?;
        let latents = self.floats("anchors.latent", &[count, widest])?;
        let points = self.floats("anchors.point", &[count, dim])?;
        let x = self.floats("anchors.x", &[count, x_dim])?;
        let anchors = charts.into_iter().enumerate().map(|(index, chart)| {
            let chart = chart as usize;
            // An unknown chart is reported by validation; its latent is then of no matter.
            let latent_dim = latent_dims.get(chart).copied().unwrap_or(0);
            Anchor {
                chart,
                latent: latents[index * widest..][..latent_dim].to_vec(),
                x: x[index * x_dim..][..x_dim].to_vec(),
                point: points[index * dim..][..dim].to_vec(),
            }
        });
        Ok(anchors.collect())
    }

    fn equations(&self, header: &Header) -> Result<Option<Equations>, FormatError> {
        let Some(dim) = header.equations_dim else {
            return Ok(None);
        };
        Ok(Some(Equations {
            origin: self.doubles("equations.origin", &[dim])?,
            basis: self.doubles("equations.basis", &[dim, header.dim])?,
            by_x: self.doubles("equations.by_x", &[dim, header.x_dim])?,
        }))
    }

    pub(super) fn doubles(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>, FormatError> {
        self.elements(name, shape, Dtype::F64, "F64", f64::from_le_bytes)
    }

    fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, FormatError> {
        self.elements(name, shape, Dtype::F32, "F32", f32::from_le_bytes)
    }

    pub(super) fn integers(&self, name: &str, shape: &[usize]) -> Result<Vec<u32>, FormatError> {
        self.elements(name, shape, Dtype::U32, "U32", u32::from_le_bytes)
    }

    fn tensor(&self, name: &str) -> Result<TensorView<'_>, FormatError> {
        let found = self.tensors.tensor(name);
        found.map_err(|_| FormatError::MissingTensor { name: name.into() })
    }

    fn elements<T, const BYTES: usize>(
        &self,
        name: &str,
        shape: &[usize],
        element: Dtype,
        expected: &'static str,
        convert: impl Fn([u8; BYTES]) -> T,
    ) -> Result<Vec<T>, FormatError> {
        // Nothing is stored for arrays without elements.
        if shape.contains(&0) {
            return Ok(Vec::new());
        }
        let tensor = self.tensor(name)?;
        if tensor.dtype() != element {
            let found = tensor.dtype().to_string();
            return Err(FormatError::ElementType {
                name: name.into(),
                expected,
                found,
            });
        }
        if tensor.shape() != shape {
            let (expected, found) = (shape.to_vec(), tensor.shape().to_vec());
            return Err(FormatError::Shape {
                name: name.into(),
                expected,
                found,
            });
        }
        let (chunks, _) = tensor.data().as_chunks::<BYTES>();
        Ok(chunks.iter().copied().map(convert).collect())
    }
}
