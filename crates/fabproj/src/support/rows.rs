//! Rows of CSV files: where they end, and what is wrong with those that do not.

use std::io::{self, Read};

/// The longest row: a file without line breaks must not fill the memory.
pub const MAX_ROW_BYTES: usize = 1 << 20;

/// A file that is cut off, or is no CSV file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// The file ends within a quotation.
    #[error(
        "the quotation mark that opens a field in line {line} is never closed; close or remove it"
    )]
    OpenQuote {
        /// The line of the mark, counted from 1.
        line: u64,
    },
    /// A row that does not end.
    #[error("the row that begins in line {line} is longer than {limit} bytes; is this a CSV file?")]
    TooLong {
        /// The line of its beginning, counted from 1.
        line: u64,
        /// [`MAX_ROW_BYTES`]
        limit: usize,
    },
}

impl From<RowError> for io::Error {
    fn from(error: RowError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the beginning of a field, where a quotation mark opens a quotation.
    Field,
    Plain,
    Quoted,
    /// After a mark that ends the quotation, unless another mark follows.
    Closing,
}

/// Finds the ends of rows, byte by byte, as the reader of the crate `csv` does.
///
/// ```
/// use fabproj::support::RowScanner;
///
/// let mut scanner = RowScanner::new(b',');
/// // The line break within the quotation does not end the row.
/// assert_eq!(scanner.scan(b"a,\"b\nc\"\n1,2\n3"), Ok(Some(12)));
/// assert_eq!(scanner.finish(), Ok(()));
/// scanner.scan(b",\"4")?;
/// assert!(scanner.finish().is_err());
/// # Ok::<(), fabproj::support::RowError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowScanner {
    delimiter: u8,
    state: State,
    line: u64,
    /// The line of the last opening mark.
    opened: u64,
    /// The line in which the row began.
    began: u64,
    /// Bytes of the row so far.
    length: usize,
}

impl RowScanner {
    /// A scanner at the beginning of a file.
    pub fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            state: State::Field,
            line: 1,
            opened: 1,
            began: 1,
            length: 0,
        }
    }

    /// Takes the next bytes; gives the place after the last row that ends in them.
    ///
    /// # Errors
    /// [`RowError::TooLong`].
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>, RowError> {
        let mut end = None;
        for (place, byte) in bytes.iter().enumerate() {
            self.length += 1;
            if *byte == b'\n' {
                self.line += 1;
            }
            self.state = match (self.state, *byte) {
                (State::Quoted, b'"') => State::Closing,
                (State::Quoted, _) => State::Quoted,
                (State::Field, b'"') => {
                    self.opened = self.line;
                    State::Quoted
                }
                (State::Closing, b'"') => State::Quoted,
                (_, b'\n' | b'\r') => {
                    self.check_length()?;
                    end = Some(place + 1);
                    (self.length, self.began) = (0, self.line);
                    State::Field
                }
                (_, byte) if byte == self.delimiter => State::Field,
                _ => State::Plain,
            };
        }
        self.check_length()?;
        Ok(end)
    }

    fn check_length(&self) -> Result<(), RowError> {
        if self.length <= MAX_ROW_BYTES {
            return Ok(());
        }
        // A mark that opens by mistake makes one row of all that follows.
        if self.state == State::Quoted {
            return Err(RowError::OpenQuote { line: self.opened });
        }
        Err(RowError::TooLong {
            line: self.began,
            limit: MAX_ROW_BYTES,
        })
    }

    /// The file ends here.
    ///
    /// # Errors
    /// [`RowError::OpenQuote`].
    pub fn finish(&self) -> Result<(), RowError> {
        match self.state {
            State::Quoted => Err(RowError::OpenQuote { line: self.opened }),
            _ => Ok(()),
        }
    }
}

/// A source of CSV that fails where a [`RowScanner`] does.
pub struct WholeRows<R> {
    source: R,
    scanner: RowScanner,
}

impl<R: Read> WholeRows<R> {
    /// Reads from a source with this separator of columns.
    pub fn new(source: R, delimiter: u8) -> Self {
        Self {
            source,
            scanner: RowScanner::new(delimiter),
        }
    }
}

impl<R: Read> Read for WholeRows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.source.read(buffer)?;
        if length == 0 && !buffer.is_empty() {
            self.scanner.finish()?;
        }
        self.scanner.scan(&buffer[..length])?;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<usize, String> {
        let read = io::copy(&mut WholeRows::new(text.as_bytes(), b','), &mut io::sink());
        read.map(|length| length as usize)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn open_quotations_are_named_by_their_line() {
        for whole in [
            "",
            "a",
            "a,\"b\"\n",
            "a,\"b\"\"\"\n",
            "a\"b,c\n",
            "\"a\"b\"\n",
            "a,\"b\"",
        ] {
            assert_eq!(read(whole), Ok(whole.len()), "{whole}");
        }
        for (text, line) in [
            ("\"", 1),
            ("a,b\n1,\"2\n3,4\n", 2),
            ("a\n\"b\nc\"\n\"\"\"\n", 4),
            ("a\r\nb,\"c", 2),
        ] {
            let error = read(text).expect_err("an open quotation");
            assert!(error.contains(&format!("line {line} ")), "{error}");
        }
    }

    #[test]
    fn rows_without_end_are_refused() {
        let long = format!("a\n{}", "1".repeat(MAX_ROW_BYTES + 1));
        assert!(read(&long).is_err_and(|error| error.contains("line 2")));
        let quoted = format!("a\n\"{}", "1\n".repeat(MAX_ROW_BYTES));
        assert!(read(&quoted).is_err_and(|error| error.contains("line 2 is never closed")));
        let many = "1,2\n".repeat(MAX_ROW_BYTES);
        assert_eq!(read(&many), Ok(many.len()));
    }
}
