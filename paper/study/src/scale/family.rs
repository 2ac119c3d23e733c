//! The problems that the field measures itself on, made by the generators of its papers.

use fabproj::set::Equation;
use fabproj::solve::{Functions, Problem};

use super::catalogue::Kind;
use super::linear::{add, dot, dot3, solve_rows, times};
use super::random_state::RandomState;

/// Minimise ½ Σ q_i y_i² + Σ p_i y_i (or p_i sin y_i) + norm ‖y‖ with A y = x and inequality rows.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) q: Vec<f64>,
    /// The cost vector; where `cost_in_x`, x ends with it and this is empty.
    pub(super) p: Vec<f64>,
    pub(super) cost_in_x: bool,
    pub(super) sine: bool,
    /// The weight of ‖y‖.
    norm: f64,
    pub(super) a: Vec<f64>,
    pub(super) rows: Rows,
    /// The limit of |y_i|.
    pub(super) limit: Option<f64>,
    pub(super) x_bounds: Vec<(f64, f64)>,
    /// Rows of x that no training has seen.
    test_x: Vec<f64>,
}

/// Inequalities.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    /// G y ≤ h
    Linear { g: Vec<f64>, h: Vec<f64> },
    /// ½ Σ_j H_ij y_j² + G_i y ≤ h_i
    Quadratic {
        g: Vec<f64>,
        h: Vec<f64>,
        curvature: Vec<f64>,
    },
    /// G_i sin y ≤ h_i cos x_i; with more rows than x, x begins again.
    Sine { g: Vec<f64>, h: Vec<f64> },
    /// ‖G_i y + h_i‖ ≤ C_i y + d_i, all G_i of the same height.
    Cones {
        g: Vec<f64>,
        h: Vec<f64>,
        c: Vec<f64>,
        d: Vec<f64>,
    },
}

/// Rows of x that papers keep for tests, at most.
const TESTS: usize = 1_000;

impl Family {
    pub(super) fn dc3([dim, equations, rows]: [usize; 3], kind: Kind, seed: u32) -> Self {
        let mut random = RandomState::new(seed);
        let q = random.many(dim, RandomState::unit);
        let mut p = random.many(dim, RandomState::unit);
        let a = random.many(equations * dim, RandomState::normal);
        let x = random.many(10_000 * equations, RandomState::signed);
        let g = random.many(rows * dim, RandomState::normal);
        let h = reach(&g, &a, dim, equations);
        // The paper's test split is the end of its data.
        let mut test_x = x[(10_000 - TESTS) * equations..].to_vec();
        let mut x_bounds = vec![(-1.0, 1.0); equations];
        let cost_in_x = kind == Kind::Dc3Cost;
        if cost_in_x {
            let with_cost = test_x.chunks_exact(equations).flat_map(|x| {
                let cost = random.many(dim, RandomState::unit);
                [x.to_vec(), cost].concat()
            });
            test_x = with_cost.collect();
            x_bounds.extend(vec![(0.0, 1.0); dim]);
            p.clear();
        }
        Self {
            q,
            p,
            cost_in_x,
            sine: kind == Kind::Dc3Sine,
            norm: 0.0,
            a,
            rows: Rows::Linear { g, h },
            limit: None,
            x_bounds,
            test_x,
        }
    }

    /// The objective, equations and x that the later papers share.
    fn shared(
        [dim, equations, _]: [usize; 3],
        examples: usize,
        x_limit: f64,
        random: &mut RandomState,
    ) -> Self {
        let q = random.many(dim, |random| 0.5 * random.unit());
        let p = random.many(dim, RandomState::signed);
        let a = random.many(equations * dim, RandomState::signed);
        let x = random.many(examples * equations, |random| x_limit * random.signed());
        let test_x = x[(examples - TESTS) * equations..].to_vec();
        Self {
            q,
            p,
            cost_in_x: false,
            sine: false,
            norm: 0.0,
            a,
            rows: Rows::Linear {
                g: Vec::new(),
                h: Vec::new(),
            },
            limit: Some(5.0),
            x_bounds: vec![(-x_limit, x_limit); equations],
            test_x,
        }
    }

