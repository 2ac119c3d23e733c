//! A file in blocks of whole rows.

use std::io::{self, Read};

use fabproj::support::RowScanner;

/// Bytes of a block, unless a row is longer: some thousand rows, which a thread projects together.
const BYTES: usize = 1 << 18;

/// Whole rows as they stand in the file.
pub struct Block {
    pub bytes: Vec<u8>,
    /// The line of its first byte, counted from 1.
    pub line: u64,
}

/// Reads blocks one after the other.
pub struct Blocks {
    source: Box<dyn Read + Send + Sync>,
    scanner: RowScanner,
    /// What one call has read.
    buffer: Vec<u8>,
    /// The beginning of the next block.
    rest: Vec<u8>,
    line: u64,
    ended: bool,
}

impl Blocks {
    pub fn new(source: Box<dyn Read + Send + Sync>, delimiter: u8) -> Self {
        Self {
            source,
            scanner: RowScanner::new(delimiter),
            buffer: vec![0; BYTES],
            rest: Vec::new(),
            line: 1,
            ended: false,
        }
    }

    /// The next block; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.rest);
        // The place after the last whole row.
        let mut whole = None;
        while !self.ended && (whole.is_none() || bytes.len() < BYTES) {
            let from = bytes.len();
            let read = match self.source.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            bytes.extend_from_slice(&self.buffer[..read]);
            if read == 0 {
                self.scanner.finish()?;
                self.ended = true;
                break;
            }
            if let Some(end) = self.scanner.scan(&bytes[from..])? {
                whole = Some(from + end);
            }
        }
        if let Some(whole) = whole.filter(|_| !self.ended) {
            self.rest = bytes.split_off(whole);
        }
        let line = self.line;
        self.line += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        Ok((!bytes.is_empty()).then_some(Block { bytes, line }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slow(io::Cursor<Vec<u8>>);

    impl Read for Slow {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = buffer.len().min(7);
            self.0.read(&mut buffer[..length])
        }
    }

    #[test]
    fn blocks_together_are_the_file_and_each_ends_with_a_row() {
        let row = format!("1,\"two\nlines {}\"\n", "x".repeat(50));
        let text = format!("{}3,4", row.repeat(20_000));
        let source = Slow(io::Cursor::new(text.clone().into_bytes()));
        let mut blocks = Blocks::new(Box::new(source), b',');
        let (mut together, mut count) = (Vec::new(), 0);
        while let Some(block) = blocks.next().expect("whole rows") {
            let before = together.iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(block.line, 1 + before as u64);
            together.extend(block.bytes);
            count += 1;
            assert!(together.len() % row.len() == 0 || together.len() == text.len());
        }
        assert!(count > 3);
        assert_eq!(together, text.into_bytes());
    }
}
