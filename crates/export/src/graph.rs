//! A projector as a graph of simple operations on rows: what is written as ONNX, and what can be run here, so that
//! an export is compared with the projector before anybody else runs it.

use fabproj_core::{
    Activation, Chart, Equations, Frame, LatentSet, Network, Weights, WeightsError,
};

/// Added to the norm in the smooth ball's map.
const NORM_OFFSET: f64 = 1e-8;
/// Below this norm a latent has no direction; a shell then takes the first axis.
const NO_DIRECTION: f64 = 1e-12;

/// A value of the graph, by its number.
pub(crate) type Id = usize;

/// The type of the numbers of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Single,
    Double,
    /// 64-bit indices.
    Index,
    Truth,
}

/// An operation on rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operation {
    /// The argument with this name.
    Input(&'static str),
    /// The same row for the whole batch.
    Constant(Vec<f64>),
    Add,
    Sub,
    Mul,
    Div,
    Max,
    Min,
    Concat,
    /// The product of a row with a matrix `[inputs][outputs]`.
    Product(Vec<f64>),
    Relu,
    Tanh,
    Sigmoid,
    Softplus,
    Softmax,
    Sqrt,
    /// The sum of a row, of width one.
    Sum,
    /// The least number of a row, of width one.
    Least,
    /// The index of the largest number of a row.
    Largest,
    Equal,
    Greater,
    /// The second where the first is true, else the third.
    Where,
    Cast,
}

/// An operation with the values that it reads; its own value has the number of its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub operation: Operation,
    pub inputs: Vec<Id>,
    pub width: usize,
    pub kind: Kind,
}

/// A projector as a graph of simple operations.
///
/// ```
/// use fabproj_core::{LatentSet, Weights};
///
/// let square = LatentSet::Box { half: 0.5, smooth: None };
/// let graph = fabproj_export::Graph::new(&Weights::identity(2, square))?;
/// assert_eq!(graph.project(&[3.0, 0.25], &[]), [0.5, 0.25]);
/// assert_eq!(graph.project(&[f32::NAN, 0.0], &[]), [0.0, 0.0]);
/// # Ok::<(), fabproj_core::WeightsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) dim: usize,
    pub(crate) x_dim: usize,
    pub(crate) output: Id,
}

impl Graph {
    /// Builds the graph of a projector.
    ///
    /// # Errors
    /// [`WeightsError`], which names the part that is at fault.
    pub fn new(weights: &Weights) -> Result<Self, WeightsError> {
        weights.validate()?;
        let dim = weights
            .equations
            .as_ref()
            .map_or(weights.dim, Equations::dim);
        let mut graph = Self {
            nodes: Vec::new(),
            dim,
            x_dim: weights.x_dim,
            output: 0,
        };
        graph.output = graph.projector(weights);
        Ok(graph)
    }

