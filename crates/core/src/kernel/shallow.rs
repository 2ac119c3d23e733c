//! Layers with few inputs and many outputs: the first of a network forward, the last one backward.
//!
//! A [tile](super::product) of two terms per sum spends its time on being set up. Here the weights stay in
//! registers while all rows pass.

use super::lanes::{LANES, Lanes};
use super::product::{Ending, Product, load_blocks};

/// Up to this many inputs a layer is shallow.
const SHALLOW: usize = 4;

/// Whether [`shallow`] can compute a product: its sums are in the order of k, and c in whole blocks.
#[inline(always)]
pub(super) fn is_shallow(task: &Product) -> bool {
    (1..=SHALLOW).contains(&task.depth) && !task.paired && task.columns.is_multiple_of(LANES)
}

/// Computes the whole product, with the bits of [`product`](super::product::product); only sums of
/// columns are in another order.
///
/// # Safety
/// The instruction set must be there, every pointer valid for the entries that `task` names, and the task
/// [shallow](is_shallow).
#[inline(always)]
pub(super) unsafe fn shallow<V: Lanes>(task: &Product) {
    let blocks = task.columns / LANES;
    let mut block = 0;
    while block < blocks {
        // SAFETY: passed on to the caller; the blocks lie inside the columns.
        block += unsafe {
            if V::REGISTERS.wide && blocks - block >= 4 {
                of_depth::<V, 4>(task, block)
            } else {
                of_depth::<V, 1>(task, block)
            }
        };
    }
}

#[inline(always)]
unsafe fn of_depth<V: Lanes, const BLOCKS: usize>(task: &Product, block: usize) -> usize {
    // SAFETY: passed on to the caller.
    unsafe {
        match task.depth {
            1 => columns::<V, 1, BLOCKS>(task, block),
            2 => columns::<V, 2, BLOCKS>(task, block),
            3 => columns::<V, 3, BLOCKS>(task, block),
            _ => columns::<V, SHALLOW, BLOCKS>(task, block),
        }
    }
    BLOCKS
}

/// All rows of some blocks.
#[inline(always)]
unsafe fn columns<V: Lanes, const DEPTH: usize, const BLOCKS: usize>(task: &Product, block: usize) {
    let column = block * LANES;
    // SAFETY: passed on to the caller.
    unsafe {
        let mut weights = [[V::splat(0.0); BLOCKS]; DEPTH];
        for (index, weights) in weights.iter_mut().enumerate() {
            *weights = load_blocks(task.b.add(index * task.b_step + column));
        }
        let start = match task.bias.is_null() {
            true => [V::splat(0.0); BLOCKS],
            false => load_blocks(task.bias.add(column)),
        };
        /// Stores what an expression makes of each sum, given its place in c and its block.
        macro_rules! each {
            (|$sum:ident, $at:ident, $block:ident| $result:expr) => {
                for row in 0..task.rows {
                    let a = task.a.add(row * task.a_row);
                    let mut sums = start;
                    for (index, weights) in weights.iter().enumerate() {
                        let value = V::splat(*a.add(index * task.a_step));
                        for (sum, weight) in sums.iter_mut().zip(weights) {
                            *sum = value.mul_add(*weight, *sum);
                        }
                    }
                    for ($block, $sum) in sums.into_iter().enumerate() {
                        let $at = row * task.c_row + column + $block * LANES;
                        let result: V = $result;
                        result.store(task.c.add($at));
                    }
                }
            };
        }
        match task.ending {
            Ending::Store => each!(|sum, _at, _block| sum),
            Ending::Add => {
                each!(|sum, at, _block| V::load(task.c.add(at)).add(sum))
            }
            Ending::Positive => {
                let zero = V::splat(0.0);
                each!(|sum, _at, _block| sum.at_least(zero));
            }
            Ending::WherePositive(other, totals) => {
                let mut columns = [V::splat(0.0); BLOCKS];
                each!(|sum, at, block| {
                    let kept = sum.where_positive(V::load(other.add(at)));
                    columns[block] = columns[block].add(kept);
                    kept
                });
                if !totals.is_null() {
                    for (index, column_sum) in columns.iter().enumerate() {
                        let total = totals.add(column + index * LANES);
                        V::load(total).add(*column_sum).store(total);
                    }
                }
            }
        }
    }
}
