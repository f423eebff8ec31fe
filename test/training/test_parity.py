"""Each reference model learns what PyTorch learned, on every mesh that its batch divides by,
in both precisions."""
import os
import tempfile
import unittest

from parity import COLUMNS, measure, meshes
from reference import models

# Of processor time: see test/run.py.
LONG = True


class Parity(unittest.TestCase):
    pass


def add(model, mesh, precision, thorough):
    @unittest.skipIf(
        thorough and not os.environ.get("SHARDC_TEST_THOROUGH"),
        "one more mesh in float32: ./dev test --thorough",
    )
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            row = measure(model, mesh, precision, folder)
        bad = {c: row[c] for c in COLUMNS if not row[c][0] <= row[c][1]}
        self.assertEqual(bad, {}, "column: (deviation, bound)")

    name = f"test_{model.name}_mesh_{mesh}_{precision}".replace("-", "_")
    setattr(Parity, name, test)


for model in models().values():
    if model.name.startswith(("s0", "s1", "s2", "s4", "gpt2", "mlp", "vision")):
        all_meshes = meshes(model, [1, 2, 3, 4])
        for mesh in all_meshes:
            add(model, mesh, "float64", thorough=False)
            add(model, mesh, "float32", thorough=mesh != all_meshes[-1])

if __name__ == "__main__":
    unittest.main()
