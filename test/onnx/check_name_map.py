#!/usr/bin/env python3
"""Compares the parameters that shardc-opt recovers from a model with its name_map.json: names,
orientation, ties, uses.

    check_name_map.py SHARDC_OPT MODEL_FOLDER [NAME=N ...]
"""
import ast
import json
import os
import re
import subprocess
import sys


def imported(shardc_opt, folder, dims):
    """The text of the module that onnx-import makes of a model, and what it warned of."""
    options = f"path={folder}/model.onnx allow-missing-weights" + (
        f" dims={','.join(dims)}" if dims else ""
    )
    process = subprocess.run(
        [shardc_opt, f"--onnx-import={options}"], input="module {}", capture_output=True, text=True
    )
    if process.returncode:
        sys.exit(f"check_name_map.py: error: {folder}: {process.stderr.strip()}")
    return process.stdout, process.stderr


def parameters(module):
    """{name: {"dims", "bindings": [{initializer, uses, transposed}], "aliases": [...],
    "trainable"}} of the printed symbols."""
    result = {}
    for line in module.splitlines():
        match = re.match(r'\s*nn\.parameter @("[^"]+"|\S+) : tensor<(\S+)> \{(.*)\}$', line)
        if not match:
            continue
        name, shape, attributes = match.group(1).strip('"'), match.group(2), match.group(3)
        bindings = []
        for binding in re.findall(r"\{(initializer = [^}]*)\}", attributes):
            bindings.append(
                {
                    "initializer": re.search(r'initializer = "([^"]*)"', binding).group(1),
                    "transposed": bool(re.search(r", transposed|transposed,", binding)),
                    "uses": sorted(
                        ast.literal_eval(re.search(r"uses = (\[[^\]]*\])", binding).group(1))
                    ),
                }
            )
        aliases = re.search(r"nn\.aliases = (\[[^\]]*\])", attributes)
        result[name] = {
            "dims": [int(dim) for dim in shape.split("x")[:-1]],
            "bindings": bindings,
            "aliases": ast.literal_eval(aliases.group(1)) if aliases else [],
            "trainable": bool(re.search(r"[{,] ?trainable", attributes)),
        }
    return result


def expected_bindings(entry):
    """(initializer, transposed) of an entry of name_map.json, its own and its copies'."""
    stored = [entry] + entry.get("copies", [])
    return sorted((e["initializer"], bool(e.get("transposed"))) for e in stored)


def compare(folder, module, warnings):
    with open(os.path.join(folder, "name_map.json"), encoding="utf-8") as file:
        name_map = json.load(file)
    found, wrong = parameters(module), []
    trained = {name for name, parameter in found.items() if parameter["trainable"]}
    for name, entry in name_map.items():
        if "tied_to" in entry:
            if name not in found.get(entry["tied_to"], {"aliases": []})["aliases"]:
                wrong.append(f"{name} is not tied to {entry['tied_to']}")
            continue
        if entry.get("initializer") is None:
            if f"'{name}'" not in warnings:
                wrong.append(f"{name} was removed by the exporter, and there is no warning")
            continue
        if name not in trained:
            wrong.append(f"{name} is no trained parameter")
            continue
        parameter = found[name]
        got = sorted((b["initializer"], b["transposed"]) for b in parameter["bindings"])
        if got != expected_bindings(entry):
            wrong.append(f"{name}: expects {expected_bindings(entry)}, got {got}")
        uses = sorted(
            f"{u['node']}:{u['input']}"
            for e in [entry] + entry.get("copies", [])
            for u in e["uses"]
        )
        # An Identity's own read counts as the parameter's; name_map.json lists the nodes behind it.
        got = sorted(
            u for b in parameter["bindings"] for u in b["uses"] if not u.startswith("Identity_")
        )
        if got != uses:
            wrong.append(f"{name}: expects uses {uses}, got {got}")
    for name in trained - set(name_map):
        wrong.append(f"{name} is trained, and no parameter of the model")
    return len(name_map), wrong


def main():
    shardc_opt, folder, dims = sys.argv[1], sys.argv[2], sys.argv[3:]
    count, wrong = compare(folder, *imported(shardc_opt, folder, dims))
    for line in wrong:
        print(line)
    print(f"{os.path.basename(os.path.normpath(folder))}: {count} names, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
