//! Checkpoints of FAB's PyTorch code, as weights that run here.

use std::cell::RefCell;
use std::collections::HashSet;

use fabproj_core::{
    Activation, Chart, Frame, LatentSet, Layer, Network, Weights, WeightsError, format,
};
use safetensors::{Dtype, SafeTensorError, SafeTensors};

/// Why a checkpoint was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The bytes are not those of a safetensors file.
    #[error(
        "cannot parse the checkpoint as safetensors: {0}; save the state dict with safetensors.torch.save_file"
    )]
    NotSafetensors(SafeTensorError),
    /// The file is larger than any model file may be.
    #[error("{what} of the checkpoint has {found} bytes; at most {most} are read")]
    TooLarge {
        /// The file, or its header.
        what: &'static str,
        /// Its bytes.
        found: usize,
        /// The limit.
        most: usize,
    },
    /// A tensor is not there.
    #[error(
        "the checkpoint has no tensor `{name}`; it needs the state dict's own names, such as encoder.0.weight"
    )]
    Missing {
        /// Its name.
        name: String,
    },
    /// A tensor is of another shape or number type.
    #[error("tensor `{name}` of the checkpoint must be {expected}, found {found}")]
    Unexpected {
        /// Its name.
        name: String,
        /// What it must be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A tensor of the networks that the import does not know what to do with.
    #[error(
        "tensor `{name}` of the checkpoint is not one of FAB's networks: linear layers with ReLU between them, \
         encoder.0, encoder.2, …; without it the networks would compute something else"
    )]
    Unused {
        /// Its name.
        name: String,
    },
    /// The parts do not fit together, or hold numbers that are not finite.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// The weights in a checkpoint of FAB's released PyTorch code: a state dict with `encoder`, `decoders`,
/// `gating_network` and, perhaps, `feasibility_predictor_nn`, in the bytes of a safetensors file.
///
/// Such checkpoints hold neither the latent set nor units. The released code clamps to a ball of radius 0.5. Units
/// come from two more tensors, `mean` and `std`, of the rows `[x, y]` that the networks were trained on; without
/// them numbers are used as they are.
///
/// # Errors
/// [`CheckpointError`], which names the tensor that is at fault.
pub fn checkpoint(bytes: &[u8], latent: LatentSet) -> Result<Weights, CheckpointError> {
    let header = bytes
        .first_chunk()
        .map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // A header longer than its file is none.
    let header = usize::try_from(header).unwrap_or(usize::MAX);
    let header = if header > bytes.len() { 0 } else { header };
    let sizes = [
        ("the file", bytes.len(), format::MAX_BYTES),
        ("the header", header, format::MAX_HEADER_BYTES),
    ];
    for (what, found, most) in sizes {
        if found > most {
            return Err(CheckpointError::TooLarge { what, found, most });
        }
    }
    let file = SafeTensors::deserialize(bytes).map_err(CheckpointError::NotSafetensors)?;
    let file = Checkpoint {
        file,
        read: RefCell::default(),
    };
    let encoder = file.network("encoder", Activation::Tanh)?;
    let decoders: Vec<Network> = (0..)
        .map(|index| format!("decoders.{index}"))
        .take_while(|name| file.has(name))
        .map(|name| file.network(&name, Activation::Identity))
        .collect::<Result<_, _>>()?;
    let Some(dim) = decoders.first().map(Network::outputs) else {
        let name = "decoders.0.0.weight".to_owned();
        return Err(CheckpointError::Missing { name });
    };
    let x_dim = encoder.inputs().saturating_sub(dim);
    let decoder_gate = match decoders.len() {
        1 => None,
        _ => Some(file.network("gating_network", Activation::Identity)?),
    };
    let (x_frame, frame) = file.frames(x_dim, dim)?;
    let weights = Weights {
        dim,
        x_dim,
        frame: frame.clone(),
        x_frame,
        gate: None,
        charts: vec![Chart {
            frame,
            encoder,
            latent,
            decoders,
            decoder_gate,
        }],
        discriminator: file.discriminator(x_dim)?,
        anchors: Vec::new(),
        equations: None,
    };
    file.check_unused()?;
    weights.validate()?;
    Ok(weights)
}

struct Checkpoint<'a> {
    file: SafeTensors<'a>,
    /// The tensors that were used.
    read: RefCell<HashSet<String>>,
}

