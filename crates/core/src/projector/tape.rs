//! The forward pass that keeps what the gradient needs.

use alloc::vec;
use alloc::vec::Vec;

use super::batch::Rows;
use super::gradient::GradientBuffers;
use super::tile::{Stored, add_weighted, soft_weights};
use super::{CallError, PackedChart, Points, Projector, call};
use crate::buffer::Buffer;
use crate::dense::PackedNetwork;
use crate::outcome::RawOutcome;
use crate::real::Real;
use crate::workspace::{BLOCK, DecodeBuffers, Layout, RunBuffers};

/// What a [forward pass](Projector::forward) keeps for the [pullback](Projector::pullback), from
/// [`Projector::tape`].
#[derive(Clone, Debug)]
pub struct Tape {
    pub(super) run: RunBuffers,
    pub(super) kept: Kept,
    pub(super) gradient: GradientBuffers,
    /// Rows of the last forward pass.
    pub(super) rows: Option<usize>,
}

/// Activations of the rows of a batch, tile after tile.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    layout: Layout,
    /// Rows that there is memory for.
    capacity: usize,
    pub tiles: Vec<Tile>,
    /// Position in the caller's batch of each row.
    pub sources: Vec<usize>,
    pub outcomes: Vec<RawOutcome>,
    encoder: Buffer,
    /// One decoder's after the other's.
    decoders: Buffer,
    gate: Buffer,
    /// Weights of the decoders.
    weights: Buffer,
}

/// Rows of one chart that went through its networks together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub chart: usize,
    pub begin: usize,
    pub rows: usize,
}

/// The activations of one tile.
pub(super) struct TileTapes<B> {
    pub encoder: B,
    pub decoders: B,
    pub gate: B,
    pub weights: B,
}

impl Kept {
    fn new(layout: Layout, rows: usize) -> Self {
        // Each block of rows may end each chart's tiles with a smaller one.
        let blocks = rows.div_ceil(BLOCK) * layout.charts;
        let tiles = rows.min(rows.div_ceil(layout.tile) + blocks);
        Self {
            layout,
            capacity: rows,
            tiles: Vec::with_capacity(tiles),
            sources: vec![0; rows],
            outcomes: vec![RawOutcome::NotFinite; rows],
            encoder: Buffer::zeros(rows * layout.encoder_tape),
            decoders: Buffer::zeros(rows * layout.decoder_tapes),
            gate: Buffer::zeros(rows * layout.gate_tape),
            weights: Buffer::zeros(rows * layout.decoders),
        }
    }

    pub(super) fn tapes(&self, begin: usize) -> TileTapes<&[f32]> {
        TileTapes {
            encoder: &self.encoder[begin * self.layout.encoder_tape..],
            decoders: &self.decoders[begin * self.layout.decoder_tapes..],
            gate: &self.gate[begin * self.layout.gate_tape..],
            weights: &self.weights[begin * self.layout.decoders..],
        }
    }

    /// Adds a tile and gives the memory for its activations.
    fn push(&mut self, chart: usize, sources: &[usize]) -> (usize, TileTapes<&mut [f32]>) {
        let end = |tile: &Tile| tile.begin + tile.rows;
        let (begin, rows) = (self.tiles.last().map_or(0, end), sources.len());
        self.tiles.push(Tile { chart, begin, rows });
        self.sources[begin..][..rows].copy_from_slice(sources);
        let tapes = TileTapes {
            encoder: &mut self.encoder[begin * self.layout.encoder_tape..],
            decoders: &mut self.decoders[begin * self.layout.decoder_tapes..],
            gate: &mut self.gate[begin * self.layout.gate_tape..],
            weights: &mut self.weights[begin * self.layout.decoders..],
        };
        (begin, tapes)
    }
}

impl Projector {
    /// Memory for the gradient of up to `rows` rows. A [forward pass](Self::forward) of more rows makes
    /// the tape grow.
    pub fn tape(&self, rows: usize) -> Tape {
        Tape {
            run: RunBuffers::new(self.layout),
            kept: Kept::new(self.layout, rows),
            gradient: GradientBuffers::new(self.layout),
            rows: None,
        }
    }

