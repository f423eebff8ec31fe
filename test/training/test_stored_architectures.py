"""Architectures that people train, as both of PyTorch's exporters write them, train as PyTorch's
stored runs did in float64: losses to 1e-7 over 20 steps, the first gradients and the last running
statistics to 1e-6 (architectures/store.py; docs/models.md has all meshes, live)."""
import glob
import json
import lzma
import os
import sys
import tempfile
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

from reference import MODELS, SHARDC, command, read_metrics, read_safetensors, write_safetensors

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "architectures"))
import stored  # noqa: E402

# Of processor time: see test/run.py.
LONG = True

FOLDER = os.path.join(MODELS, "architectures")
LOSS, GRADIENT, RUNNING = 1e-7, 1e-6, 1e-6
# All of them on the mesh that has two dimensions; the older exporter's graphs on another.
MESHES = {"dynamo": ("2x2", 4), "tracing": ("2", 2)}


def write_weights(path, graph, ties):
    """Values of what is described alone, under all names of a tie, and those of running statistics
    that are in the graph."""
    values = {}
    for tensor in onnx.load(graph, load_external_data=False).graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            value = stored.initial_value(tensor.name, tuple(tensor.dims))
            values.update(dict.fromkeys(ties.get(tensor.name, [tensor.name]), value))
        elif "running_" in tensor.name:
            values[tensor.name] = numpy_helper.to_array(tensor)
    write_safetensors(path, values)


class StoredArchitectures(unittest.TestCase):
    def check(self, path, exporter):
        with open(path) as file:
            record = json.load(file)
        kept = record["exporters"][exporter]
        mesh, ranks = ("1", 1) if record["alone"] else MESHES[exporter]
        with tempfile.TemporaryDirectory() as folder:
            at = lambda name: os.path.join(folder, name)
            with lzma.open(f"{path[:-5]}.{exporter}.onnx.xz") as packed:
                with open(at("m.onnx"), "wb") as file:
                    file.write(packed.read())
            write_weights(at("w.safetensors"), at("m.onnx"), kept["ties"])
            words = ["--mesh", mesh, "--dim", f"batch={record['samples'] // ranks}", *kept["flags"]]
            command(
                *(SHARDC, at("m.onnx"), *words, "--precision", "float64", "--init", "random"),
                *("-q", "-o", at("m.trainer")),
            )
            data = []
            for name, array in stored.arrays(kept["data"]).items():
                np.save(at(f"{name}.npy"), array)
                data += ["--data", f"{name}={at(name)}.npy"]
            command(
                *(at("m.trainer"), *record["run_flags"], "--weights", at("w.safetensors"), *data),
                *("--steps", len(kept["losses"]), "--metrics", at("m.jsonl")),
                *("--export-gradients", at("g.safetensors")),
                *("--export-safetensors", at("trained.safetensors")),
            )
            losses = [step["loss"] for step in read_metrics(at("m.jsonl"))[0]]
            found = read_safetensors(at("g.safetensors"))
            trained = read_safetensors(at("trained.safetensors"))
        np.testing.assert_allclose(losses, kept["losses"], rtol=LOSS)
        for name, tied in kept["ties"].items():
            found.update({name: found[other] for other in tied if other in found})
        self.assertEqual(sorted(set(kept["gradients"]) - set(found)), [])
        off = stored.differences(found, kept["gradients"])
        self.assertEqual({name: each for name, each in off.items() if not each <= GRADIENT}, {})
        if kept.get("running"):
            off = stored.differences(trained, kept["running"])
            self.assertEqual({name: each for name, each in off.items() if not each <= RUNNING}, {})


for _turn, _path in enumerate(sorted(glob.glob(os.path.join(FOLDER, "*.json")))):
    for _exporter in MESHES:
        if os.path.exists(f"{_path[:-5]}.{_exporter}.onnx.xz"):
            _name = "".join(c if c.isalnum() else "_" for c in os.path.basename(_path)[:-5])
            _needed = unittest.skipIf(
                _exporter == "tracing" and _turn % 2 and not os.environ.get("SHARDC_TEST_THOROUGH"),
                "the older exporter's graph of one more model: ./dev test --thorough",
            )
            setattr(
                StoredArchitectures,
                f"test_{_name}_{_exporter}",
                _needed(lambda self, path=_path, exporter=_exporter: self.check(path, exporter)),
            )

if __name__ == "__main__":
    unittest.main()
