"""Folders of Hugging Face for `shardc export`: weights that are the model's, or are said not to be.

With ./dev test --torch folders are written and exported, too, with the torch and transformers of
the interpreter that PYTHON names.
"""
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

import onnx

from tool_test import ROOT

PACKAGE = os.path.join(ROOT, "tools", "python")
sys.path.insert(0, PACKAGE)

from shardc import Error, sources, tasks, weights  # noqa: E402

BODY = ["embed.weight", "layer.0.weight", "layer.0.bias"]
# Writes FOLDER/NAME with the tensors of another folder, renamed or without some.
WRITE = """
import json
import os
import sys
import torch
import transformers
from safetensors.torch import load_file, save_file

os.chdir(sys.argv[1])
SMALL = dict(vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
             num_attention_heads=4, max_position_embeddings=64)

def bert(architecture, name, **options):
    config = transformers.BertConfig(**SMALL, **options)
    getattr(transformers, architecture)(config).save_pretrained(name)

def variant(name, of, change):
    os.makedirs(name)
    with open(f"{of}/config.json") as file, open(f"{name}/config.json", "w") as copy:
        copy.write(file.read())
    values = load_file(f"{of}/model.safetensors")
    save_file(change(values), f"{name}/model.safetensors", metadata={"format": "pt"})

bert("BertModel", "body")
bert("BertForMaskedLM", "masked")
bert("BertForSequenceClassification", "classes", num_labels=3)
bert("BertForSequenceClassification", "number", num_labels=1)
bert("BertForSequenceClassification", "several", num_labels=3,
     problem_type="multi_label_classification")
bert("BertForQuestionAnswering", "answers")
bert("BertForMultipleChoice", "choices")
variant("wrapped", "classes", lambda values: {"module." + k: v for k, v in values.items()})
variant("m-body", "body", lambda values: {"m." + k: v for k, v in values.items()})
variant("cut", "masked", lambda values: {k: v for k, v in values.items() if ".layer.1." not in k})
"""
EXPORT = "import sys; from shardc import cli; sys.exit(cli.main())"

SCALED = """
import torch

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.register_buffer("mean", torch.ones(4))

    def forward(self, x):
        return self.linear((x - self.mean) - x.mean(-1, keepdim=True))

def make():
    return Scaled(), (torch.ones(2, 4),)
"""


