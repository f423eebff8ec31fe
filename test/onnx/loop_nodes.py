#!/usr/bin/env python3
"""Loops, scans and sequences beside numpy's, in the form of ONNX's operator tests.
loop-nodes.test runs them.

    loop_nodes.py FOLDER
"""
import sys

import numpy as np
from node_tests import constant, write
from onnx import TensorProto, helper

numbers = np.random.default_rng(21)
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node = helper.make_node


def floats(*shape):
    return numbers.standard_normal(shape).astype(np.float32)


def scalar(number):
    return np.array(number, np.int64)


def body(nodes, inputs, outputs):
    """inputs and outputs: names; all but i (the iteration) and conditions are floats."""

    def of(name):
        dtype = {"i": INT64, "j": INT64}.get(name, BOOL if name.startswith("go") else FLOAT)
        return helper.make_tensor_value_info(name, dtype, None)

    return helper.make_graph(nodes, "body", [of(n) for n in inputs], [of(n) for n in outputs])


def recurrent_body():
    """h = tanh(h w + x[i]); the condition is handed on."""
    nodes = [
        node("Gather", ["x", "i"], ["row"], axis=0),
        node("MatMul", ["h", "w"], ["product"]),
        node("Add", ["product", "row"], ["sum"]),
        node("Tanh", ["sum"], ["next"]),
        node("Identity", ["next"], ["seen"]),
        node("Identity", ["go"], ["go_on"]),
    ]
    return body(nodes, ["i", "go", "h"], ["go_on", "next", "seen"])


def recurrent(x, h, w):
    rows = []
    for row in x:
        h = np.tanh(h @ w + row)
        rows.append(h)
    return h, np.stack(rows) if rows else None


def loops(folder):
    x, h, w = floats(5, 3), floats(2, 3), floats(3, 3)
    last, rows = recurrent(x, h, w)
    inputs, outputs = {"x": x, "h0": h, "w": w}, {"last": last, "rows": rows}
    count = [constant("count", scalar(5)), constant("yes", np.array(True))]
    loop = node("Loop", ["count", "yes", "h0"], ["last", "rows"], body=recurrent_body())
    write(folder, "loop", 19, [*count, loop], inputs, outputs)
    without = node("Loop", ["count", "", "h0"], ["last", "rows"], body=recurrent_body())
    write(folder, "loop_without_condition", 13, [*count, without], inputs, outputs)
    # The carried value alone is asked for, of no iteration.
    none = node("Loop", ["zero", "", "h0"], ["last"], body=recurrent_body())
    known = [constant("zero", scalar(0))]
    used = node("Add", ["last", "h0"], ["y"])
    write(folder, "loop_of_none", 16, [*known, none, used], {"h0": h, "x": x, "w": w}, {"y": 2 * h})
    no = node("Loop", ["", "no", "h0"], ["last"], body=recurrent_body())
    known = [constant("no", np.array(False))]
    write(folder, "loop_never", 16, [*known, no, used], {"h0": h, "x": x, "w": w}, {"y": 2 * h})

    # A function that has one: its names are the call's.
    made = helper.make_function(
        *("own", "Recurrent", ["x", "h0", "w"], ["last", "rows"], [*count, loop]),
        [helper.make_opsetid("", 19)],
    )
    again, more = recurrent(x, last, w)
    calls = [
        node("Recurrent", ["x", "h0", "w"], ["a", "r"], domain="own"),
        node("Recurrent", ["x", "a", "w"], ["b", "s"], domain="own"),
    ]
    outputs = {"r": rows, "b": again, "s": more}
    write(folder, "loop_in_functions", 19, calls, inputs, outputs, functions=[made])


def conditions(folder):
    """Halves until 2^-i is less than 0.2: three times, by what is known."""
    x = floats(4)
    nodes = [
        node("Mul", ["v", "half"], ["next"]),
        node("Mul", ["size", "half"], ["smaller"]),
        node("Less", ["fifth", "smaller"], ["go_on"]),
    ]
    halves = body(nodes, ["i", "go", "v", "size"], ["go_on", "next", "smaller"])
    known = [
        constant("half", np.array(0.5, np.float32)),
        constant("fifth", np.array(0.2, np.float32)),
        constant("one", np.array(1, np.float32)),
    ]
    loop = node("Loop", ["", "", "x", "one"], ["y", ""], body=halves)
    write(folder, "loop_until", 13, [*known, loop], {"x": x}, {"y": x / 8})
    loop = node("Loop", ["all", "", "x", "one"], ["y", ""], body=halves)
    largest = constant("all", scalar(2**63 - 1))
    write(folder, "loop_until_largest", 13, [*known, largest, loop], {"x": x}, {"y": x / 8})
    # The number of iterations comes first.
    loop = node("Loop", ["two", "", "x", "one"], ["y", ""], body=halves)
    known.append(constant("two", scalar(2)))
    write(folder, "loop_until_count", 13, [*known, loop], {"x": x}, {"y": x / 4})


