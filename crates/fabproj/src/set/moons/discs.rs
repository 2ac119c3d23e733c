//! Membership in a union of many equal discs: a grid that answers for most points at once.

use crate::tree::Tree;

/// Side of a cell. With discs of radius 0.15 about one cell in twenty is cut by the boundary.
const SIDE: f64 = 0.02;

/// From the middle of a cell to its corner, and a little more for rounding.
const REACH: f64 = SIDE * std::f64::consts::FRAC_1_SQRT_2 + 1e-12;

const OUT: u32 = 0;
const IN: u32 = 1;

/// The union of discs of one radius around points of the plane.
pub(super) struct Discs {
    squared_radius: f64,
    origin: [f64; 2],
    columns: usize,
    rows: usize,
    /// `OUT`, `IN`, or 2 + the number of a mixed cell.
    cells: Vec<u32>,
    /// `starts[k]..starts[k + 1]` are the places in `centres` of mixed cell k's discs.
    starts: Vec<u32>,
    centres: Vec<[f64; 2]>,
}

impl Discs {
    /// Judges every cell of a grid over all the discs.
    pub(super) fn new(points: &[[f64; 2]], tree: &Tree<f64>, radius: f64) -> Self {
        let along = |axis: usize| points.iter().map(move |point| point[axis]);
        let low = [0, 1].map(|axis| along(axis).fold(f64::INFINITY, f64::min));
        let high = [0, 1].map(|axis| along(axis).fold(f64::NEG_INFINITY, f64::max));
        let origin = low.map(|value| value - radius);
        let cells_along = |axis: usize| ((high[axis] + radius - origin[axis]) / SIDE) as usize + 1;
        let (columns, rows) = (cells_along(0), cells_along(1));
        let mut discs = Self {
            squared_radius: radius * radius,
            origin,
            columns,
            rows,
            cells: Vec::with_capacity(columns * rows),
            starts: vec![0],
            centres: Vec::new(),
        };
        for row in 0..rows {
            for column in 0..columns {
                let middle = [
                    origin[0] + (column as f64 + 0.5) * SIDE,
                    origin[1] + (row as f64 + 0.5) * SIDE,
                ];
                let cell = discs.judge(points, tree, middle, radius);
                discs.cells.push(cell);
            }
        }
        discs
    }

    /// Whether the cell around `middle` lies in one disc or in none; if neither is certain, the discs
    /// that reach it are stored.
    fn judge(
        &mut self,
        points: &[[f64; 2]],
        tree: &Tree<f64>,
        middle: [f64; 2],
        radius: f64,
    ) -> u32 {
        match tree.nearest_within(&middle, radius + REACH) {
            None => OUT,
            Some((_, square)) if square.sqrt() <= radius - REACH => IN,
            Some(_) => {
                let near = tree.within(&middle, radius + REACH).into_iter();
                self.centres.extend(near.map(|index| points[index]));
                self.starts.push(self.centres.len() as u32);
                self.starts.len() as u32
            }
        }
    }

    /// Whether the point is in one of the discs.
    #[inline]
    pub(super) fn contains(&self, y: &[f64]) -> bool {
        let column = (y[0] - self.origin[0]) / SIDE;
        let row = (y[1] - self.origin[1]) / SIDE;
        // False for NaN as well.
        let on_grid =
            column >= 0.0 && row >= 0.0 && column < self.columns as f64 && row < self.rows as f64;
        if !on_grid {
            return false;
        }
        match self.cells[row as usize * self.columns + column as usize] {
            OUT => false,
            IN => true,
            mixed => self.search((mixed - 2) as usize, y),
        }
    }

    fn search(&self, mixed: usize, y: &[f64]) -> bool {
        let range = self.starts[mixed] as usize..self.starts[mixed + 1] as usize;
        self.centres[range].iter().any(|centre| {
            let (dx, dy) = (y[0] - centre[0], y[1] - centre[1]);
            dx * dx + dy * dy <= self.squared_radius
        })
    }
}
