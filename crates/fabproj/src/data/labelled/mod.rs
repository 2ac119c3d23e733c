//! Labelled points, for sets without a membership test.
//!
//! [`LabelledData`] holds them; [`LabelledData::read`] takes them from a file by its ending, with one feature of this
//! crate per format: `csv`, `npz`, `parquet`. [`LabelledData::clean`] removes duplicate and contradictory
//! rows and constant columns.

mod clean;
mod columns;
#[cfg(feature = "csv")]
mod csv;
mod error;
#[cfg(feature = "npz")]
mod npz;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(any(feature = "csv", feature = "parquet"))]
mod places;

use std::collections::HashSet;
use std::path::Path;

use fabproj_core::Weights;

pub use self::clean::LabelReport;
pub use self::columns::Columns;
pub use self::error::LabelledError;
pub(crate) use self::error::Place;
#[cfg(feature = "npz")]
pub(crate) use self::npz::arrays;

/// Numbers that are read from one file at most: 512 megabytes of them.
#[cfg(any(feature = "csv", feature = "npz", feature = "parquet"))]
pub(crate) const MAX_NUMBERS: usize = 1 << 26;

/// Opens a file that is not read from its beginning to its end, which devices and pipes cannot give.
#[cfg(any(feature = "npz", feature = "parquet"))]
fn open_seekable(path: &Path) -> Result<std::fs::File, LabelledError> {
    let failed = |source| LabelledError::Read {
        path: path.to_owned(),
        source,
    };
    // Asked before it is opened: opening a pipe waits for somebody who writes to it.
    let what = match std::fs::metadata(path).map_err(failed)? {
        found if found.is_file() => return std::fs::File::open(path).map_err(failed),
        found if found.is_dir() => "it is a folder",
        _ => "it is a device or a pipe; copy it into a file",
    };
    Err(failed(std::io::Error::other(what)))
}

/// Rows of y and x with their labels.
///
/// ```
/// use fabproj::set::LabelledData;
///
/// // The interval from 0 to 1, known by points at every tenth.
/// let points: Vec<f64> = (-10..20).map(|tenth| f64::from(tenth) / 10.0).collect();
/// let labels: Vec<bool> = points.iter().map(|y| (0.0..=1.0).contains(y)).collect();
/// let data = LabelledData::new(vec!["y".into()], points, Vec::new(), Vec::new(), labels)?;
/// assert_eq!((data.rows(), data.dim(), data.feasible()), (30, 1, 11));
/// # Ok::<(), fabproj::set::LabelledError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LabelledData {
    names: Vec<String>,
    points: Vec<f64>,
    x_names: Vec<String>,
    x_values: Vec<f64>,
    labels: Vec<bool>,
}

impl LabelledData {
    /// Rows of one number per name. Without x its names and values are empty.
    ///
    /// # Errors
    /// [`LabelledError`] when the lists do not fit together, two names are the same, there are no rows, a
    /// number is not finite, or all labels are the same.
    pub fn new(
        names: Vec<String>,
        points: Vec<f64>,
        x_names: Vec<String>,
        x_values: Vec<f64>,
        labels: Vec<bool>,
    ) -> Result<Self, LabelledError> {
        let rows = labels.len();
        if names.is_empty() {
            return Err(LabelledError::NoY);
        }
        if rows == 0 {
            return Err(LabelledError::Empty);
        }
        let mut seen = HashSet::new();
        if let Some(name) = names
            .iter()
            .chain(&x_names)
            .find(|name| !seen.insert(*name))
        {
            return Err(LabelledError::Duplicate { name: name.clone() });
        }
        let parts = [("y", &names, &points), ("x", &x_names, &x_values)];
        for (what, names, values) in parts {
            let (found, limit) = (names.len(), Weights::MAX_WIDTH);
            if found > limit {
                return Err(LabelledError::TooWide { what, found, limit });
            }
            let expected = rows * names.len();
            if values.len() != expected {
                return Err(LabelledError::Length {
                    what,
                    expected,
                    found: values.len(),
                });
            }
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                return Err(LabelledError::NotFinite {
                    place: Place::row(index / names.len()),
                    column: names[index % names.len()].clone(),
                    value: values[index],
                });
            }
        }
        let feasible = labels.iter().filter(|label| **label).count();
        if feasible == 0 || feasible == rows {
            return Err(LabelledError::OneClass {
                rows,
                feasible: feasible > 0,
            });
        }
        Ok(Self {
            names,
            points,
            x_names,
            x_values,
            labels,
        })
    }

    /// Reads labelled points from a file: `.csv` with a header, `.npz` as numpy writes it, `.parquet`.
    ///
    /// CSV and Parquet have named columns, which [`Columns`] assigns. An `.npz` file holds the arrays `y`,
    /// `label` and perhaps `x`, a row per point; or `X_all` and `feasible_mask`, where the first
    /// [`Columns::state_dim`] columns of `X_all` are x and the others y.
    ///
    /// # Errors
    /// [`LabelledError`] for a file that cannot be read, is something else, or holds what cannot be learned
    /// from: the message names the row and the column.
    pub fn read(path: &Path, columns: &Columns) -> Result<Self, LabelledError> {
        match ending(path).as_deref() {
            #[cfg(feature = "csv")]
            Some("csv") => csv::read(path, columns),
            #[cfg(feature = "npz")]
            Some("npz") => npz::read(path, columns),
            #[cfg(feature = "parquet")]
            Some("parquet") => parquet::read(path, columns),
            _ => {
                // A build without any format has no use for them.
                let _ = columns;
                Err(LabelledError::Ending {
                    path: path.to_owned(),
                })
            }
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    /// Number of feasible rows.
    pub fn feasible(&self) -> usize {
        self.labels.iter().filter(|label| **label).count()
    }

    /// Dimension of y.
    pub fn dim(&self) -> usize {
        self.names.len()
    }

    /// Dimension of x.
    pub fn x_dim(&self) -> usize {
        self.x_names.len()
    }

    /// Names of the coordinates of y.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Names of the coordinates of x.
    pub fn x_names(&self) -> &[String] {
        &self.x_names
    }

    /// All points, row after row.
    pub fn points(&self) -> &[f64] {
        &self.points
    }

    /// All values of x, row after row.
    pub fn x_values(&self) -> &[f64] {
        &self.x_values
    }

    /// Whether each row is feasible.
    pub fn labels(&self) -> &[bool] {
        &self.labels
    }

    /// y of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn y(&self, row: usize) -> &[f64] {
        &self.points[row * self.dim()..][..self.dim()]
    }

    /// x of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn x(&self, row: usize) -> &[f64] {
        &self.x_values[row * self.x_dim()..][..self.x_dim()]
    }

    /// A fingerprint of the numbers and labels; names do not count.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for size in [self.rows(), self.dim(), self.x_dim()] {
            hasher.update(&(size as u64).to_le_bytes());
        }
        for value in self.points.iter().chain(&self.x_values) {
            hasher.update(&value.to_le_bytes());
        }
        for label in &self.labels {
            hasher.update(&[u8::from(*label)]);
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// The endings of files that [`LabelledData::read`] takes in this build.
pub(crate) const ENDINGS: &[&str] = &[
    #[cfg(feature = "csv")]
    "csv",
    #[cfg(feature = "npz")]
    "npz",
    #[cfg(feature = "parquet")]
    "parquet",
];

/// Whether a file's name ends as labelled points do, whether or not this build reads that format.
pub fn is_labelled_file(path: &Path) -> bool {
    ending(path).is_some_and(|ending| ["csv", "npz", "parquet"].contains(&ending.as_str()))
}

fn ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_lowercase())
}

