//! The graph as ONNX.

use prost::Message;

use crate::graph::{Graph, Kind, Node, Operation};
use crate::proto::{
    Attribute, Dimension, Entry, Extent, Graph as GraphMessage, Model, Node as NodeMessage,
    OperatorSet, Shape, Tensor, TensorType, Type, ValueInfo,
};

/// The version of the operator set: old enough for embedded runtimes, new enough for all operations used.
pub const OPSET: i64 = 13;
/// The version of the file format that goes with it.
const IR_VERSION: i64 = 7;
/// The name of the output.
const OUTPUT: &str = "projection";

impl Graph {
    /// The bytes of an ONNX model, with entries for its metadata.
    pub fn onnx(&self, metadata: &[(&str, &str)]) -> Vec<u8> {
        let entry = |(key, value): &(&str, &str)| Entry {
            key: (*key).into(),
            value: (*value).into(),
        };
        let model = Model {
            ir_version: IR_VERSION,
            producer_name: "fabproj".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            graph: Some(self.message()),
            opset_import: vec![OperatorSet {
                domain: String::new(),
                version: OPSET,
            }],
            metadata_props: metadata.iter().map(entry).collect(),
        };
        model.encode_to_vec()
    }

    fn message(&self) -> GraphMessage {
        let mut message = GraphMessage {
            name: "projector".into(),
            output: vec![rows(OUTPUT, self.dim)],
            ..GraphMessage::default()
        };
        // The axes of sums are an input since opset 13.
        message
            .initializer
            .push(tensor("axes", &[1.0], &[1], Kind::Index));
        for (id, node) in self.nodes.iter().enumerate() {
            match &node.operation {
                Operation::Input(name) => message.input.push(rows(name, node.width)),
                Operation::Constant(values) => {
                    let shape = [1, node.width];
                    message
                        .initializer
                        .push(tensor(&self.name(id), values, &shape, node.kind));
                }
                Operation::Product(matrix) => {
                    let shape = [self.nodes[node.inputs[0]].width, node.width];
                    let name = format!("{}_matrix", self.name(id));
                    message
                        .initializer
                        .push(tensor(&name, matrix, &shape, node.kind));
                    message.node.push(self.operation(id, node));
                }
                _ => message.node.push(self.operation(id, node)),
            }
        }
        message
    }

    fn name(&self, id: usize) -> String {
        match self.nodes[id].operation {
            Operation::Input(name) => name.into(),
            _ if id == self.output => OUTPUT.into(),
            _ => format!("v{id}"),
        }
    }

    fn operation(&self, id: usize, node: &Node) -> NodeMessage {
        let mut input: Vec<String> = node.inputs.iter().map(|input| self.name(*input)).collect();
        let mut attribute = Vec::new();
        let last_axis = || Attribute::int("axis", -1);
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
                attribute.push(Attribute::ints("axes", vec![1]));
                "ReduceMin"
            }
            Operation::Cast => {
                attribute.push(Attribute::int("to", data_type(node.kind).into()));
                "Cast"
            }
            Operation::Product(_) => {
                input.push(format!("{}_matrix", self.name(id)));
                "MatMul"
            }
            // Not operations of their own.
            Operation::Input(_) | Operation::Constant(_) => "Identity",
        };
        NodeMessage {
            input,
            output: vec![self.name(id)],
            name: format!("{op_type}_{id}"),
            op_type: op_type.into(),
            attribute,
        }
    }
}

/// The numbers that ONNX has for types.
fn data_type(kind: Kind) -> i32 {
    match kind {
        Kind::Single => 1,
        Kind::Index => 7,
        Kind::Truth => 9,
        Kind::Double => 11,
    }
}

/// An argument or result: rows of f32.
fn rows(name: &str, width: usize) -> ValueInfo {
    let extents = [Extent::Name("batch".into()), Extent::Value(width as i64)];
    let dim = extents
        .map(|value| Dimension { value: Some(value) })
        .to_vec();
    let tensor = TensorType {
        elem_type: data_type(Kind::Single),
        shape: Some(Shape { dim }),
    };
    ValueInfo {
        name: name.into(),
        r#type: Some(Type {
            tensor_type: Some(tensor),
        }),
    }
}

fn tensor(name: &str, values: &[f64], shape: &[usize], kind: Kind) -> Tensor {
    let raw_data = match kind {
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
    Tensor {
        dims: shape.iter().map(|size| *size as i64).collect(),
        data_type: data_type(kind),
        name: name.into(),
        raw_data,
    }
}