def decisions(folder):
    """What the run decides: both branches, and an iteration that would not run, are computed."""
    x, w = floats(2, 3), 0.4 * np.abs(floats(3, 3))
    inputs = {"x": x, "w": w}
    then = body([node("MatMul", ["x", "w"], ["t"]), node("Relu", ["x"], ["u"])], [], ["t", "u"])
    otherwise = body([node("Tanh", ["x"], ["t"]), node("Mul", ["t", "x"], ["v"])], [], ["t", "v"])
    branches = node("If", ["c"], ["y", "z"], then_branch=then, else_branch=otherwise)
    for number, outputs in (
        (0.5, {"y": np.tanh(x), "z": np.tanh(x) * x}),
        (2, {"y": x @ w, "z": np.maximum(x, 0)}),
    ):
        nodes = [
            node("ReduceSum", ["size"], ["total"], keepdims=0),
            constant("one", np.array(1, np.float32)),
            node("Greater", ["total", "one"], ["c"]),
            branches,
        ]
        size = np.full((1,), number, np.float32)
        write(folder, f"if_{number}", 16, nodes, {**inputs, "size": size}, outputs)

    # h = tanh(h w) until its first element is below a limit.
    nodes = [
        node("MatMul", ["h", "w"], ["product"]),
        node("Tanh", ["product"], ["next"]),
        node("Slice", ["next", "at", "end"], ["piece"]),
        node("Abs", ["piece"], ["size"]),
        node("Greater", ["size", "limit"], ["go_on"]),
    ]
    known = [
        constant("at", np.zeros(2, np.int64)),
        constant("end", np.ones(2, np.int64)),
        constant("most", scalar(6)),
    ]
    loop = node(
        "Loop", ["most", "", "x"], ["y"], body=body(nodes, ["i", "go", "h"], ["go_on", "next"])
    )
    limit = np.full((1, 1), 0.05, np.float32)
    h, steps = x, 0
    while steps < 6 and (steps == 0 or abs(h[0, 0]) > limit):
        h, steps = np.tanh(h @ w), steps + 1
    assert 1 < steps < 6
    write(folder, "loop_while", 16, [*known, loop], {**inputs, "limit": limit}, {"y": h})
    # It may not even begin.
    first = [
        *known,
        node("Greater", ["start", "limit"], ["begins"]),
        node("Loop", ["most", "begins", "x"], ["y"], body=loop.attribute[0].g),
    ]
    start = np.full((1, 1), 0.01, np.float32)
    write(folder, "loop_not_begun", 16, first, {**inputs, "limit": limit, "start": start}, {"y": x})


def nested(folder):
    """The sum over i < 3 and j <= i of x[i] x[j], j by an inner loop; and of odd i twice."""
    x = floats(3, 4)
    inner = body(
        [
            node("Gather", ["x", "j"], ["other"], axis=0),
            node("Mul", ["row", "other"], ["product"]),
            node("Add", ["t", "product"], ["t_next"]),
            node("Identity", ["go_inner"], ["go_inner_on"]),
        ],
        ["j", "go_inner", "t"],
        ["go_inner_on", "t_next"],
    )
    twice = body([node("Add", ["t_all", "t_all"], ["double"])], [], ["double"])
    once = body([node("Identity", ["t_all"], ["same"])], [], ["same"])
    outer = body(
        [
            node("Gather", ["x", "i"], ["row"], axis=0),
            constant("unit", scalar(1)),
            constant("pair", scalar(2)),
            node("Add", ["i", "unit"], ["inner_count"]),
            node("Mul", ["row", "zero"], ["t0"]),
            node("Loop", ["inner_count", "", "t0"], ["t_all"], body=inner),
            node("Mod", ["i", "pair"], ["rest"]),
            node("Cast", ["rest"], ["go_odd"], to=BOOL),
            node("If", ["go_odd"], ["part"], then_branch=twice, else_branch=once),
            node("Add", ["s", "part"], ["s_next"]),
            node("Identity", ["go"], ["go_on"]),
        ],
        ["i", "go", "s"],
        ["go_on", "s_next"],
    )
    known = [
        constant("three", scalar(3)),
        constant("zero", np.array(0, np.float32)),
        constant("start", np.zeros(4, np.float32)),
    ]
    loop = node("Loop", ["three", "", "start"], ["y"], body=outer)
    expected = sum(x[i] * x[: i + 1].sum(0) * (1 + i % 2) for i in range(3))
    write(folder, "loop_nested", 19, [*known, loop], {"x": x}, {"y": expected})


