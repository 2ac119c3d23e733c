//! The memory that calls work in, made once and used again.

use alloc::vec;
use alloc::vec::Vec;

use crate::buffer::Buffer;
use crate::dense::Scratch;
use crate::guard::GuardBuffers;
use crate::outcome::RawOutcome;

/// Rows of a batch whose charts are chosen before any of them is projected, so that the rows of one
/// chart meet in full tiles.
pub(crate) const BLOCK: usize = 1024;

/// How large the buffers of a [`Workspace`] are; equal for projectors that can share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Rows that go through the networks together.
    pub tile: usize,
    /// Dimension of y.
    pub dim: usize,
    /// Dimension of the y that the networks see; with equations of the reduced coordinates.
    pub inner_dim: usize,
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

/// Memory for calls without allocation, from [`Projector::workspace`](crate::Projector::workspace) or
/// [`Guard::workspace`](crate::Guard::workspace). One per thread.
///
/// A guard's workspace also serves its projector.
///
/// ```
/// use fabproj_core::{LatentSet, Projector, Weights};
///
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let projector = Projector::new(&Weights::identity(2, disc))?;
/// let mut workspace = projector.workspace();
/// let mut out = [0.0_f32; 2];
/// for y in [[3.0, 4.0], [0.1, 0.2]] {
///     projector.project_into(&y, &[], &mut out, &mut workspace)?;
/// }
/// assert_eq!(out, [0.1, 0.2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Workspace {
    pub(crate) run: RunBuffers,
    /// Only a guard's workspace has them.
    pub(crate) guard: Option<GuardBuffers>,
}

/// What a projection needs.
#[derive(Clone, Debug)]
pub(crate) struct RunBuffers {
    pub layout: Layout,
    /// Position in the caller's batch of each row of the tile.
    pub rows: Vec<usize>,
    pub outcomes: Vec<RawOutcome>,
    /// `[y, x]` in the network's units.
    pub input: Buffer,
    pub scratch: Scratch,
    pub groups: Groups,
    pub decode: DecodeBuffers,
    /// Reduced coordinates of one row, where there are equations.
    pub reduced: Vec<f64>,
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
    /// Weights of the decoders, `decoders` per row.
    pub weights: Buffer,
    /// Blended decodes.
    pub blended: Buffer,
}

impl RunBuffers {
    /// For batches.
    pub(crate) fn new(layout: Layout) -> Self {
        Self::sized(layout, layout.tile, BLOCK)
    }

    /// For one row at a time.
    pub(crate) fn single(layout: Layout) -> Self {
        Self::sized(layout, 1, 0)
    }

    fn sized(layout: Layout, tile: usize, block: usize) -> Self {
        Self {
            layout,
            rows: vec![0; tile],
            outcomes: vec![RawOutcome::Inside; tile],
            input: Buffer::zeros(tile * layout.input_stride),
            scratch: Scratch::new(tile, layout.width),
            groups: Groups {
                chart: vec![0; block],
                order: vec![0; block],
                end: vec![0; layout.charts],
            },
            decode: DecodeBuffers {
                latent: Buffer::zeros(tile * layout.latent_stride),
                weights: Buffer::zeros(tile * layout.decoders),
                blended: Buffer::zeros(tile * layout.output_stride),
            },
            reduced: vec![0.0; layout.inner_dim],
        }
    }

    /// Rows that go through the networks together.
    #[inline]
    pub(crate) fn tile(&self) -> usize {
        self.rows.len()
    }
}
