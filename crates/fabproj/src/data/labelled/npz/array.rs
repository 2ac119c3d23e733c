//! One array in numpy's own format.

use std::io::{self, Read};

use super::super::LabelledError;

const MAGIC: &[u8] = b"\x93NUMPY";
/// A header of numbers alone is far shorter.
const MAX_HEADER: usize = 1 << 16;
/// Bytes that are read at once: memory grows with what is really there, whatever a header claims.
const CHUNK: usize = 1 << 16;

/// A table of numbers, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Array {
    pub(super) name: String,
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Whether it has two dimensions.
    pub(super) matrix: bool,
    pub(super) values: Vec<f64>,
}

impl Array {
    /// A table without columns.
    pub(super) fn empty(rows: usize) -> Self {
        Self {
            name: String::new(),
            rows,
            columns: 0,
            matrix: true,
            values: Vec::new(),
        }
    }

    /// Reads the `.npy` format: booleans, integers and floating-point numbers of any width and order,
    /// in one or two dimensions.
    pub(super) fn read(
        name: &str,
        source: &mut dyn Read,
        most: usize,
    ) -> Result<Self, LabelledError> {
        let header = Header::read(name, source)?;
        let numbers: u128 = header.shape.iter().map(|size| *size as u128).product();
        if numbers > most as u128 {
            return Err(LabelledError::TooLarge {
                name: name.to_owned(),
                found: numbers,
                limit: most,
            });
        }
        let (rows, columns) = match header.shape.as_slice() {
            [rows] => (*rows, 1),
            [rows, columns] => (*rows, *columns),
            other => {
                return Err(LabelledError::Shape {
                    name: name.to_owned(),
                    found: format!("an array of {} dimensions", other.len()),
                    expected: "a row per point: one or two dimensions".to_owned(),
                });
            }
        };
        let values = header.kind.read(name, source, numbers as usize)?;
        let array = Self {
            name: name.to_owned(),
            rows,
            columns,
            matrix: header.shape.len() == 2,
            values,
        };
        Ok(if header.fortran {
            array.by_rows()
        } else {
            array
        })
    }

    /// The same table where the numbers were given column after column.
    fn by_rows(self) -> Self {
        let (rows, columns) = (self.rows, self.columns);
        let by_row = (0..rows).flat_map(|row| (0..columns).map(move |column| column * rows + row));
        Self {
            values: by_row.map(|index| self.values[index]).collect(),
            ..self
        }
    }

    /// The first columns, and the others.
    pub(super) fn split(self, first: usize) -> (Self, Self) {
        let part = |range: std::ops::Range<usize>| Self {
            name: self.name.clone(),
            rows: self.rows,
            columns: range.len(),
            matrix: true,
            values: self
                .values
                .chunks_exact(self.columns.max(1))
                .flat_map(|row| row[range.clone()].iter().copied())
                .collect(),
        };
        (part(0..first), part(first..self.columns))
    }
}

fn damaged(name: &str, problem: &str) -> LabelledError {
    LabelledError::Format {
        format: "NPZ",
        problem: format!("`{name}` {problem}"),
    }
}

fn unreadable(name: &str, error: &io::Error) -> LabelledError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => damaged(name, "ends too early"),
        _ => damaged(name, &format!("cannot be read: {error}")),
    }
}

struct Header {
    kind: Kind,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    fn read(name: &str, source: &mut dyn Read) -> Result<Self, LabelledError> {
        let failed = |error: io::Error| unreadable(name, &error);
        let mut start = [0; 8];
        source.read_exact(&mut start).map_err(failed)?;
        if &start[..6] != MAGIC {
            return Err(damaged(name, "is not a numpy array"));
        }
        let length = if start[6] == 1 {
            let mut bytes = [0; 2];
            source.read_exact(&mut bytes).map_err(failed)?;
            usize::from(u16::from_le_bytes(bytes))
        } else {
            let mut bytes = [0; 4];
            source.read_exact(&mut bytes).map_err(failed)?;
            u32::from_le_bytes(bytes) as usize
        };
        if length > MAX_HEADER {
            return Err(damaged(name, "has a header too long for numbers"));
        }
        let mut text = vec![0; length];
        source.read_exact(&mut text).map_err(failed)?;
        let text = String::from_utf8_lossy(&text);
        let kind = match quoted(&text, "descr") {
            Some(code) => Kind::of(name, code)?,
            None => return Err(not_numbers(name, "an array of records")),
        };
        let fortran = after(&text, "fortran_order").map(|rest| rest.starts_with("True"));
        let (Some(fortran), Some(shape)) = (fortran, shape(&text)) else {
            return Err(damaged(name, "has a header that is not numpy's"));
        };
        Ok(Self {
            kind,
            fortran,
            shape,
        })
    }
}

/// What follows a key of the header's dictionary.
fn after<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}'"))?;
    rest.trim_start().strip_prefix(':').map(str::trim_start)
}

fn quoted<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = after(header, key)?.strip_prefix('\'')?;
    rest.split_once('\'').map(|(text, _)| text)
}

fn shape(header: &str) -> Option<Vec<usize>> {
    let (sizes, _) = after(header, "shape")?.strip_prefix('(')?.split_once(')')?;
    let sizes = sizes.split(',').map(str::trim);
    let sizes = sizes.filter(|size| !size.is_empty());
    sizes.map(|size| size.parse().ok()).collect()
}

