//! DC3's completion: coordinates that the equations leave free, and the others as functions of them.

use super::linear::{Along, add, solve_rows};

/// DC3's coordinates: the free ones themselves; the others follow from the equations.
pub(super) fn completion(a: &[f64], dim: usize) -> Along {
    let equations = a.len() / dim;
    let others = pivots(a, dim);
    let free: Vec<usize> = (0..dim).filter(|i| !others.contains(i)).collect();
    let part = |i: usize| others.iter().map(|&j| a[i * dim + j]).collect();
    let matrix: Vec<Vec<f64>> = (0..equations).map(part).collect();
    let mut sides: Vec<Vec<f64>> = (0..equations)
        .map(|i| {
            (0..equations)
                .map(|j| f64::from(u8::from(i == j)))
                .collect()
        })
        .collect();
    sides.extend(
        free.iter()
            .map(|&j| (0..equations).map(|i| -a[i * dim + j]).collect()),
    );
    let solved = solve_rows(matrix, sides);
    let (by_x, by_z) = solved.split_at(equations);
    let mut anchor = vec![0.0; dim * equations];
    for (equation, column) in by_x.iter().enumerate() {
        for (value, &other) in column.iter().zip(&others) {
            anchor[other * equations + equation] = *value;
        }
    }
    let directions = free.iter().zip(by_z).map(|(&own, column)| {
        let mut direction = vec![0.0; dim];
        direction[own] = 1.0;
        for (value, &other) in column.iter().zip(&others) {
            direction[other] = *value;
        }
        direction
    });
    Along {
        directions: directions.collect(),
        anchor,
    }
}

/// Coordinates that the equations determine well: the largest pivots of an elimination.
fn pivots(a: &[f64], dim: usize) -> Vec<usize> {
    let mut rows: Vec<Vec<f64>> = a.chunks_exact(dim).map(<[f64]>::to_vec).collect();
    let mut chosen = Vec::new();
    for place in 0..rows.len() {
        let mut best = 0;
        for column in 0..dim {
            if rows[place][column].abs() > rows[place][best].abs() {
                best = column;
            }
        }
        chosen.push(best);
        let pivot = rows[place].clone();
        for row in &mut rows[place + 1..] {
            let factor = row[best] / pivot[best];
            add(row, -factor, &pivot);
            row[best] = 0.0;
        }
    }
    chosen
}
