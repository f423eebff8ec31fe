"""The same bits: from run to run, from strategy to strategy, from compilation to compilation, from
mesh to mesh where it can be."""
import json
import os
import tempfile
import unittest

import numpy as np

from reference import MODELS, Model, command, read_metrics, read_safetensors


class Determinism(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_model(self, model, trainer, tag, *flags, steps=10):
        model.train(
            trainer,
            "--metrics",
            self.path(tag + ".jsonl"),
            "--export-safetensors",
            self.path(tag + ".safetensors"),
            *flags,
            steps=steps,
        )
        steps_, _ = read_metrics(self.path(tag + ".jsonl"))
        numbers = [(s["loss"], s["grad_norm"]) for s in steps_]
        return numbers, read_safetensors(self.path(tag + ".safetensors"))

    def assert_same_bits(self, a, b):
        self.assertEqual(a[0], b[0])
        self.assertEqual(a[1].keys(), b[1].keys())
        for name in a[1]:
            self.assertEqual(a[1][name].tobytes(), b[1][name].tobytes(), name)

    def test_full_and_none_give_the_same_bits(self):
        for name, mesh in (
            ("s2-llama-tiny-mask", "2"),
            ("gpt2-tiny", "4"),
            ("s1-llama31-tiny", "2x2"),
            ("mlp-tiny-loss", "4"),
        ):
            with self.subTest(model=name, mesh=mesh):
                model = Model(os.path.join(MODELS, name))
                results = []
                for strategy in ("full", "none"):
                    trainer = self.path(f"{name}-{strategy}.trainer")
                    model.compile(trainer, mesh, "float32", "--strategy", strategy)
                    results.append(self.run_model(model, trainer, f"{name}-{strategy}"))
                self.assert_same_bits(*results)

    def test_recomputing_gives_the_same_bits(self):
        # On a machine of fast memory and launches without latency what is cheap is worth
        # recomputing, also in models this small (but gelu, for whose arithmetic the products of a
        # tiny GPT-2 are too few).
        with open(self.path("cluster.toml"), "w") as file:
            file.write(
                """memory_gb = 32
memory_bandwidth_gb_per_s = 400
inside_node = {bandwidth_gb_per_s = 10, latency_us = 0}
tflop_per_s = {float64 = 0.1, float32 = 0.1, bfloat16 = 0.1}
"""
            )
        for name, precision in (
            ("s2-llama-tiny-mask", "float32"),
            ("s1-llama31-tiny", "bf16"),
            ("s2-llama-tiny-causal", "float64"),
        ):
            with self.subTest(model=name, precision=precision):
                model = Model(os.path.join(MODELS, name))
                results, kept = [], []
                for remat in ("none", "cheap", "all", "selective", "unit"):
                    trainer = self.path(f"{name}-{remat}.trainer")
                    report = self.path(f"{name}-{remat}.json")
                    model.compile(
                        trainer,
                        2,
                        precision,
                        "--remat",
                        remat,
                        "--cluster",
                        self.path("cluster.toml"),
                        "--units",
                        "block",
                        "--report",
                        report,
                    )
                    with open(report) as file:
                        kept.append(json.load(file)["remat"])
                    results.append(self.run_model(model, trainer, f"{name}-{remat}"))
                for other in results[1:]:
                    self.assert_same_bits(results[0], other)
                self.assertEqual(kept[0]["kept_bytes"], kept[0]["read_bytes"])
                self.assertLessEqual(kept[2]["kept_bytes"], kept[1]["kept_bytes"])
                self.assertLess(kept[4]["kept_bytes"], 0.5 * kept[2]["kept_bytes"])
                self.assertEqual(kept[1]["read_bytes"], kept[0]["read_bytes"])
                self.assertLess(kept[1]["kept_bytes"], 0.9 * kept[1]["read_bytes"])
                self.assertGreater(kept[1]["recomputed_bytes"], 0)

    def test_ranks_and_micro_batches_give_the_same_bits(self):
        # Eight parts of two samples a step, however they fall on ranks and micro-batches: gradients
        # are one sum in the order of the samples, losses and norms are exact.
        parts, batch = 8, 2
        for name, precisions in (
            ("mlp-tiny-loss", ("float64", "float32", "bf16", "float16")),
            ("s1-llama31-tiny", ("bf16",)),
        ):
            model = Model(os.path.join(MODELS, name))
            for precision in precisions:
                results = {}
                for mesh, strategy in (
                    ("1", "full"),
                    ("2", "full"),
                    ("8", "grad_op"),
                    ("4", "opt"),
                    ("2x2", "full"),
                    ("2", "none"),
                ):
                    ranks = int(np.prod([int(d) for d in mesh.split("x")]))
                    trainer = self.path("m.trainer")
                    model.compile(
                        trainer,
                        mesh,
                        precision,
                        "--strategy",
                        strategy,
                        "--accumulate",
                        "sharded",
                        batch=batch * ranks,
                    )
                    results[mesh + strategy] = self.run_model(
                        model,
                        trainer,
                        f"{name}-{precision}-{mesh}{strategy}",
                        "--grad-accumulation",
                        parts // ranks,
                        steps=4,
                    )
                first, *others = results.values()
                for mesh, other in zip(list(results)[1:], others):
                    with self.subTest(model=name, precision=precision, mesh=mesh):
                        self.assert_same_bits(first, other)

    def test_two_runs_give_the_same_bits(self):
        model = Model(os.path.join(MODELS, "s4-bloom-tiny-dynamo"))
        trainer = self.path("m.trainer")
        model.compile(trainer, 2, "float32")
        self.assert_same_bits(
            self.run_model(model, trainer, "first"), self.run_model(model, trainer, "second")
        )

    def test_two_compilations_give_the_same_bytes(self):
        model = Model(os.path.join(MODELS, "gpt2-tiny"))
        trainers = []
        for name in ("first", "second"):
            os.mkdir(self.path(name))
            model.compile(self.path(name + "/m.trainer"), 2, "float32")
            with open(self.path(name + "/m.trainer"), "rb") as file:
                trainers.append(file.read())
        self.assertEqual(trainers[0], trainers[1])

    def test_initial_values_do_not_depend_on_the_mesh(self):
        model = Model(os.path.join(MODELS, "s2-llama-tiny-causal"))
        results = []
        for mesh in (1, 2, 8):
            trainer = self.path(f"{mesh}.trainer")
            model.compile(trainer, mesh, "float32")
            command(
                trainer,
                *model.train_flags(1, lr=0),
                "--init",
                "random",
                "--seed",
                "7",
                "--export-safetensors",
                self.path(f"{mesh}.safetensors"),
            )
            results.append(read_safetensors(self.path(f"{mesh}.safetensors")))
        for other in results[1:]:
            for name, value in results[0].items():
                self.assertEqual(value.tobytes(), other[name].tobytes(), name)
        embedding = results[0]["embed_tokens.weight"]
        self.assertAlmostEqual(float(embedding.std()), 1.0, delta=0.02)
        weight = results[0]["layers.0.attn.q_proj.weight"]
        bound = 1 / np.sqrt(weight.shape[1])
        self.assertLessEqual(float(np.abs(weight).max()), bound)
        self.assertAlmostEqual(float(weight.std()), bound / np.sqrt(3), delta=0.05 * bound)

    def test_sixteen_ranks_run_on_this_machine(self):
        model = Model(os.path.join(MODELS, "mlp-tiny-loss"))
        losses = []
        for mesh in ("1", "2x8"):
            trainer = self.path(f"{mesh}.trainer")
            model.compile(trainer, mesh, "float64")
            losses.append([loss for loss, _ in self.run_model(model, trainer, mesh)[0]])
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-10)


if __name__ == "__main__":
    unittest.main()