class Weights(unittest.TestCase):
    """What transformers says of its loading, judged."""

    def check(self, file, saved, model, mismatched=(), classes=None):
        """The notes, where a `file` of these names was saved from a class with `saved`'s."""
        module = types.SimpleNamespace(
            base_model_prefix="body", state_dict=lambda: dict.fromkeys(model)
        )
        info = {
            "missing_keys": set(model) - set(file),
            "unexpected_keys": set(file) - set(model),
            "mismatched_keys": set(mismatched),
        }
        return weights.check("there", module, info, lambda: set(saved), classes)

    def error(self, *given):
        with self.assertRaises(Error) as raised:
            self.check(*given)
        self.assertNotIn("\n", str(raised.exception))
        return str(raised.exception)

    model = ["body." + name for name in BODY] + ["head.weight", "head.bias"]

    def test_all_is_there(self):
        self.assertEqual(self.check(self.model, BODY, self.model), ())

    def test_a_body_gets_a_head(self):
        (said,) = self.check(self.model[:3], BODY, self.model)
        self.assertEqual(
            said, "there has no values for head.weight, head.bias: transformers draws them anew"
        )

    def test_another_head_is_left_out(self):
        drawn, left = self.check([*self.model[:3], "lm.weight"], [*BODY, "lm.weight"], self.model)
        self.assertIn("head.weight, head.bias", drawn)
        self.assertEqual(left, "the task leaves out there's lm.weight")

    def test_what_was_saved_has_to_be_there(self):
        saved = [*BODY, "head.weight", "head.bias"]
        said = self.error(self.model[:3], saved, self.model)
        self.assertIn("its weights lack 2 of the model's 5 tensors (head.weight, head.bias)", said)
        said = self.error(self.model[1:3], BODY, self.model)
        self.assertIn("lack 1 of the model's 5 tensors (body.embed.weight)", said)
        self.assertIn("config.json has to be theirs", said)

    def test_few_may_lack(self):
        names = [f"body.{i}" for i in range(40)]
        body = [name.removeprefix("body.") for name in names]
        (said,) = self.check(names[2:], body, names)
        self.assertIn("has no values for body.0, body.1: transformers draws them anew", said)
        self.assertIn("lack 3 of the model's 40", self.error(names[3:], body, names))
        self.assertIn("lack 1 of", self.error([*names[1:], "body.x"], body, names))

    def test_names_with_a_prefix(self):
        wrapped = ["module." + name for name in self.model]
        said = self.error(wrapped, BODY, self.model)
        self.assertIn("lack 3 of the model's 5 tensors (body.embed.weight, body.layer", said)
        self.assertIn("have 5 that it has not (module.body.embed.weight, module.body", said)
        self.assertIn("and 2 more): take 'module.' off their names", said)
        said = self.error(["m." + name for name in BODY], BODY, self.model)
        self.assertIn("take 'm.' off their names", said)

    def test_other_names(self):
        file = [name.replace("layer", "block") for name in self.model]
        said = self.error(file, BODY, self.model)
        self.assertIn("have 2 that it has not (body.block.0.bias, body.block.0.weight)", said)
        self.assertIn("save them by the model's names", said)

    def test_other_sizes(self):
        head, body = ("head.weight", (3, 8), (5, 8)), ("body.embed.weight", (5, 8), (5, 16))
        (said,) = self.check(self.model, BODY, self.model, [head], 5)
        self.assertIn("has no values for head.weight: transformers draws", said)
        for mismatched, classes in ((head, None), (head, 4), (body, 5)):
            said = self.error(self.model, BODY, self.model, [mismatched], classes)
            self.assertIn(f"'{mismatched[0]}' is {list(mismatched[1])} in its weights, and", said)

    def test_classes_are_a_folder_s(self):
        with self.assertRaisesRegex(Error, "--num-labels is for folders of Hugging Face"):
            sources.open_source("model.py:make", sources.Wanted(classes=3))


class Tasks(unittest.TestCase):
    """What a config makes of its task."""

    def of_problem(self, name, problem, classes):
        config = types.SimpleNamespace(problem_type=problem, num_labels=classes)
        return tasks.of_problem(tasks.TASKS[name], config)

    def test_losses_by_problem(self):
        for name in ("classification", "image-classification"):
            for problem, classes in ((None, 3), ("single_label_classification", 1)):
                self.assertEqual(self.of_problem(name, problem, classes), tasks.TASKS[name])
            squares, binary = "mse:output=logits", "binary-cross-entropy:logits=logits"
            for problem, classes, loss in (
                (None, 1, squares),
                ("regression", 3, squares),
                ("multi_label_classification", 3, binary),
            ):
                made = self.of_problem(name, problem, classes)
                self.assertEqual(made.loss, f"{loss},target=labels")
                self.assertEqual(made.labels, ("labels",))
        for name in ("token-classification", "audio-classification", "causal-lm"):
            self.assertEqual(self.of_problem(name, "regression", 1), tasks.TASKS[name])

    def test_tasks_by_class(self):
        for name, wanted in (
            ("BertForQuestionAnswering", "question-answering"),
            ("XLNetForQuestionAnsweringSimple", "question-answering"),
            ("RobertaForMultipleChoice", "multiple-choice"),
        ):
            config = types.SimpleNamespace(architectures=[name])
            self.assertEqual(tasks.of_config(config, "there"), wanted)


