//! φ = R ∘ φ_S ∘ E: encode, clamp to the latent set, decode. One point, a batch, the gradient.

mod batch;
pub(crate) mod call;
mod gradient;
mod latent_space;
mod tile;

use alloc::vec::Vec;

use crate::dense::PackedNetwork;
use crate::format::FormatError;
use crate::kernel::padded;
use crate::latent::LatentSet;
use crate::model::{Anchor, Blend, Chart, Frame, Model};
use crate::status::Status;
use crate::validate::ModelError;
use crate::workspace::{Layout, Workspace};

pub(crate) use batch::Rows;
pub use call::CallError;
pub use gradient::Gradient;
pub(crate) use tile::{Points, all_finite};

/// A chart in the form that runs.
#[derive(Clone, Debug)]
struct PackedChart {
    frame: Frame,
    encoder: PackedNetwork,
    latent: LatentSet,
    decoders: Vec<PackedNetwork>,
    gate: Option<PackedNetwork>,
    blend: Blend,
}

/// A trained map onto a feasible set, ready to run.
///
/// Shared freely between threads; each thread brings its own [`Workspace`]. One point, a batch and
/// the gradient's primal output have the same bits.
///
/// ```
/// # use fabproj_core::*;
/// # let model = Model {
/// #     dim: 2,
/// #     parameter_dim: 0,
/// #     frame: Frame::unit(2),
/// #     parameter_frame: Frame::unit(0),
/// #     gate: None,
/// #     charts: vec![Chart {
/// #         frame: Frame::unit(2),
/// #         encoder: Network::identity(2),
/// #         latent: LatentSet::Ball { radius: 0.5, smooth: None },
/// #         decoders: vec![Network::identity(2)],
/// #         decoder_gate: None,
/// #         blend: Blend::Soft,
/// #     }],
/// #     discriminator: None,
/// #     anchors: Vec::new(),
/// #     lift: None,
/// # };
/// // A model whose networks are the identity projects onto its latent set, a disc of radius 0.5.
/// let projector = Projector::new(&model)?;
/// let mut workspace = projector.workspace();
/// let mut out = [0.0; 2];
/// let status = projector.project(&[3.0, 4.0], &[], &mut out, &mut workspace)?;
/// assert_eq!(status, Status::Projected);
/// assert_eq!(out, [0.3, 0.4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Projector {
    dim: usize,
    parameter_dim: usize,
    frame: Frame,
    parameter_frame: Frame,
    gate: Option<PackedNetwork>,
    charts: Vec<PackedChart>,
    discriminator: Option<PackedNetwork>,
    anchors: Vec<Anchor>,
    fallback: Vec<f32>,
    layout: Layout,
}

impl PackedChart {
    fn new(chart: &Chart) -> Self {
        Self {
            frame: chart.frame.clone(),
            encoder: PackedNetwork::new(&chart.encoder),
            latent: chart.latent,
            decoders: chart.decoders.iter().map(PackedNetwork::new).collect(),
            gate: chart.decoder_gate.as_ref().map(PackedNetwork::new),
            blend: chart.blend,
        }
    }

    fn latent_dim(&self) -> usize {
        self.encoder.outputs()
    }

    fn networks(&self) -> impl Iterator<Item = &PackedNetwork> {
        self.decoders
            .iter()
            .chain(&self.gate)
            .chain([&self.encoder])
    }
}

impl Projector {
    /// Checks and packs a model.
    ///
    /// # Errors
    /// [`ModelError`], which names the part of the model that is at fault.
    pub fn new(model: &Model) -> Result<Self, ModelError> {
        model.validate()?;
        let gate = model.gate.as_ref().map(PackedNetwork::new);
        let charts: Vec<_> = model.charts.iter().map(PackedChart::new).collect();
        let discriminator = model.discriminator.as_ref().map(PackedNetwork::new);
        let fallback = match model.anchors.first() {
            Some(anchor) => anchor.point.clone(),
            None => model.frame.centre.clone(),
        };
        let joined = model.dim + model.parameter_dim;
        let outer = gate.iter().chain(&discriminator);
        let width = charts.iter().flat_map(PackedChart::networks).chain(outer);
        let width = width.map(PackedNetwork::scratch_width).max().unwrap_or(0);
        let layout = layout(
            &charts,
            joined,
            model.parameter_dim,
            padded(model.dim),
            width,
        );
        Ok(Self {
            dim: model.dim,
            parameter_dim: model.parameter_dim,
            frame: model.frame.clone(),
            parameter_frame: model.parameter_frame.clone(),
            gate,
            charts,
            discriminator,
            anchors: model.anchors.clone(),
            fallback,
            layout,
        })
    }

