//! Which columns of a file are y and x.

use anyhow::{Result, bail};
use csv::ByteRecord;
use fabproj::support::{did_you_mean, near_names};

use super::Chunk;

/// Places of the coordinates in a record.
pub struct Columns {
    y: Vec<usize>,
    x: Vec<usize>,
    names: Vec<String>,
}

/// The columns that a file must have, for messages.
pub fn expected(names: &[String], x_names: &[String]) -> String {
    names
        .iter()
        .chain(x_names)
        .cloned()
        .collect::<Vec<_>>()
        .join(",")
}

impl Columns {
    /// Finds the columns by a header, from which a byte-order mark is removed.
    pub fn named(header: &mut ByteRecord, names: &[String], x_names: &[String]) -> Result<Self> {
        without_byte_order_mark(header);
        let found: Vec<String> = header
            .iter()
            .map(|name| String::from_utf8_lossy(name).trim().to_owned())
            .collect();
        if found.iter().all(|name| name.parse::<f64>().is_ok()) {
            bail!(
                "the first line, {}, is not a header; expected the columns {}, or pass --no-header where \
                 the first columns are y, then x",
                found.join(","),
                expected(names, x_names)
            );
        }
        let place = |name: &String| -> Result<usize> {
            let mut places = (0..found.len()).filter(|index| found[*index] == *name);
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (Some(_), Some(_)) => bail!("there are two columns `{name}`; remove or rename one"),
                (None, _) => bail!(
                    "there is no column `{name}` (expected {}){}",
                    expected(names, x_names),
                    did_you_mean(&near_names(name, found.iter().map(String::as_str)))
                ),
            }
        };
        Ok(Self {
            y: names.iter().map(place).collect::<Result<_>>()?,
            x: x_names.iter().map(place).collect::<Result<_>>()?,
            names: found.clone(),
        })
    }

    /// Takes the first columns of a file without header.
    pub fn in_order(first: &ByteRecord, names: &[String], x_names: &[String]) -> Result<Self> {
        let needed = names.len() + x_names.len();
        if first.len() < needed {
            bail!(
                "expected {needed} columns ({}), found {}",
                expected(names, x_names),
                first.len()
            );
        }
        Ok(Self {
            y: (0..names.len()).collect(),
            x: (names.len()..needed).collect(),
            names: names.iter().chain(x_names).cloned().collect(),
        })
    }

    /// Adds the numbers of a record to a chunk, or says what is wrong with one of them.
    pub fn push_numbers(&self, record: &ByteRecord, chunk: &mut Chunk) -> Result<(), String> {
        let parse = |place: &usize| {
            let text = record.get(*place).unwrap_or_default();
            let text = String::from_utf8_lossy(text);
            let name = &self.names[*place];
            let text = text.trim();
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(value),
                Ok(value) => Err(format!(
                    "column `{name}` is {value}, which is not finite; remove or repair the row"
                )),
                Err(_) if text.is_empty() => Err(format!("column `{name}` is empty")),
                Err(_) => Err(format!(
                    "column `{name}` is `{text}`, which is not a number"
                )),
            }
        };
        for (places, values) in [(&self.y, &mut chunk.y), (&self.x, &mut chunk.x)] {
            for place in places {
                values.push(parse(place)?);
            }
        }
        Ok(())
    }

    /// The record with another point (the same text if `None`), and the outcome at its end.
    pub fn replaced(
        &self,
        record: &ByteRecord,
        point: Option<&[f64]>,
        outcome: Option<&str>,
    ) -> ByteRecord {
        let mut fields: Vec<Vec<u8>> = record.iter().map(<[u8]>::to_vec).collect();
        for (place, value) in self.y.iter().zip(point.unwrap_or_default()) {
            // All digits of the f64: reading them back gives the very value that was checked.
            fields[*place] = value.to_string().into_bytes();
        }
        fields.extend(outcome.map(|outcome| outcome.as_bytes().to_vec()));
        fields.iter().collect()
    }
}

fn without_byte_order_mark(header: &mut ByteRecord) {
    let first = header
        .get(0)
        .and_then(|first| first.strip_prefix(b"\xef\xbb\xbf"));
    if let Some(first) = first.map(<[u8]>::to_vec) {
        let rest = header.iter().skip(1).map(<[u8]>::to_vec);
        *header = std::iter::once(first).chain(rest).collect();
    }
}
