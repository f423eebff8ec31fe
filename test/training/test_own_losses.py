"""Live against PyTorch (./dev test --torch): what transformers has a loss of its own for, numbers,
several labels, answers and choices, exported by `shardc export` and trained beside that loss in
float64 (architectures/own_losses.py)."""
import json
import os
import subprocess
import sys
import unittest

from reference import BUILD

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "architectures", "own_losses.py")
LOSS, GRADIENT = 1e-7, 1e-6  # as of compare.py
CASES = (
    "one number",
    "numbers",
    "numbers of images",
    "several labels",
    "several labels of images",
    "answers",
    "answers by DistilBERT",
    "choices",
)


@unittest.skipUnless(
    os.environ.get("SHARDC_TEST_TORCH"), "compares live with PyTorch: ./dev test --torch"
)
class OwnLosses(unittest.TestCase):
    def check(self, name):
        done = subprocess.run(
            [os.environ.get("PYTHON", sys.executable), SCRIPT, name],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": os.path.join(BUILD, "bin") + ":/usr/bin:/bin"},
        )
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        found = json.loads(done.stdout.strip().splitlines()[-1])
        self.assertEqual(len(found), 4)
        for way, (loss, gradient) in found.items():
            self.assertLess(loss, LOSS, way)
            self.assertLess(gradient, GRADIENT, way)


for _name in CASES:
    setattr(
        OwnLosses,
        "test_" + _name.lower().replace(" ", "_"),
        lambda self, name=_name: self.check(name),
    )

if __name__ == "__main__":
    unittest.main()
