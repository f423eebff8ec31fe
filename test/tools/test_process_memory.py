"""What processes hold is what was reported, however many share a run's ranks."""
import json
import os
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tool_test import SHARDC, ToolTest, run

WIDTH, LAYERS = 1536, 6


def write_model(path):
    """Linear layers, whose parameters are most of what a rank holds."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, WIDTH])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, WIDTH])]
    nodes, initializers, value = [], [], "x"
    for layer in range(LAYERS):
        weight = np.full((WIDTH, WIDTH), 1e-3, np.float32)
        initializers.append(numpy_helper.from_array(weight, f"layers.{layer}.weight"))
        result = "y" if layer == LAYERS - 1 else f"h{layer}"
        nodes.append(helper.make_node("MatMul", [value, f"layers.{layer}.weight"], [result]))
        value = result
    graph = helper.make_graph(nodes, "linear", inputs, outputs, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


class ProcessMemory(ToolTest):
    def setUp(self):
        super().setUp()
        write_model(self.path("m.onnx"))

    def compile(self, mesh, strategy):
        words = ["--mesh", mesh, "--strategy", strategy, "--loss", "mse:output=y,target=t"]
        result = run(SHARDC, self.path("m.onnx"), *words, "-q", "-o", self.path("t"))
        self.assertEqual(result.code, 0, result.err)

    def train(self, processes):
        """The run's summary."""
        words = ["--data", "synthetic:1", "--steps", 3, "--lr", 1e-9]
        words += ["--threads", 1, "--nproc-per-node", processes] if processes > 1 else []
        metrics = self.path(f"{processes}.jsonl")
        result = run(self.path("t"), *words, "--metrics", metrics)
        self.assertEqual(result.code, 0, result.err)
        with open(metrics) as file:
            return json.loads(file.read().splitlines()[-1])

    def check(self, ranks, processes, gathers):
        summary = self.train(processes)
        each = ranks // processes
        self.assertEqual(
            [p["ranks"] for p in summary["processes"]],
            [[first, first + each - 1] for first in range(0, ranks, each)],
        )
        for process in summary["processes"]:
            first, last = process["ranks"]
            pools = [summary["memory"][rank]["pools"] for rank in range(first, last + 1)]
            for name in ("persistent", "step"):
                for pool in pools:
                    self.assertEqual(pool[name]["planned_bytes"], pool[name]["allocated_bytes"])
            own = [pool["gather"]["allocated_bytes"] for pool in pools]
            planned = pools[0]["gather"]["planned_bytes"]
            self.assertEqual(own, [planned if gathers else 0] + [0] * (each - 1))
            # In an orderly run nothing of a plan's memory is left untouched.
            allocated = sum(p["allocated_bytes"] for pool in pools for p in pool.values())
            self.assertGreater(allocated, 100 << 20)
            self.assertLess(abs(process["pools_bytes"] - allocated), 0.02 * allocated)
            self.assertEqual(
                process["pss_bytes"],
                process["pools_bytes"] + process["files_bytes"] + process["others_bytes"],
            )
        self.assertEqual(summary["pss_bytes"], sum(p["pss_bytes"] for p in summary["processes"]))

    def test_full(self):
        """One process reads its slices in place; others gather, once for all their ranks."""
        self.compile("4", "full")
        for processes in (1, 2, 4):
            with self.subTest(processes=processes):
                self.check(4, processes, gathers=processes > 1)

    def test_hybrid(self):
        """Units are gathered inside a process, or not."""
        self.compile("2x2", "hybrid")
        for processes in (1, 2, 4):
            with self.subTest(processes=processes):
                self.check(4, processes, gathers=processes == 4)


if __name__ == "__main__":
    unittest.main()
