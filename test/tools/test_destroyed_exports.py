"""Exports that lost something which training needs (test/models/make_destroyed.py): shardc names
what is lost, and what to do."""
import os
import re
import unittest

from tool_test import MODELS, SHARDC, ToolTest, run

FOLDER = os.path.join(MODELS, "destroyed")
LOSS = "cross-entropy:logits=logits,labels=labels"
KEEP = "do_constant_folding=False"
# {file: (what its module had, what shardc says of it)}; what ends in an error is told by "!".
EXPORTS = {
    "one-plus-traced": ("1 + scale, folded", ["not trained here: 'onnx::Mul_", KEEP]),
    "one-plus-optimized": ("1 + scale, folded", ["!", "parameter 'scale'", "optimize=False"]),
    "scale-traced": ("a parameter, or a buffer", ["are trained: 'logit_scale'", "--buffer"]),
    "scale-optimized": ("exp(scale), folded", ["!", "parameter 'logit_scale'", "optimize=False"]),
    "weight-norm-optimized": (
        "a weight that two parameters make",
        ["!", "'fc.parametrizations.weight.original0', 'fc.parametrizations.weight.original1'"],
    ),
    "conv-norm-traced": (
        "a batch norm, folded into the convolution before it",
        [
            r"that the exporter made up: 'onnx::Conv_\d+'",
            r"not trained here: 'onnx::Conv_\d+'",
            KEEP,
        ],
    ),
    "norm-in-eval-mode": (
        "a batch norm by the statistics of the batch",
        ["'/bn/BatchNormalization'", "by running statistics", "by those of the batch"],
    ),
    "zero-biases-optimized": (
        "biases of zeros",
        ["removed parameters", "'a.bias', 'b.bias'", "optimize=False"],
    ),
    "attention-dropout-traced": (
        "a dropout of attention's probabilities",
        ["node '/Dropout'", "drops nothing", "export with shardc export or"],
    ),
    "dropout-opset-11": ("a dropout", ["node '/drop/Dropout'", "drops nothing", "a later opset"]),
    "padding-index-traced": (
        "a row that is not trained",
        ["row 3 of 'embed.weight' is zeros", "padding_idx", "dynamo=True"],
    ),
    "positions-traced": (
        "a parameter that begins as a table",
        [r"not trained here: 'pos' \(a table of sines\)", "--trainable"],
    ),
    "copied-traced": (
        "two parameters that began equal",
        ["'key.weight' = 'query.weight'", "dynamo=True and optimize=False"],
    ),
    "copied-optimized": (
        "two parameters that began equal",
        ["!", "parameters 'query.weight', 'query.bias'", "optimize=False"],
    ),
    "gates-traced": (
        "gates in the order of PyTorch, and a slope without dims behind it",
        [r"exporter made up: ('onnx::GRU_\d+', ){3}'onnx::PRelu_\d+'", KEEP],
    ),
    "group-norm-traced": (
        "a weight of ones without dims behind it",
        [r"not trained here: 'onnx::Mul_\d+' .*'onnx::Add_\d+'", KEEP],
    ),
    "fixed-batch": ("a batch of any size", ["!", "--dim batch=2", "all dims are fixed"]),
    "mask-traced": (
        "a mask of any length",
        ["!", "node '/Add'", r"\[2, 9, 9\] and \[6, 6\]", "--dim"],
    ),
    "classes": ("scores", ["!", "output 'logits' to hold floats", "i64"]),
    "detached": (
        "an output with a gradient",
        ["!", "'fc.weight' does not reach the loss", "expects a trainable parameter"],
    ),
}


class DestroyedExports(ToolTest):
    def test_each_has_a_file(self):
        self.assertEqual(sorted(os.listdir(FOLDER)), sorted(f"{export}.onnx" for export in EXPORTS))

    def check(self, export, patterns):
        trainer = self.path("m.trainer")
        sizes = ["--dim", "sequence=9"] if export == "mask-traced" else []
        result = run(
            *(SHARDC, os.path.join(FOLDER, f"{export}.onnx"), "--dim", "batch=2", *sizes),
            *("--loss", LOSS, "--quiet", "-o", trainer),
        )
        is_refused = patterns[0] == "!"
        self.assertEqual(result.code, 1 if is_refused else 0, result.err)
        self.assertEqual(os.path.exists(trainer), not is_refused)
        for pattern in patterns[is_refused:]:
            self.assertRegex(result.err, pattern)


def _add(export, lost, patterns):
    name = re.sub(r"\W+", "_", f"{export}_{lost}").strip("_")
    setattr(DestroyedExports, f"test_{name}", lambda self: self.check(export, patterns))


for _export, (_lost, _patterns) in EXPORTS.items():
    _add(_export, _lost, _patterns)

if __name__ == "__main__":
    unittest.main()
