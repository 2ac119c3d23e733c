//! Products of matrices, in tiles that stay in registers.
//!
//! One loop serves the forward pass (a: inputs, b: weights), the gradient of inputs (a: gradient of
//! outputs, b: transposed weights) and the gradient of weights (a: transposed gradient of outputs,
//! b: inputs): a is read one float at a time with any strides, b in whole blocks of [`LANES`].

use super::lanes::{LANES, Lanes};

/// What becomes of a sum.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    /// It is stored.
    Store,
    /// It is added to what c holds.
    Add,
    /// Its positive part is stored.
    Positive,
    /// It is stored where a matrix with the strides of c is positive, else zero. If the second
    /// pointer is not null, what is stored in each column is also added to it.
    WherePositive(*const f32, *mut f32),
}

/// c(m, n) = ending(bias(n) + Σ_k a(m, k) · b(k, n)), each sum in the order of k, or of even k and
/// odd k; the bias comes first, because that costs nothing.
///
/// Rows of b, the bias and what the ending points to are read in whole blocks.
pub(super) struct Product {
    pub(super) rows: usize,
    pub(super) depth: usize,
    /// Columns of c that are written.
    pub(super) columns: usize,
    /// a(m, k) = a[m · a_row + k · a_step]
    pub(super) a: *const f32,
    pub(super) a_row: usize,
    pub(super) a_step: usize,
    /// b(k, n) = b[k · b_step + n]
    pub(super) b: *const f32,
    pub(super) b_step: usize,
    /// One value per column; null for zeros.
    pub(super) bias: *const f32,
    /// c(m, n) = c[m · c_row + n]
    pub(super) c: *mut f32,
    pub(super) c_row: usize,
    /// Whether even and odd terms are added up apart.
    pub(super) paired: bool,
    pub(super) ending: Ending,
}

/// Layers up to this many outputs add their even and odd terms up apart, and both sums at the end:
/// a single row would otherwise wait for each term in turn, with most of the registers idle.
pub(super) const PAIRED: usize = 2 * LANES;

/// All rows of some blocks: strips of the given numbers of rows, each as long as rows are left.
macro_rules! sweep {
    ($lanes:ty, $task:expr, $block:expr, $blocks:literal by $chains:literal, [$($rows:literal),+]) => {{
        let mut row = 0;
        $(if $task.rows - row >= $rows {
            row = <$lanes>::strip::<$rows, $blocks, $chains>($task, row, $task.rows, $block);
        })+
        debug_assert_eq!(row, $task.rows);
        $blocks
    }};
}

/// Computes the whole product. The shapes of the strips fill the registers with sums as far as they
/// reach, with room for one row of b.
///
/// # Safety
/// The instruction set must be there, and every pointer valid for the entries that `task` names.
#[inline(always)]
pub(super) unsafe fn product<V: Lanes>(task: &Product) {
    let blocks = task.columns.div_ceil(LANES);
    let mut block = 0;
    while block < blocks {
        let left = blocks - block;
        // SAFETY: passed on to the caller; every strip lies inside the rows and blocks of the task.
        block += unsafe {
            if V::REGISTERS.wide {
                match (task.paired, left) {
                    (true, 1) => sweep!(V, task, block, 1 by 2, [12, 4, 1]),
                    (true, _) => sweep!(V, task, block, 2 by 2, [6, 4, 2, 1]),
                    (false, 1) => sweep!(V, task, block, 1 by 1, [12, 8, 4, 1]),
                    (false, 2) => sweep!(V, task, block, 2 by 1, [12, 8, 4, 2, 1]),
                    (false, 3) => sweep!(V, task, block, 3 by 1, [8, 4, 2, 1]),
                    (false, _) => sweep!(V, task, block, 4 by 1, [6, 5, 4, 3, 2, 1]),
                }
            } else if V::REGISTERS.many {
                match task.paired {
                    true => sweep!(V, task, block, 1 by 2, [3, 1]),
                    false => sweep!(V, task, block, 1 by 1, [6, 4, 2, 1]),
                }
            } else {
                match task.paired {
                    true => sweep!(V, task, block, 1 by 2, [1]),
                    false => sweep!(V, task, block, 1 by 1, [2, 1]),
                }
            }
        };
    }
}

/// Tiles of `ROWS` rows and `BLOCKS` blocks from row `first` on, as long as `ROWS` are left before
/// `end`; returns the first row that was not computed.
///
/// # Safety
/// As for [`product`]; the blocks must lie inside the task.
#[inline(always)]
pub(super) unsafe fn strip<
    V: Lanes,
    const ROWS: usize,
    const BLOCKS: usize,
    const CHAINS: usize,
>(
    task: &Product,
    first: usize,
    end: usize,
    block: usize,
) -> usize {
    let whole = (block + BLOCKS) * LANES <= task.columns;
    let mut row = first;
    while row + ROWS <= end {
        // SAFETY: passed on to the caller.
        unsafe {
            let sums = tile::<V, ROWS, BLOCKS, CHAINS>(task, row, block);
            if whole {
                finish(task, row, block, sums);
            } else {
                // Counted loops: the compiler unrolls them, and keeps sums that go elsewhere in registers.
                let mut memory = [[[0.0; LANES]; BLOCKS]; ROWS];
                for index in 0..ROWS {
                    for block in 0..BLOCKS {
                        sums[index][block].store(memory[index][block].as_mut_ptr());
                    }
                }
                let memory = memory.as_flattened().as_flattened();
                finish_partial(task, row, block, memory, BLOCKS * LANES);
            }
        }
        row += ROWS;
    }
    row
}

