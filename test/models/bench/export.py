#!/usr/bin/env python3
"""Writes the graphs beside it anew: test/bench's workloads as PyTorch's dynamo exporter writes
them. Needs torch and onnxscript.

    export.py [W1 W2 W3 W4 W5 W6]

Input `input`, output `logits`, a dynamic first dim `batch`. Parameters are described alone, as
external data in a file that is not there: the bench gives both sides values. All other tensors (the
tables of rotary positions, running statistics) are in the graph, which is in training mode. The
larger ones are packed.
"""
import lzma
import os
import sys

import onnx
import torch
from onnx import external_data_helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "bench"))
import fsdp2_models  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

PACKED = ("W1", "W2", "W5", "W6")


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input):
        return self.model.logits(input)


def describe_alone(tensor):
    """Leaves name, type and shape."""
    # As raw_data, which is then left out.
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    external_data_helper.set_external_data(tensor, "model.onnx.data")
    tensor.ClearField("raw_data")


def export(workload):
    model = getattr(fsdp2_models, workload.model)(**workload.sizes)
    model.train()
    model.fill_buffers()
    input = torch.from_numpy(workload.batches()["input"][:2].copy())
    program = torch.onnx.export(
        Logits(model),
        (input,),
        dynamo=True,
        optimize=False,
        input_names=["input"],
        output_names=["logits"],
        dynamic_shapes={"input": {0: "batch"}},
    )
    for node in program.model.graph:
        # It has paths of the machine that exported.
        node.metadata_props.pop("pkg.torch.onnx.stack_trace", None)
    proto = program.model_proto
    parameters = {"model." + name for name, _ in model.named_parameters()}
    for tensor in proto.graph.initializer:
        if tensor.name in parameters:
            describe_alone(tensor)
            parameters.remove(tensor.name)
    assert not parameters, f"not in the graph under their names: {parameters}"
    text = proto.SerializeToString()
    folder = os.path.join(HERE, workload.name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "model.onnx")
    if workload.name in PACKED:
        with lzma.open(path + ".xz", "wb", preset=9) as file:
            file.write(text)
    else:
        with open(path, "wb") as file:
            file.write(text)
    print(
        f"{workload.name}: {sum(p.numel() for p in model.parameters())} parameters,"
        f" {len(proto.graph.node)} nodes, {len(text)} bytes"
    )


def main():
    for name in sys.argv[1:] or WORKLOADS:
        export(WORKLOADS[name])


if __name__ == "__main__":
    main()
