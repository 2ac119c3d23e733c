//! φ = R ∘ φ_S ∘ E: encode, clamp to the latent set, decode. One point, rows of points, the gradient.

mod batch;
pub(crate) mod call;
mod gradient;
mod latent_space;
mod tape;
mod tile;

use alloc::vec;
use alloc::vec::Vec;

use crate::dense::PackedNetwork;
use crate::equations::Equations;
use crate::format::FormatError;
use crate::kernel::padded;
use crate::latent::LatentSet;
use crate::outcome::RawOutcome;
use crate::real::Real;
use crate::validate::WeightsError;
use crate::weights::{Anchor, Chart, Frame, Weights};
use crate::workspace::{Layout, RunBuffers, Workspace};

pub(crate) use batch::Rows;
pub use call::CallError;
pub use tape::Tape;
pub(crate) use tile::Points;

/// A chart in the form that runs.
#[derive(Clone, Debug)]
struct PackedChart {
    frame: Frame,
    encoder: PackedNetwork,
    latent: LatentSet,
    decoders: Vec<PackedNetwork>,
    gate: Option<PackedNetwork>,
}

/// A trained map onto a feasible set, ready to run.
///
/// Points are f32 or f64, see [`Real`]. Where y obeys [`Equations`], the projector applies them by itself:
/// points have all their coordinates in every call. One point, rows of points and the forward pass of the
/// gradient give the same bits. Threads share a projector freely.
///
/// The output is not tested: a [`Guard`](crate::Guard) does that.
///
/// ```
/// use fabproj_core::{LatentSet, Projector, RawOutcome, Weights};
///
/// // Networks that are the identity: the projection onto a disc of radius 0.5.
/// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
/// let projector = Projector::new(&Weights::identity(2, disc))?;
/// let (y, outcome) = projector.project(&[3.0_f32, 4.0], &[])?;
/// assert_eq!((y, outcome), (vec![0.3, 0.4], RawOutcome::Clamped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Projector {
    x_dim: usize,
    frame: Frame,
    x_frame: Frame,
    gate: Option<PackedNetwork>,
    charts: Vec<PackedChart>,
    discriminator: Option<PackedNetwork>,
    anchors: Vec<Anchor>,
    equations: Option<Equations>,
    /// In the networks' coordinates, raw units.
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
    /// Checks and packs weights.
    ///
    /// # Errors
    /// [`WeightsError`], which names the part that is at fault.
    pub fn new(weights: &Weights) -> Result<Self, WeightsError> {
        weights.validate()?;
        let gate = weights.gate.as_ref().map(PackedNetwork::new);
        let charts: Vec<_> = weights.charts.iter().map(PackedChart::new).collect();
        let discriminator = weights.discriminator.as_ref().map(PackedNetwork::new);
        let fallback = match weights.anchors.first() {
            Some(anchor) => anchor.point.clone(),
            None => weights.frame.centre.clone(),
        };
        let outer = gate.iter().chain(&discriminator);
        let width = charts.iter().flat_map(PackedChart::networks).chain(outer);
        let width = width.map(PackedNetwork::scratch_width).max().unwrap_or(0);
        let layout = layout(weights, &charts, width);
        Ok(Self {
            x_dim: weights.x_dim,
            frame: weights.frame.clone(),
            x_frame: weights.x_frame.clone(),
            gate,
            charts,
            discriminator,
            anchors: weights.anchors.clone(),
            equations: weights.equations.clone(),
            fallback,
            layout,
        })
    }

    /// Reads the bytes of a model file.
    ///
    /// # Errors
    /// [`FormatError`] for bytes that are not a model file or whose weights cannot run.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FormatError> {
        Ok(Self::new(&Weights::from_bytes(bytes)?)?)
    }

    /// Memory for calls without allocation: one per thread.
    pub fn workspace(&self) -> Workspace {
        Workspace {
            run: RunBuffers::new(self.layout),
            guard: None,
        }
    }

    /// Dimension of y.
    pub fn dim(&self) -> usize {
        self.layout.dim
    }

    /// Dimension of x; 0 for a fixed set.
    pub fn x_dim(&self) -> usize {
        self.x_dim
    }

    /// Number of charts.
    pub fn charts(&self) -> usize {
        self.charts.len()
    }

    /// The latent set of a chart; `None` if the chart does not exist.
    pub fn latent_set(&self, chart: usize) -> Option<LatentSet> {
        self.charts.get(chart).map(|chart| chart.latent)
    }

    /// The latent dimension of a chart; `None` if the chart does not exist.
    pub fn latent_dim(&self, chart: usize) -> Option<usize> {
        self.charts.get(chart).map(PackedChart::latent_dim)
    }

    /// The stored anchors; with equations their points are in reduced coordinates.
    pub fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// The equations that every output obeys.
    pub fn equations(&self) -> Option<&Equations> {
        self.equations.as_ref()
    }

    /// The units of y in which distances are reported; with equations of the reduced coordinates.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// The units of x.
    pub fn x_frame(&self) -> &Frame {
        &self.x_frame
    }

    /// Projects one point y; x is empty for a fixed set.
    ///
    /// The output is finite whatever the input. In tight loops use
    /// [`project_into`](Self::project_into), which does not allocate.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length.
    pub fn project<T: Real>(&self, y: &[T], x: &[T]) -> Result<(Vec<T>, RawOutcome), CallError> {
        self.check_point(y, x)?;
        let mut out = vec![T::default(); y.len()];
        let mut run = RunBuffers::single(self.layout);
        let outcome = self.project_one(Points { y, x }, &mut out, &mut run);
        Ok((out, outcome))
    }

    /// [`project`](Self::project) into `out`, without allocation.
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the workspace belongs to another projector;
    /// nothing is written then.
    pub fn project_into<T: Real>(
        &self,
        y: &[T],
        x: &[T],
        out: &mut [T],
        workspace: &mut Workspace,
    ) -> Result<RawOutcome, CallError> {
        self.check_point(y, x)?;
        call::length("out", out.len(), self.layout.dim)?;
        let run = self.check_workspace(workspace)?;
        Ok(self.project_one(Points { y, x }, out, run))
    }

    /// Projects the only row of `points`.
    #[inline]
    pub(crate) fn project_one<T: Real>(
        &self,
        points: Points<'_, T>,
        out: &mut [T],
        run: &mut RunBuffers,
    ) -> RawOutcome {
        let chart = &self.charts[self.choose_one(points, run)];
        run.rows[0] = 0;
        self.project_tile(chart, points, 1, out, run);
        run.outcomes[0]
    }

    /// One row of points.
    #[inline]
    pub(crate) fn row<'p, T>(&self, points: Points<'p, T>, row: usize) -> Points<'p, T> {
        Points {
            y: &points.y[row * self.layout.dim..][..self.layout.dim],
            x: &points.x[row * self.x_dim..][..self.x_dim],
        }
    }

    /// Memory of the shape that [`check_workspace`](Self::check_workspace) asks for.
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// What is returned with [`RawOutcome::NotFinite`], in the networks' coordinates.
    pub(crate) fn fallback(&self) -> &[f32] {
        &self.fallback
    }
}

