"""Live against PyTorch (./dev test --torch): models as each of PyTorch's exporters writes them,
compiled and trained for 5 steps.

An export is right if losses, gradients and parameters are PyTorch's, under PyTorch's names and in
PyTorch's shapes, or if shardc refuses it, or warns of what is not trained as PyTorch trains it,
with a remedy that makes it right. The interpreter that has torch and transformers is this one, or
the one that PYTHON names.
"""
import os
import subprocess
import sys
import tempfile
import unittest

from exported import Exporter

EXPORTS = ("dynamo", "dynamo-unoptimized", "legacy", "legacy-defaults")
# With values fresh from the constructor, of which many are equal, and with random ones, as
# trained models have.
BOTH = tuple(
    """
    xlm-r falcon falcon-40b albert deberta-v2 gemma2 gpt-neox bart marian pegasus encoder
    batch-norm one-plus two-norms equal-16 equal-40 quantized
    """.split()
)
FRESH = tuple(
    """
    head-first head-last transposed transposed-square transposed-biases transposes
    transposes-rows reshaped slopes joined stacked autoencoder autoencoder-rows square-tied
    shared-8 shared-40 copies layer-scale buffers padding-index frozen detach no-grad exp
    exp-scalar sigmoid tanh negative square absolute softmax chain of-two exp-and-itself towers
    indexed-table computed weight-norm at-root at-identity
    """.split()
)
# What no file says and the user must: parameters that require no gradient, and those that are read
# where none is taken.
GIVEN = {"frozen": ["--freeze", "^embed"], "no-grad": ["--freeze", "^target"]}
# What the TorchScript-based exporter does not say: buffers that look as parameters do.
GIVEN_LEGACY = {"buffers": ["--freeze", "^(weight|bias|average)$"]}
# What the TorchScript-based exporter leaves no trace of.
UNTOLD = {"detach": "detach()"}
# And not with its defaults, by which it exports in eval mode.
UNTOLD_BY_DEFAULT = {"batch-norm": "train mode"}
# What the TorchScript-based exporter stored in place of parameters, or merged with one, with its
# defaults, and what it leaves no trace of but a row of zeros: warned of; numbers count in the
# remedy's run.
TOLD = {
    ("computed", "legacy-defaults"),
    ("buffers", "legacy-defaults"),
    ("padding-index", "legacy"),
    ("padding-index", "legacy-defaults"),
}

exporter = folder = None


def given(model, export):
    return [
        *GIVEN.get(model, []),
        *(GIVEN_LEGACY.get(model, []) if export.startswith("legacy") else []),
    ]


def setUpModule():
    global exporter, folder
    if not os.environ.get("SHARDC_TEST_TORCH"):
        raise unittest.SkipTest("compares live with PyTorch: ./dev test --torch")
    python = os.environ.get("PYTHON", sys.executable)
    tried = subprocess.run(
        [python, "-c", "import torch, transformers, onnxscript, safetensors"],
        capture_output=True,
        text=True,
    )
    if tried.returncode:
        raise unittest.SkipTest(
            f"{python}: {(tried.stderr.strip().splitlines() or ['does not run'])[-1]}"
        )
    folder = tempfile.TemporaryDirectory()
    exporter = Exporter(folder.name)


def tearDownModule():
    if exporter:
        exporter.close()
        folder.cleanup()


class Exports(unittest.TestCase):
    def check(self, model, values, export):
        if export.startswith("legacy") and model in UNTOLD:
            self.skipTest(
                f"nothing in the file of the TorchScript-based exporter tells {UNTOLD[model]}"
            )
        if export == "legacy-defaults" and model in UNTOLD_BY_DEFAULT:
            self.skipTest(
                "nothing in the file of the TorchScript-based exporter, by its defaults, tells"
                f" {UNTOLD_BY_DEFAULT[model]}"
            )
        found = exporter.get(model, values, export)
        if found.error():
            self.skipTest(f"the exporter: {found.error()}")
        self.assert_right(model, values, export, found.check(*given(model, export)))

    def assert_right(self, model, values, export, outcome, advice=()):
        """`advice`: the remedies that led here."""
        said, told = outcome.said(), (model, export) in TOLD
        if not told:
            self.assertEqual(outcome.wrong, [], said)
        self.assertEqual(
            outcome.unsaid(), [], f"is not what PyTorch trains, without a word: {said}"
        )
        if not (told or outcome.is_other()):
            return
        remedy = outcome.remedy()
        self.assertIsNotNone(remedy, f"names no remedy: {said}")
        self.assertNotIn(remedy, advice, f"the remedy does not help: {said}")
        flags, other = remedy
        found = exporter.get(model, values, other or export)
        self.assertIsNone(found.error(), f"the remedy cannot be exported: {said}")
        self.assert_right(
            model,
            values,
            other or export,
            found.check(*given(model, other or export), *flags),
            (*advice, remedy),
        )


def _add(model, values, export):
    setattr(
        Exports,
        "test_" + "_".join((model, values, export)).replace("-", "_"),
        lambda self: self.check(model, values, export),
    )


for _model in BOTH + FRESH:
    for _values in ("fresh", "random")[: 2 if _model in BOTH else 1]:
        for _export in EXPORTS:
            _add(_model, _values, _export)

if __name__ == "__main__":
    unittest.main()
