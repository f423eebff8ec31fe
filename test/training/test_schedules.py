"""Where collectives begin and are waited for changes no bit: every depth, limit of memory and way
to reshard gives the losses, norms, gradients and parameters of a step that gathers nothing ahead.
"""
import json
import os
import tempfile
import unittest

import numpy as np
import small_models
import strategies
import test_cuda
from reference import models, read_metrics

MODELS = models()

# Links so slow that gathers and reductions are most of a step: everything moves.
SLOW = """name = "slow links"
memory_gb = 1
memory_bandwidth_gb_per_s = 100
[inside_node]
bandwidth_gb_per_s = 0.05
latency_us = 20
[tflop_per_s]
float64 = 0.1
float32 = 0.1
bfloat16 = 0.1
"""
# Links that hide behind arithmetic, but not behind any: gathers begin in between.
EVEN = SLOW.replace("0.05", "2").replace("latency_us = 20", "latency_us = 1")


class Schedules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.clusters = {}
        for name, text in (("slow", SLOW), ("even", EVEN)):
            self.clusters[name] = os.path.join(self.folder, name + ".toml")
            with open(self.clusters[name], "w") as file:
                file.write(text)
        self.report = os.path.join(self.folder, "report.json")

    def run_model(self, name, mesh, *flags, micro_batches=1, units="block"):
        flags = ["--units", units, "--report", self.report, *flags]
        run = strategies.Run(
            MODELS[name], mesh, "float32", self.folder, flags, micro_batches, steps=3
        )
        with open(self.report) as file:
            return run, json.load(file)

    def check(self, name, mesh, micro_batches=1):
        base, report = self.run_model(name, mesh, "--prefetch", "0", micro_batches=micro_batches)
        tight = ["--memory-limit", str(int(report["memory"]["peak_bytes"] * 1.05))]
        slow = ["--cluster", self.clusters["slow"]]
        even = ["--cluster", self.clusters["even"]]
        for flags in (
            ["--prefetch", "1"],
            ["--prefetch", "forward=3,backward=0"],
            ["--prefetch", "64"],
            ["--prefetch", "2", "--reshard-after-forward", "never"],
            ["--prefetch", "auto", "--reshard-after-forward", "always"],
            ["--prefetch", "auto", *slow],
            ["--prefetch", "auto", *slow, *tight],
            ["--prefetch", "auto", *even],
            ["--prefetch", "auto", *even, "--reshard-after-forward", "always"],
        ):
            with self.subTest(model=name, mesh=mesh, micro_batches=micro_batches, flags=flags):
                run, report = self.run_model(name, mesh, *flags, micro_batches=micro_batches)
                self.assertEqual(run.losses, base.losses)
                self.assertEqual(run.norms, base.norms)
                for got, want in (
                    (run.gradients, base.gradients),
                    (run.parameters, base.parameters),
                ):
                    self.assertEqual(got.keys(), want.keys())
                    for parameter, values in want.items():
                        np.testing.assert_array_equal(got[parameter], values, err_msg=parameter)
                # Of models as small as these, a few buffers that do not fit are 3 %.
                memory = report["memory"]
                self.assertLessEqual(memory["peak_bytes"], 1.03 * memory["live_bound_bytes"])
                if tight[0] in flags:
                    self.assertLessEqual(memory["peak_bytes"], int(tight[1]))

    def test_one_rank(self):
        self.check("gpt2-tiny", "1")

    def test_two_ranks(self):
        for name in ("mlp-tiny-loss", "gpt2-tiny", "s2-llama-tiny-mask"):
            self.check(name, "2")

    def test_two_dimensions(self):
        for name in ("gpt2-tiny", "s4-bloom-tiny-legacy"):
            self.check(name, "2x2")

    def test_every_strategy(self):
        """Also where all parameters are one unit, so that nothing stands between its reductions."""
        slow = ["--prefetch", "auto", "--cluster", self.clusters["slow"]]
        for strategy in ("full", "hybrid", "hybrid_opt", "hybrid_grad_op", "opt", "none"):
            for units in ("block", "size:1GB"):
                flags = ("--strategy", strategy)
                with self.subTest(strategy=strategy, units=units):
                    base, run = (
                        self.run_model("mlp-tiny-loss", "2x2", *flags, *how, units=units)[0]
                        for how in (["--prefetch", "0"], slow)
                    )
                    self.assertEqual(run.losses, base.losses)
                    self.assertEqual(run.norms, base.norms)

    def test_micro_batches(self):
        self.check("gpt2-tiny", "2", micro_batches=2)

    def test_processes(self):
        """What one process reads in place others bring it, at other times."""
        model = MODELS["gpt2-tiny"]
        slow = ["--prefetch", "auto", "--cluster", self.clusters["slow"]]
        base, _ = self.run_model("gpt2-tiny", "4", "--prefetch", "0")
        trainer, metrics = (os.path.join(self.folder, name) for name in ("p.trainer", "p.jsonl"))
        for flags in (slow, [*slow, "--reshard-after-forward", "2"]):
            model.compile(trainer, "4", "float32", "--units", "block", *flags)
            for processes in (2, 4):
                with self.subTest(flags=flags, processes=processes):
                    where = ("--nproc-per-node", processes)
                    model.train(trainer, "--metrics", metrics, *where, steps=3)
                    steps, _ = read_metrics(metrics)
                    os.remove(metrics)
                    self.assertEqual([step["loss"] for step in steps], base.losses)
                    self.assertEqual([step["grad_norm"] for step in steps], base.norms)

    def test_gpus(self):
        """The emulated driver ends a run whose accesses are not ordered."""
        model = MODELS["gpt2-tiny"]
        blocks = ("--units", "block")
        for mesh in ("2", "2x2"):
            base = test_cuda.Run(model, mesh, "float32", *blocks, "--prefetch", "0")
            for cluster in self.clusters.values():
                with self.subTest(mesh=mesh, cluster=cluster):
                    flags = (*blocks, "--prefetch", "auto", "--cluster", cluster)
                    run = test_cuda.Run(model, mesh, "float32", *flags, graphs=True)
                    self.assertEqual(run.bits(), base.bits())

    def test_auto_gathers_once_where_links_are_slow(self):
        """And the counts that a report has are those of a run."""
        auto = ["--prefetch", "auto", "--cluster", self.clusters["slow"]]
        run, report = self.run_model("gpt2-tiny", "2", *auto)
        counts = {k: v for k, v in run.summary["collectives"].items() if v}
        gathers = [c for c in report["collectives"] if c["kind"] == "all_gather"]
        self.assertEqual({c["phase"] for c in gathers}, {"forward"})
        self.assertEqual(counts["all_gather forward"], len(gathers))
        self.assertNotIn("all_gather backward", counts)
        self.assertEqual({unit["reshard"] for unit in report["units"]}, {1})


