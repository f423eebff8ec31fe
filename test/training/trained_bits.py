"""What training comes to, as bits: for tests that compile a model in two ways and compare."""
import copy
import os
import tempfile
import unittest

from reference import read_metrics, read_safetensors


def unclipped(model):
    """For trainers that update in backward, where there is no norm to clip by."""
    model = copy.copy(model)
    model.recipe = {**model.recipe, "clip": 0}
    return model


class TrainedBits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)

    def train(self, model, trainer, *flags, steps=3, **more):
        """Figures of each step and the parameters in the end, as bits. `summary` is the run's."""
        metrics, final = self.path("m.jsonl"), self.path("f.safetensors")
        for path in (metrics, final):
            if os.path.exists(path):
                os.remove(path)
        words = ("--metrics", metrics, "--export-safetensors", final)
        model.train(trainer, *words, *flags, steps=steps, **more)
        done, others = read_metrics(metrics)
        self.summary = others[-1] if others else {}
        figures = [[s.get(key) for key in ("loss", "grad_norm", "lr")] for s in done]
        return figures, {n: v.tobytes() for n, v in read_safetensors(final).items()}
