#!/usr/bin/env python3
"""Follows each parameter gradient of @train back to the op that makes it: through views and sums,
but never through a cast.

    gradient_producers.py TRAIN.mlir...

Prints per file the number of gradients, their type, and the makers; exits with 1 where a
cast lies in between.
"""
import re
import sys

SAME = {
    "reshape",
    "transpose",
    "slice",
    "concat",
    "pad",
    "reverse",
    "add",
}  # of these, the operands are followed
TYPES = {"f32": "float32", "f64": "float64", "bf16": "bf16", "f16": "float16"}


def makers(text):
    """({maker}, {type}, number of gradients)"""
    body = text[text.index("func.func @train") :]
    producer = {}
    for line in body.splitlines():
        if match := re.match(r"\s*((?:%[\w#]+(?:, )?)+) = nn\.(\w+) (.*)", line):
            results, op, rest = match.groups()
            for result in results.split(", "):
                operands = re.findall(r"%\w+", rest)
                # Rows are added onto the gradient of a tied head: both make it.
                onto = re.search(r" onto (%\w+)", rest)
                producer[result] = (op, operands if op in SAME else [onto[1]] if onto else [])
    header = body[: body.index("\n")]
    types = set(re.findall(r"tensor<(?:\d+x)*(\w+)> \{nn\.gradient_of", header))
    returned = re.search(r"return (.*) :", body).group(1).split(", ")[1:]
    found, pending = set(), list(returned)
    while pending:
        op, operands = producer[pending.pop()]
        pending += operands
        if op not in SAME:
            found.add(op)
    return found, types, len(returned)


def main():
    bad = False
    for path in sys.argv[1:]:
        with open(path) as file:
            found, types, count = makers(file.read())
        bad |= "cast" in found
        print(
            f"{path.rsplit('.', 1)[1]}: {count} gradients,"
            f" {', '.join(sorted(TYPES[t] for t in types))}: {', '.join(sorted(found))}"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
