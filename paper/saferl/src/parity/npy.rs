//! Arrays in numpy's archives (`.npz`), as far as recordings use them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::error::{ParityError, Result};

/// Arrays larger than this are refused.
const LARGEST: u64 = 1 << 28;

/// The first bytes of an array file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// An array of numbers, row by row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub shape: Vec<usize>,
    pub values: Vec<f64>,
}

impl Array {
    /// Row `index` of the array.
    pub fn row(&self, index: usize) -> &[f64] {
        let width = self.shape.iter().skip(1).product::<usize>();
        &self.values[index * width..(index + 1) * width]
    }
}

/// The arrays of one file.
pub(super) struct Archive {
    path: PathBuf,
    entries: HashMap<String, Vec<u8>>,
}

impl Archive {
    pub fn read(path: &Path) -> Result<Self> {
        let broken = |problem: String| format_error(path, problem);
        let file = File::open(path).map_err(|source| ParityError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut archive =
            ZipArchive::new(BufReader::new(file)).map_err(|error| broken(error.to_string()))?;
        let mut entries = HashMap::new();
        for index in 0..archive.len() {
            let entry = archive.by_index(index);
            let mut entry = entry.map_err(|error| broken(error.to_string()))?;
            let name = entry.name().map_err(|error| broken(error.to_string()))?;
            let name = name.trim_end_matches(".npy").to_owned();
            if entry.size() > LARGEST {
                return Err(broken(format!("array `{name}` has {} bytes", entry.size())));
            }
            let mut bytes = Vec::new();
            let mut limited = entry.by_ref().take(LARGEST);
            let read = limited.read_to_end(&mut bytes);
            read.map_err(|error| broken(format!("array `{name}`: {error}")))?;
            entries.insert(name, bytes);
        }
        let path = path.to_owned();
        Ok(Self { path, entries })
    }

    /// An array of numbers or booleans.
    pub fn numbers(&self, name: &str) -> Result<Array> {
        let (header, data) = self.parts(name)?;
        let values: Option<Vec<f64>> = match header.kind.as_str() {
            "<f8" => Some(
                data.chunks_exact(8)
                    .map(|b| f64::from_le_bytes(word(b)))
                    .collect(),
            ),
            "<i8" => Some(
                data.chunks_exact(8)
                    .map(|b| i64::from_le_bytes(word(b)) as f64)
                    .collect(),
            ),
            "|b1" => Some(data.iter().map(|byte| f64::from(*byte)).collect()),
            _ => None,
        };
        let kind = &header.kind;
        let values = values.ok_or_else(|| self.error(name, &format!("is of type {kind}")))?;
        if values.len() != header.shape.iter().product::<usize>() {
            return Err(self.error(name, "is shorter or longer than its shape"));
        }
        let shape = header.shape;
        Ok(Array { shape, values })
    }

    /// An array of numbers with a known shape.
    pub fn shaped(&self, name: &str, shape: &[usize]) -> Result<Array> {
        let array = self.numbers(name)?;
        if array.shape == shape {
            return Ok(array);
        }
        let problem = format!("has shape {:?}, not {shape:?}", array.shape);
        Err(self.error(name, &problem))
    }

    /// An array of strings.
    pub fn strings(&self, name: &str) -> Result<Vec<String>> {
        let (header, data) = self.parts(name)?;
        let width = header.kind.strip_prefix("<U").map(str::parse::<usize>);
        let Some(Ok(width @ 1..)) = width else {
            return Err(self.error(name, "does not hold strings"));
        };
        let decode = |bytes: &[u8]| -> Option<String> {
            let code = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            let codes = bytes.chunks_exact(4).map(code).filter(|code| *code != 0);
            codes.map(char::from_u32).collect()
        };
        let strings: Option<Vec<String>> = data.chunks_exact(4 * width).map(decode).collect();
        strings.ok_or_else(|| self.error(name, "holds invalid characters"))
    }

    fn parts(&self, name: &str) -> Result<(Header, &[u8])> {
        let bytes = self.entries.get(name);
        let bytes = bytes.ok_or_else(|| self.error(name, "is missing"))?;
        split(bytes).ok_or_else(|| self.error(name, "has an unreadable header"))
    }

    fn error(&self, name: &str, problem: &str) -> ParityError {
        format_error(&self.path, format!("array `{name}` {problem}"))
    }
}

fn format_error(path: &Path, problem: String) -> ParityError {
    let path = path.to_owned();
    ParityError::Format { path, problem }
}

struct Header {
    kind: String,
    shape: Vec<usize>,
}

/// Splits an array file into header and data.
fn split(bytes: &[u8]) -> Option<(Header, &[u8])> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (version, rest) = rest.split_at_checked(2)?;
    let (length, rest) = match version[0] {
        1 => {
            let (length, rest) = rest.split_at_checked(2)?;
            (
                usize::from(u16::from_le_bytes([length[0], length[1]])),
                rest,
            )
        }
        _ => {
            let (length, rest) = rest.split_at_checked(4)?;
            let length = u32::from_le_bytes([length[0], length[1], length[2], length[3]]);
            (usize::try_from(length).ok()?, rest)
        }
    };
    let (header, data) = rest.split_at_checked(length)?;
    Some((parse(std::str::from_utf8(header).ok()?)?, data))
}

/// Reads a header such as `{'descr': '<f8', 'fortran_order': False, 'shape': (200, 2), }`.
fn parse(header: &str) -> Option<Header> {
    let after = |key: &str| {
        let start = header.find(key)? + key.len();
        Some(header[start..].trim_start())
    };
    let kind = after("'descr':")?.strip_prefix('\'')?;
    let kind = kind[..kind.find('\'')?].to_owned();
    if !after("'fortran_order':")?.starts_with("False") {
        return None;
    }
    let shape = after("'shape':")?.strip_prefix('(')?;
    let sizes = shape[..shape.find(')')?].split(',').map(str::trim);
    let sizes = sizes.filter(|size| !size.is_empty());
    let shape: std::result::Result<Vec<usize>, _> = sizes.map(str::parse).collect();
    let shape = shape.ok()?;
    Some(Header { kind, shape })
}

/// Eight bytes, from a chunk of that length.
fn word(bytes: &[u8]) -> [u8; 8] {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let header =
            parse("{'descr': '<f8', 'fortran_order': False, 'shape': (200, 2), }").unwrap();
        assert_eq!((header.kind.as_str(), header.shape), ("<f8", vec![200, 2]));
        let scalar = parse("{'descr': '<U8', 'fortran_order': False, 'shape': (), }").unwrap();
        assert_eq!((scalar.kind.as_str(), scalar.shape), ("<U8", vec![]));
        assert!(parse("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 2), }").is_none());
        assert!(parse("{}").is_none());
    }

    #[test]
    fn cut_files_are_refused() {
        assert!(split(b"").is_none());
        assert!(split(b"\x93NUMPY\x01\x00\xff\xff{}").is_none());
    }
}