def scans(folder):
    step = [
        node("MatMul", ["h", "w"], ["product"]),
        node("Add", ["product", "row"], ["sum"]),
        node("Tanh", ["sum"], ["next"]),
        node("Identity", ["next"], ["seen"]),
    ]
    of = body(step, ["h", "row"], ["next", "seen"])
    x, h, w = floats(5, 2, 3), floats(2, 3), floats(3, 3)
    last, rows = recurrent(x, h, w)
    inputs, outputs = {"x": x, "h0": h, "w": w}, {"last": last, "rows": rows}
    for version in (9, 11, 21):
        scan = node("Scan", ["h0", "x"], ["last", "rows"], body=of, num_scan_inputs=1)
        write(folder, f"scan_{version}", version, [scan], inputs, outputs)
    last, rows = recurrent(x[::-1], h, w)
    turned = dict(
        scan_input_axes=[-2],
        scan_input_directions=[1],
        scan_output_axes=[1],
        scan_output_directions=[1],
    )
    scan = node("Scan", ["h0", "x"], ["last", "rows"], body=of, num_scan_inputs=1, **turned)
    inputs["x"] = np.ascontiguousarray(x.transpose(1, 0, 2))
    outputs = {"last": last, "rows": np.ascontiguousarray(rows[::-1].transpose(1, 0, 2))}
    write(folder, "scan_turned", 16, [scan], inputs, outputs)
    # Without a state, of two inputs.
    a, b = floats(4, 3), floats(4, 3)
    product = body([node("Mul", ["p", "q"], ["r"])], ["p", "q"], ["r"])
    scan = node("Scan", ["a", "b"], ["y"], body=product, num_scan_inputs=2)
    write(folder, "scan_of_two", 13, [scan], {"a": a, "b": b}, {"y": a * b})


def sequences(folder):
    x, y, z = floats(2, 3), floats(1, 3), floats(4, 3)
    inputs = {"x": x, "y": y, "z": z}
    at = lambda name, number: constant(name, scalar(number))
    nodes = [
        node("SequenceEmpty", [], ["s0"]),
        node("SequenceInsert", ["s0", "x"], ["s1"]),
        node("SequenceInsert", ["s1", "y"], ["s2"]),
        *(at("front", 0), at("back", -1)),
        node("SequenceInsert", ["s2", "z", "back"], ["s3"]),  # x z y
        node("SequenceInsert", ["s3", "y", "front"], ["s4"]),  # y x z y
        node("SequenceErase", ["s4"], ["s5"]),
        node("SequenceErase", ["s5", "front"], ["s6"]),
        node("ConcatFromSequence", ["s6"], ["all"], axis=0),
    ]
    write(folder, "sequences", 13, nodes, inputs, {"all": np.concatenate([x, z])})
    grow = body(
        [
            node("Gather", ["x", "i"], ["row"], axis=0),
            node("SequenceInsert", ["s", "row", "first"], ["s_next"]),
            node("Identity", ["go"], ["go_on"]),
        ],
        ["i", "go", "s"],
        ["go_on", "s_next"],
    )
    nodes = [
        *(at("first", 0), at("count", 2)),
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["count", "", "none"], ["rows"], body=grow),
        node("ConcatFromSequence", ["rows"], ["turned"], axis=0, new_axis=1),
    ]
    turned = np.ascontiguousarray(x[::-1])
    write(folder, "loop_sequence", 13, nodes, {"x": x}, {"turned": turned})


if __name__ == "__main__":
    for write_some in (loops, conditions, decisions, nested, scans, sequences):
        write_some(sys.argv[1])
