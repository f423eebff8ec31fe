#!/usr/bin/env python3
"""Attention masks as exporters write them, against the same masks worked out with plain loops.

    mask_styles.py SHARDC_OPT FOLDER

Each mask is an output of a model without weights; the importer evaluates it. At 40 positions every
number is compared. At 8192 the masks that depend on key - query must still be a line or two of IR:
written out, one has 2^26 elements.
"""
import os
import re
import struct
import subprocess
import sys

from onnx_writer import (
    BOOL,
    FLOAT,
    floats,
    graph,
    integer,
    ints,
    message,
    model,
    node,
    tensor,
    value,
)

HIDDEN = -3.4028234663852886e38
SLOPES = [0.25, 0.0625]


class Masks:
    def __init__(self, size):
        self.size, self.nodes, self.initializers, self.outputs = size, [], [], {}

    def op(self, kind, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(node(kind, list(inputs), [name], f"node_{name}", **attributes))
        return name

    def constant(self, a_tensor):
        name = f"c{len(self.initializers)}"
        self.initializers.append(a_tensor(name))
        return name

    def ints(self, *values):
        return self.constant(lambda name: ints(name, values))

    def number(self, x):
        return self.constant(lambda name: floats(name, [], [x]))

    def positions(self, *shape):
        """0, 1, ... in the shape [size, 1] or [1, size]."""
        zero, one, limit = (
            self.constant(lambda name, i=i: ints(name, [i], [])) for i in (0, 1, self.size)
        )
        return self.op("Reshape", self.op("Range", zero, limit, one), self.ints(*shape))

    def output(self, name, mask, boolean, at):
        """`at(i, j)`: what stands there. Booleans become 0 and 1."""
        self.outputs[name] = (
            self.op("Cast", mask, to=FLOAT) if boolean else self.op("Identity", mask),
            at,
        )

    def build(self):
        i, j = self.positions(-1, 1), self.positions(1, -1)
        causal = self.op("LessOrEqual", j, i)
        self.output("compared", causal, True, lambda i, j: j <= i)
        self.output(
            "selected",
            self.op("Where", causal, self.number(0), self.number(HIDDEN)),
            False,
            lambda i, j: 0 if j <= i else HIDDEN,
        )

        full = self.op(
            "ConstantOfShape",
            self.ints(self.size, self.size),
            value=tensor("value", FLOAT, [1], raw=struct.pack("<f", HIDDEN)),
        )
        one = self.constant(lambda name: ints(name, [1], []))
        self.output(
            "triangle_of_numbers",
            self.op("Trilu", full, one, upper=1),
            False,
            lambda i, j: HIDDEN if j > i else 0,
        )
        ones = self.op(
            "ConstantOfShape",
            self.ints(self.size, self.size),
            value=tensor("value", BOOL, [1], raw=b"\1"),
        )
        triangle = self.op(
            "Cast", self.op("Trilu", self.op("Cast", ones, to=FLOAT), upper=0), to=BOOL
        )
        self.output(
            "triangle_of_booleans",
            self.op(
                "Mul", self.op("Cast", self.op("Not", triangle), to=FLOAT), self.number(HIDDEN)
            ),
            False,
            lambda i, j: HIDDEN if j > i else 0,
        )

        near = self.op(
            "Greater", j, self.op("Sub", i, self.constant(lambda name: ints(name, [7], [])))
        )
        self.output("window", self.op("And", causal, near), True, lambda i, j: i - 7 < j <= i)
        # To both sides, of queries that are there: all are.
        distance = self.op("Abs", self.op("Sub", i, j))
        beside = self.op("LessOrEqual", distance, self.constant(lambda name: ints(name, [7], [])))
        there = self.op("GreaterOrEqual", i, self.constant(lambda name: ints(name, [0], [])))
        self.output("both_sides", self.op("And", beside, there), True, lambda i, j: abs(i - j) <= 7)
        # Which of the packed sequences a token belongs to: all to the first.
        first = self.op("Mul", i, self.constant(lambda name: ints(name, [0], [])))
        other = self.op("Mul", j, self.constant(lambda name: ints(name, [0], [])))
        self.output(
            "packed",
            self.op("And", self.op("Equal", first, other), causal),
            True,
            lambda i, j: j <= i,
        )

        four = self.op(
            "Expand",
            self.op("Unsqueeze", causal, self.ints(0, 1)),
            self.ints(2, 1, self.size, self.size),
        )
        self.output("expanded", four, True, lambda i, j: j <= i)
        self.output("turned", self.op("Transpose", causal, perm=[1, 0]), True, lambda i, j: i <= j)
        self.output(
            "later_queries",
            self.op("Slice", causal, self.ints(3), self.ints(self.size), self.ints(0)),
            True,
            lambda i, j: j <= i + 3,
        )
        backwards = self.op(
            "Slice", causal, self.ints(-1), self.ints(-self.size - 1), self.ints(1), self.ints(-1)
        )
        self.output("backwards", backwards, True, lambda i, j: self.size - 1 - j <= i)
        self.output(
            "sum_of_positions",
            self.op(
                "Less",
                self.op("Add", i, j),
                self.constant(lambda name: ints(name, [self.size], [])),
            ),
            True,
            lambda i, j: i + j < self.size,
        )
        distance = self.op("Cast", self.op("Sub", j, i), to=FLOAT)
        # A Constant node: an initializer of floats would be a parameter.
        slopes = self.op("Constant", value=floats("value", [2, 1, 1], SLOPES))
        self.output(
            "slopes", self.op("Mul", distance, slopes), False, lambda i, j, h=0: SLOPES[h] * (j - i)
        )
        if self.size < 100:  # no line of numbers says these, or none is looked for
            self.output(
                "every_third_key",
                self.op(
                    "Slice", causal, self.ints(1), self.ints(self.size), self.ints(1), self.ints(3)
                ),
                True,
                lambda i, j: 3 * j + 1 <= i,
            )
            self.output(
                "block",
                self.op("Equal", self.op("Div", i, self.ints(8)), self.op("Div", j, self.ints(8))),
                True,
                lambda i, j: i // 8 == j // 8,
            )
            self.output(
                "product",
                self.op("Cast", self.op("Mul", i, j), to=FLOAT),
                False,
                lambda i, j: i * j,
            )
        renamed = [
            node("Identity", [source], [name], f"out_{name}")
            for name, (source, _) in self.outputs.items()
        ]
        outputs = [without_shape(name) for name in self.outputs]
        # Beside an initializer that may be a weight, constants are literals.
        tensors = [*self.initializers, floats("weight", [2], [0, 0])]
        return model(graph(self.nodes + renamed, [value("x", FLOAT, [1])], outputs, tensors))


def without_shape(name):
    """A graph output whose shape the file does not say."""
    return message(1, name) + message(2, message(1, integer(1, FLOAT)))


def elements(literal, count):
    """Numbers of a printed dense<...>."""
    if literal.startswith('"0x'):
        raw = bytes.fromhex(literal[3:-1])
        numbers = list(struct.unpack(f"<{len(raw) // 4}f", raw))
    else:
        numbers = [float(x) for x in re.findall(r"[-+0-9.eE]+", literal)]
    return numbers * count if len(numbers) == 1 else numbers


def run(shardc_opt, path, *passes):
    process = subprocess.run(
        [shardc_opt, f"--onnx-import=path={path}", *passes],
        input="module {}",
        capture_output=True,
        text=True,
    )
    if process.returncode:
        sys.exit(f"mask_styles.py: error: {process.stderr.strip()}")
    return process.stdout


def check_numbers(shardc_opt, folder):
    masks = Masks(40)
    path = os.path.join(folder, "small.onnx")
    with open(path, "wb") as file:
        file.write(masks.build())
    imported = run(shardc_opt, path)
    # The new form is what is tested.
    assert imported.count("#nn.strided") >= 8, imported
    text = run(shardc_opt, path, "--test-nn-evaluate")
    constants = {
        name: (literal, [int(d) for d in shape.split("x")[:-1]])
        for name, literal, shape in re.findall(
            r"(%\S+) = nn.constant dense<(.*?)> : tensor<(.*?)>", text
        )
    }
    results = re.search(r"return (.*?) :", text).group(1).split(", ")
    assert len(results) == len(masks.outputs), (results, text[:2000])
    for name, result in zip(masks.outputs, results):
        literal, shape = constants[result.split(":")[0]]
        count = 1
        for d in shape:
            count *= d
        found, at = elements(literal, count), masks.outputs[name][1]
        rows, columns = shape[-2:]
        for index, number in enumerate(found):
            j, i, outer = index % columns, index // columns % rows, index // (rows * columns)
            expected = at(i, j, outer) if name == "slopes" else float(at(i, j))
            if number != struct.unpack("<f", struct.pack("<f", expected))[0]:
                sys.exit(f"{name}[{outer}, {i}, {j}]: expected {expected}, got {number}")
        print(f"{name}: {count} numbers are right")


def check_size(shardc_opt, folder):
    masks = Masks(8192)
    path = os.path.join(folder, "large.onnx")
    with open(path, "wb") as file:
        file.write(masks.build())
    text = run(shardc_opt, path)
    # Hexadecimal: two characters a byte.
    limit = len(masks.outputs) * 2 * (2 * 8192) * 4 * 2
    if len(text) > limit:
        sys.exit(
            f"expects at most {limit} characters for {len(masks.outputs)} masks, got {len(text)}"
        )
    print(f"{len(masks.outputs)} masks of 8192 positions are small")


if __name__ == "__main__":
    os.makedirs(sys.argv[2], exist_ok=True)
    check_numbers(*sys.argv[1:])
    check_size(*sys.argv[1:])
