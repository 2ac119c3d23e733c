//! Where figures take place: lines and planes in the space of y on which the model's equations hold.

use fabproj::Projector;
use fabproj::core::Equations;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::error::Result;

/// A coordinate whose free part is smaller, as a share of its square, is determined by the equations.
const FREE: f64 = 1e-3;
/// Two coordinates whose directions have a smaller squared sine determine each other.
const INDEPENDENT: f64 = 1e-2;

/// The points that obey the equations of a projector: all points where it has none.
pub struct Space<'a> {
    dim: usize,
    equations: Option<&'a Equations>,
}

impl<'a> Space<'a> {
    pub fn of(projector: &'a Projector) -> Self {
        Self {
            dim: projector.dim(),
            equations: projector.equations(),
        }
    }

    /// How many coordinates can be chosen freely.
    pub fn freedom(&self) -> usize {
        self.equations.map_or(self.dim, Equations::reduced_dim)
    }

    /// The point with these free coordinates.
    pub fn point(&self, free: Vec<f64>, x: &[f64]) -> Result<Vec<f64>> {
        let Some(equations) = self.equations else {
            return Ok(free);
        };
        let mut y = vec![0.0; self.dim];
        equations.raise(&free, x, &mut y)?;
        Ok(y)
    }

    /// The point nearest to y that obeys the equations.
    pub fn nearest(&self, y: Vec<f64>, x: &[f64]) -> Result<Vec<f64>> {
        let Some(equations) = self.equations else {
            return Ok(y);
        };
        let mut free = vec![0.0; equations.reduced_dim()];
        equations.lower(&y, x, &mut free)?;
        self.point(free, x)
    }

    /// The part of a direction along which the equations stay true.
    fn along(&self, direction: &[f64]) -> Vec<f64> {
        let Some(equations) = self.equations else {
            return direction.to_vec();
        };
        let rows = || equations.basis.chunks_exact(self.freedom());
        let mut free = vec![0.0; self.freedom()];
        for (row, part) in rows().zip(direction) {
            free.iter_mut()
                .zip(row)
                .for_each(|(free, basis)| *free += basis * part);
        }
        rows().map(|row| dot(row, &free)).collect()
    }

    /// How much coordinate `second` changes along the free part of coordinate `first`.
    fn change(&self, first: usize, second: usize) -> f64 {
        let Some(equations) = self.equations else {
            return f64::from(u8::from(first == second));
        };
        let row = |index: usize| &equations.basis[index * self.freedom()..][..self.freedom()];
        dot(row(first), row(second))
    }

    /// Pairs of coordinates that can be chosen independently of each other, the first coordinates first.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let pairs = (1..self.dim).flat_map(|second| (0..second).map(move |first| (first, second)));
        pairs.filter(|(first, second)| {
            let sizes = [self.change(*first, *first), self.change(*second, *second)];
            let common = self.change(*first, *second);
            let square = sizes[0] * sizes[1];
            sizes.iter().all(|size| *size > FREE) && square - common * common > INDEPENDENT * square
        })
    }

    /// The line through a point along the coordinate that the equations leave most freedom.
    pub fn line(&self, through: &[f64]) -> Line {
        let freedom = |index: &usize| self.change(*index, *index);
        let free = (0..self.dim).max_by(|a, b| freedom(a).total_cmp(&freedom(b)));
        let coordinate = free.unwrap_or(0);
        let scale = 1.0 / freedom(&coordinate).max(f64::MIN_POSITIVE);
        let axis: Vec<f64> = self.along(&unit_vector(self.dim, coordinate));
        let axis: Vec<f64> = axis.iter().map(|part| part * scale).collect();
        Line {
            origin: moved(through, -through[coordinate], &axis),
            axis,
            coordinate,
        }
    }

    /// The plane through a point along two coordinates: the others change as little as the equations allow.
    pub fn plane(&self, through: &[f64], (first, second): (usize, usize), x: &[f64]) -> Plane {
        let read = [first, second].map(|index| unit_vector(self.dim, index));
        let along = [self.along(&read[0]), self.along(&read[1])];
        let (a, b, c) = (along[0][first], along[0][second], along[1][second]);
        let square = a * c - b * b;
        let combined = |one: f64, other: f64| -> Vec<f64> {
            let parts = along[0].iter().zip(&along[1]);
            parts
                .map(|(first, second)| (one * first + other * second) / square)
                .collect()
        };
        let axes = [combined(c, -b), combined(-b, a)];
        let origin = moved(through, -through[first], &axes[0]);
        Plane {
            origin: moved(&origin, -through[second], &axes[1]),
            axes,
            read,
            x: x.to_vec(),
        }
    }

    /// A plane through a point, along two random directions at right angles.
    pub fn random_plane(&self, through: &[f64], x: &[f64], rng: &mut ChaCha8Rng) -> Plane {
        let mut direction = || -> Vec<f64> {
            let parts = (0..self.dim).map(|_| rng.random_range(-1.0..1.0));
            unit(&self.along(&parts.collect::<Vec<f64>>()))
        };
        let (first, second) = (direction(), direction());
        let second = unit(&moved(&second, -dot(&first, &second), &first));
        Plane {
            origin: through.to_vec(),
            axes: [first.clone(), second.clone()],
            read: [first, second],
            x: x.to_vec(),
        }
    }
}

