"""Stores architectures for the tests that have no torch: graphs as `shardc export` writes them by
both of PyTorch's exporters, without values, and PyTorch's run in float64.

    python store.py [ARCHITECTURE...]

writes test/models/architectures/NAME.json, and NAME.EXPORTER.onnx.xz beside it. Needs what
compare.py needs.
"""
import json
import lzma
import os
import sys
import tempfile
import warnings

import compare
import onnx
import stored
import torch
import transformers
import zoo
from onnx import external_data_helper
from shardc import Error, tasks
from shardc.export import export

FOLDER = os.path.join(compare.TRAINING, "..", "models", "architectures")
# Of the metadata that shardc reads, all but the classes of modules.
KEPT = {"pkg.torch.onnx.fx_node", "pkg.torch.onnx.name_scopes"}
# As many parameters take minutes in float64, and are 20 MB of gradients.
TOO_LARGE = {"torchvision ResNet"}
# Graphs that hold the lengths of the example, or differ by more than float64 rounds.
FIXED = "the older exporter writes the example's lengths"
LEFT_OUT = {
    ("CLIP", "tracing"): FIXED,
    ("nn.Transformer", "tracing"): FIXED,
    ("nn.TransformerEncoder", "tracing"): FIXED,
    ("Command R", "tracing"): "the older exporter's Reshape of queries has the keys' heads",
    ("Gemma 3", "tracing"): "rotary tables are constants in float32: 1.5e-6 after 20 steps",
}


def file_of(name):
    return os.path.join(FOLDER, name.lower().replace(" ", "-").replace("/", "-"))


def write_graph(path, proto, parameters):
    for node in proto.graph.node:
        kept = [each for each in node.metadata_props if each.key in KEPT]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    del proto.graph.value_info[:]
    for tensor in proto.graph.initializer:
        if tensor.name in parameters:
            external_data_helper.set_external_data(tensor, "model.onnx.data")
            tensor.ClearField("raw_data")
    with lzma.open(path, "wb", preset=9) as file:
        file.write(proto.SerializeToString())


def aliases(module):
    """{the first name of a parameter: all of them}"""
    names = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {all_of_it[0]: all_of_it for all_of_it in names.values()}


def fill(module, in_file):
    """{the first name: that in the file}; sets the values of the parameters that are there: some
    models have one that nothing reads."""
    found = {}
    with torch.no_grad():
        parameters = dict(module.named_parameters())
        for first, names in aliases(module).items():
            there = [name for name in names if name in in_file]
            if not there:
                continue
            found[first] = there[0]
            value = stored.initial_value(found[first], tuple(parameters[first].shape))
            parameters[first].copy_(torch.from_numpy(value))
    return found


def without_batch(flags):
    """The batch of a rank is the mesh's affair."""
    at = flags.index(f"{tasks.BATCH}={zoo.BATCH}")
    return flags[: at - 1] + flags[at + 1 :]


def store(name):
    results = {}
    for exporter in compare.EXPORTERS:
        if why := LEFT_OUT.get((name, exporter)):
            results[exporter] = why
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            try:
                made = export(compare.source_of(name, exporter), path, exporter)
            except Error as error:
                results[exporter] = str(error)
                continue
            proto = onnx.load(path)
        source = made.source
        names = fill(source.module, {each.name for each in proto.graph.initializer})
        data = stored.arrays(stored.described(zoo.data_of(name, source, zoo.BATCH)))
        losses, gradients, running = compare.torch_run(source, data)
        write_graph(f"{file_of(name)}.{exporter}.onnx.xz", proto, set(names.values()))
        flags = made.compile_flags(None, compare.dims_of(source, zoo.BATCH))
        results[exporter] = {
            "flags": without_batch(flags),
            "ties": {
                names[first]: tied
                for first, tied in aliases(source.module).items()
                if len(tied) > 1 and first in names
            },
            "data": stored.described(
                {n: array for n, array in data.items() if n not in made.found.unread}
            ),
            "losses": losses,
            "gradients": {
                names[n]: stored.digest(names[n], g.numpy()) for n, g in gradients.items()
            },
            "running": {n: stored.digest(n, value.numpy()) for n, value in running.items()},
        }
    made_by = {"torch": torch.__version__, "transformers": transformers.__version__}
    record = {
        "architecture": name,
        "made_by": made_by,
        "samples": zoo.BATCH,
        # Norms of a rank's own batch: more ranks train another model.
        "alone": bool(zoo.ARCHITECTURES[name].alone),
        "run_flags": compare.FLAGS,
        "exporters": results,
    }
    with open(file_of(name) + ".json", "w") as file:
        json.dump(record, file, indent=None, separators=(",", ":"))
        file.write("\n")
    print(name, {k: "stored" if isinstance(v, dict) else v[:120] for k, v in results.items()})


def main(names):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.makedirs(FOLDER, exist_ok=True)
    for name in names or [n for n in zoo.ARCHITECTURES if n not in TOO_LARGE]:
        store(name)


if __name__ == "__main__":
    main(sys.argv[1:])
