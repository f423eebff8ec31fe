"""What tests of checkpoints share: small runs, and what they wrote."""
import json
import os
import re
import tempfile
import unittest

import numpy as np

from reference import MODELS, CommandFailed, Model, command, read_metrics, read_safetensors

MLP = Model(os.path.join(MODELS, "mlp-tiny-loss"))
STEPS, SAVED = 6, 3


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)

    def compile(self, mesh="2", precision="float32", *flags, model=MLP, batch=None):
        trainer = self.path(re.sub(r"\W", "-", f"{mesh}-{precision}-{batch}-{flags}"))
        if not os.path.exists(trainer):
            model.compile(trainer, mesh, precision, *flags, batch=batch)
        return trainer

    def train(self, trainer, tag, *flags, steps=STEPS, model=MLP, optimizer="adamw"):
        """What the run's steps came to, by step, and its parameters."""
        final = self.path(tag + ".safetensors")
        metrics = self.path(tag + ".jsonl")
        words = ["--metrics", metrics, "--export-safetensors", final]
        model.train(trainer, *words, *flags, steps=steps, optimizer=optimizer)
        done, _ = read_metrics(metrics)
        keys = ("loss", "grad_norm", "learning_rate", "loss_scale", "skipped")
        return {s["step"]: [s.get(k) for k in keys] for s in done}, read_safetensors(final)

    def assert_equal_values(self, got, expected):
        self.assertEqual(got.keys(), expected.keys())
        for name, value in expected.items():
            self.assertEqual(got[name].tobytes(), value.tobytes(), name)

    def content(self, folder):
        """Of a checkpoint: the bytes of every file but the manifest."""
        found = {}
        for part in ("model", "optim"):
            for name in sorted(os.listdir(os.path.join(folder, part))):
                with open(os.path.join(folder, part, name), "rb") as file:
                    found[part, name] = file.read()
        return found

    def tensors(self, folder):
        """Of a checkpoint: whole tensors, put together as PyTorch's reader does."""
        pieces = {}
        for part in ("model", "optim"):
            for name in os.listdir(os.path.join(folder, part)):
                path = os.path.join(folder, part, name)
                with open(path, "rb") as file:
                    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                metadata = header["__metadata__"]
                self.assertEqual((metadata["format"], metadata["DCP_VERSION"]), ("pt", "1.0"))
                offsets = json.loads(metadata["DCP_SHARDING_INFO"])
                for key, values in read_safetensors(path).items():
                    pieces.setdefault(key, []).append((offsets[key]["saved_offsets"], values))
        whole = {}
        for key, chunks in pieces.items():
            chunks.sort(key=lambda chunk: chunk[0])
            row = 0
            for offsets, values in chunks:
                self.assertEqual(offsets[:1], [row] if offsets else [], key)
                self.assertEqual(set(offsets[1:]) - {0}, set(), key)
                row += len(values) if offsets else 0
            whole[key] = np.concatenate([v for _, v in chunks]) if row else chunks[0][1]
        return whole

    def words(self, trainer, *flags, steps):
        return [str(w) for w in (trainer, *MLP.train_flags(steps), *flags)]

    def fails(self, *words):
        with self.assertRaises(CommandFailed) as caught:
            command(*words)
        text = str(caught.exception).split("\n", 2)[2]
        self.assertEqual(text.count("\n"), 1, text)
        return text
