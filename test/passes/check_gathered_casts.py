"""Reads the IR of the phase `kernels`: no kernel, and no op, makes a cast of a gathered parameter,
or writes into a gathered buffer.

  check_gathered_casts.py IR.mlir ELEMENT_TYPE

Parameters are gathered in ELEMENT_TYPE. A kernel may read one and convert its elements in registers
(a norm's weight); what it may not do is to write the parameter out in another type. Prints how many
gathered parameters and readers were looked at.
"""
import re
import sys

TYPE = re.compile(r"tensor<([0-9x]*?)x?(f64|f32|f16|bf16)>")


def types(text):
    return TYPE.findall(text)


def main(path, element):
    gathered = {}  # value -> (shape, element type); views of one too
    readers = set()
    parameters = 0
    problems = []
    for number, line in enumerate(open(path), 1):
        text = line.strip()
        if text.startswith("func.func"):
            gathered.clear()
        match = re.match(r"(%[\w]+)(?::\d+)? = (\S+?)(?:\(| )(.*)", text)
        if not match:
            continue
        result, op, rest = match.groups()
        if op == "fsdp.all_gather_wait":
            found = types(rest)
            parameters += len(found)
            for index, (shape, kind) in enumerate(found):
                gathered[f"{result}#{index}" if len(found) > 1 else result] = (shape, kind)
                if kind != element:
                    problems.append(f"line {number}: gathers {shape}x{kind}, not {element}")
            continue
        operands = re.findall(r"%[\w]+(?:#\d+)?", rest)
        read = [gathered[o] for o in operands if o in gathered]
        if not read:
            continue
        results = types(rest.rsplit("->", 1)[-1] if "->" in rest else rest.rsplit(":", 1)[-1])
        if op in ("nn.reshape", "nn.transpose", "nn.slice"):
            gathered[result] = (results[0][0], read[0][1])
            continue
        if op.startswith("fsdp."):
            continue
        readers.add(op)
        for shape, kind in read:
            elements = sorted(d for d in shape.split("x") if d not in ("", "1"))
            for other, to in results:
                if (
                    to != kind
                    and sorted(d for d in other.split("x") if d not in ("", "1")) == elements
                ):
                    problems.append(
                        f"line {number}: {op} makes {other}x{to} of a gathered {shape}x{kind}"
                    )
    if not parameters:
        problems.append("nothing is gathered")
    for problem in problems[:10]:
        print(problem)
    print(
        f"{parameters} gathered parameters, read by {', '.join(sorted(readers))}:"
        f" {len(problems)} casts"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
