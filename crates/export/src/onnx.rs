//! The graph as ONNX.

use crate::graph::{Graph, Kind, Node, Operation};
use crate::proto::Message;

/// The version of the operator set: old enough for embedded runtimes, new enough for all operations used.
pub const OPSET: i64 = 13;
/// The version of the file format that goes with it.
const IR_VERSION: i64 = 7;
/// The name of the output.
const OUTPUT: &str = "projection";

impl Graph {
    /// The bytes of an ONNX model, with entries for its metadata.
    pub fn onnx(&self, metadata: &[(&str, &str)]) -> Vec<u8> {
        let entry = |(key, value): &(&str, &str)| Message::default().text(1, key).text(2, value);
        let entries: Vec<_> = metadata.iter().map(entry).collect();
        Message::default()
            .number(1, IR_VERSION)
            .text(2, "fabproj")
            .text(3, env!("CARGO_PKG_VERSION"))
            .message(7, &self.message())
            .message(8, &Message::default().number(2, OPSET))
            .messages(14, &entries)
            .finish()
    }

    fn message(&self) -> Message {
        // The axes of sums are an input since opset 13.
        let mut initializers = vec![tensor("axes", &[1.0], &[1], Kind::Index)];
        let (mut nodes, mut inputs) = (Vec::new(), Vec::new());
        for (id, node) in self.nodes.iter().enumerate() {
            match &node.operation {
                Operation::Input(name) => inputs.push(rows(name, node.width)),
                Operation::Constant(values) => {
                    let shape = [1, node.width];
                    initializers.push(tensor(&self.name(id), values, &shape, node.kind));
                }
                Operation::Product(matrix) => {
                    let shape = [self.nodes[node.inputs[0]].width, node.width];
                    let name = format!("{}_matrix", self.name(id));
                    initializers.push(tensor(&name, matrix, &shape, node.kind));
                    nodes.push(self.operation(id, node));
                }
                _ => nodes.push(self.operation(id, node)),
            }
        }
        Message::default()
            .messages(1, &nodes)
            .text(2, "projector")
            .messages(5, &initializers)
            .messages(11, &inputs)
            .message(12, &rows(OUTPUT, self.dim))
    }

    fn name(&self, id: usize) -> String {
        match self.nodes[id].operation {
            Operation::Input(name) => name.into(),
            _ if id == self.output => OUTPUT.into(),
            _ => format!("v{id}"),
        }
    }

    fn operation(&self, id: usize, node: &Node) -> Message {
        let mut input: Vec<String> = node.inputs.iter().map(|input| self.name(*input)).collect();
        let mut attribute = Vec::new();
        let last_axis = || number("axis", -1);
        let op_type = match &node.operation {
            Operation::Add => "Add",
            Operation::Sub => "Sub",
            Operation::Mul => "Mul",
            Operation::Div => "Div",
            Operation::Max => "Max",
            Operation::Min => "Min",
            Operation::Relu => "Relu",
            Operation::Tanh => "Tanh",
            Operation::Sigmoid => "Sigmoid",
            Operation::Softplus => "Softplus",
            Operation::Sqrt => "Sqrt",
            Operation::Equal => "Equal",
            Operation::Greater => "Greater",
            Operation::Where => "Where",
            Operation::Concat => {
                attribute.push(last_axis());
                "Concat"
            }
            Operation::Softmax => {
                attribute.push(last_axis());
                "Softmax"
            }
            Operation::Largest => {
                attribute.push(last_axis());
                "ArgMax"
            }
            Operation::Sum => {
                input.push("axes".into());
                "ReduceSum"
            }
            Operation::Least => {
                attribute.push(numbers("axes", 1));
                "ReduceMin"
            }
            Operation::Cast => {
                attribute.push(number("to", data_type(node.kind)));
                "Cast"
            }
            Operation::Product(_) => {
                input.push(format!("{}_matrix", self.name(id)));
                "MatMul"
            }
            // Not operations of their own.
            Operation::Input(_) | Operation::Constant(_) => "Identity",
        };
        let text = |message: Message, input: &String| message.text(1, input);
        let inputs = input.iter().fold(Message::default(), text);
        inputs
            .text(2, &self.name(id))
            .text(3, &format!("{op_type}_{id}"))
            .text(4, op_type)
            .messages(5, &attribute)
    }
}

/// An attribute that is a number.
fn number(name: &str, value: i64) -> Message {
    const NUMBER: i64 = 2;
    let named = Message::default().text(1, name);
    named.number(3, value).number(20, NUMBER)
}

/// An attribute that is a list of one number.
fn numbers(name: &str, value: i64) -> Message {
    const NUMBERS: i64 = 7;
    let named = Message::default().text(1, name);
    named.number(8, value).number(20, NUMBERS)
}

/// The numbers that ONNX has for types.
fn data_type(kind: Kind) -> i64 {
    match kind {
        Kind::Single => 1,
        Kind::Index => 7,
        Kind::Truth => 9,
        Kind::Double => 11,
    }
}

/// An argument or result: rows of f32.
fn rows(name: &str, width: usize) -> Message {
    let new = Message::default;
    let extents = [new().text(2, "batch"), new().number(1, width as i64)];
    let shape = new().messages(1, &extents);
    let single = new().number(1, data_type(Kind::Single)).message(2, &shape);
    new().text(1, name).message(2, &new().message(1, &single))
}

fn tensor(name: &str, values: &[f64], shape: &[usize], kind: Kind) -> Message {
    let raw_data: Vec<u8> = match kind {
        Kind::Single => values
            .iter()
            .flat_map(|value| (*value as f32).to_le_bytes())
            .collect(),
        Kind::Double => values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect(),
        Kind::Index => values
            .iter()
            .flat_map(|value| (*value as i64).to_le_bytes())
            .collect(),
        Kind::Truth => values.iter().map(|value| u8::from(*value != 0.0)).collect(),
    };
    let size = |message: Message, size: &usize| message.number(1, *size as i64);
    let dims = shape.iter().fold(Message::default(), size);
    dims.number(2, data_type(kind))
        .text(8, name)
        .bytes(9, &raw_data)
}
