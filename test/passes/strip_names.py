#!/usr/bin/env python3
"""Writes a model as its worst exporter would: no name of a node, value or parameter, no
metadata, no documentation.

    strip_names.py MODEL.onnx FOLDER

FOLDER gets model.onnx and a copy of the external data. Inputs are called i0, i1, ..., outputs
o0, o1, ..., all else n0, n1, ...; symbolic dims and the names of functions stay, since flags
and calls need them.
"""
import os
import shutil
import sys

import onnx


def strip(model):
    """Renames in place; returns {name in the model: new name} of inputs, outputs and
    initializers."""
    names = {}
    for index, value in enumerate(model.graph.input):
        names[value.name] = f"i{index}"
    for index, value in enumerate(model.graph.output):
        names.setdefault(value.name, f"o{index}")
    _strip_graph(model.graph, names)
    for function in model.functions:
        inner = {}
        function.input[:] = [_renamed(inner, name) for name in function.input]
        function.output[:] = [_renamed(inner, name) for name in function.output]
        _strip_nodes(function.node, inner)
        function.doc_string = ""
    model.doc_string = model.producer_name = model.producer_version = ""
    del model.metadata_props[:]
    # Newer fields, which this onnx does not know, are where exporters write what they know of
    # modules.
    model.DiscardUnknownFields()
    return names


def _renamed(names, name):
    return names.setdefault(name, f"n{len(names)}") if name else name


def _strip_graph(graph, names):
    for value in [*graph.input, *graph.output]:
        value.name, value.doc_string = _renamed(names, value.name), ""
    for tensor in graph.initializer:
        tensor.name, tensor.doc_string = _renamed(names, tensor.name), ""
    del graph.value_info[:], graph.quantization_annotation[:]
    graph.name, graph.doc_string = "g", ""
    _strip_nodes(graph.node, names)


def _strip_nodes(nodes, names):
    for node in nodes:
        node.input[:] = [_renamed(names, name) for name in node.input]
        node.output[:] = [_renamed(names, name) for name in node.output]
        node.name = node.doc_string = ""
        for attribute in node.attribute:
            attribute.doc_string = ""
            for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                _strip_graph(graph, names)


def write(source, folder):
    """Strips the file `source` into `folder`; returns the names as `strip` does."""
    model = onnx.load(source, load_external_data=False)
    names = strip(model)
    os.makedirs(folder, exist_ok=True)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                data = os.path.join(os.path.dirname(source), entry.value)
                copy = os.path.join(folder, entry.value)
                if os.path.exists(data) and not os.path.exists(copy):
                    shutil.copyfile(data, copy)
    with open(os.path.join(folder, "model.onnx"), "wb") as file:
        file.write(model.SerializeToString())
    return names


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(*sys.argv[1:])
