"""The projector as an ONNX graph, written node by node."""

import numpy
from onnx import TensorProto, checker, helper, numpy_helper
from torch import nn

from .networks import RADIUS

OPSET = 17
IR_VERSION = 10


class Graph:
    """Collects nodes and constants; each node's output is named after its place."""

    def __init__(self):
        self.nodes = []
        self.constants = []

    def constant(self, value):
        name = f"constant{len(self.constants)}"
        array = numpy.asarray(value, dtype=numpy.float32)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, kind, inputs, **attributes):
        output = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def perceptron(self, layers, value):
        for layer in layers:
            if isinstance(layer, nn.Linear):
                weight = self.constant(layer.weight.detach().numpy())
                bias = self.constant(layer.bias.detach().numpy())
                value = self.node("Gemm", [value, weight, bias], transB=1)
            else:
                value = self.node("Relu" if isinstance(layer, nn.ReLU) else "Tanh", [value])
        return value


def serialised(projector, rows):
    """The bytes of a model that projects exactly `rows` points: a fixed shape lets the runtime plan."""
    graph = Graph()
    centre, scale = projector.centre.numpy(), projector.scale.numpy()
    value = graph.node("Sub", ["points", graph.constant(centre)])
    value = graph.node("Div", [value, graph.constant(scale)])
    latents = graph.perceptron(projector.encoder, value)
    norms = graph.node("ReduceL2", [latents], axes=[-1], keepdims=1)
    radius = graph.constant(RADIUS)
    shrink = graph.node("Div", [radius, graph.node("Max", [norms, radius])])
    value = graph.perceptron(projector.decoder, graph.node("Mul", [latents, shrink]))
    value = graph.node("Mul", [value, graph.constant(scale)])
    graph.nodes.append(helper.make_node("Add", [value, graph.constant(centre)], ["projections"]))

    shape = [rows, len(centre)]
    points = helper.make_tensor_value_info("points", TensorProto.FLOAT, shape)
    projections = helper.make_tensor_value_info("projections", TensorProto.FLOAT, shape)
    built = helper.make_graph(graph.nodes, "projector", [points], [projections], graph.constants)
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(built, opset_imports=[opset], ir_version=IR_VERSION)
    checker.check_model(model)
    return model.SerializeToString()
