"""What --target means: cpu makes a trainer, cuda a plan and kernels that are a GPU's, and one line
that says what is not there yet."""
import json
import os
import re
import unittest

from tool_test import MODELS, SHARDC, ToolTest, run

MLP = os.path.join(MODELS, "mlp-tiny-loss", "model.onnx")


class Targets(ToolTest):
    def compile(self, *words):
        return run(SHARDC, MLP, "--dim", "batch=2", *words)

    def test_a_trainer_says_what_it_was_compiled_for(self):
        result = self.compile("--target", "cpu:x86-64-v3", "-o", self.path("m.trainer"))
        self.assertEqual(result.code, 0, result.err)
        said = run(self.path("m.trainer"), "--report")
        self.assertEqual(said.code, 0, said.err)
        self.assertIn(" for cpu:x86-64-v3\n", said.out)

    def test_the_short_name_and_the_long_one_are_the_same(self):
        for words in (("--target", "cpu:x86-64-v3"), ("--cpu", "x86-64-v3")):
            self.assertEqual(self.compile(*words, "-o", self.path("m.trainer")).code, 0)
            with open(self.path("m.trainer"), "rb") as file:
                content = file.read()
            os.rename(self.path("m.trainer"), self.path("other.trainer"))
        self.assertEqual(
            self.compile("--target", "cpu:x86-64-v3", "-o", self.path("m.trainer")).code, 0
        )
        with open(self.path("m.trainer"), "rb") as file:
            self.assertEqual(file.read(), content)

    def test_cuda_builds_plan_and_kernels_and_no_trainer(self):
        result = self.compile(
            "--target",
            "cuda:sm_90",
            "-o",
            self.path("m.trainer"),
            "--report",
            self.path("r.json"),
            "--kernels",
            self.path("k"),
        )
        self.assertEqual(result.code, 1)
        self.assertEqual(
            [line for line in result.err.splitlines() if "error" in line],
            [
                "shardc: error: there is no runtime for cuda:sm_90 yet: its plan and kernels were"
                f" compiled, and {self.path('m.trainer')} was not written"
            ],
        )
        self.assertFalse(os.path.exists(self.path("m.trainer")))
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["compiled_kernels"]["target"], "cuda:sm_90")
        kernels = {kernel["name"] for kernel in report["compiled_kernels"]["kernels"]}
        self.assertEqual(
            {
                name.removesuffix(".ptx")
                for name in os.listdir(self.path("k"))
                if name.endswith(".ptx")
            },
            kernels,
        )
        self.assertGreater(report["memory"]["peak_bytes"], 0)

    def test_the_kernels_of_a_processor_are_a_shared_object(self):
        result = self.compile("--kernels", self.path("k"))
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(os.listdir(self.path("k")), ["kernels.so"])
        with open(self.path("k/kernels.so"), "rb") as file:
            self.assertEqual(file.read(4), b"\x7fELF")

    def test_the_plan_of_a_gpu_has_arguments_where_its_kernels_load_them(self):
        plans = {
            target: self.compile(
                "--precision", "bf16", "--target", target, "--compile-to", "plan"
            ).out
            for target in ("cpu", "cuda:sm_90")
        }
        self.assertRegex(plans["cuda:sm_90"], r"step\.plan attributes \{argument_alignment = 16")
        self.assertNotIn("argument_alignment", plans["cpu"])
        # So that whole parameters need no copies, wherever ranks cut their units.
        for mesh in ("3", "2x2"):
            for precision in ("float32", "bf16"):
                plan = self.compile(
                    *("--precision", precision, "--target", "cuda:sm_90", "--mesh", mesh),
                    *("--compile-to", "plan"),
                ).out
                offsets = re.findall(r"step\.buffer \w+ \d+ at (\d+)", plan)
                self.assertTrue(offsets)
                self.assertEqual([o for o in offsets if int(o) % 256], [])
                self.assertNotIn("step.copy", plan)
        views = dict(re.findall(r"(%\d+) = step\.view %\d+\[(\d+)\]", plans["cuda:sm_90"]))
        launches = re.findall(
            r"step\.launch @kernels::\S+\((.*?)\) into\((.*?)\)", plans["cuda:sm_90"]
        )
        operands = [
            name.strip()
            for launch in launches
            for side in launch
            for name in side.split(",")
            if name.strip()
        ]
        self.assertTrue(operands)
        self.assertEqual([name for name in operands if int(views[name]) % 16], [])
        # Products take 16-bit operands as they are.
        gemms = {target: re.findall(r"step\.gemm.*", plan) for target, plan in plans.items()}
        self.assertTrue(all(" workspace " in gemm for gemm in gemms["cpu"]), gemms["cpu"])
        self.assertFalse(
            any(" workspace " in gemm for gemm in gemms["cuda:sm_90"]), gemms["cuda:sm_90"]
        )


if __name__ == "__main__":
    unittest.main()
