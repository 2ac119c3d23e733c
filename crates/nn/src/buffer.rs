//! Growing scratch memory whose rows start on cache lines.

/// One cache line of floats.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// Floats, aligned to 64 bytes, that grow and never shrink.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffer {
    lines: Vec<Line>,
}

impl Buffer {
    /// At least `length` floats are there afterwards; what is in them is whatever was there before.
    pub(super) fn reserve(&mut self, length: usize) {
        let lines = length.div_ceil(16);
        if self.lines.len() < lines {
            self.lines.resize(lines, Line([0.0; 16]));
        }
    }

    /// The first `length` floats, with room made for them.
    pub(super) fn first_mut(&mut self, length: usize) -> &mut [f32] {
        self.reserve(length);
        // SAFETY: a `Line` is 16 floats without padding (64 bytes, alignment 64), so the vector's
        // memory is `lines.len() * 16` initialised floats, and `reserve` made that at least `length`.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast::<f32>(), length) }
    }

    /// The first `length` floats.
    ///
    /// # Panics
    /// If there are fewer.
    pub(super) fn first(&self, length: usize) -> &[f32] {
        assert!(
            length <= self.lines.len() * 16,
            "scratch memory of {length} floats was never written"
        );
        // SAFETY: as in `first_mut`; the length was just checked.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast::<f32>(), length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_keeps_and_is_aligned() {
        let mut buffer = Buffer::default();
        buffer.first_mut(3).copy_from_slice(&[1.0, 2.0, 3.0]);
        assert_eq!(buffer.first_mut(100)[..3], [1.0, 2.0, 3.0]);
        assert_eq!(buffer.first(100).len(), 100);
        assert_eq!(buffer.first(1).as_ptr() as usize % 64, 0);
    }
}
