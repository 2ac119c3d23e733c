//! Products of matrices, in tiles that stay in registers.
//!
//! One loop serves the forward pass (a: inputs, b: weights), the gradient of inputs (a: gradient of
//! outputs, b: transposed weights) and the gradient of weights (a: transposed gradient of outputs,
//! b: inputs): a is read one float at a time with any strides, b in whole blocks of [`LANES`].

use super::lanes::{LANES, Lanes, Registers};

/// What the sums start from.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// 0
    Zero,
    /// One value per column, padded to whole blocks.
    Bias(*const f32),
    /// What c holds.
    Old,
}

/// What happens to the sums before they are stored.
#[derive(Clone, Copy)]
pub(super) enum Finish {
    /// Nothing.
    Plain,
    /// max(0, ·)
    Relu,
    /// 0 where a matrix of the strides of c is not positive.
    WherePositive(*const f32),
}

/// c(m, n) = finish(start + Σ_k a(m, k) · b(k, n)), each sum in the order of k.
pub(super) struct Product {
    pub(super) rows: usize,
    pub(super) depth: usize,
    /// Columns of c that are written. Rows of b, bias and [`Finish::WherePositive`] are read in
    /// whole blocks.
    pub(super) columns: usize,
    /// a(m, k) = a[m · a_row + k · a_step]
    pub(super) a: *const f32,
    pub(super) a_row: usize,
    pub(super) a_step: usize,
    /// b(k, n) = b[k · b_step + n]
    pub(super) b: *const f32,
    pub(super) b_step: usize,
    /// c(m, n) = c[m · c_row + n]
    pub(super) c: *mut f32,
    pub(super) c_row: usize,
    pub(super) start: Start,
    pub(super) finish: Finish,
}

/// All rows of some blocks: strips of the given numbers of rows, each as long as rows are left.
macro_rules! sweep {
    ($lanes:ty, $task:expr, $block:expr, $blocks:literal, [$($rows:literal),+]) => {{
        let mut row = 0;
        $(row = <$lanes>::strip::<$rows, $blocks>($task, row, $task.rows, $block);)+
        debug_assert_eq!(row, $task.rows);
        $blocks
    }};
}

/// Computes the whole product.
///
/// # Safety
/// The instruction set must be there, and every pointer valid for the entries that `task` names.
#[inline(always)]
pub(super) unsafe fn product<V: Lanes>(task: &Product) {
    let blocks = task.columns.div_ceil(LANES);
    let mut block = 0;
    while block < blocks {
        let left = blocks - block;
        // The shapes fill the registers with sums as far as they reach, with room for one row of b;
        // a single row takes as many columns as it can, because each sum waits for its last term.
        // SAFETY: passed on to the caller; every strip lies inside the rows and blocks of the task.
        block += unsafe {
            match V::REGISTERS {
                Registers::Wide if left >= 4 => sweep!(V, task, block, 4, [6, 5, 4, 3, 2, 1]),
                Registers::Wide if left == 3 => sweep!(V, task, block, 3, [8, 4, 2, 1]),
                Registers::Wide if left == 2 => sweep!(V, task, block, 2, [12, 6, 3, 1]),
                Registers::Wide => sweep!(V, task, block, 1, [12, 4, 1]),
                Registers::Medium if left >= 4 && task.rows == 1 => sweep!(V, task, block, 4, [1]),
                Registers::Medium if left >= 2 && task.rows < 4 => {
                    sweep!(V, task, block, 2, [2, 1])
                }
                Registers::Medium => sweep!(V, task, block, 1, [6, 4, 2, 1]),
                Registers::Small => sweep!(V, task, block, 1, [2, 1]),
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
pub(super) unsafe fn strip<V: Lanes, const ROWS: usize, const BLOCKS: usize>(
    task: &Product,
    first: usize,
    end: usize,
    block: usize,
) -> usize {
    let mut row = first;
    while row + ROWS <= end {
        // SAFETY: passed on to the caller.
        unsafe {
            let mut sums = begin::<V, ROWS, BLOCKS>(task, row, block);
            let mut a = task.a.add(row * task.a_row);
            let mut b = task.b.add(block * LANES);
            for _ in 0..task.depth {
                let mut weights = [V::splat(0.0); BLOCKS];
                for (index, weight) in weights.iter_mut().enumerate() {
                    *weight = V::load(b.add(index * LANES));
                }
                for (index, sums) in sums.iter_mut().enumerate() {
                    let value = V::splat(*a.add(index * task.a_row));
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        *sum = value.mul_add(weight, *sum);
                    }
                }
                a = a.wrapping_add(task.a_step);
                b = b.wrapping_add(task.b_step);
            }
            end_tile(task, row, block, sums);
        }
        row += ROWS;
    }
    row
}

/// How many columns of a block of c are written.
#[inline(always)]
fn written(task: &Product, block: usize) -> usize {
    (task.columns - block * LANES).min(LANES)
}

#[inline(always)]
unsafe fn begin<V: Lanes, const ROWS: usize, const BLOCKS: usize>(
    task: &Product,
    row: usize,
    block: usize,
) -> [[V; BLOCKS]; ROWS] {
    // SAFETY: passed on to the caller.
    unsafe {
        let mut sums = [[V::splat(0.0); BLOCKS]; ROWS];
        match task.start {
            Start::Zero => {}
            Start::Bias(bias) => {
                for index in 0..BLOCKS {
                    let value = V::load(bias.add((block + index) * LANES));
                    for sums in &mut sums {
                        sums[index] = value;
                    }
                }
            }
            Start::Old => {
                for (index, sums) in sums.iter_mut().enumerate() {
                    let c = task.c.add((row + index) * task.c_row + block * LANES);
                    for (index, sum) in sums.iter_mut().enumerate() {
                        let c = c.add(index * LANES);
                        *sum = match written(task, block + index) {
                            LANES => V::load(c),
                            count => V::load_first(c, count),
                        };
                    }
                }
            }
        }
        sums
    }
}

#[inline(always)]
unsafe fn end_tile<V: Lanes, const ROWS: usize, const BLOCKS: usize>(
    task: &Product,
    row: usize,
    block: usize,
    mut sums: [[V; BLOCKS]; ROWS],
) {
    // SAFETY: passed on to the caller.
    unsafe {
        match task.finish {
            Finish::Plain => {}
            Finish::Relu => {
                for sum in sums.iter_mut().flatten() {
                    *sum = sum.relu();
                }
            }
            Finish::WherePositive(other) => {
                for (index, sums) in sums.iter_mut().enumerate() {
                    let other = other.add((row + index) * task.c_row + block * LANES);
                    for (index, sum) in sums.iter_mut().enumerate() {
                        *sum = sum.where_positive(V::load(other.add(index * LANES)));
                    }
                }
            }
        }
        let full = task.columns >= (block + BLOCKS) * LANES;
        for (index, sums) in sums.iter().enumerate() {
            let c = task.c.add((row + index) * task.c_row + block * LANES);
            for (index, sum) in sums.iter().enumerate() {
                match full {
                    true => sum.store(c.add(index * LANES)),
                    false => sum.store_first(c.add(index * LANES), written(task, block + index)),
                }
            }
        }
    }
}
