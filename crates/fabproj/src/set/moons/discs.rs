//! Membership in a union of many equal discs: a grid that answers for most points at once.

/// Side of a cell. With discs of radius 0.15 about one cell in twenty is cut by the boundary.
const SIDE: f64 = 0.02;

/// Allowance for rounding when a whole cell is judged.
const SLACK: f64 = 1e-12;

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
    /// Sorts the discs into the cells that they cut.
    pub(super) fn new(points: &[[f64; 2]], radius: f64) -> Self {
        let lowest = |axis: usize| points.iter().map(|p| p[axis]).fold(f64::INFINITY, f64::min);
        let highest = |axis: usize| {
            points
                .iter()
                .map(|p| p[axis])
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let origin = [lowest(0) - radius - SIDE, lowest(1) - radius - SIDE];
        let cells_along =
            |axis: usize| ((highest(axis) + radius - origin[axis]) / SIDE) as usize + 2;
        let (columns, rows) = (cells_along(0), cells_along(1));
        let mut discs = Self {
            squared_radius: radius * radius,
            origin,
            columns,
            rows,
            cells: vec![OUT; columns * rows],
            starts: Vec::new(),
            centres: Vec::new(),
        };
        for point in points {
            discs.fill_covered(point, radius);
        }
        discs.collect_mixed(points, radius);
        discs
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

    /// Marks the cells that lie wholly in one disc.
    fn fill_covered(&mut self, point: &[f64; 2], radius: f64) {
        for row in self.rows_of(point, radius) {
            if let Some((first, end)) = self.covered(point, radius, row) {
                self.cells[row * self.columns + first..row * self.columns + end].fill(IN);
            }
        }
    }

    /// Gives every cell that is cut by discs, but wholly in none, the list of these discs.
    fn collect_mixed(&mut self, points: &[[f64; 2]], radius: f64) {
        let mut cuts: Vec<(u32, u32)> = Vec::new();
        for (index, point) in points.iter().enumerate() {
            for row in self.rows_of(point, radius) {
                let (first, end) = self.touched(point, radius, row);
                for cell in row * self.columns + first..row * self.columns + end {
                    if self.cells[cell] != IN {
                        cuts.push((cell as u32, index as u32));
                    }
                }
            }
        }
        cuts.sort_unstable();
        for (cell, index) in cuts {
            if self.cells[cell as usize] == OUT {
                self.cells[cell as usize] = 2 + self.starts.len() as u32;
                self.starts.push(self.centres.len() as u32);
            }
            self.centres.push(points[index as usize]);
        }
        self.starts.push(self.centres.len() as u32);
    }

    /// The rows that a disc reaches.
    fn rows_of(&self, point: &[f64; 2], radius: f64) -> std::ops::RangeInclusive<usize> {
        let row = |y: f64| ((y - self.origin[1]) / SIDE) as usize;
        row(point[1] - radius - SLACK)..=row(point[1] + radius + SLACK).min(self.rows - 1)
    }

    /// The columns of a row whose cells lie wholly in the disc, if there are any.
    fn covered(&self, point: &[f64; 2], radius: f64, row: usize) -> Option<(usize, usize)> {
        let low = self.origin[1] + row as f64 * SIDE - point[1];
        let farthest = low.abs().max((low + SIDE).abs()) + SLACK;
        let squared = radius * radius - farthest * farthest;
        if squared <= 0.0 {
            return None;
        }
        let half = squared.sqrt() - SLACK;
        let first = ((point[0] - half - self.origin[0]) / SIDE).ceil() as usize;
        let end = ((point[0] + half - self.origin[0]) / SIDE).floor() as usize;
        (first < end).then_some((first, end))
    }

    /// The columns of a row whose cells the disc may reach.
    fn touched(&self, point: &[f64; 2], radius: f64, row: usize) -> (usize, usize) {
        let low = self.origin[1] + row as f64 * SIDE - point[1];
        let nearest = if low > 0.0 {
            low
        } else {
            (-low - SIDE).max(0.0)
        };
        let squared = radius * radius - nearest * nearest;
        let half = squared.max(0.0).sqrt() + SLACK;
        let first = ((point[0] - half - self.origin[0]) / SIDE) as usize;
        let last = ((point[0] + half - self.origin[0]) / SIDE) as usize;
        (first, (last + 1).min(self.columns))
    }
}
