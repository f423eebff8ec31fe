"""Makes newest-nodes.tar.xz: those of ONNX's own operator tests that the newest version of onnx has
and the archive beside the checkout lacks, of what shardc supports: opset 28, sliding windows of
Attention, quantization, RoiAlign. newest-nodes.test runs them.

    newest_nodes.py CHECK_ONNX_NODES ARCHIVE       (needs onnx 1.23 or later, and pillow)"""
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

NEW = 28
NAMES = re.compile("quantize|window|swiglu|roialign")


def is_new(case):
    versions = {entry.domain: entry.version for entry in case.model.opset_import}
    return versions.get("", 0) >= NEW or NAMES.search(case.name)


def tensors(kind, values, described):
    for index, (array, info) in enumerate(zip(values, described)):
        if not isinstance(array, onnx.TensorProto):
            array = numpy_helper.from_array(np.asarray(array), info.name)
        yield f"test_data_set_0/{kind}_{index}.pb", array.SerializeToString()


def files(case):
    inputs, outputs = case.data_sets[0]
    yield "model.onnx", case.model.SerializeToString()
    yield from tensors("input", inputs, case.model.graph.input)
    yield from tensors("output", outputs, case.model.graph.output)


def passes(program, case):
    """Whether shardc supports all of it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files(case):
            path = os.path.join(folder, "node", case.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
        done = subprocess.run(
            [program, folder, os.path.join(folder, "node")], capture_output=True, text=True
        )
        return "1 passed" in done.stdout


def main(program, path):
    with tarfile.open(path, "w:xz") as archive:
        for case in sorted(collect_testcases(None), key=lambda case: case.name):
            described = [*case.model.graph.input, *case.model.graph.output]
            if not is_new(case) or not all(v.type.HasField("tensor_type") for v in described):
                continue
            if not passes(program, case):
                continue
            for name, content in files(case):
                entry = tarfile.TarInfo(f"newest/{case.name}/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    main(*sys.argv[1:])