class TwoForwards(unittest.TestCase):
    """A model that one graph runs twice, as preference tuning and contrastive learning do."""

    LAYERS, WIDTH = 6, 64

    def make_model(self, folder):
        model = small_models.Small(folder)
        weights = [
            model.parameter(f"layers.{i}.weight", self.WIDTH, self.WIDTH)
            for i in range(self.LAYERS)
        ]
        results = []
        for name in ("chosen", "rejected"):
            x = model.input(name, [self.WIDTH])
            for weight in weights:
                x = model.node("Tanh", model.node("MatMul", x, weight))
            results.append(x)
        model.input("target", [self.WIDTH])
        model.node("Sub", *results, output="y")
        return model.finish("mse:output=y,target=target", y=[self.WIDTH])

    def run_model(self, mesh, *flags):
        with tempfile.TemporaryDirectory() as folder:
            model = self.make_model(folder)
            report = os.path.join(folder, "report.json")
            flags = ["--units", r"scope:layers\.\d+", "--report", report, *flags]
            run = strategies.Run(model, mesh, "float32", folder, flags)
            with open(report) as file:
                return run, json.load(file)

    def test_hold_a_unit_at_a_time(self):
        whole, _ = self.run_model("1")
        for mesh in ("2", "2x2"):
            never, kept = self.run_model(mesh, "--reshard-after-forward", "never")
            for flags in (["--prefetch", "0"], ["--prefetch", "1"], ["--prefetch", "auto"]):
                with self.subTest(mesh=mesh, flags=flags):
                    run, report = self.run_model(mesh, "--reshard-after-forward", "always", *flags)
                    self.assertEqual(run.losses, never.losses)
                    self.assertEqual(run.norms, never.norms)
                    np.testing.assert_allclose(run.losses, whole.losses, rtol=1e-6)
                    for parameter, values in never.parameters.items():
                        np.testing.assert_array_equal(run.parameters[parameter], values)
                    if flags[1] == "auto":
                        continue
                    unit = 4 * self.WIDTH**2
                    self.assertEqual(kept["memory"]["kinds"]["gather"], self.LAYERS * unit)
                    held = 1 + int(flags[1])
                    self.assertEqual(report["memory"]["kinds"]["gather"], held * unit)


if __name__ == "__main__":
    unittest.main()