fn not_numbers(name: &str, found: &str) -> LabelledError {
    LabelledError::Shape {
        name: name.to_owned(),
        found: found.to_owned(),
        expected: "booleans, integers or floating-point numbers".to_owned(),
    }
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    letter: u8,
    bytes: usize,
    big: bool,
}

impl Kind {
    fn of(name: &str, code: &str) -> Result<Self, LabelledError> {
        let unknown = || not_numbers(name, &format!("an array of type {code}"));
        let (order, letter, bytes) = match code.as_bytes() {
            [order, letter, digit] if digit.is_ascii_digit() => (order, letter, digit - b'0'),
            _ => return Err(unknown()),
        };
        let known = matches!(
            (letter, bytes),
            (b'b', 1) | (b'i' | b'u', 1 | 2 | 4 | 8) | (b'f', 4 | 8)
        );
        if !known {
            return Err(unknown());
        }
        Ok(Self {
            letter: *letter,
            bytes: usize::from(bytes),
            big: *order == b'>',
        })
    }

    fn read(
        self,
        name: &str,
        source: &mut dyn Read,
        count: usize,
    ) -> Result<Vec<f64>, LabelledError> {
        let mut values = Vec::new();
        let mut chunk = vec![0; CHUNK];
        while values.len() < count {
            let bytes = (self.bytes * (count - values.len())).min(CHUNK);
            source
                .read_exact(&mut chunk[..bytes])
                .map_err(|error| unreadable(name, &error))?;
            let numbers = chunk[..bytes].chunks_exact(self.bytes);
            values.extend(numbers.map(|bytes| self.value(bytes)));
        }
        Ok(values)
    }

    fn value(self, bytes: &[u8]) -> f64 {
        // Little end first, filled up with the sign.
        let mut ordered: [u8; 8] = [0; 8];
        ordered[..bytes.len()].copy_from_slice(bytes);
        if self.big {
            ordered[..bytes.len()].reverse();
        }
        let unsigned = u64::from_le_bytes(ordered);
        let unused = 64 - 8 * bytes.len() as u32;
        match (self.letter, bytes.len()) {
            (b'f', 4) => f64::from(f32::from_bits(unsigned as u32)),
            (b'f', _) => f64::from_bits(unsigned),
            (b'i', _) => (((unsigned << unused) as i64) >> unused) as f64,
            _ => unsigned as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header =
            format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes()].concat();
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Array, LabelledError> {
        Array::read("it", &mut &bytes[..], 1000)
    }

    #[test]
    fn every_kind_of_number_is_read() {
        let one =
            |descr: &str, data: &[u8]| read(&npy(descr, "False", "(1,)", data)).unwrap().values[0];
        assert_eq!(one("<f8", &1.5f64.to_le_bytes()), 1.5);
        assert_eq!(one(">f8", &1.5f64.to_be_bytes()), 1.5);
        assert_eq!(one("<f4", &(-2.5f32).to_le_bytes()), -2.5);
        assert_eq!(one("|b1", &[1]), 1.0);
        assert_eq!(one("|i1", &[0xff]), -1.0);
        assert_eq!(one("|u1", &[0xff]), 255.0);
        assert_eq!(one("<i2", &(-300i16).to_le_bytes()), -300.0);
        assert_eq!(one(">i4", &(-70_000i32).to_be_bytes()), -70_000.0);
        assert_eq!(one("<i8", &i64::MIN.to_le_bytes()), i64::MIN as f64);
        assert_eq!(one("<u8", &u64::MAX.to_le_bytes()), u64::MAX as f64);
    }

    #[test]
    fn both_orders_give_the_same_table() {
        let rows = read(&npy("|u1", "False", "(2, 3)", &[1, 2, 3, 4, 5, 6])).unwrap();
        let columns = read(&npy("|u1", "True", "(2, 3)", &[1, 4, 2, 5, 3, 6])).unwrap();
        assert_eq!(rows, columns);
        let (first, others) = rows.split(1);
        assert_eq!(
            (first.values, others.values),
            (vec![1.0, 4.0], vec![2.0, 3.0, 5.0, 6.0])
        );
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let error = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert!(error(b"PK").contains("too early"));
        assert!(error(b"GIF89a..").contains("not a numpy array"));
        assert!(error(&npy("<c8", "False", "(1,)", &[0; 8])).contains("<c8"));
        assert!(error(&npy("<f8", "False", "(1, 1, 1)", &[0; 8])).contains("3 dimensions"));
        assert!(error(&npy("<f8", "False", "()", &[0; 8])).contains("0 dimensions"));
        assert!(error(&npy("<f8", "False", "(2,)", &[0; 8])).contains("too early"));
        assert!(error(&npy("<f8", "False", "(-2,)", &[])).contains("header"));
        let records = b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}";
        let records = [MAGIC, &[1, 0, records.len() as u8, 0], records].concat();
        assert!(error(&records).contains("records"));
    }

    #[test]
    fn a_claim_of_size_allocates_nothing() {
        let huge = "(18446744073709551615, 18446744073709551615)";
        let error = read(&npy("<f8", "False", huge, &[])).unwrap_err();
        assert!(matches!(error, LabelledError::TooLarge { .. }), "{error}");
        let error = read(&npy("|u1", "False", "(1001,)", &[0; 1001])).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("1001 numbers; the limit is 1000")
        );
        let header = [MAGIC, &[2, 0, 0xff, 0xff, 0xff, 0xff]].concat();
        assert!(read(&header).unwrap_err().to_string().contains("too long"));
    }
}