/// Bytes of the widest layer's rows in a tile: half a usual first-level cache, and 96 rows of 64.
const TILE_BYTES: usize = 24 * 1024;
/// The fewest and most rows of a tile. Multiples of 12, which the kernels divide best.
const TILE_ROWS: (usize, usize) = (12, 192);

fn layout(weights: &Weights, charts: &[PackedChart], width: usize) -> Layout {
    let most =
        |measure: &dyn Fn(&PackedChart) -> usize| charts.iter().map(measure).max().unwrap_or(0);
    let (latent, x_dim) = (most(&PackedChart::latent_dim), weights.x_dim);
    Layout {
        tile: (TILE_BYTES / (4 * width.max(1))).clamp(TILE_ROWS.0, TILE_ROWS.1),
        dim: weights
            .equations
            .as_ref()
            .map_or(weights.dim, Equations::dim),
        inner_dim: weights.dim,
        charts: charts.len(),
        decoders: most(&|chart| chart.decoders.len()),
        input_stride: weights.dim + x_dim,
        latent_stride: latent + x_dim,
        latent_gradient_stride: padded(latent + x_dim),
        encoded_stride: padded(latent),
        output_stride: padded(weights.dim),
        width,
        encoder_tape: most(&|chart| chart.encoder.tape_width()),
        decoder_tapes: most(&|chart| {
            let tapes = chart.decoders.iter().map(PackedNetwork::tape_width);
            tapes.sum()
        }),
        gate_tape: most(&|chart| chart.gate.as_ref().map_or(0, PackedNetwork::tape_width)),
    }
}
