//! Dense linear algebra of small systems.

pub(super) use fabproj::core::vector::{add, dot, dot3, times};

/// Solves matrix · v = side for each of several sides, with pivots. The matrix is regular.
pub(super) fn solve_rows(mut matrix: Vec<Vec<f64>>, mut sides: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let size = matrix.len();
    for column in 0..size {
        let mut best = column;
        for row in column..size {
            if matrix[row][column].abs() > matrix[best][column].abs() {
                best = row;
            }
        }
        matrix.swap(column, best);
        sides.iter_mut().for_each(|side| side.swap(column, best));
        let pivot = matrix[column].clone();
        for row in (0..size).filter(|row| *row != column) {
            let factor = matrix[row][column] / pivot[column];
            for (value, pivot) in matrix[row].iter_mut().zip(&pivot).skip(column) {
                *value -= factor * pivot;
            }
            for side in &mut sides {
                side[row] -= factor * side[column];
            }
        }
    }
    for side in &mut sides {
        for (row, value) in side.iter_mut().enumerate() {
            *value /= matrix[row][row];
        }
    }
    sides
}

/// Coordinates along the equations A y = x: y = anchor · x + Σ z_i directions_i, in which ½ Σ q_i y_i² is round.
pub(super) struct Along {
    /// A⁺, `[y][equation]`; empty without equations
    pub(super) anchor: Vec<f64>,
    /// `[z][y]`
    pub(super) directions: Vec<Vec<f64>>,
}

impl Along {
    /// Without equations: the coordinates of y themselves.
    pub(super) fn whole(dim: usize) -> Self {
        let unit = |i: usize| (0..dim).map(|j| f64::from(u8::from(i == j))).collect();
        Self {
            anchor: Vec::new(),
            directions: (0..dim).map(unit).collect(),
        }
    }

    pub(super) fn new(a: &[f64], q: &[f64]) -> Self {
        let dim = q.len();
        let rows: Vec<&[f64]> = a.chunks_exact(dim).collect();
        let square = |i: usize| rows.iter().map(|row| dot(rows[i], row)).collect();
        let square: Vec<Vec<f64>> = (0..rows.len()).map(square).collect();
        let columns: Vec<Vec<f64>> = (0..dim)
            .map(|i| rows.iter().map(|row| row[i]).collect())
            .collect();
        let anchor = solve_rows(square, columns).concat();
        let mut basis: Vec<Vec<f64>> = Vec::new();
        orthonormalise(rows.iter().map(|row| row.to_vec()), &mut basis, dot);
        let count = basis.len();
        let units = (0..dim).map(|i| (0..dim).map(|j| f64::from(u8::from(i == j))).collect());
        orthonormalise(units, &mut basis, dot);
        let mut directions = Vec::new();
        orthonormalise(basis.into_iter().skip(count), &mut directions, |a, b| {
            dot3(a, q, b)
        });
        Self { anchor, directions }
    }
}

/// Gram and Schmidt, twice for accuracy; vectors that depend on others are left out.
fn orthonormalise(
    vectors: impl Iterator<Item = Vec<f64>>,
    basis: &mut Vec<Vec<f64>>,
    product: impl Fn(&[f64], &[f64]) -> f64,
) {
    for mut vector in vectors {
        let before = product(&vector, &vector);
        for _ in 0..2 {
            for other in basis.iter() {
                let along = product(&vector, other);
                vector
                    .iter_mut()
                    .zip(other)
                    .for_each(|(v, o)| *v -= along * o);
            }
        }
        let square = product(&vector, &vector);
        if square > 1e-8 * before {
            let length = square.sqrt();
            vector.iter_mut().for_each(|value| *value /= length);
            basis.push(vector);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_obey_the_equations_and_are_round() {
        let a = [1.0, 2.0, 0.5, -1.0, 0.3, 1.0, 0.0, 2.0];
        let q = [0.5, 2.0, 1.0, 0.1];
        let along = Along::new(&a, &q);
        assert_eq!(along.directions.len(), 2);
        for (i, row) in a.chunks_exact(4).enumerate() {
            for j in 0..2 {
                let column: Vec<f64> = along.anchor.iter().skip(j).step_by(2).copied().collect();
                let expected = f64::from(u8::from(i == j));
                assert!((dot(row, &column) - expected).abs() < 1e-12);
            }
            for direction in &along.directions {
                assert!(dot(row, direction).abs() < 1e-12);
            }
        }
        for (i, one) in along.directions.iter().enumerate() {
            for (j, other) in along.directions.iter().enumerate() {
                let expected = f64::from(u8::from(i == j));
                assert!((dot3(one, &q, other) - expected).abs() < 1e-12);
            }
        }
    }
}
