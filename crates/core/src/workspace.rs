//! The memory that calls work in, made once and used again.

use alloc::vec;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::dense::Scratch;
use crate::status::Status;

/// Rows of a batch whose charts are chosen before any of them is projected, so that the rows of one
/// chart meet in full tiles.
pub(crate) const BLOCK: usize = 1024;

/// How large the buffers of a [`Workspace`] are; equal for projectors that can share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Rows that go through the networks together.
    pub tile: usize,
    /// The same when activations are kept for the gradient.
    pub gradient_tile: usize,
    /// Number of charts.
    pub charts: usize,
    /// Most decoders of a chart.
    pub decoders: usize,
    /// Floats per row of `[y, x]`.
    pub input_stride: usize,
    /// Floats per row of `[z, x]`.
    pub latent_stride: usize,
    /// Floats per row of the gradient with respect to `[z, x]`.
    pub latent_gradient_stride: usize,
    /// Floats per row of a raw latent as encoders write it.
    pub encoded_stride: usize,
    /// Floats per row of a decode.
    pub output_stride: usize,
    /// Floats per row of the widest layer.
    pub width: usize,
    /// Floats per row that an encoder, all decoders of a chart and its gate keep for the gradient.
    pub encoder_tape: usize,
    pub decoder_tapes: usize,
    pub gate_tape: usize,
}

/// Memory for the calls of one [`Projector`](crate::Projector), from
/// [`Projector::workspace`](crate::Projector::workspace). One per thread; no call allocates.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(crate) layout: Layout,
    /// Position in the caller's batch of each row of the tile.
    pub(crate) rows: Vec<usize>,
    pub(crate) statuses: Vec<Status>,
    /// `[y, x]` in the network's units.
    pub(crate) input: Buffer,
    pub(crate) scratch: Scratch,
    pub(crate) groups: Groups,
    pub(crate) decode: DecodeBuffers,
    pub(crate) gradient: GradientBuffers,
}

/// The rows of a block by chart.
#[derive(Clone, Debug)]
pub(crate) struct Groups {
    /// Chart of each row.
    pub chart: Vec<u32>,
    /// Rows, those of the first chart first.
    pub order: Vec<u32>,
    /// Where the rows of each chart end in `order`.
    pub end: Vec<u32>,
}

/// What decoding a tile needs.
#[derive(Clone, Debug)]
pub(crate) struct DecodeBuffers {
    /// `[z, x]`, z in the latent set.
    pub latent: Buffer,
    /// The rows of `latent` that one hard-gated decoder serves.
    pub gathered: Buffer,
    /// Rows of the tile that one hard-gated decoder serves.
    pub members: Vec<usize>,
    /// The decoder of each row.
    pub choices: Vec<usize>,
    /// Soft weights, `decoders` per row.
    pub weights: Buffer,
    /// Blended decodes.
    pub blended: Buffer,
}

/// What the gradient of a tile needs besides.
#[derive(Clone, Debug)]
pub(crate) struct GradientBuffers {
    pub encoder_tape: Buffer,
    /// One decoder's after the other's.
    pub decoder_tapes: Buffer,
    pub gate_tape: Buffer,
    /// With respect to the decode.
    pub output: Buffer,
    /// The share of it that one decoder gets.
    pub share: Buffer,
    /// With respect to the gate's outputs.
    pub logits: Buffer,
    /// With respect to `[z, x]`.
    pub latent: Buffer,
    /// With respect to the raw latent, as the encoder's output.
    pub encoded: Buffer,
}

impl Workspace {
    pub(crate) fn new(layout: Layout) -> Self {
        let tile = layout.tile.max(layout.gradient_tile);
        let kept = layout.gradient_tile;
        let gate_stride = crate::kernel::padded(layout.decoders);
        Self {
            layout,
            rows: vec![0; tile],
            statuses: vec![Status::Inside; tile],
            input: Buffer::zeros(tile * layout.input_stride),
            scratch: Scratch::new(tile, layout.width),
            groups: Groups {
                chart: vec![0; BLOCK],
                order: vec![0; BLOCK],
                end: vec![0; layout.charts],
            },
            decode: DecodeBuffers {
                latent: Buffer::zeros(tile * layout.latent_stride),
                gathered: Buffer::zeros(tile * layout.latent_stride),
                members: vec![0; tile],
                choices: vec![0; tile],
                weights: Buffer::zeros(tile * gate_stride),
                blended: Buffer::zeros(tile * layout.output_stride),
            },
            gradient: GradientBuffers {
                encoder_tape: Buffer::zeros(kept * layout.encoder_tape),
                decoder_tapes: Buffer::zeros(kept * layout.decoder_tapes),
                gate_tape: Buffer::zeros(kept * layout.gate_tape),
                output: Buffer::zeros(kept * layout.output_stride),
                share: Buffer::zeros(kept * layout.output_stride),
                logits: Buffer::zeros(kept * gate_stride),
                latent: Buffer::zeros(kept * layout.latent_gradient_stride),
                encoded: Buffer::zeros(kept * layout.encoded_stride),
            },
        }
    }
}
