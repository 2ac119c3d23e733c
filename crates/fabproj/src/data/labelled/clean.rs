//! Removes labelled points that cannot be learned from.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{LabelledData, LabelledError};

/// Counts of labelled points, and of those that were removed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LabelReport {
    /// Rows as they were given.
    pub rows: usize,
    /// Rows that were left.
    pub used: usize,
    /// Feasible rows among those that were left.
    pub feasible: usize,
    /// Rows that repeat an earlier one, label included; left out.
    pub duplicates: usize,
    /// Rows that others contradict: the same numbers with both labels. All of them are left out.
    pub contradictory: usize,
    /// Columns with the same number in all rows, which tell nothing; left out.
    pub constant: Vec<String>,
}

impl LabelReport {
    /// Share of feasible rows among those that were left.
    pub fn feasible_share(&self) -> f64 {
        self.feasible as f64 / self.used.max(1) as f64
    }
}

impl LabelledData {
    /// Removes rows that repeat or contradict others, and constant columns.
    ///
    /// Of rows with the same numbers, one stays if their labels agree, and none otherwise. A constant
    /// coordinate of y is not a part of the model. The points cannot show the influence of a constant x.
    ///
    /// # Errors
    /// [`LabelledError::Constant`] when no coordinate of y varies, and [`LabelledError::OneClass`] when
    /// contradictions leave rows of one label alone.
    pub fn clean(&self) -> Result<(Self, LabelReport), LabelledError> {
        let (y_kept, y_constant) = varying(&self.points, &self.names);
        let (x_kept, x_constant) = varying(&self.x_values, &self.x_names);
        if y_kept.is_empty() {
            return Err(LabelledError::Constant { rows: self.rows() });
        }
        let mut report = LabelReport {
            rows: self.rows(),
            constant: [y_constant, x_constant].concat(),
            ..LabelReport::default()
        };
        let (mut points, mut x_values, mut labels) = (Vec::new(), Vec::new(), Vec::new());
        for (row, agreement) in self.agreements().into_iter().enumerate() {
            match agreement {
                Row::Contradicted => report.contradictory += 1,
                Row::Repeated => report.duplicates += 1,
                Row::Own => {
                    points.extend(y_kept.iter().map(|column| self.y(row)[*column]));
                    x_values.extend(x_kept.iter().map(|column| self.x(row)[*column]));
                    labels.push(self.labels[row]);
                }
            }
        }
        let picked = |names: &[String], kept: &[usize]| {
            kept.iter().map(|column| names[*column].clone()).collect()
        };
        let cleaned = Self::new(
            picked(&self.names, &y_kept),
            points,
            picked(&self.x_names, &x_kept),
            x_values,
            labels,
        )?;
        report.used = cleaned.rows();
        report.feasible = cleaned.feasible();
        Ok((cleaned, report))
    }

    /// How each row stands to the others.
    fn agreements(&self) -> Vec<Row> {
        let key = |row: usize| -> Vec<u64> {
            let numbers = self.y(row).iter().chain(self.x(row));
            // Adding zero makes one number of the two zeros.
            numbers.map(|value| (value + 0.0).to_bits()).collect()
        };
        // For each point: its first row, and whether a later one has the other label.
        let mut seen: HashMap<Vec<u64>, (usize, bool)> = HashMap::with_capacity(self.rows());
        for row in 0..self.rows() {
            let (first, contradicted) = seen.entry(key(row)).or_insert((row, false));
            *contradicted |= self.labels[*first] != self.labels[row];
        }
        let agreement = |row: usize| match seen[&key(row)] {
            (_, true) => Row::Contradicted,
            (first, false) if first == row => Row::Own,
            _ => Row::Repeated,
        };
        (0..self.rows()).map(agreement).collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Own,
    Repeated,
    Contradicted,
}

/// Places of the columns that vary, and names of those that do not.
fn varying(values: &[f64], names: &[String]) -> (Vec<usize>, Vec<String>) {
    let width = names.len();
    let varies = |column: usize| {
        let mut column = values.iter().skip(column).step_by(width.max(1));
        let first = column.next();
        column.any(|value| Some(value) != first)
    };
    let (kept, constant): (Vec<usize>, Vec<usize>) = (0..width).partition(|column| varies(*column));
    let constant = constant.iter().map(|column| names[*column].clone());
    (kept, constant.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(rows: &[([f64; 2], f64, bool)]) -> LabelledData {
        LabelledData::new(
            vec!["a".into(), "b".into()],
            rows.iter().flat_map(|(y, _, _)| *y).collect(),
            vec!["c".into()],
            rows.iter().map(|(_, x, _)| *x).collect(),
            rows.iter().map(|(_, _, label)| *label).collect(),
        )
        .unwrap()
    }

    #[test]
    fn repeated_and_contradicted_rows_are_left_out() {
        let (cleaned, report) = data(&[
            ([1.0, 0.0], 5.0, true),
            ([2.0, 3.0], 5.0, true),
            ([1.0, -0.0], 5.0, true),
            ([2.0, 3.0], 5.0, true),
            ([2.0, 3.0], 5.0, false),
            ([2.0, 3.0], 6.0, false),
            ([7.0, 3.0], 5.0, false),
        ])
        .clean()
        .unwrap();
        assert_eq!(cleaned.points(), [1.0, 0.0, 2.0, 3.0, 7.0, 3.0]);
        assert_eq!(cleaned.x_values(), [5.0, 6.0, 5.0]);
        assert_eq!(cleaned.labels(), [true, false, false]);
        let expected = LabelReport {
            rows: 7,
            used: 3,
            feasible: 1,
            duplicates: 1,
            contradictory: 3,
            constant: Vec::new(),
        };
        assert_eq!(report, expected);
    }

    #[test]
    fn constant_columns_are_left_out_by_name() {
        let (cleaned, report) = data(&[
            ([1.0, 4.0], 5.0, true),
            ([2.0, 4.0], 5.0, false),
            ([3.0, 4.0], 5.0, false),
        ])
        .clean()
        .unwrap();
        assert_eq!(report.constant, ["b", "c"]);
        assert_eq!(
            (cleaned.names(), cleaned.x_dim()),
            (&["a".to_owned()][..], 0)
        );
        assert_eq!(cleaned.points(), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn nothing_left_is_an_error() {
        let constant = data(&[([1.0, 4.0], 5.0, true), ([1.0, 4.0], 6.0, false)]).clean();
        assert!(matches!(constant, Err(LabelledError::Constant { rows: 2 })));
        let one_class = data(&[
            ([1.0, 4.0], 5.0, true),
            ([1.0, 4.0], 5.0, false),
            ([2.0, 3.0], 6.0, false),
        ])
        .clean();
        assert!(matches!(
            one_class,
            Err(LabelledError::OneClass {
                rows: 1,
                feasible: false
            })
        ));
    }
}