    /// Runs the graph on one point.
    ///
    /// # Panics
    /// Where `y` or `x` have other lengths than the projector's.
    pub fn project(&self, y: &[f32], x: &[f32]) -> Vec<f32> {
        assert_eq!(
            (y.len(), x.len()),
            (self.dim, self.x_dim),
            "lengths of y and x"
        );
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let value = node.evaluate(&values, y, x);
            values.push(value);
        }
        values[self.output]
            .iter()
            .map(|value| *value as f32)
            .collect()
    }

    fn push(&mut self, operation: Operation, inputs: &[Id], width: usize, kind: Kind) -> Id {
        self.nodes.push(Node {
            operation,
            inputs: inputs.to_vec(),
            width,
            kind,
        });
        self.nodes.len() - 1
    }

    fn constant(&mut self, values: Vec<f64>, kind: Kind) -> Id {
        let width = values.len();
        self.push(Operation::Constant(values), &[], width, kind)
    }

    fn single(&mut self, value: f64) -> Id {
        self.constant(vec![value], Kind::Single)
    }

    /// An operation on two values, of which one may have width one.
    fn both(&mut self, operation: Operation, a: Id, b: Id) -> Id {
        let width = self.nodes[a].width.max(self.nodes[b].width);
        let kind = match operation {
            Operation::Equal | Operation::Greater => Kind::Truth,
            _ => self.nodes[a].kind,
        };
        self.push(operation, &[a, b], width, kind)
    }

    /// An operation on one value that keeps its shape.
    fn each(&mut self, operation: Operation, a: Id) -> Id {
        let (width, kind) = (self.nodes[a].width, self.nodes[a].kind);
        self.push(operation, &[a], width, kind)
    }

    fn cast(&mut self, a: Id, kind: Kind) -> Id {
        if self.nodes[a].kind == kind {
            return a;
        }
        let width = self.nodes[a].width;
        self.push(Operation::Cast, &[a], width, kind)
    }

    fn choose(&mut self, condition: Id, yes: Id, no: Id) -> Id {
        let (width, kind) = (
            self.nodes[yes].width.max(self.nodes[no].width),
            self.nodes[no].kind,
        );
        self.push(Operation::Where, &[condition, yes, no], width, kind)
    }

    fn join(&mut self, a: Id, b: Option<Id>) -> Id {
        let Some(b) = b else { return a };
        let (width, kind) = (
            self.nodes[a].width + self.nodes[b].width,
            self.nodes[a].kind,
        );
        self.push(Operation::Concat, &[a, b], width, kind)
    }

    /// A row times a matrix `[outputs][inputs]`.
    fn product(&mut self, a: Id, matrix: &[f64]) -> Id {
        let inputs = self.nodes[a].width;
        let outputs = matrix.len() / inputs;
        let mut turned = vec![0.0; matrix.len()];
        for (output, row) in matrix.chunks_exact(inputs).enumerate() {
            for (input, value) in row.iter().enumerate() {
                turned[input * outputs + output] = *value;
            }
        }
        let kind = self.nodes[a].kind;
        self.push(Operation::Product(turned), &[a], outputs, kind)
    }

    fn projector(&mut self, weights: &Weights) -> Id {
        let y = self.push(Operation::Input("y"), &[], self.dim, Kind::Single);
        let x = (self.x_dim > 0)
            .then(|| self.push(Operation::Input("x"), &[], self.x_dim, Kind::Single));
        let foot = weights
            .equations
            .as_ref()
            .map(|equations| self.foot(equations, x));
        let inner = match (&weights.equations, foot) {
            (Some(equations), Some(foot)) => self.lowered(equations, y, foot),
            _ => y,
        };
        let joined_x = x.map(|x| self.enter(&weights.x_frame, x));
        let mut out = self.chart(&weights.charts[0], inner, joined_x);
        if let Some(gate) = &weights.gate {
            let entered = self.enter(&weights.frame, inner);
            let inputs = self.join(entered, joined_x);
            let logits = self.network(gate, inputs);
            let chosen = self.push(Operation::Largest, &[logits], 1, Kind::Index);
            for (index, chart) in weights.charts.iter().enumerate().skip(1) {
                let other = self.chart(chart, inner, joined_x);
                let number = self.constant(vec![index as f64], Kind::Index);
                let is_it = self.both(Operation::Equal, chosen, number);
                out = self.choose(is_it, other, out);
            }
        }
        let fallback = match weights.anchors.first() {
            Some(anchor) => &anchor.point,
            None => &weights.frame.centre,
        };
        let mut fallback = self.constant(widened(fallback), Kind::Single);
        if let (Some(equations), Some(foot)) = (&weights.equations, foot) {
            out = self.raised(equations, out, foot);
            fallback = self.raised(equations, fallback, foot);
        }
        self.finite_or(y, x, out, fallback)
    }

    /// `out` where all numbers are finite, else the fallback.
    fn finite_or(&mut self, y: Id, x: Option<Id>, out: Id, fallback: Id) -> Id {
        let mut inputs = self.join(y, x);
        inputs = self.join(inputs, Some(out));
        // A number less itself is 0, NaN and infinity less themselves are NaN.
        let nothing = self.both(Operation::Sub, inputs, inputs);
        let zero = self.single(0.0);
        let finite = self.both(Operation::Equal, nothing, zero);
        let finite = self.cast(finite, Kind::Single);
        let least = self.push(Operation::Least, &[finite], 1, Kind::Single);
        let half = self.single(0.5);
        let all = self.both(Operation::Greater, least, half);
        self.choose(all, out, fallback)
    }

    /// (values − centre) / scale
    fn enter(&mut self, frame: &Frame, values: Id) -> Id {
        let kind = self.nodes[values].kind;
        let centre = self.constant(widened(&frame.centre), kind);
        let scale = self.constant(widened(&frame.scale), kind);
        let moved = self.both(Operation::Sub, values, centre);
        let entered = self.both(Operation::Div, moved, scale);
        self.cast(entered, Kind::Single)
    }

    fn leave(&mut self, frame: &Frame, values: Id) -> Id {
        let scale = self.constant(widened(&frame.scale), Kind::Single);
        let centre = self.constant(widened(&frame.centre), Kind::Single);
        let scaled = self.both(Operation::Mul, values, scale);
        self.both(Operation::Add, scaled, centre)
    }

    fn network(&mut self, network: &Network, inputs: Id) -> Id {
        let mut value = inputs;
        let last = network.layers.len() - 1;
        for (index, layer) in network.layers.iter().enumerate() {
            let product = self.product(value, &widened(&layer.weights));
            let bias = self.constant(widened(&layer.bias), Kind::Single);
            value = self.both(Operation::Add, product, bias);
            if index < last {
                value = self.activation(network.hidden, value);
            }
        }
        if let Some(skip) = &network.skip {
            let (width, outputs) = (self.nodes[inputs].width, network.outputs());
            let read = skip.len() / outputs;
            // The inputs that the skip does not read have weight 0.
            let mut matrix = vec![0.0; outputs * width];
            for (row, values) in matrix.chunks_exact_mut(width).zip(skip.chunks_exact(read)) {
                row[..read].copy_from_slice(&widened(values));
            }
            let skipped = self.product(inputs, &matrix);
            value = self.both(Operation::Add, value, skipped);
        }
        self.activation(network.output, value)
    }

    fn activation(&mut self, activation: Activation, value: Id) -> Id {
        match activation {
            Activation::Identity => value,
            Activation::Relu => self.each(Operation::Relu, value),
            Activation::Tanh => self.each(Operation::Tanh, value),
            Activation::Silu => {
                let sigmoid = self.each(Operation::Sigmoid, value);
                self.both(Operation::Mul, value, sigmoid)
            }
        }
    }

    fn chart(&mut self, chart: &Chart, y: Id, x: Option<Id>) -> Id {
        let entered = self.enter(&chart.frame, y);
        let inputs = self.join(entered, x);
        let encoded = self.network(&chart.encoder, inputs);
        let latent = self.clamp(chart.latent, encoded);
        let inputs = self.join(latent, x);
        let Some(gate) = &chart.decoder_gate else {
            let decoded = self.network(&chart.decoders[0], inputs);
            return self.leave(&chart.frame, decoded);
        };
        let logits = self.network(gate, inputs);
        let shares = self.each(Operation::Softmax, logits);
        let mut sum = None;
        for (index, decoder) in chart.decoders.iter().enumerate() {
            let decoded = self.network(decoder, inputs);
            let mut pick = vec![0.0; chart.decoders.len()];
            pick[index] = 1.0;
            let share = self.product(shares, &pick);
            let part = self.both(Operation::Mul, decoded, share);
            sum = Some(match sum {
                None => part,
                Some(sum) => self.both(Operation::Add, sum, part),
            });
        }
        let blended = sum.unwrap_or(inputs);
        self.leave(&chart.frame, blended)
    }

    fn clamp(&mut self, latent: LatentSet, z: Id) -> Id {
        match latent {
            LatentSet::Simplex { sharpness } => {
                let sharpness = self.single(sharpness.into());
                let scaled = self.both(Operation::Mul, z, sharpness);
                self.each(Operation::Softmax, scaled)
            }
            LatentSet::Box { half, smooth } => self.clamp_box(z, half.into(), smooth),
            LatentSet::Ball { radius, smooth } => {
                self.clamp_radially(z, 0.0, radius.into(), smooth)
            }
            LatentSet::Shell {
                inner,
                outer,
                smooth,
            } => self.clamp_radially(z, inner.into(), outer.into(), smooth),
        }
    }

    fn clamp_box(&mut self, z: Id, half: f64, smooth: Option<f32>) -> Id {
        let (low, high) = (self.single(-half), self.single(half));
        let Some(smooth) = smooth else {
            let bounded = self.both(Operation::Max, z, low);
            return self.both(Operation::Min, bounded, high);
        };
        let above = self.excess(high, z, smooth.into());
        let below = self.excess(low, z, smooth.into());
        let inside = self.both(Operation::Sub, high, above);
        self.both(Operation::Add, inside, below)
    }

    /// softplus(β(a − b)) / β
    fn excess(&mut self, a: Id, b: Id, smooth: f64) -> Id {
        let difference = self.both(Operation::Sub, a, b);
        let sharpness = self.single(smooth);
        let scaled = self.both(Operation::Mul, difference, sharpness);
        let soft = self.each(Operation::Softplus, scaled);
        self.both(Operation::Div, soft, sharpness)
    }

    fn clamp_radially(&mut self, z: Id, inner: f64, outer: f64, smooth: Option<f32>) -> Id {
        let square = self.both(Operation::Mul, z, z);
        let sum = self.push(Operation::Sum, &[square], 1, Kind::Single);
        let norm = self.each(Operation::Sqrt, sum);
        let far = self.single(outer);
        let (target, divisor) = match smooth {
            None if inner == 0.0 => (far, self.both(Operation::Max, norm, far)),
            None => {
                let near = self.single(inner);
                let least = self.both(Operation::Max, norm, near);
                let tiny = self.single(NO_DIRECTION);
                (
                    self.both(Operation::Min, least, far),
                    self.both(Operation::Max, norm, tiny),
                )
            }
            Some(smooth) => {
                // ρ − softplus(β(ρ − outer))/β with the large parts cancelled.
                let above = self.excess(far, norm, smooth.into());
                let target = self.both(Operation::Sub, far, above);
                if inner == 0.0 {
                    let offset = self.single(NORM_OFFSET);
                    (target, self.both(Operation::Add, norm, offset))
                } else {
                    let near = self.single(inner);
                    let below = self.excess(near, norm, smooth.into());
                    let tiny = self.single(NO_DIRECTION);
                    let divisor = self.both(Operation::Max, norm, tiny);
                    (self.both(Operation::Add, target, below), divisor)
                }
            }
        };
        let gain = self.both(Operation::Div, target, divisor);
        let clamped = self.both(Operation::Mul, z, gain);
        if inner == 0.0 {
            return clamped;
        }
        let mut first = vec![0.0; self.nodes[z].width];
        first[0] = 1.0;
        let first = self.constant(first, Kind::Single);
        let axis = self.both(Operation::Mul, first, target);
        let tiny = self.single(NO_DIRECTION);
        let has_direction = self.both(Operation::Greater, norm, tiny);
        self.choose(has_direction, clamped, axis)
    }

    /// origin + by_x · x, in f64.
    fn foot(&mut self, equations: &Equations, x: Option<Id>) -> Id {
        let origin = self.constant(equations.origin.clone(), Kind::Double);
        let Some(x) = x else { return origin };
        let x = self.cast(x, Kind::Double);
        let moved = self.product(x, &equations.by_x);
        self.both(Operation::Add, moved, origin)
    }

    fn lowered(&mut self, equations: &Equations, y: Id, foot: Id) -> Id {
        let y = self.cast(y, Kind::Double);
        let offset = self.both(Operation::Sub, y, foot);
        self.product(offset, &turned(&equations.basis, equations.reduced_dim()))
    }

    fn raised(&mut self, equations: &Equations, reduced: Id, foot: Id) -> Id {
        let reduced = self.cast(reduced, Kind::Double);
        let along = self.product(reduced, &equations.basis);
        let point = self.both(Operation::Add, along, foot);
        self.cast(point, Kind::Single)
    }
}

