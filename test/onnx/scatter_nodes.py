#!/usr/bin/env python3
"""Updates of which several have one place, beside numpy's: the last one stays, or all are reduced,
more of them than are compared pair by pair; in the form of ONNX's operator tests.
scatter-nodes.test runs them.

    scatter_nodes.py FOLDER
"""
import sys

import numpy as np
from exporter_metadata import fx
from node_tests import constant, write
from onnx import helper
from onnx_writer import properties

numbers = np.random.default_rng(5)
ROWS = np.array([[0, 2, 2, 0, 2], [1, 1, 1, 1, 1], [4, 3, -2, 3, 0]], np.int64)
PLACES = np.array([[2], [0], [2], [-4], [1]], np.int64)


def floats(*shape):
    return numbers.standard_normal(shape).astype(np.float32)


def along(data, indices, updates):
    made = data.copy()
    for row, place in np.ndindex(indices.shape):
        made[row, indices[row, place]] = updates[row, place]
    return made


def rows(data, places, updates):
    made = data.copy()
    for place, update in zip(places[:, 0], updates):
        made[place] = update
    return made


def both(folder, name, op, data, indices, updates, made, **attributes):
    """With indices that are known at compile time, and with others."""
    for known in (True, False):
        inputs = {"data": data, "indices": indices, "updates": updates}
        nodes = [helper.make_node(op, list(inputs), ["made"], **attributes)]
        if known:
            nodes.insert(0, constant("indices", inputs.pop("indices")))
        write(folder, f"{name}_{'known' if known else 'given'}", 18, nodes, inputs, {"made": made})


def main():
    folder = sys.argv[1]
    data, updates = floats(3, 5), floats(3, 5)
    elements = ("ScatterElements", data, ROWS)
    both(folder, "elements", *elements, updates, along(data, ROWS, updates), axis=1)
    whole = numbers.integers(-9, 9, (3, 5))
    others = numbers.integers(-(2**60), 2**60, (3, 5))
    made = along(whole, ROWS, others)
    both(folder, "integers", "ScatterElements", whole, ROWS, others, made, axis=1)
    data, updates = floats(4, 2, 3), floats(5, 2, 3)
    both(folder, "rows", "ScatterND", data, PLACES, updates, rows(data, PLACES, updates))
    hidden, seen = np.zeros((4, 2), bool), numbers.integers(0, 2, (5, 2)).astype(bool)
    both(folder, "bools", "ScatterND", hidden, PLACES, seen, rows(hidden, PLACES, seen))

    # Reduced: 40 places and 500 updates, and rows of 3 for 30 places and 200 updates.
    reductions = {"max": np.maximum, "min": np.minimum, "mul": np.multiply}
    data, updates = floats(40) + 2, floats(500) / 8 + 1
    places = numbers.integers(-40, 40, 500)
    wide, updates3 = floats(30, 3), floats(200, 3) / 8 + 1
    places3 = numbers.integers(0, 12, (200, 1))  # the others keep what they have
    for name, reduce in reductions.items():
        made, made3 = data.copy(), wide.copy()
        reduce.at(made, places, updates)
        reduce.at(made3, places3[:, 0], updates3)
        words = {"reduction": name}
        both(folder, name, "ScatterElements", data, places, updates, made, **words)
        both(folder, f"{name}_rows", "ScatterND", wide, places3, updates3, made3, **words)
    whole, others = numbers.integers(-99, 99, 40), numbers.integers(-(2**60), 2**60, 500)
    made = whole.copy()
    np.maximum.at(made, places, others)
    words = {"reduction": "max"}
    both(folder, "max_integers", "ScatterElements", whole, places, others, made, **words)

    # Whole rows with one place: index.view(-1, 1).expand_as(updates).
    for name, axis, data, few in (
        ("rows_expanded", 0, floats(30, 3), numbers.integers(0, 30, (200, 1))),
        ("middle_expanded", 1, floats(2, 5, 3), numbers.integers(-5, 5, (1, 4, 1))),
    ):
        wanted = [*data.shape[:axis], few.shape[axis], *data.shape[axis + 1 :]]
        updates, indices = floats(*wanted) / 8 + 1, np.broadcast_to(few, wanted)
        for reduction in ("none", "add", "max"):
            made = data.copy()
            for at in np.ndindex(*wanted):
                to = (*at[:axis], indices[at], *at[axis + 1 :])
                made[to] = {
                    "none": updates[at],
                    "add": made[to] + updates[at],
                    "max": max(made[to], updates[at]),
                }[reduction]
            nodes = [
                constant("shape", np.array(wanted, np.int64)),
                helper.make_node("Expand", ["few", "shape"], ["indices"]),
                helper.make_node(
                    "ScatterElements",
                    ["data", "indices", "updates"],
                    ["made"],
                    axis=axis,
                    reduction=reduction,
                ),
            ]
            inputs = {"data": data, "few": few, "updates": updates}
            write(folder, f"{name}_{reduction}", 18, nodes, inputs, {"made": made})

    # One number for all: presence, as of zeros.scatter(1, ids, 1.0).
    data, ones = floats(3, 5), np.full((3, 5), 1.5, np.float32)
    nodes = [
        constant("ones", ones),
        helper.make_node("ScatterElements", ["data", "indices", "ones"], ["made"], axis=1),
    ]
    inputs = {"data": data, "indices": ROWS}
    write(folder, "presence", 18, nodes, inputs, {"made": along(data, ROWS, ones)})

    means(folder)


def means(folder):
    """scatter_reduce(..., "mean"), which torch's exporter writes as `none`: its metadata has it.
    Places without an update keep what they have."""
    places, updates = numbers.integers(0, 30, 200), floats(200)
    count, total = np.zeros(40, np.float32), np.zeros(40, np.float32)
    np.add.at(count, places, 1)
    np.add.at(total, places, updates)
    for with_self in (True, False):
        data = floats(40)
        zeroed = data if with_self else np.where(count > 0, 0, data)
        made = (zeroed + total) / (count + 1 if with_self else np.maximum(count, 1))
        arguments = ["%data", "0", "%indices", "%updates", "mean"]
        text = fx("made", "scatter_reduce.two", *arguments)
        if not with_self:
            text = text.replace("kwargs = {}", "kwargs = {include_self: False}")
        nodes = []
        before = "data"
        if not with_self:
            nodes += [constant("zeros", np.zeros(200, np.float32))]
            zeros = ["data", "indices", "zeros"]
            nodes += [helper.make_node("ScatterElements", zeros, ["before"], axis=0)]
            before = "before"
        mean = [before, "indices", "updates"]
        nodes += [helper.make_node("ScatterElements", mean, ["made"], axis=0)]
        for node in nodes:
            node.MergeFromString(properties(9, {"pkg.torch.onnx.fx_node": text}))
        inputs = {"data": data, "indices": places, "updates": updates}
        name = "mean_with_self" if with_self else "mean"
        write(folder, name, 18, nodes, inputs, {"made": made.astype(np.float32)})


if __name__ == "__main__":
    main()
