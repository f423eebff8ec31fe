#!/usr/bin/env python3
"""Updates of which several have one place, beside numpy's, where the last one stays; in the form
of ONNX's operator tests. scatter-nodes.test runs them.

    scatter_nodes.py FOLDER
"""
import sys

import numpy as np
from node_tests import constant, write
from onnx import helper

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

    # One number for all: presence, as of zeros.scatter(1, ids, 1.0).
    data, ones = floats(3, 5), np.full((3, 5), 1.5, np.float32)
    nodes = [
        constant("ones", ones),
        helper.make_node("ScatterElements", ["data", "indices", "ones"], ["made"], axis=1),
    ]
    inputs = {"data": data, "indices": ROWS}
    write(folder, "presence", 18, nodes, inputs, {"made": along(data, ROWS, ones)})


if __name__ == "__main__":
    main()