/// The transpose of a matrix with so many columns.
fn turned(matrix: &[f64], columns: usize) -> Vec<f64> {
    let column = |index: usize| matrix.iter().skip(index).step_by(columns).copied();
    (0..columns).flat_map(column).collect()
}

fn widened(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

impl Node {
    /// The row of this node, from those before it. Numbers of [`Kind::Single`] are rounded to f32.
    fn evaluate(&self, values: &[Vec<f64>], y: &[f32], x: &[f32]) -> Vec<f64> {
        let input = |index: usize| &values[self.inputs[index]];
        let two = |apply: &dyn Fn(f64, f64) -> f64| -> Vec<f64> {
            let (a, b) = (input(0), input(1));
            let at =
                |values: &[f64], index: usize| values[if values.len() == 1 { 0 } else { index }];
            (0..self.width)
                .map(|index| apply(at(a, index), at(b, index)))
                .collect()
        };
        let one = |apply: &dyn Fn(f64) -> f64| -> Vec<f64> {
            input(0).iter().map(|value| apply(*value)).collect()
        };
        let truth = |value: bool| f64::from(u8::from(value));
        let row = match &self.operation {
            Operation::Input("y") => widened(y),
            Operation::Input(_) => widened(x),
            Operation::Constant(values) => values.clone(),
            Operation::Add => two(&|a, b| a + b),
            Operation::Sub => two(&|a, b| a - b),
            Operation::Mul => two(&|a, b| a * b),
            Operation::Div => two(&|a, b| a / b),
            Operation::Max => two(&f64::max),
            Operation::Min => two(&f64::min),
            Operation::Equal => two(&|a, b| truth(a == b)),
            Operation::Greater => two(&|a, b| truth(a > b)),
            Operation::Concat => [input(0).as_slice(), input(1)].concat(),
            Operation::Product(matrix) => product(input(0), matrix, self.width),
            Operation::Relu => one(&|a| a.max(0.0)),
            Operation::Tanh => one(&f64::tanh),
            Operation::Sigmoid => one(&|a| 1.0 / (1.0 + (-a).exp())),
            Operation::Softplus => one(&|a| a.max(0.0) + (-a.abs()).exp().ln_1p()),
            Operation::Sqrt => one(&f64::sqrt),
            Operation::Softmax => softmax(input(0)),
            Operation::Sum => vec![input(0).iter().sum()],
            Operation::Least => vec![input(0).iter().copied().fold(f64::INFINITY, f64::min)],
            Operation::Largest => vec![largest(input(0)) as f64],
            Operation::Where => {
                let from = if input(0)[0] != 0.0 {
                    input(1)
                } else {
                    input(2)
                };
                from.clone()
            }
            Operation::Cast => input(0).clone(),
        };
        match self.kind {
            Kind::Single => row
                .into_iter()
                .map(|value| f64::from(value as f32))
                .collect(),
            _ => row,
        }
    }
}

fn product(row: &[f64], matrix: &[f64], outputs: usize) -> Vec<f64> {
    let mut out = vec![0.0; outputs];
    for (value, weights) in row.iter().zip(matrix.chunks_exact(outputs)) {
        for (out, weight) in out.iter_mut().zip(weights) {
            *out += value * weight;
        }
    }
    out
}

fn softmax(row: &[f64]) -> Vec<f64> {
    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = row.iter().map(|value| (value - top).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// The first of the largest.
fn largest(row: &[f64]) -> usize {
    let mut best = 0;
    for (index, value) in row.iter().enumerate() {
        if *value > row[best] {
            best = index;
        }
    }
    best
}