#[inline(always)]
unsafe fn tile<V: Lanes, const ROWS: usize, const BLOCKS: usize, const CHAINS: usize>(
    task: &Product,
    row: usize,
    block: usize,
) -> [[V; BLOCKS]; ROWS] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut a = task.a.add(row * task.a_row);
        let mut b = task.b.add(block * LANES);
        let zeros = [V::splat(0.0); BLOCKS];
        let mut sums = [match task.bias.is_null() {
            true => zeros,
            false => load_blocks::<V, BLOCKS>(task.bias.add(block * LANES)),
        }; ROWS];
        if CHAINS == 1 {
            for _ in 0..task.depth {
                add_term(task, a, b, &mut sums);
                a = a.wrapping_add(task.a_step);
                b = b.wrapping_add(task.b_step);
            }
            return sums;
        }
        // Two arrays by name: an array of arrays would not stay in registers.
        let mut odd = [zeros; ROWS];
        for _ in 0..task.depth / 2 {
            add_term(task, a, b, &mut sums);
            add_term(
                task,
                a.wrapping_add(task.a_step),
                b.wrapping_add(task.b_step),
                &mut odd,
            );
            a = a.wrapping_add(2 * task.a_step);
            b = b.wrapping_add(2 * task.b_step);
        }
        if task.depth % 2 == 1 {
            add_term(task, a, b, &mut sums);
        }
        for (sums, odd) in sums.iter_mut().zip(odd) {
            for (sum, odd) in sums.iter_mut().zip(odd) {
                *sum = sum.add(odd);
            }
        }
        sums
    }
}

/// Adds one term to each sum of a tile.
#[inline(always)]
unsafe fn add_term<V: Lanes, const ROWS: usize, const BLOCKS: usize>(
    task: &Product,
    a: *const f32,
    b: *const f32,
    sums: &mut [[V; BLOCKS]; ROWS],
) {
    // SAFETY: passed on to the caller.
    unsafe {
        let weights = load_blocks::<V, BLOCKS>(b);
        for (index, sums) in sums.iter_mut().enumerate() {
            let value = V::splat(*a.add(index * task.a_row));
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = value.mul_add(weight, *sum);
            }
        }
    }
}

/// The ending of a tile that lies inside the columns of c.
#[inline(always)]
unsafe fn finish<V: Lanes, const ROWS: usize, const BLOCKS: usize>(
    task: &Product,
    row: usize,
    block: usize,
    sums: [[V; BLOCKS]; ROWS],
) {
    /// Stores what an expression makes of each sum, given its place in c and its block.
    macro_rules! each {
        (|$sum:ident, $at:ident, $block:ident| $result:expr) => {
            for (index, sums) in sums.iter().enumerate() {
                let start = (row + index) * task.c_row + block * LANES;
                for ($block, &$sum) in sums.iter().enumerate() {
                    let $at = start + $block * LANES;
                    let result: V = $result;
                    result.store(task.c.add($at));
                }
            }
        };
    }
    // SAFETY: passed on to the caller.
    unsafe {
        match task.ending {
            Ending::Store => each!(|sum, _at, _block| sum),
            Ending::Add => each!(|sum, at, _block| V::load(task.c.add(at)).add(sum)),
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
                    for (index, column) in columns.iter().enumerate() {
                        let total = totals.add((block + index) * LANES);
                        V::load(total).add(*column).store(total);
                    }
                }
            }
        }
    }
}

#[inline(always)]
pub(super) unsafe fn load_blocks<V: Lanes, const BLOCKS: usize>(from: *const f32) -> [V; BLOCKS] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut blocks = [V::splat(0.0); BLOCKS];
        for (index, lanes) in blocks.iter_mut().enumerate() {
            *lanes = V::load(from.add(index * LANES));
        }
        blocks
    }
}

/// The ending of a tile of which some columns lie outside of c. One float at a time: this is rare,
/// and must not take registers from the tiles that are not.
///
/// # Safety
/// As for [`product`]; `sums` is a tile from `row` and `block` on, with rows of `width`.
#[inline(never)]
unsafe fn finish_partial(task: &Product, row: usize, block: usize, sums: &[f32], width: usize) {
    let start = block * LANES;
    for (index, sums) in sums.chunks_exact(width).enumerate() {
        for (&sum, column) in sums.iter().zip(start..task.columns) {
            let at = (row + index) * task.c_row + column;
            // SAFETY: passed on to the caller.
            unsafe {
                *task.c.add(at) = match task.ending {
                    Ending::Store => sum,
                    Ending::Add => *task.c.add(at) + sum,
                    Ending::Positive if sum < 0.0 => 0.0,
                    Ending::Positive => sum,
                    Ending::WherePositive(other, totals) => {
                        let kept = if *other.add(at) > 0.0 { sum } else { 0.0 };
                        if !totals.is_null() {
                            *totals.add(column) += kept;
                        }
                        kept
                    }
                };
            }
        }
    }
}
