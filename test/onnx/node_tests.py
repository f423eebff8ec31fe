"""Writes tests in the form of ONNX's own operator tests (a model, its inputs and its outputs each),
which check-onnx-nodes runs."""
import os

import numpy as np
from onnx import helper, numpy_helper


def value(name, array):
    dtype = numpy_helper.from_array(array).data_type
    return helper.make_tensor_value_info(name, dtype, array.shape)


def constant(name, array):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))


def write(folder, name, version, nodes, inputs, outputs, functions=()):
    """`inputs` and `outputs`: arrays by name."""
    ends = [[value(n, array) for n, array in each.items()] for each in (inputs, outputs)]
    graph = helper.make_graph(nodes, name, *ends)
    imports = [helper.make_opsetid("", version)]
    if functions:
        imports.append(helper.make_opsetid("own", 1))
    model = helper.make_model(
        graph,
        opset_imports=imports,
        ir_version=8,
        functions=functions,
        producer_name="pytorch",  # whose constants are literals
    )
    data = os.path.join(folder, name, "test_data_set_0")
    os.makedirs(data)
    with open(os.path.join(folder, name, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    for which, arrays in (("input", inputs), ("output", outputs)):
        for index, array in enumerate(arrays.values()):
            with open(os.path.join(data, f"{which}_{index}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(np.asarray(array)).SerializeToString())