    /// [`project_rows_into`](Self::project_rows_into) that keeps on the tape what
    /// [`pullback`](Self::pullback) needs: the same bits, and the forward pass is not paid twice. No
    /// allocation for as many rows as the tape has had before.
    ///
    /// ```
    /// use fabproj_core::{LatentSet, Projector, RawOutcome, Weights};
    ///
    /// let disc = LatentSet::Ball { radius: 0.5, smooth: None };
    /// let projector = Projector::new(&Weights::identity(2, disc))?;
    /// let mut tape = projector.tape(1);
    /// let (mut out, mut outcomes) = ([0.0_f32; 2], [RawOutcome::NotFinite]);
    /// projector.forward(&[2.0, 0.0], &[], &mut out, &mut outcomes, &mut tape)?;
    /// // The gradient of a loss with respect to `out` becomes one with respect to y. Outside the disc
    /// // only what is across the direction to it comes back.
    /// let mut d_y = [0.0_f32; 2];
    /// projector.pullback(&[1.0, 1.0], &mut d_y, &mut [], &mut tape)?;
    /// assert_eq!(d_y, [0.0, 0.25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CallError`] when a slice has the wrong length or the tape belongs to another projector; nothing
    /// is written then.
    pub fn forward<T: Real>(
        &self,
        y: &[T],
        x: &[T],
        out: &mut [T],
        outcomes: &mut [RawOutcome],
        tape: &mut Tape,
    ) -> Result<(), CallError> {
        let rows = self.check_rows(y, x)?;
        call::length("out", out.len(), y.len())?;
        call::length("outcomes", outcomes.len(), rows)?;
        self.check_tape(tape)?;
        if rows > tape.kept.capacity {
            tape.kept = Kept::new(self.layout, rows);
        }
        tape.rows = Some(rows);
        tape.kept.tiles.clear();
        let (points, kept) = (Points { y, x }, &mut tape.kept);
        self.for_each_tile(
            Rows::All(rows),
            points,
            &mut tape.run,
            |chart, count, run| {
                self.forward_tile(chart, points, count, out, run, kept);
                for (source, outcome) in run.rows[..count].iter().zip(&run.outcomes) {
                    outcomes[*source] = *outcome;
                }
            },
        );
        Ok(())
    }

    pub(super) fn check_tape(&self, tape: &Tape) -> Result<(), CallError> {
        if tape.run.layout == self.layout {
            return Ok(());
        }
        Err(CallError::Tape)
    }

    fn forward_tile<T: Real>(
        &self,
        index: usize,
        points: Points<'_, T>,
        rows: usize,
        out: &mut [T],
        run: &mut RunBuffers,
        kept: &mut Kept,
    ) {
        let chart = &self.charts[index];
        let (begin, tapes) = kept.push(index, &run.rows[..rows]);
        self.load(&chart.frame, points, rows, run);
        let (input, stride) = (&run.input, self.layout.input_stride);
        let encoded = chart
            .encoder
            .forward_taped(input, stride, rows, tapes.encoder);
        let (outcomes, latent) = (&mut run.outcomes, &mut run.decode.latent);
        self.clamp_tile(chart, encoded, input, rows, outcomes, latent);
        let decoding = TileTapes {
            encoder: &mut [][..],
            ..tapes
        };
        let decoded = self.decode_taped(chart, rows, &mut run.decode, decoding);
        let mut stored = Stored {
            outcomes: &mut run.outcomes[..rows],
            sources: &run.rows[..rows],
            reduced: &mut run.reduced,
        };
        self.store(chart, decoded, points.x, out, &mut stored);
        kept.outcomes[begin..][..rows].copy_from_slice(&run.outcomes[..rows]);
    }

    /// The decoders' outputs blended as in `decode_tile`, activations kept.
    fn decode_taped<'w>(
        &self,
        chart: &PackedChart,
        rows: usize,
        buffers: &'w mut DecodeBuffers,
        tapes: TileTapes<&'w mut [f32]>,
    ) -> &'w [f32] {
        let (stride, width) = (self.layout.latent_stride, self.layout.output_stride);
        let Some(gate) = &chart.gate else {
            return chart.decoders[0].forward_taped(&buffers.latent, stride, rows, tapes.decoders);
        };
        let logits = gate.forward_taped(&buffers.latent, stride, rows, tapes.gate);
        soft_weights(gate, logits, rows, tapes.weights);
        buffers.blended[..rows * width].fill(0.0);
        let count = chart.decoders.len();
        for (index, decoder, tape) in chart.tapes_mut(rows, tapes.decoders) {
            let decoded = decoder.forward_taped(&buffers.latent, stride, rows, tape);
            let blended = &mut buffers.blended;
            add_weighted(decoded, tapes.weights, (index, count), width, blended);
        }
        &buffers.blended
    }
}

impl PackedChart {
    /// Each decoder with its index and its part of a chart's tapes for `rows` rows.
    pub(super) fn tapes<'t>(
        &'t self,
        rows: usize,
        mut rest: &'t [f32],
    ) -> impl Iterator<Item = (usize, &'t PackedNetwork, &'t [f32])> {
        let decoders = self.decoders.iter().enumerate();
        decoders.map(move |(index, decoder)| {
            let (tape, tail) = rest.split_at(rows * decoder.tape_width());
            rest = tail;
            (index, decoder, tape)
        })
    }

    fn tapes_mut<'t>(
        &'t self,
        rows: usize,
        mut rest: &'t mut [f32],
    ) -> impl Iterator<Item = (usize, &'t PackedNetwork, &'t mut [f32])> {
        let decoders = self.decoders.iter().enumerate();
        decoders.map(move |(index, decoder)| {
            let whole = core::mem::take(&mut rest);
            let (tape, tail) = whole.split_at_mut(rows * decoder.tape_width());
            rest = tail;
            (index, decoder, tape)
        })
    }
}
