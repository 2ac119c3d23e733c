//! Which columns of a file are y and x.

use std::io;

use anyhow::{Result, bail};
use csv::ByteRecord;
use fabproj::support::{did_you_mean, near_names, shown};

/// Places of the coordinates in a record.
pub struct Columns {
    y: Vec<usize>,
    /// For each column the coordinate of y that it holds.
    of_y: Vec<Option<usize>>,
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
                 they are the first ones",
                shown(&found.join(",")),
                expected(names, x_names)
            );
        }
        let place = |name: &String| -> Result<usize> {
            let mut places = (0..found.len()).filter(|index| found[*index] == *name);
            match (places.next(), places.next()) {
                (Some(place), None) => Ok(place),
                (Some(_), Some(_)) => bail!("there are two columns `{name}`; remove or rename one"),
                (None, _) => bail!(
                    "no column `{name}` (expected {}){}",
                    expected(names, x_names),
                    separator(&found).unwrap_or_else(|| did_you_mean(&near_names(
                        name,
                        found.iter().map(String::as_str)
                    )))
                ),
            }
        };
        let y: Vec<usize> = names.iter().map(place).collect::<Result<_>>()?;
        Ok(Self {
            of_y: inverse(&y),
            y,
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
        let y: Vec<usize> = (0..names.len()).collect();
        Ok(Self {
            of_y: inverse(&y),
            y,
            x: (names.len()..needed).collect(),
            names: names.iter().chain(x_names).cloned().collect(),
        })
    }

    /// Adds the numbers of a record to rows of y and x, or says what is wrong with one of them.
    pub fn push_numbers(
        &self,
        record: &ByteRecord,
        y: &mut Vec<f64>,
        x: &mut Vec<f64>,
    ) -> Result<(), String> {
        let parse = |place: &usize| {
            let text = record.get(*place).unwrap_or_default();
            let number = std::str::from_utf8(text)
                .ok()
                .and_then(|text| text.trim().parse::<f64>().ok());
            match number {
                Some(value) if value.is_finite() => Ok(value),
                found => Err(self.problem(*place, text, found)),
            }
        };
        for (places, values) in [(&self.y, y), (&self.x, x)] {
            for place in places {
                values.push(parse(place)?);
            }
        }
        Ok(())
    }

    /// What is wrong with a field.
    fn problem(&self, place: usize, text: &[u8], value: Option<f64>) -> String {
        let name = &self.names[place];
        let text = String::from_utf8_lossy(text);
        let text = text.trim();
        match value {
            Some(value) => {
                format!("column `{name}` is {value}, which is not finite; remove or repair the row")
            }
            None if text.is_empty() => format!("column `{name}` is empty"),
            None => format!(
                "column `{name}` is `{}`, which is not a number",
                shown(text)
            ),
        }
    }

    /// Writes the fields of a row with another point (the same text if `None`), and the outcome at its end.
    pub fn write<'f>(
        &self,
        fields: impl Iterator<Item = &'f [u8]>,
        point: Option<&[f64]>,
        outcome: Option<&str>,
        out: &mut csv::Writer<Vec<u8>>,
    ) -> csv::Result<()> {
        let mut number = Vec::new();
        for (place, field) in fields.enumerate() {
            let moved = point.and_then(|point| Some(point[*self.of_y.get(place)?.as_ref()?]));
            let Some(value) = moved else {
                out.write_field(field)?;
                continue;
            };
            write_number(value, &mut number, out)?;
        }
        if let Some(outcome) = outcome {
            out.write_field(outcome)?;
        }
        out.write_record(None::<&[u8]>)
    }
}

/// Writes a number in the shortest digits that give, read back, the very value that was checked.
pub fn write_number(
    value: f64,
    memory: &mut Vec<u8>,
    out: &mut csv::Writer<Vec<u8>>,
) -> csv::Result<()> {
    if !value.is_finite() {
        return out.write_field(value.to_string());
    }
    memory.clear();
    serde_json::to_writer(&mut *memory, &value).map_err(io::Error::from)?;
    out.write_field(memory.strip_suffix(b".0").unwrap_or(memory))
}

/// For each column the coordinate of y that it holds.
fn inverse(y: &[usize]) -> Vec<Option<usize>> {
    let mut inverse = vec![None; y.iter().max().map_or(0, |last| last + 1)];
    for (coordinate, place) in y.iter().enumerate() {
        inverse[*place] = Some(coordinate);
    }
    inverse
}

/// A hint for a header of one column that holds another separator.
fn separator(found: &[String]) -> Option<String> {
    let [only] = found else { return None };
    let (separator, typed) = match only {
        only if only.contains(';') => ("a semicolon", "';'"),
        only if only.contains('\t') => ("a tab", "'\\t'"),
        _ => return None,
    };
    Some(format!(
        "; its separator seems to be {separator}: `--delimiter {typed}` reads it"
    ))
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