/// The numbers of some columns of a file (.csv, .parquet), row after row.
pub(crate) fn numbers(path: &Path, columns: &[String]) -> Result<Vec<f64>, LabelledError> {
    match ending(path).as_deref() {
        #[cfg(feature = "csv")]
        Some("csv") => csv::numbers(path, columns),
        #[cfg(feature = "parquet")]
        Some("parquet") => parquet::numbers(path, columns),
        _ => {
            let _ = columns;
            let problem =
                "its name must end in .csv, .parquet or .npz, of a format that this build reads";
            Err(LabelledError::Format {
                format: "a table",
                problem: problem.to_owned(),
            })
        }
    }
}

/// The label that a number means: 1 is feasible; 0 and -1 are not.
#[cfg(any(feature = "csv", feature = "npz", feature = "parquet"))]
fn label_of(value: f64) -> Option<bool> {
    match value {
        1.0 => Some(true),
        0.0 | -1.0 => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(prefix: &str, count: usize) -> Vec<String> {
        (0..count).map(|index| format!("{prefix}{index}")).collect()
    }

    #[test]
    fn rows_are_found_again() {
        let data = LabelledData::new(
            names("y", 2),
            vec![1.0, 2.0, 3.0, 4.0],
            names("x", 1),
            vec![5.0, 6.0],
            vec![true, false],
        )
        .unwrap();
        assert_eq!((data.y(1), data.x(1)), (&[3.0, 4.0][..], &[6.0][..]));
        assert_eq!((data.rows(), data.feasible()), (2, 1));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_values() {
        let new = |points: Vec<f64>, x_values: Vec<f64>, labels: Vec<bool>| {
            LabelledData::new(names("y", 2), points, names("x", 1), x_values, labels)
                .unwrap_err()
                .to_string()
        };
        let both = vec![true, false];
        let short = new(vec![1.0; 3], vec![0.0; 2], both.clone());
        assert!(short.contains('4') && short.contains('3'), "{short}");
        let infinite = new(vec![1.0; 4], vec![0.0, f64::INFINITY], both);
        assert!(
            infinite.contains("row 2") && infinite.contains("`x0`") && infinite.contains("inf"),
            "{infinite}"
        );
        assert!(new(vec![1.0; 4], vec![0.0; 2], vec![true; 2]).contains("all 2"));
        assert!(new(Vec::new(), Vec::new(), Vec::new()).contains("no rows"));
        let no_y = LabelledData::new(Vec::new(), Vec::new(), Vec::new(), Vec::new(), vec![true]);
        assert_eq!(
            no_y.unwrap_err().to_string(),
            LabelledError::NoY.to_string()
        );
    }

    #[test]
    fn the_hash_tells_data_apart() {
        let data = |last: f64, label: bool| {
            let labels = vec![!label, label];
            LabelledData::new(
                names("y", 1),
                vec![1.0, last],
                Vec::new(),
                Vec::new(),
                labels,
            )
            .unwrap()
        };
        assert_eq!(data(2.0, true).hash(), data(2.0, true).hash());
        assert_ne!(data(2.0, true).hash(), data(2.5, true).hash());
        assert_ne!(data(2.0, true).hash(), data(2.0, false).hash());
    }

    #[test]
    fn unknown_endings_are_refused() {
        let error = LabelledData::read(Path::new("points.xlsx"), &Columns::default()).unwrap_err();
        assert!(error.to_string().contains("points.xlsx"), "{error}");
    }
}