/// A line in the space of y, by the value of one coordinate.
pub struct Line {
    origin: Vec<f64>,
    axis: Vec<f64>,
    /// Which coordinate.
    pub coordinate: usize,
}

impl Line {
    pub fn point(&self, at: f64) -> Vec<f64> {
        moved(&self.origin, at, &self.axis)
    }
}

/// A plane in the space of y, at some x.
pub struct Plane {
    origin: Vec<f64>,
    axes: [Vec<f64>; 2],
    /// The plane's coordinates are the products of these with offsets from the origin.
    read: [Vec<f64>; 2],
    pub x: Vec<f64>,
}

impl Plane {
    pub fn point(&self, at: (f64, f64)) -> Vec<f64> {
        moved(
            &moved(&self.origin, at.0, &self.axes[0]),
            at.1,
            &self.axes[1],
        )
    }

    /// The plane's coordinates of a point, and how far the point is from the plane there.
    pub fn foot(&self, point: &[f64]) -> ((f64, f64), f64) {
        let offset = moved(point, -1.0, &self.origin);
        let at = (dot(&self.read[0], &offset), dot(&self.read[1], &offset));
        (at, distance(point, &self.point(at)))
    }
}

fn unit_vector(dim: usize, index: usize) -> Vec<f64> {
    (0..dim).map(|j| f64::from(u8::from(j == index))).collect()
}

/// origin + factor · direction
fn moved(origin: &[f64], factor: f64, direction: &[f64]) -> Vec<f64> {
    let parts = origin.iter().zip(direction);
    parts.map(|(origin, part)| origin + factor * part).collect()
}

fn unit(direction: &[f64]) -> Vec<f64> {
    let length = dot(direction, direction).sqrt().max(1e-12);
    direction.iter().map(|part| part / length).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    let offset = moved(a, -1.0, b);
    dot(&offset, &offset).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// y0 + y1 + y2 = 3 and y3 = 1.
    fn equations() -> Equations {
        let (half, sixth) = (0.5_f64.sqrt(), (1.0_f64 / 6.0).sqrt());
        Equations {
            origin: vec![1.0; 4],
            basis: vec![half, sixth, -half, sixth, 0.0, -2.0 * sixth, 0.0, 0.0],
            by_x: Vec::new(),
        }
    }

    #[test]
    fn planes_obey_the_equations_in_the_coordinates_of_y() {
        let equations = equations();
        let space = Space {
            dim: 4,
            equations: Some(&equations),
        };
        assert_eq!(space.freedom(), 2);
        assert_eq!(space.pairs().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
        let plane = space.plane(&[1.0; 4], (0, 2), &[]);
        let point = plane.point((5.0, -1.0));
        for (found, expected) in point.iter().zip([5.0, -1.0, -1.0, 1.0]) {
            assert!((found - expected).abs() < 1e-12, "{point:?}");
        }
        let (at, away) = plane.foot(&point);
        assert!((at.0 - 5.0).abs() + (at.1 + 1.0).abs() + away < 1e-12);
    }

    #[test]
    fn without_equations_planes_are_those_of_the_coordinates() {
        let space = Space {
            dim: 3,
            equations: None,
        };
        let plane = space.plane(&[0.1, 0.2, 0.3], (0, 2), &[]);
        assert_eq!(plane.point((7.0, 8.0)), [7.0, 0.2, 8.0]);
        let line = space.line(&[0.5, 0.2, 0.3]);
        assert_eq!(line.point(7.0)[line.coordinate], 7.0);
    }

    #[test]
    fn lines_follow_the_freest_coordinate() {
        // y0 + 2 y1 = 2
        let (long, short) = (0.8_f64.sqrt(), 0.2_f64.sqrt());
        let equations = Equations {
            origin: vec![0.4, 0.8],
            basis: vec![long, -short],
            by_x: Vec::new(),
        };
        let space = Space {
            dim: 2,
            equations: Some(&equations),
        };
        let line = space.line(&[0.4, 0.8]);
        assert_eq!(line.coordinate, 0);
        let point = line.point(1.0);
        assert!((point[0] - 1.0).abs() < 1e-12 && (point[1] - 0.5).abs() < 1e-12);
    }
}