impl Checkpoint<'_> {
    /// Refuses layers of encoder and decoders that are no part of the weights.
    fn check_unused(&self) -> Result<(), CheckpointError> {
        let read = self.read.borrow();
        let unused = self.file.names().into_iter().filter(|name| {
            let own = name.starts_with("encoder.") || name.starts_with("decoders.");
            own && !read.contains(*name)
        });
        match unused.min() {
            None => Ok(()),
            Some(name) => Err(CheckpointError::Unused {
                name: name.to_owned(),
            }),
        }
    }

    /// Whether there is a network of this name.
    fn has(&self, name: &str) -> bool {
        self.file.tensor(&format!("{name}.0.weight")).is_ok()
    }

    /// A `Sequential` of linear layers with ReLU between them: layers have even numbers.
    fn network(&self, name: &str, output: Activation) -> Result<Network, CheckpointError> {
        let mut layers = vec![self.layer(name, 0)?];
        while self.has_layer(name, 2 * layers.len()) {
            layers.push(self.layer(name, 2 * layers.len())?);
        }
        Ok(Network {
            layers,
            hidden: Activation::Relu,
            output,
            skip: None,
        })
    }

    fn has_layer(&self, name: &str, number: usize) -> bool {
        self.file.tensor(&format!("{name}.{number}.weight")).is_ok()
    }

    fn layer(&self, name: &str, number: usize) -> Result<Layer, CheckpointError> {
        let (weights, shape) = self.numbers(&format!("{name}.{number}.weight"))?;
        let [outputs, inputs] = shape[..] else {
            return Err(CheckpointError::Unexpected {
                name: format!("{name}.{number}.weight"),
                expected: "a matrix [outputs, inputs]".to_owned(),
                found: format!("{shape:?}"),
            });
        };
        Ok(Layer {
            inputs,
            outputs,
            weights,
            bias: self.vector(&format!("{name}.{number}.bias"), outputs)?,
        })
    }

    /// The released predictor reads `[x, y]`; a discriminator reads `[y, x]`.
    fn discriminator(&self, x_dim: usize) -> Result<Option<Network>, CheckpointError> {
        const NAME: &str = "feasibility_predictor_nn";
        if !self.has(NAME) {
            return Ok(None);
        }
        let mut network = self.network(NAME, Activation::Identity)?;
        if let Some(first) = network.layers.first_mut() {
            let rows = first.weights.chunks_exact_mut(first.inputs.max(1));
            rows.for_each(|row| row.rotate_left(x_dim.min(row.len())));
        }
        Ok(Some(network))
    }

    /// The units of x and of y.
    fn frames(&self, x_dim: usize, dim: usize) -> Result<(Frame, Frame), CheckpointError> {
        let all = x_dim + dim;
        let unit = Frame::unit(all);
        let read = |name: &str, usual: Vec<f32>| match self.file.tensor(name) {
            Ok(_) => self.vector(name, all),
            Err(_) => Ok(usual),
        };
        let (centre, scale) = (read("mean", unit.centre)?, read("std", unit.scale)?);
        let part = |range: std::ops::Range<usize>| Frame {
            centre: centre[range.clone()].to_vec(),
            scale: scale[range].to_vec(),
        };
        Ok((part(0..x_dim), part(x_dim..all)))
    }

    fn vector(&self, name: &str, length: usize) -> Result<Vec<f32>, CheckpointError> {
        let (numbers, shape) = self.numbers(name)?;
        if shape == [length] {
            return Ok(numbers);
        }
        Err(CheckpointError::Unexpected {
            name: name.to_owned(),
            expected: format!("of shape [{length}]"),
            found: format!("{shape:?}"),
        })
    }

    /// The numbers of a tensor of f32 or f64, and its shape.
    fn numbers(&self, name: &str) -> Result<(Vec<f32>, Vec<usize>), CheckpointError> {
        let tensor = self.file.tensor(name);
        let tensor = tensor.map_err(|_| CheckpointError::Missing {
            name: name.to_owned(),
        })?;
        self.read.borrow_mut().insert(name.to_owned());
        let data = tensor.data();
        let numbers = match tensor.dtype() {
            Dtype::F32 => data
                .as_chunks()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b))
                .collect(),
            Dtype::F64 => data
                .as_chunks()
                .0
                .iter()
                .map(|b| f64::from_le_bytes(*b) as f32)
                .collect(),
            other => {
                return Err(CheckpointError::Unexpected {
                    name: name.to_owned(),
                    expected: "of F32 or F64".to_owned(),
                    found: format!("{other:?}"),
                });
            }
        };
        Ok((numbers, tensor.shape().to_vec()))
    }
}