@unittest.skipUnless(
    os.environ.get("SHARDC_TEST_TORCH"), "exports from PyTorch: ./dev test --torch"
)
class Folders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = os.environ.get("PYTHON", sys.executable)
        needs = "import torch, transformers, onnxscript, safetensors"
        if subprocess.run([cls.python, "-c", needs], capture_output=True).returncode:
            raise unittest.SkipTest(f"{cls.python} has not all of: {needs}")
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.folder = made.name
        words = [cls.python, "-c", WRITE, cls.folder]
        subprocess.run(words, check=True, capture_output=True)

    def export(self, *words):
        """(exit code, what it warns of and its error, what it prints)"""
        done = subprocess.run(
            [self.python, "-c", EXPORT, "export", *words],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": PACKAGE},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stderr.splitlines(), done.stdout

    def assert_refused(self, *words):
        code, (line,), _ = self.export(*words)
        self.assertEqual(code, 1)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "model.onnx")))
        return line

    def test_weights_of_other_names_are_refused(self):
        line = self.assert_refused("wrapped")
        self.assertIn("shardc: error: wrapped: its weights lack 41 of the model's 41 tens", line)
        self.assertIn("take 'module.' off their names", line)
        line = self.assert_refused("m-body", "--task", "classification")
        self.assertIn("lack 39 of the model's 41 tensors", line)
        self.assertIn("take 'm.' off their names", line)
        line = self.assert_refused("cut", "--task", "classification")
        self.assertIn("lack 16 of the model's 41 tensors (bert.encoder.layer.1.", line)

    def test_heads_are_drawn(self):
        for words, wanted in (
            (("body",), ["body has no values for classifier.weight, classifier.bias: "]),
            (
                ("masked",),
                ["masked has no values for bert.pooler.dense.weight, ", "leaves out masked's cls."],
            ),
            (("classes", "--num-labels", "4"), ["classes has no values for classifier.bias, "]),
        ):
            out = words[0] + ".onnx"
            code, lines, _ = self.export(*words, "--task", "classification", "-o", out)
            self.assertEqual((code, len(lines)), (0, len(wanted)), lines)
            for line, part in zip(lines, wanted):
                self.assertRegex(line, "^shardc: warning: ")
                self.assertIn(part, line)

    def test_a_buffer_may_be_called_as_an_op(self):
        with open(os.path.join(self.folder, "scaled.py"), "w") as file:
            file.write(SCALED)
        code, lines, printed = self.export("scaled.py:make", "-o", "scaled.onnx")
        self.assertEqual((code, lines), (0, []))
        graph = onnx.load(os.path.join(self.folder, "scaled.onnx")).graph
        names = [each.name for each in graph.initializer]
        names += [name for node in graph.node for name in node.output]
        self.assertEqual(len(names), len(set(names)))
        self.assertIn("mean", [each.name for each in graph.initializer])
        self.assertIn("2 parameters to train", printed)

    def test_printed_losses(self):
        for name, loss, data in (
            ("number", "mse:output=logits,target=labels", "attention_mask labels"),
            (
                "several",
                "binary-cross-entropy:logits=logits,target=labels",
                "attention_mask labels",
            ),
            ("answers", "output:loss", "attention_mask start_positions end_positions"),
            ("choices", "cross-entropy:logits=logits,labels=labels", "attention_mask labels"),
        ):
            with self.subTest(name):
                code, lines, printed = self.export(name, "-o", f"{name}.onnx")
                self.assertEqual((code, lines), (0, []))
                self.assertIn(f"--loss {loss} ", printed)
                wanted = ["input_ids", *data.split()]
                self.assertEqual(re.findall(r"--data (\w+)=", printed), wanted)

    def test_types_of_tokens_are_an_input_where_they_are_wanted(self):
        code, lines, printed = self.export("answers", "--token-types", "-o", "typed.onnx")
        self.assertEqual((code, lines), (0, []))
        self.assertIn("--data token_type_ids=", printed)
        graph = onnx.load(os.path.join(self.folder, "typed.onnx")).graph
        self.assertIn("token_type_ids", [each.name for each in graph.input])
        _, _, printed = self.export("answers", "-o", "typed.onnx")
        self.assertIn("token_type_ids are zeros; --token-types makes them an input", printed)

    def test_classes_are_of_tasks_that_have_some(self):
        line = self.assert_refused("masked", "--num-labels", "4")
        self.assertIn("--num-labels is for tasks with classes, and masked-lm has none", line)


if __name__ == "__main__":
    unittest.main()
