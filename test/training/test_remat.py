"""What runs again in backward changes no bit: losses, norms and parameters of every policy, on every
mesh, are those of --remat none."""
import json
import os
import tempfile
import unittest

from reference import CommandFailed, Model, MODELS, read_metrics, read_safetensors

POLICIES = (
    "all",
    "selective",
    "unit",
    "class:norm,activation,elementwise",
    "class:product,attention,softmax,rope",
    "time=20",
)
# What a scope matches, by model; units that are blocks.
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

    def run_policy(self, model, mesh, precision, policy, *flags):
        """(what nn-remat notes, losses and norms, parameters)"""
        trainer, report = self.path("m.trainer"), self.path("r.json")
        metrics, exported = self.path("m.jsonl"), self.path("m.safetensors")
        model.compile(
            trainer, mesh, precision, "--remat", policy, "--units", "block", "--report", report, *flags
        )
        with open(report) as file:
            noted = json.load(file)["remat"]
        model.train(trainer, "--metrics", metrics, "--export-safetensors", exported, steps=3)
        steps, _ = read_metrics(metrics)
        weights = {name: value.tobytes() for name, value in read_safetensors(exported).items()}
        return noted, [(s["loss"], s["grad_norm"]) for s in steps], weights

    def compare(self, name, mesh, precision, policies):
        model = Model(os.path.join(MODELS, name))
        _, numbers, weights = self.run_policy(model, mesh, precision, "none")
        for policy in policies:
            with self.subTest(model=name, mesh=mesh, precision=precision, policy=policy):
                noted, others, trained = self.run_policy(model, mesh, precision, policy)
                self.assertEqual(others, numbers)
                self.assertEqual(trained, weights)
                self.assertLessEqual(noted["kept_bytes"], noted["read_bytes"])
                if policy == "unit":
                    self.assertLess(noted["kept_bytes"], noted["read_bytes"])


for model, scope in SCOPES.items():
    for mesh in ("1", "2", "2x2"):
        def test(self, model=model, scope=scope, mesh=mesh):
            self.compare(model, mesh, "float64", POLICIES + (scope,))

        words = f"{model}_{mesh}".replace("-", "_")
        setattr(Recomputation, f"test_same_bits_{words}", test)

if __name__ == "__main__":
    unittest.main()