    pub(super) fn qcqp(sizes: [usize; 3], seed: u32) -> Self {
        let [dim, equations, rows] = sizes;
        let mut random = RandomState::new(seed);
        let mut family = Self::shared(sizes, 2_000, 0.5, &mut random);
        let g = random.many(rows * dim, RandomState::signed);
        let h = reach(&g, &family.a, dim, equations);
        let curvature = random.many(rows * dim, |random| 0.1 * random.unit());
        family.rows = Rows::Quadratic { g, h, curvature };
        family
    }

    pub(super) fn socp(sizes: [usize; 3], seed: u32) -> Self {
        let [dim, _, rows] = sizes;
        let mut random = RandomState::new(seed);
        let mut family = Self::shared(sizes, 2_000, 0.5, &mut random);
        let inside = random.many(dim, RandomState::signed);
        let (mut g, mut h, mut c, mut d) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            let matrix = random.many(rows * dim, RandomState::signed);
            let offset = random.many(rows, RandomState::signed);
            let normal = random.many(dim, RandomState::signed);
            let image = matrix.chunks_exact(dim).zip(&offset);
            let image = image.map(|(row, offset)| dot(row, &inside) + offset);
            let length = image.map(|value| value * value).sum::<f64>().sqrt();
            d.push(length - dot(&normal, &inside));
            g.extend(matrix);
            h.extend(offset);
            c.extend(normal);
        }
        family.rows = Rows::Cones { g, h, c, d };
        family
    }

    pub(super) fn fsnet(sizes: [usize; 3], kind: Kind, seed: u32) -> Self {
        let [dim, equations, rows] = sizes;
        let mut random = RandomState::new(seed);
        let mut family = Self::shared(sizes, 10_000, 1.0, &mut random);
        let g = random.many(rows * dim, RandomState::signed);
        let h = reach(&g, &family.a, dim, equations);
        family.rows = Rows::Sine { g, h };
        family.sine = true;
        family.norm = if kind == Kind::Nonsmooth { 0.1 } else { 0.0 };
        family
    }

    /// Number of equations.
    pub(super) fn equations(&self) -> usize {
        self.a.len() / self.q.len()
    }

    /// Whether clarabel can solve it.
    pub(super) fn is_convex(&self) -> bool {
        !self.sine && self.norm == 0.0 && !matches!(self.rows, Rows::Sine { .. })
    }

    /// Rows of x to test on.
    pub(super) fn test_x(&self) -> Vec<Vec<f64>> {
        let rows = self.test_x.chunks_exact(self.x_dim());
        rows.map(<[f64]>::to_vec).collect()
    }

    /// The problem that a solver is trained for.
    pub(super) fn problem(&self, name: &str) -> Problem {
        let dim = self.dim();
        let rows = self.a.chunks_exact(dim).enumerate();
        let stated = rows.map(|(i, normal)| {
            let mut slopes = vec![0.0; self.x_dim()];
            slopes[i] = 1.0;
            Equation {
                normal: normal.to_vec(),
                constant: 0.0,
                slopes,
            }
        });
        let problem = Problem::new(name, self.clone())
            .with_equations(stated.collect())
            .with_x(self.x_bounds.clone());
        match self.limit {
            Some(limit) => problem.with_bounds(vec![(-limit, limit); dim]),
            None => problem,
        }
    }

    /// The cost vector at x.
    pub(super) fn cost<'a>(&'a self, x: &'a [f64]) -> &'a [f64] {
        if self.cost_in_x {
            &x[self.equations()..]
        } else {
            &self.p
        }
    }
}

impl Family {
    /// Numbers of the memory that are sines and cosines of y.
    fn waves(&self) -> usize {
        let any = self.sine || matches!(self.rows, Rows::Sine { .. });
        if any { 2 * self.dim() } else { 0 }
    }
}

impl Functions for Family {
    fn dim(&self) -> usize {
        self.q.len()
    }

    fn x_dim(&self) -> usize {
        self.x_bounds.len()
    }

