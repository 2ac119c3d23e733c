//! Layers with few outputs: dot products along the inputs.
//!
//! With two outputs, a block of sixteen output lanes would be idle but for two. Here the lanes run
//! along the inputs instead: sixteen partial sums per output, added up in a fixed order at the end.

use super::lanes::{LANES, Lanes};
use super::padded;

/// Up to this many outputs a layer is narrow.
pub const NARROW: usize = 8;

/// out(r, o) = bias(o) + Σ_i x(r, i) · weights(o, i), for at most [`NARROW`] outputs.
pub(super) struct Dots {
    pub(super) rows: usize,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    /// x(r, i) = x[r · x_row + i]
    pub(super) x: *const f32,
    pub(super) x_row: usize,
    /// `[outputs][inputs padded with zeros to whole blocks]`
    pub(super) weights: *const f32,
    pub(super) bias: [f32; NARROW],
    /// out(r, o) = out[r · out_row + o]
    pub(super) out: *mut f32,
    pub(super) out_row: usize,
    /// Whether each row of `out` has a whole block, whose other lanes become zero.
    pub(super) padded: bool,
    /// Whether the result is added to what `out` holds.
    pub(super) accumulate: bool,
}

/// Computes all rows.
///
/// # Safety
/// The instruction set must be there, and every pointer valid for the entries that `task` names.
#[inline(always)]
pub(super) unsafe fn dots<V: Lanes>(task: &Dots) {
    /// As many rows at a time as registers hold their sums, then single rows.
    macro_rules! rows {
        ($outputs:literal, $wide:literal, $medium:literal) => {{
            let row = if V::REGISTERS.wide {
                group::<V, $wide, $outputs>(task, 0)
            } else if V::REGISTERS.many {
                group::<V, $medium, $outputs>(task, 0)
            } else {
                0
            };
            group::<V, 1, $outputs>(task, row)
        }};
    }
    // SAFETY: passed on to the caller.
    let end = unsafe {
        match task.outputs {
            1 => rows!(1, 16, 4),
            2 => rows!(2, 8, 2),
            3 => rows!(3, 5, 2),
            4 => rows!(4, 4, 1),
            5 => rows!(5, 3, 1),
            6 => rows!(6, 2, 1),
            7 => rows!(7, 2, 1),
            _ => rows!(8, 2, 1),
        }
    };
    debug_assert!(end == task.rows && task.outputs <= NARROW);
}

/// Groups of `ROWS` rows from `first` on, as long as there are so many.
#[inline(always)]
unsafe fn group<V: Lanes, const ROWS: usize, const OUTPUTS: usize>(
    task: &Dots,
    first: usize,
) -> usize {
    // Rows without gaps, all of whose totals fit into one block, are written as one.
    let contiguous = task.out_row == OUTPUTS && ROWS > 1 && !task.padded && !task.accumulate;
    let mut biases = [0.0; LANES];
    for biases in biases.chunks_mut(OUTPUTS) {
        biases.copy_from_slice(&task.bias[..biases.len()]);
    }
    let mut row = first;
    while row + ROWS <= task.rows {
        // SAFETY: passed on to the caller.
        unsafe {
            let x = task.x.add(row * task.x_row);
            let sums = partial_sums::<V, ROWS, OUTPUTS>(x, task.x_row, task.weights, task.inputs);
            let mut totals = [0.0; LANES];
            if ROWS * OUTPUTS <= 4 {
                for (total, sum) in totals.iter_mut().zip(sums.iter().flatten()) {
                    *total = sum.sum();
                }
            } else {
                let mut flat = [V::splat(0.0); LANES];
                for (flat, sum) in flat.iter_mut().zip(sums.iter().flatten()) {
                    *flat = *sum;
                }
                let sums = V::sums(flat);
                if contiguous {
                    let sums = sums.add(V::load(biases.as_ptr()));
                    sums.store_first(task.out.add(row * OUTPUTS), ROWS * OUTPUTS);
                    row += ROWS;
                    continue;
                }
                sums.store(totals.as_mut_ptr());
            }
            for (index, totals) in totals.chunks_exact(OUTPUTS).enumerate().take(ROWS) {
                write::<V, OUTPUTS>(task, row + index, totals);
            }
        }
        row += ROWS;
    }
    row
}

/// The sixteen partial sums of each output, for rows of x that are `x_row` apart.
///
/// # Safety
/// The instruction set must be there; rows of `x` must be valid for `inputs` floats, and `weights` for
/// `OUTPUTS` rows of whole blocks of them.
#[inline(always)]
pub(super) unsafe fn partial_sums<V: Lanes, const ROWS: usize, const OUTPUTS: usize>(
    x: *const f32,
    x_row: usize,
    weights: *const f32,
    inputs: usize,
) -> [[V; OUTPUTS]; ROWS] {
    // SAFETY: passed on to the caller; a last, partial block of x is read no further than it goes.
    unsafe {
        let width = padded(inputs);
        let mut sums = [[V::splat(0.0); OUTPUTS]; ROWS];
        let mut start = 0;
        while start < inputs {
            let count = (inputs - start).min(LANES);
            let mut blocks = [V::splat(0.0); OUTPUTS];
            for (index, block) in blocks.iter_mut().enumerate() {
                *block = V::load(weights.add(index * width + start));
            }
            for (index, sums) in sums.iter_mut().enumerate() {
                let x = x.add(index * x_row + start);
                let value = if count == LANES {
                    V::load(x)
                } else {
                    V::load_first(x, count)
                };
                for (sum, block) in sums.iter_mut().zip(blocks) {
                    *sum = value.mul_add(block, *sum);
                }
            }
            start += LANES;
        }
        sums
    }
}

#[inline(always)]
unsafe fn write<V: Lanes, const OUTPUTS: usize>(task: &Dots, row: usize, totals: &[f32]) {
    // SAFETY: passed on to the caller.
    unsafe {
        let out = task.out.add(row * task.out_row);
        if task.padded {
            V::splat(0.0).store(out);
        }
        for (index, total) in totals.iter().enumerate().take(OUTPUTS) {
            let start = if task.accumulate {
                *out.add(index)
            } else {
                task.bias[index]
            };
            *out.add(index) = *total + start;
        }
    }
}
