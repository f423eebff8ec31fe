"""What runs again in backward changes no bit: losses, norms and parameters of every policy, on
every mesh, are those of --remat none."""
import json
import os
import tempfile
import unittest

import numpy as np
from reference import MODELS, Model, read_metrics, read_safetensors
from small_models import Small

POLICIES = (
    "all",
    "selective",
    "unit",
    "class:norm,activation,elementwise",
    "class:product,attention,softmax,rope",
    "time=20",
)
# What a scope matches, by model; units are blocks.
SCOPES = {
    "gpt2-tiny": r"scope:h\.\d+\.mlp",
    "s1-llama31-tiny": r"scope:layers\.\d+\.self_attn",
    "s2-llama-tiny-mask": r"scope:layers\.\d+",
    "s4-bloom-tiny-dynamo": r"scope:mlp",
    "mlp-tiny-loss": r"scope:.*weight",
    "s0-mlp-transformer-tiny-legacy": r"scope:block|layer",
}


class Recomputation(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_policy(self, model, mesh, policy, *flags, **sizes):
        """(the report, losses and norms, parameters)"""
        trainer, report = self.path("m.trainer"), self.path("r.json")
        metrics, exported = self.path("m.jsonl"), self.path("m.safetensors")
        flags = ("--remat", policy, "--report", report, *flags)
        model.compile(trainer, mesh, "float64", *flags, **sizes)
        with open(report) as file:
            said = json.load(file)
        model.train(trainer, "--metrics", metrics, "--export-safetensors", exported, steps=3)
        steps, _ = read_metrics(metrics)
        weights = {name: value.tobytes() for name, value in read_safetensors(exported).items()}
        return said, [(s["loss"], s["grad_norm"]) for s in steps], weights

    def compare(self, name, mesh, policies):
        model = Model(os.path.join(MODELS, name))
        units = ("--units", "block")
        _, numbers, weights = self.run_policy(model, mesh, "none", *units)
        for policy in policies:
            with self.subTest(model=name, mesh=mesh, policy=policy):
                said, others, trained = self.run_policy(model, mesh, policy, *units)
                self.assertEqual(others, numbers)
                self.assertEqual(trained, weights)
                kept, read = said["remat"]["kept_bytes"], said["remat"]["read_bytes"]
                self.assertLessEqual(kept, read)
                if policy == "unit":
                    self.assertLess(kept, 0.75 * read)

    def test_a_budget_is_kept(self):
        model = Model(os.path.join(MODELS, "s2-llama-tiny-mask"))
        units = ("--units", "block")
        said, numbers, weights = self.run_policy(model, "2", "none", *units)
        most = said["remat"]["kept_bytes"]
        least = self.run_policy(model, "2", "unit", *units)[0]["remat"]["kept_bytes"]
        seconds = 0
        for part in (0.75, 0.5, 0.25, 0):
            budget = int(least + part * (most - least))
            said, others, trained = self.run_policy(model, "2", f"budget={budget}", *units)
            self.assertEqual((others, trained), (numbers, weights))
            self.assertLessEqual(said["remat"]["kept_bytes"], budget)
            self.assertGreaterEqual(said["remat"]["recomputed_seconds"], seconds)
            seconds = said["remat"]["recomputed_seconds"]

    def test_what_runs_again_gathers_what_it_reads(self):
        # The gradient of a sum does not read the positions that are added; what is made of the sum
        # again does.
        m = Small(self.folder.name)
        m.run = ("--lr", 0.01)
        a = m.linear(m.input("x", [32]), "first", 32, 32, bias=False)
        b = m.node("Add", a, m.parameter("positions", 1, 32))
        m.linear(m.node("Mul", m.node("Cos", b), a), "head", 32, 4, bias=False)
        m.nodes[-1].output[0] = "logits"
        m.input("labels", [], np.int64, high=4)
        m.finish("cross-entropy:logits=logits,labels=labels", logits=[4])
        units = ("--units", "scope:first|positions|head")
        _, numbers, weights = self.run_policy(m, "2", "none", *units, batch=48)
        said, others, trained = self.run_policy(m, "2", "unit", *units, batch=48)
        self.assertEqual((others, trained), (numbers, weights))
        self.assertEqual(said["remat"]["regathered_units"], 1)
        gathered = [
            c["unit"]
            for c in said["collectives"]
            if c["kind"] == "all_gather" and c["phase"] == "backward"
        ]
        self.assertIn("positions_0", gathered)


for model, scope in SCOPES.items():
    for mesh in ("1", "2", "2x2"):

        def test(self, model=model, scope=scope, mesh=mesh):
            policies = (*POLICIES, scope) if mesh == "2" else ("unit", "time=20")
            self.compare(model, mesh, policies)

        words = f"{model}_{mesh}".replace("-", "_")
        setattr(Recomputation, f"test_same_bits_{words}", test)


if __name__ == "__main__":
    unittest.main()
