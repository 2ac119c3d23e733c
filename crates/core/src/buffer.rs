//! Floats that start on a cache line.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

use crate::kernel::LANES;

/// One cache line, and one register of the widest kernels.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LANES]);

/// A fixed number of floats on a 64-byte boundary: loads of whole registers from a plain `Vec<f32>`
/// would straddle two cache lines each.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    lines: Vec<Line>,
    length: usize,
}

impl Buffer {
    /// `length` zeros.
    pub(crate) fn zeros(length: usize) -> Self {
        let lines = vec![Line([0.0; LANES]); length.div_ceil(LANES)];
        Self { lines, length }
    }
}

impl Deref for Buffer {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        // SAFETY: `Line` is `repr(C)` around `[f32; LANES]`, of the size of that array (64 bytes, its
        // alignment), so that the vector is `lines.len() * LANES >= length` initialised floats in a row.
        unsafe { core::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as for `deref`; the mutable borrow of the vector makes the slice unique.
        unsafe { core::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::Buffer;

    #[test]
    fn starts_on_a_cache_line_and_keeps_its_length() {
        for length in [0, 1, 15, 16, 17, 1000] {
            let mut buffer = Buffer::zeros(length);
            assert_eq!(buffer.len(), length);
            assert_eq!(buffer.as_ptr() as usize % 64, 0);
            buffer.fill(1.0);
            assert!(buffer.clone().iter().all(|value| *value == 1.0));
        }
    }
}
