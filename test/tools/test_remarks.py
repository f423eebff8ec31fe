"""--remarks: why passes decided as they did, of real models, one line each."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "onnx"))
from onnx_writer import FLOAT, floats, graph, model, node, value  # noqa: E402
from tool_test import MODELS, ROOT, SHARDC, ToolTest, run  # noqa: E402

MODEL = os.path.join(MODELS, "s2-llama-tiny-causal", "model.onnx")
WORDS = "--dim batch=2 --dim sequence=64 --mesh 2 --loss".split() + [
    "cross-entropy:logits=logits,labels=labels,shift=1"
]
# A line of each pass that this model has for certain.
EXPECTED = {
    "nn-raise": r"node '[^']+': raised to nn\.attention, heads: \d+, causal",
    "fsdp-assign-units": r"unit layers\.0 \(\S+ and 8 more\): block 1 of 4 \(layers\.0\); gather ",
    "nn-remat": r"node '[^']+': nn\.\w+ is kept for backward, [\d.]+ [kM]B: a library call does",
    "step-outline-kernels": r"node '[^']+': nn\.\w+ is in another kernel than nn\.\w+ of node '",
    "step-write-in-place": r"node '[^']+': '[^']+' is written over '[^']+', \d+ bytes",
}
# In order; its loss only adds up (test_batch_sums has others).
PASSES = [*list(EXPECTED)[:2], "nn-sum-over-ranks", *list(EXPECTED)[2:]]


class Remarks(ToolTest):
    def shardc(self, *words):
        return run(SHARDC, MODEL, *WORDS, *words)

    def remarks(self, expression, *words):
        result = self.shardc("--remarks", expression, "--compile-to", "plan", *words)
        self.assertEqual(result.code, 0, result.err)
        return [
            line for line in result.err.splitlines() if not line.startswith("shardc: warning: ")
        ]

    def test_every_pass_says_what_it_decided(self):
        lines = self.remarks(".")
        for line in lines:
            self.assertRegex(line, r"^shardc: remark: [a-z-]+: \S")
        self.assertEqual({line.split(": ")[2] for line in lines}, set(EXPECTED))
        for name, text in EXPECTED.items():
            with self.subTest(name=name):
                self.assertRegex("\n".join(lines), rf"(?m)^shardc: remark: {name}: {text}")

    def test_the_expression_chooses_passes(self):
        lines = self.remarks(r"remat|^fsdp")
        self.assertEqual({line.split(": ")[2] for line in lines}, {"nn-remat", "fsdp-assign-units"})

    def test_nothing_else_changes(self):
        silent = self.shardc("--compile-to", "plan")
        said = self.shardc("--compile-to", "plan", "--remarks", ".", "--quiet")
        self.assertEqual(silent.out, said.out)
        self.assertNotIn("remark", silent.err)
        self.assertIn("remark", said.err)

    def test_a_near_miss_names_what_did_not_fit(self):
        """Attention whose scores go through a sigmoid."""
        nodes = [
            node("MatMul", ["x", "w"], ["q"], name="/q"),
            node("Transpose", ["x"], ["k"], name="/k", perm=[0, 2, 1]),
            node("MatMul", ["q", "k"], ["s"], name="/scores"),
            node("Sigmoid", ["s"], ["c"], name="/gate"),
            node("Softmax", ["c"], ["p"], name="/softmax", axis=-1),
            node("MatMul", ["p", "x"], ["y"], name="/attention"),
        ]
        x, y = (value(name, FLOAT, ["batch", 4, 8]) for name in "xy")
        with open(self.path("m.onnx"), "wb") as file:
            file.write(model(graph(nodes, [x], [y], [floats("w", [8, 8], [0.125] * 64)])))
        words = ("--dim", "batch=2", "--loss", "mse:output=y,target=t", "--compile-to", "raise")
        result = run(SHARDC, self.path("m.onnx"), *words, "--remarks", "nn-raise")
        self.assertEqual(result.code, 0, result.err)
        self.assertEqual(
            result.err,
            "shardc: remark: nn-raise: node '/attention': not raised to nn.attention: the scores "
            "of nn.softmax of node '/softmax' are no scale * (query key^T) + mask: of these, "
            "nn.sigmoid of node '/gate' is none\n",
        )

    def test_an_expression_that_is_none(self):
        self.assert_one_error(
            self.shardc("--remarks", "nn-(raise", "-o", self.path("m")),
            "shardc",
            "--remarks nn-(raise",
            "parentheses",
        )
        self.assert_one_error(
            self.shardc("--remarks", "", "-o", self.path("m")),
            "shardc",
            "--remarks needs a value, got ''",
        )

    def test_a_name_that_no_pass_has(self):
        result = self.shardc("--remarks", "nn-rais$", "-o", self.path("m"))
        self.assert_one_error(result, "shardc", "--remarks nn-rais$", ", ".join(PASSES))
        self.assertFalse(os.path.exists(self.path("m")))

    def test_import_runs_no_pass(self):
        self.assert_one_error(
            self.shardc("--remarks", ".", "--compile-to", "import"),
            "shardc",
            "--remarks",
            "has no effect",
            "runs no pass",
        )

    def test_every_pass_that_has_remarks_is_known(self):
        given = set()
        for folder in ("passes", "codegen", "frontend"):
            for base, _, names in os.walk(os.path.join(ROOT, folder)):
                for name in names:
                    if name.endswith((".cpp", ".h")):
                        with open(os.path.join(base, name), encoding="utf-8") as file:
                            given |= set(re.findall(r'\bcategory\(\s*"([^"]+)"', file.read()))
        self.assertEqual(given, set(PASSES))


if __name__ == "__main__":
    unittest.main()
