"""What --target means: trainers for processors, for GPUs, and for both in one file, and what these
say and check where there is no GPU."""
import json
import os
import re
import struct
import subprocess
import sys
import unittest
import unittest.mock

from tool_test import MODELS, ROOT, SHARDC, ToolTest, run

MLP = os.path.join(MODELS, "mlp-tiny-loss", "model.onnx")
PLAN, KERNELS, GRAPH, WEIGHTS, RUNTIME = 1, 2, 3, 4, 5


def sections(trainer):
    """((kind, target), bytes) of a trainer's container (runtime/Container.h)."""
    with open(trainer, "rb") as file:
        whole = file.read()
    table, _, count, version = struct.unpack("<QQII", whole[-32:-8])
    assert version == 3, version
    entries = [struct.unpack_from("<IIQQQ", whole, table + 32 * i) for i in range(count)]
    return [
        ((kind, target), whole[offset : offset + length])
        for kind, target, offset, length, _ in entries
    ]


class Targets(ToolTest):
    def setUp(self):
        super().setUp()
        # As on a machine without a GPU, also where there is one.
        hidden = unittest.mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="")
        hidden.start()
        self.addCleanup(hidden.stop)

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

    def trainer(self, *words):
        result = self.compile(*words, "-o", self.path("m.trainer"))
        self.assertEqual(result.code, 0, result.err)
        return self.path("m.trainer")

    def test_a_trainer_for_gpus_has_their_kernels(self):
        trainer = self.trainer(
            *("--target", "cuda:sm_90", "--report", self.path("r.json")),
            *("--kernels", self.path("k")),
        )
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["target"], "cuda:sm_90")
        self.assertNotIn("other_targets", report)
        self.assertEqual(report["compiled_kernels"]["target"], "cuda:sm_90")
        kernels = {kernel["name"] for kernel in report["compiled_kernels"]["kernels"]}
        folder = os.listdir(self.path("k"))
        self.assertEqual(
            {name.removesuffix(".ptx") for name in folder if name.endswith(".ptx")}, kernels
        )
        self.assertGreater(report["memory"]["peak_bytes"], 0)
        # The section is what --kernels writes: text that newer GPUs take too, and code.
        ((_, section),) = [part for part in sections(trainer) if part[0] == (KERNELS, 0)]
        for name in folder:
            with open(self.path(f"k/{name}"), "rb") as file:
                content = file.read()
            self.assertIn(content, section)
            if name.endswith(".ptx"):
                self.assertIn(b"\n.target sm_90\n", content)
                self.assertIn(b".entry " + name.removesuffix(".ptx").encode(), content)

    def test_a_trainer_for_gpus_says_what_it_is_without_one(self):
        trainer = self.trainer("--target", "cuda:sm_80")
        for words, text in (
            (["--report"], " for cuda:sm_80\n"),
            (["--help"], "--device"),
            (["--version"], "shardc"),
            (["--print-config"], "trainer of"),
        ):
            with self.subTest(words=words):
                said = run(trainer, *words)
                self.assertEqual((said.code, said.err), (0, ""))
                self.assertIn(text, said.out)
        self.assert_one_error(
            run(trainer, "--device", "cpu", "--data", "synthetic:1"),
            "trainer",
            "--device cpu",
            "cuda:sm_80",
            "--target cpu,cuda",
        )

    def test_one_file_for_both(self):
        trainer = self.trainer(
            *("--target", "cpu:x86-64-v3,cuda:sm_90", "--embed-weights"),
            *("--report", self.path("r.json"), "--dump-phases-to", self.path("phases")),
        )
        self.assertEqual(
            [kind for kind, _ in sections(trainer)],
            [
                (RUNTIME, 0),
                (PLAN, 0),
                (KERNELS, 0),
                (PLAN, 1),
                (KERNELS, 1),
                (GRAPH, 0),
                (WEIGHTS, 0),
            ],
        )
        with open(self.path("r.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["target"], "cpu:x86-64-v3")
        self.assertEqual([other["target"] for other in report["other_targets"]], ["cuda:sm_90"])
        self.assertEqual(
            sorted(os.listdir(self.path("phases")))[:3],
            ["1-import.mlir", "2-raise.cpu.mlir", "2-raise.cuda.mlir"],
        )
        for device, target in (("cpu", "cpu:x86-64-v3"), ("cuda", "cuda:sm_90")):
            said = run(trainer, "--device", device, "--report")
            self.assertEqual((said.code, said.err), (0, ""))
            self.assertIn(f" for {target}\n", said.out)
        # One alone is the same as in a file for both, but for what lies where.
        alone = self.trainer("--target", "cpu:x86-64-v3", "--embed-weights")
        both = self.path("both.trainer")
        self.compile("--target", "cuda:sm_90,cpu:x86-64-v3", "--embed-weights", "-o", both)
        plans = {kind: part for kind, part in sections(both)}
        self.assertEqual(plans[PLAN, 1], dict(sections(alone))[PLAN, 0])
        self.assertEqual(plans[WEIGHTS, 0], dict(sections(alone))[WEIGHTS, 0])

    def test_flags_of_gpus_on_a_processor(self):
        trainer = self.trainer("--target", "cpu:x86-64-v3")
        attention = ("--attention", "own")
        tune = ("--tune", self.path("tune.json"))
        for flag, value in (attention, ("--cuda-graph", "off"), ("--reduce", "nccl"), tune):
            self.assert_one_error(
                run(trainer, flag, value, "--data", "synthetic:1"),
                "trainer",
                f"{flag} has no effect: this trainer runs on cpu:x86-64-v3, not on NVIDIA GPUs",
            )
        trainer = self.trainer("--target", "cuda:sm_80")
        self.assert_one_error(
            run(trainer, "--reduce", "nccl", "--data", "synthetic:1"),
            "trainer",
            "--reduce has no effect on a mesh of one rank",
        )
        self.assert_one_error(
            run(trainer, "--attention", "own", "--data", "synthetic:1"),
            "trainer",
            "--attention has no effect in a model without attention",
        )

    def test_the_processor_where_gpus_are_too_few(self):
        trainer = self.trainer("--target", "cpu,cuda:sm_90")
        result = run(trainer, "--steps", "2", "--data", "synthetic:1")
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertRegex(
            result.out,
            r"^runs on cpu:\S+, of cpu:\S+ and cuda:sm_90: "
            r"0 devices here for cuda:sm_90 and 1 rank\n",
        )
        gpus = (trainer, "--device", "cuda", "--data", "synthetic:1")
        said = run(*gpus, "--dry-run")
        self.assertEqual((said.code, said.err), (0, ""))
        self.assertIn(", a GPU (cuda:sm_90) and ", said.out)
        self.assertIn(
            "dry run: devices were not looked at: 0 are here for cuda:sm_90, and 1 rank\n"
            "dry run: plan, data, weights and outputs are in order\n",
            said.out,
        )
        self.assert_one_error(run(*gpus, "--steps", "2"), "trainer")
        # The same run as that of a trainer for processors.
        alone = run(self.trainer("--target", "cpu"), "--steps", "2", "--data", "synthetic:1")
        losses = re.findall(r"^step.*? loss \S+", alone.out, re.MULTILINE)
        self.assertEqual(len(losses), 2, alone.out)
        self.assertEqual(re.findall(r"^step.*? loss \S+", result.out, re.MULTILINE), losses)

    def test_lists_of_targets(self):
        for words, parts in (
            (["cuda:sm_80,cuda:sm_90"], ["cuda:sm_80", "cuda:sm_90", "one kind"]),
            (["cpu,tpu"], ["unknown target 'tpu'"]),
            (["cpu,"], ["unknown target ''"]),
            (["cpu,cuda", "--compile-to", "plan"], ["--compile-to plan", "cpu,cuda"]),
        ):
            with self.subTest(words=words):
                self.assert_one_error(self.compile("--target", *words), "shardc", *parts)
        self.assertEqual(self.compile("--target", "cpu,cuda", "--kernels", self.path("k")).code, 0)
        names = os.listdir(self.path("k"))
        self.assertIn("kernels.so", names)
        self.assertTrue([name for name in names if name.endswith(".ptx")])

    def test_what_this_machine_has_decides(self):
        self.make_driver()
        for gpus, capability, target in (
            (0, 90, None),
            (1, 75, None),
            (2, 75, "cuda:sm_80"),
            (2, 80, "cuda:sm_80"),
            (1, 89, "cuda:sm_80"),
            (2, 90, "cuda:sm_90"),
            (1, 120, "cuda:sm_100"),
        ):
            with self.subTest(gpus=gpus, capability=capability):
                result = self.compile_with(gpus, capability)
                self.assertEqual(result.returncode, 0, result.stderr)
                with open(self.path("r.json"), encoding="utf-8") as file:
                    report = json.load(file)
                self.assertTrue(report["target"].startswith("cpu:"))
                self.assertEqual(
                    [other["target"] for other in report.get("other_targets", [])],
                    [target] if target else [],
                )

    def make_driver(self):
        """What shardc asks of CUDA's driver for auto."""
        source = self.path("cuda.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(
                """#include <stdlib.h>
                int cuInit(unsigned flags) { return flags; }
                int cuDeviceGetCount(int *count) { *count = atoi(getenv("GPUS")); return 0; }
                int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
                int cuDeviceGetAttribute(int *value, int which, int device) {
                  int capability = atoi(getenv("CAPABILITY")) + 10 * device;
                  *value = which == 75 ? capability / 10 : which == 76 ? capability % 10 : -1;
                  return 0;
                }"""
            )
        words = ["clang-22", "-shared", "-fPIC", source, "-o", self.path("libcuda.so.1")]
        subprocess.run(words, check=True)

    def compile_with(self, gpus, capability, *words, **environment):
        driver = {"LD_LIBRARY_PATH": self.folder, "GPUS": str(gpus)}
        return subprocess.run(
            [SHARDC, MLP, "--dim", "batch=2", "-o", self.path("m.trainer"), "-q"]
            + ["--report", self.path("r.json"), *words],
            env=os.environ | driver | {"CAPABILITY": str(capability)} | environment,
            capture_output=True,
            text=True,
        )

    def test_a_kernel_that_cannot_be_built_makes_no_trainer(self):
        os.makedirs(self.path("toolkit/bin"))
        with open(self.path("toolkit/bin/ptxas"), "w") as file:
            file.write("#!/bin/sh\necho 'ptxas fatal: no' >&2\nexit 1\n")
        os.chmod(file.name, 0o755)
        toolkit = {"CUDA_HOME": self.path("toolkit")}
        refused = (
            r"kernel '\w+' of plan entry '[^']+' of the ONNX node \S+ cannot be built for"
            r" cuda:sm_90: .*/toolkit/bin/ptxas: ptxas fatal: no"
        )
        kernels = ("--kernels", self.path("k"))
        for target in ("cuda:sm_90", "cpu,cuda:sm_90"):
            result = self.compile_with(0, 90, "--target", target, *kernels, **toolkit)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, f"^shardc: error: {refused}\n$")
            self.assertEqual(sorted(os.listdir(self.folder)), ["toolkit"])
        # Nobody asked for GPUs.
        self.make_driver()
        result = self.compile_with(1, 90, **toolkit)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(
            result.stderr,
            f"^shardc: warning: .*{refused}; the trainer has no plan for cuda:sm_90\n$",
        )
        said = run(self.path("m.trainer"), "--report")
        self.assertIn(" for cpu:", said.out)

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
        # A processor converts 16-bit operands; cuBLASLt's algorithms have all the same scratch.
        gemms = {target: re.findall(r"step\.gemm.*", plan) for target, plan in plans.items()}
        self.assertTrue(all(" workspace " in gemm for gemm in gemms["cpu"]), gemms["cpu"])
        scratch = [int(b) for g in gemms["cuda:sm_90"] for b in re.findall(r"memref<(\d+)xui8>", g)]
        self.assertEqual(scratch, [32 << 20] * len(gemms["cuda:sm_90"]))


if __name__ == "__main__":
    unittest.main()
