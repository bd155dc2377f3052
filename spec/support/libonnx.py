"""Shapes of all tensors of ONNX models by libonnx (python3-onnx), for spec/support/libonnx.lua.

Standard input: a line for each model, FILE and NAME=SIZE of dimensions, between tabs. Writes
DIR/LINE.onnx: the model with sizes bound, without declared shapes, and with all tensors of the main
graph as outputs. Prints a JSON object a line: shapes by name, where libonnx has all sizes; why, if
it has none.
usage: libonnx.py DIR
"""
import json
import sys

import onnx
import onnx.shape_inference


def bind(model, sizes):
    weights = {w.name for w in model.graph.initializer}
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim if value.name not in weights else ():
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]


def shapes(model):
    found = {}
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    for value in list(inferred.graph.value_info) + list(inferred.graph.output):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and tensor.HasField("shape"):
            dims = [d.dim_value if d.HasField("dim_value") else -1 for d in tensor.shape.dim]
            if min(dims, default=0) >= 0:
                found[value.name] = dims
    return found


def made(graph):
    return [name for node in graph.node for name in node.output if name]


def answer(path, sizes, out):
    model = onnx.load(path, load_external_data=False)
    bind(model, sizes)
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.ClearField("type")
    known = shapes(model)
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made(model.graph))
    with open(out, "wb") as file:
        file.write(model.SerializeToString())
    return known


for line, request in enumerate(sys.stdin.read().splitlines(), 1):
    path, *bound = request.split("\t")
    sizes = {name: int(size) for name, size in (each.split("=") for each in bound)}
    try:
        print(json.dumps({"shapes": answer(path, sizes, f"{sys.argv[1]}/{line}.onnx")}))
    except Exception as error:
        print(json.dumps({"why": f"{type(error).__name__}: {error}"[:200]}))
