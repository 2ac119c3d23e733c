//! Weights in the order in which the kernels read them.

use super::lanes::{LANES, Lanes};
use super::narrow::NARROW;
use super::padded;

/// Floats of a packed matrix of weights.
pub const fn packed_length(inputs: usize, outputs: usize) -> usize {
    if outputs <= NARROW {
        outputs.saturating_mul(padded(inputs))
    } else {
        inputs.saturating_mul(padded(outputs))
    }
}

/// A matrix `[rows][columns]` to be copied, or transposed, into rows padded with zeros.
pub(super) struct Pack<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) from: &'a [f32],
    pub(super) to: &'a mut [f32],
    /// Whether the result is `[columns][padded rows]` instead of `[rows][padded columns]`.
    pub(super) transpose: bool,
}

/// Packs a matrix.
///
/// # Safety
/// The instruction set must be there.
#[inline(always)]
pub(super) unsafe fn pack<V: Lanes>(task: Pack<'_>) {
    let Pack {
        rows,
        columns,
        from,
        to,
        transpose,
    } = task;
    if !transpose {
        for (from, to) in from
            .chunks_exact(columns)
            .zip(to.chunks_exact_mut(padded(columns)))
        {
            to[..columns].copy_from_slice(from);
            to[columns..].fill(0.0);
        }
        return;
    }
    let width = padded(rows);
    assert!(from.len() >= rows * columns && to.len() >= columns * width);
    for row in (0..rows).step_by(LANES) {
        for column in (0..columns).step_by(LANES) {
            let (height, count) = ((rows - row).min(LANES), (columns - column).min(LANES));
            // SAFETY: the reads are `count` floats from column `column` of existing rows; the writes
            // are whole blocks of rows `column` to `column + count` of the result, whose width is
            // whole blocks; both lengths were checked above.
            unsafe {
                let mut block = [V::splat(0.0); LANES];
                for (index, lanes) in block.iter_mut().enumerate().take(height) {
                    let at = from.as_ptr().add((row + index) * columns + column);
                    *lanes = if count == LANES {
                        V::load(at)
                    } else {
                        V::load_first(at, count)
                    };
                }
                let block = V::transpose(block);
                for (index, lanes) in block.iter().enumerate().take(count) {
                    lanes.store(to.as_mut_ptr().add((column + index) * width + row));
                }
            }
        }
    }
}