    fn rows(&self) -> usize {
        match &self.rows {
            Rows::Linear { h, .. } | Rows::Quadratic { h, .. } | Rows::Sine { h, .. } => h.len(),
            Rows::Cones { d, .. } => d.len(),
        }
    }

    /// Sines and cosines of y; then images of cones and their lengths, squares and products, or a sum of rows.
    fn memory(&self) -> usize {
        let rows = match &self.rows {
            Rows::Linear { .. } => 0,
            Rows::Quadratic { h, .. } => self.dim() + h.len(),
            Rows::Cones { h, d, .. } => h.len() + d.len(),
            Rows::Sine { .. } => self.dim(),
        };
        self.waves() + rows
    }

    fn values(&self, y: &[f64], x: &[f64], constraints: &mut [f64], memory: &mut [f64]) -> f64 {
        let (waves, memory) = memory.split_at_mut(self.waves());
        let (sines, cosines) = waves.split_at_mut(waves.len() / 2);
        for ((sine, cosine), y) in sines.iter_mut().zip(cosines).zip(y) {
            (*sine, *cosine) = y.sin_cos();
        }
        self.rows.values(y, sines, x, constraints, memory);
        let cost = self.cost(x);
        let linear = dot(cost, if self.sine { &*sines } else { y });
        let curved = 0.5 * dot3(&self.q, y, y);
        if self.norm == 0.0 {
            return curved + linear;
        }
        curved + linear + self.norm * dot(y, y).sqrt()
    }

    fn gradient(
        &self,
        y: &[f64],
        x: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
        memory: &mut [f64],
    ) {
        let (waves, memory) = memory.split_at_mut(self.waves());
        let cosines = &waves[waves.len() / 2..];
        let (cost, curved) = (self.cost(x), self.q.iter().zip(y));
        let terms = gradient.iter_mut().zip(curved);
        terms.for_each(|(gradient, (q, y))| *gradient = q * y);
        if self.sine {
            let terms = gradient.iter_mut().zip(cost.iter().zip(cosines));
            terms.for_each(|(gradient, (p, cosine))| *gradient += p * cosine);
        } else {
            add(gradient, 1.0, cost);
        }
        if self.norm != 0.0 {
            // At 0 there is none; 0 is a subgradient.
            let length = dot(y, y).sqrt().max(f64::MIN_POSITIVE);
            add(gradient, self.norm / length, y);
        }
        self.rows.gradient(y, cosines, weights, gradient, memory);
    }

    fn slopes(
        &self,
        y: &[f64],
        x: &[f64],
        direction: &[f64],
        slopes: &mut [f64],
        memory: &mut [f64],
    ) {
        let _ = x;
        let (waves, memory) = memory.split_at_mut(self.waves());
        let cosines = &waves[waves.len() / 2..];
        self.rows.slopes(y, cosines, direction, slopes, memory);
    }
}

impl Rows {
    fn values(&self, y: &[f64], sines: &[f64], x: &[f64], values: &mut [f64], memory: &mut [f64]) {
        match self {
            Self::Linear { g, h } => {
                times(g, y, values);
                add(values, -1.0, h);
            }
            Self::Quadratic { g, h, curvature } => {
                let (squares, linear) = memory.split_at_mut(y.len());
                let pairs = squares.iter_mut().zip(y);
                pairs.for_each(|(square, y)| *square = y * y);
                times(curvature, squares, values);
                times(g, y, linear);
                for (value, (linear, limit)) in values.iter_mut().zip(linear.iter().zip(h)) {
                    *value = 0.5 * *value + linear - limit;
                }
            }
            Self::Sine { g, h } => {
                times(g, sines, values);
                for (value, (limit, x)) in values.iter_mut().zip(h.iter().zip(x.iter().cycle())) {
                    *value -= limit * x.cos();
                }
            }
            Self::Cones { g, h, c, d } => {
                let (images, lengths) = memory.split_at_mut(h.len());
                times(g, y, images);
                add(images, 1.0, h);
                let images = images.chunks_exact(h.len() / d.len());
                for (length, image) in lengths.iter_mut().zip(images) {
                    *length = dot(image, image).sqrt();
                }
                times(c, y, values);
                for (value, (length, d)) in values.iter_mut().zip(lengths.iter().zip(d)) {
                    *value = length - *value - d;
                }
            }
        }
    }