    /// Reads the bytes of a model file.
    ///
    /// # Errors
    /// [`FormatError`] for bytes that are not a model or whose model cannot run.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        Ok(Self::new(&Model::from_bytes(bytes)?)?)
    }

    /// Memory for calls: one per thread.
    pub fn workspace(&self) -> Workspace {
        Workspace::new(self.layout)
    }

    /// Dimension of y.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Dimension of the parameters x; 0 for a fixed set.
    pub fn parameter_dim(&self) -> usize {
        self.parameter_dim
    }

    /// Number of charts.
    pub fn charts(&self) -> usize {
        self.charts.len()
    }

    /// The latent set of a chart; `None` if there is no such chart.
    pub fn latent_set(&self, chart: usize) -> Option<LatentSet> {
        self.charts.get(chart).map(|chart| chart.latent)
    }

    /// The latent dimension of a chart; `None` if there is no such chart.
    pub fn latent_dim(&self, chart: usize) -> Option<usize> {
        self.charts.get(chart).map(PackedChart::latent_dim)
    }

    /// The anchors stored with the model.
    pub fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// The units of y in which distances are reported.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The units of x.
    pub fn parameter_frame(&self) -> &Frame {
        &self.parameter_frame
    }

    /// What is returned with [`Status::NotFinite`]: the first anchor's point or, without anchors, the
    /// centre of the model's frame.
    pub fn fallback(&self) -> &[f32] {
        &self.fallback
    }

    /// Projects one point y, with the parameters x (empty for a fixed set), into `out`.
    ///
    /// The output is finite whatever the input: see [`Status::NotFinite`]. No allocation.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace belongs to another projector;
    /// nothing is written then.
    pub fn project(
        &self,
        y: &[f32],
        x: &[f32],
        out: &mut [f32],
        workspace: &mut Workspace,
    ) -> Result<Status, CallError> {
        self.check_point(y, x, workspace)?;
        call::length("out", out.len(), self.dim)?;
        Ok(self.project_one(Points { y, x }, out, workspace))
    }

    /// Projects the only row of `points`.
    #[inline]
    fn project_one(&self, points: Points<'_>, out: &mut [f32], work: &mut Workspace) -> Status {
        let chart = &self.charts[self.choose_one(points, work)];
        work.rows[0] = 0;
        self.project_tile(chart, points, 1, out, work);
        work.statuses[0]
    }
}

/// Bytes of the widest layer's rows in a tile: half a usual first-level cache, and 96 rows of 64.
const TILE_BYTES: usize = 24 * 1024;
/// The fewest and most rows of a tile. Multiples of 12, which the kernels divide best.
const TILE_ROWS: (usize, usize) = (12, 192);

fn layout(
    charts: &[PackedChart],
    joined: usize,
    parameter_dim: usize,
    output_stride: usize,
    width: usize,
) -> Layout {
    let most =
        |measure: &dyn Fn(&PackedChart) -> usize| charts.iter().map(measure).max().unwrap_or(0);
    let latent = most(&PackedChart::latent_dim);
    let tile = (TILE_BYTES / (4 * width.max(1))).clamp(TILE_ROWS.0, TILE_ROWS.1);
    Layout {
        tile,
        gradient_tile: tile,
        charts: charts.len(),
        decoders: most(&|chart| chart.decoders.len()),
        input_stride: joined,
        latent_stride: latent + parameter_dim,
        latent_gradient_stride: padded(latent + parameter_dim),
        encoded_stride: padded(latent),
        output_stride,
        width,
        encoder_tape: most(&|chart| chart.encoder.tape_width()),
        decoder_tapes: most(&|chart| {
            let tapes = chart.decoders.iter().map(PackedNetwork::tape_width);
            tapes.sum()
        }),
        gate_tape: most(&|chart| chart.gate.as_ref().map_or(0, PackedNetwork::tape_width)),
    }
}
