#!/usr/bin/env python3
"""docs/models.md from what compare.py has written.

    python write_page.py FOLDER docs/models.md
"""
import json
import os
import sys

import zoo

BEGIN = """# Models

Architectures that people train, tiny, exported by `shardc export` and trained beside PyTorch in
float64: 20 steps of AdamW on 4 samples, on meshes 1, 2, 4 and 2x2, without dropout. The loss of
every step is PyTorch's within 1e-7 of it, every gradient of the first step within 1e-6 of its
largest element, and so is every running statistic of a batch norm after the last step; columns have
the largest difference that there was. *As it is*: with the dropout that the config has by default,
whose masks PyTorch takes from the numbers that trainers draw (`drawn_dropout.py`), held to the same
bounds over the same steps and meshes. Made by

    python test/training/architectures/compare.py FOLDER && \\
        python test/training/architectures/write_page.py FOLDER docs/models.md

(torch and transformers of `./dev test --torch`, which runs some of them live, and torchvision).

`store.py` beside it stores the graphs of both exporters, without values, and PyTorch's run
(`test/models/architectures`); `./dev test` trains them on one mesh each and holds them to the same
bounds, with values that are drawn by name. It says what it leaves out and why.

| architecture | class | dynamo: loss, gradients, statistics | tracing: the same | as it is |
|---|---|---|---|---|
"""
END = """
With batch norms, or a loss that compares samples with each other, ranks compute by their own
samples, as PyTorch's do: those models are compared on one rank.

Where the exporter by tracing does not write a model, torch says why: `aten::diff` is transformers'
mask of a decoder, for which the older exporter has no operator. What it traces of
`nn.Transformer` has the lengths of its example. `shardc export` takes the dynamo exporter
unless told otherwise.
"""


def cell(result):
    if result["outcome"] == "ok":
        numbers = [result[what] for what in ("loss", "gradient", "running") if what in result]
        return ", ".join(f"{number:.0e}" for number in numbers)
    return reason(result)


def reason(result):
    why = result.get("why", result["outcome"])
    why = why.rpartition("node '")[2] if "node '" in why else why
    why = why.replace("'", "").replace("torch.onnx.export ends with ", "").split("; ")[0]
    return f"{result['outcome']}: {why}".replace("|", "/")[:110]


def as_is_cell(result):
    return "drops nothing" if result.get("sites") == 0 else cell(result)


def main(folder, page):
    lines, right, all_of = [], 0, len(zoo.ARCHITECTURES)
    for name, case in zoo.ARCHITECTURES.items():
        with open(os.path.join(folder, name.replace("/", "-") + ".json")) as file:
            results = json.load(file)
        right += results["dynamo"]["outcome"] == "ok"
        as_is = results.get("as is")
        own = as_is_cell(as_is) if as_is else ""
        of = f"`{case.architecture}`" if case.config else "own"
        cells = [name, of, cell(results["dynamo"]), cell(results["tracing"]), own]
        lines.append("| " + " | ".join(cells) + " |\n")
    total = f"\n{right} of {all_of} are right by the dynamo exporter.\n"
    with open(page, "w") as file:
        file.write(BEGIN + "".join(lines) + total + END)


if __name__ == "__main__":
    main(*sys.argv[1:])