    /// gradient += Σ weights_i ∇c_i
    fn gradient(
        &self,
        y: &[f64],
        cosines: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
        memory: &mut [f64],
    ) {
        let dim = y.len();
        // Rows are summed before what they have in common: y, or its cosines.
        let common = match self {
            Self::Quadratic { .. } => y,
            Self::Sine { .. } => cosines,
            Self::Linear { .. } | Self::Cones { .. } => &[],
        };
        memory[..common.len()].fill(0.0);
        let some = weights.iter().enumerate();
        for (i, weight) in some.filter(|(_, weight)| **weight != 0.0) {
            match self {
                Self::Linear { g, .. } => add(gradient, *weight, &g[i * dim..][..dim]),
                Self::Quadratic { g, curvature, .. } => {
                    add(gradient, *weight, &g[i * dim..][..dim]);
                    add(&mut memory[..dim], *weight, &curvature[i * dim..][..dim]);
                }
                Self::Sine { g, .. } => add(memory, *weight, &g[i * dim..][..dim]),
                Self::Cones { g, h, c, d } => {
                    let height = h.len() / d.len();
                    let length = memory[h.len() + i].max(f64::MIN_POSITIVE);
                    let images = &memory[i * height..][..height];
                    let matrix = g[i * height * dim..].chunks_exact(dim);
                    for (row, image) in matrix.zip(images) {
                        add(gradient, weight * image / length, row);
                    }
                    add(gradient, -weight, &c[i * dim..][..dim]);
                }
            }
        }
        let terms = gradient.iter_mut().zip(memory.iter().zip(common));
        terms.for_each(|(gradient, (sum, common))| *gradient += sum * common);
    }

    fn slopes(
        &self,
        y: &[f64],
        cosines: &[f64],
        direction: &[f64],
        slopes: &mut [f64],
        memory: &mut [f64],
    ) {
        let dim = y.len();
        match self {
            Self::Linear { g, .. } => {
                times(g, direction, slopes);
            }
            Self::Quadratic { g, curvature, .. } => {
                let rows = g.chunks_exact(dim).zip(curvature.chunks_exact(dim));
                for (slope, (row, bent)) in slopes.iter_mut().zip(rows) {
                    *slope = dot(row, direction) + dot3(bent, y, direction);
                }
            }
            Self::Sine { g, .. } => {
                let terms = cosines.iter().zip(direction);
                for (moved, (cosine, d)) in memory.iter_mut().zip(terms) {
                    *moved = cosine * d;
                }
                times(g, memory, slopes);
            }
            Self::Cones { g, h, c, d } => {
                let height = h.len() / d.len();
                for (i, slope) in slopes.iter_mut().enumerate() {
                    let length = memory[h.len() + i].max(f64::MIN_POSITIVE);
                    let matrix = g[i * height * dim..].chunks_exact(dim);
                    let images = matrix.zip(&memory[i * height..][..height]);
                    let along = images.map(|(row, image)| image * dot(row, direction));
                    *slope = along.sum::<f64>() / length - dot(&c[i * dim..][..dim], direction);
                }
            }
        }
    }
}

/// Σ_j |G A⁺|_ij: G y ≤ h holds at A⁺ x for all x between −1 and 1.
fn reach(g: &[f64], a: &[f64], dim: usize, equations: usize) -> Vec<f64> {
    let row = |i: usize| &a[i * dim..][..dim];
    let square: Vec<Vec<f64>> = (0..equations)
        .map(|i| (0..equations).map(|j| dot(row(i), row(j))).collect())
        .collect();
    let sides: Vec<Vec<f64>> = g
        .chunks_exact(dim)
        .map(|g| (0..equations).map(|i| dot(row(i), g)).collect())
        .collect();
    let solved = solve_rows(square, sides);
    let sums = solved
        .iter()
        .map(|row| row.iter().map(|value| value.abs()).sum());
    sums.collect()
}
