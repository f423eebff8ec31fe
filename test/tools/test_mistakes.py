"""Mistakes that people make: each is answered in one line with a remedy, which works when it is
pasted in place of the mistake."""
import os
import re
import unittest

import numpy as np

from tool_test import MODELS, ROOT, SHARDC, ToolTest, run

LLAMA = os.path.join(MODELS, "s2-llama-tiny-causal")
OTHER_NAMES = os.path.join(ROOT, "runtime", "flags", "OtherNames.cpp")
SIZES = ["--dim", "batch=2", "--dim", "sequence=64"]
LOSS = ["--loss", "cross-entropy:logits=logits,labels=labels,shift=1"]
# Without a word on which tensors are buffers.
ROLES = ["--buffer", r"rotary\."]
# {what: (flags of shardc, what of them is wrong, the answer's remedy, by what the wrong words are
# replaced)}; {} in the last are the groups of the remedy.
COMPILING = {
    "a dim without a size": (["--dim", "batch=2", *LOSS], [], r"pass (--dim sequence=)N$", "{}64"),
    "a dim that is mistyped": (
        ["--dim", "batch=2", "--dim", "seq=64", *LOSS],
        ["--dim", "seq=64"],
        r"pass (--dim sequence=)N; --dim seq=64 names none$",
        "{}64",
    ),
    "an output that is not there": (
        [*SIZES, "--loss", "cross-entropy:logits=logit,labels=labels,shift=1"],
        ["--loss", "cross-entropy:logits=logit,labels=labels,shift=1"],
        r"no output 'logit'; outputs are (\w+)$",
        "--loss cross-entropy:logits={},labels=labels,shift=1",
    ),
    "no loss": (
        SIZES,
        [],
        r"outputs: (\w+)\); say (--loss cross-entropy:logits=)NAME(,labels=)NAME,",
        "{1}{0}{2}labels",
    ),
    "a flag that is mistyped": (
        [*SIZES, *LOSS, "--precison", "bf16"],
        ["--precison"],
        r"unknown flag --precison, did you mean '(.*)'\?",
        "{}",
    ),
    "a limit that is too small": (
        [*SIZES, *LOSS, "--mesh", "2", "--memory-limit", "4MB"],
        [],
        r"the plan takes .* of a rank; try (--remat unit),",
        "{}",
    ),
    "a unit that is not there": (
        [*SIZES, *LOSS, "--unit-option", "match=blocks,reshard=never"],
        ["match=blocks,reshard=never"],
        r"matches no unit; there are embedding, ([\w.]+),",
        "match={},reshard=never",
    ),
    "a parameter that is not there": (
        [*SIZES, *LOSS, "--freeze", "encoder"],
        ["encoder"],
        r"matches no parameter; there are ([\w.]+),",
        "{}",
    ),
    "a GPU that is too old": (
        [*SIZES, *LOSS, "--target", "cuda:sm_70"],
        ["cuda:sm_70"],
        r"unknown GPU 'sm_70'; expects (sm_\d+),",
        "cuda:{}",
    ),
    "a strategy for two dimensions": (
        [*SIZES, *LOSS, "--mesh", "2", "--strategy", "hybrid"],
        ["--mesh", "2"],
        r"as in (--mesh 2x1)$",
        "{}",
    ),
    "a mesh with a comma": (
        [*SIZES, *LOSS, "--mesh", "2,2"],
        ["--mesh", "2,2"],
        r"did you mean (--mesh 2x2)\?$",
        "{}",
    ),
    "state that cannot leave: muon's": (
        [*SIZES, *LOSS, "--offload", "optimizer", "--optimizer", "muon"],
        ["--optimizer", "muon"],
        r"give (--optimizer adamw);",
        "{}",
    ),
    "state that cannot leave: split masters": (
        [*SIZES, *LOSS, "--precision", "bf16", "--offload", "optimizer", "--master", "split"],
        ["--master", "split"],
        r"give (--master float32);",
        "{}",
    ),
    "masters that cannot be split": (
        [*SIZES, *LOSS, "--master", "split"],
        [],
        r"give (--precision bf16),",
        "{}",
    ),
    "a machine's name": (
        [*SIZES, *LOSS, "--mesh", "2", "--cluster", "h100"],
        ["h100"],
        r"did you mean '(.*)'\?$",
        "{}",
    ),
    "a part of the mesh": (
        [*SIZES, *LOSS, "--mesh", "4", "--reshard-after-forward", "3"],
        ["3"],
        r"expected a divisor of the 4 shards other than 1 and 4: (\d+)$",
        "{}",
    ),
    "an optimizer's name": (
        [*SIZES, *LOSS, "--optimizer", "adamW"],
        ["adamW"],
        r"did you mean '(adamw)'\?",
        "{}",
    ),
    "values that are not there": (
        [*SIZES, *LOSS],
        [],
        r"does not exist; put it beside the model, or compile without weights \((--init random)\)$",
        "{}",
    ),
}
DATA = ["--data", "input_ids=ids.npy", "--data", "labels=ids.npy", "--steps", "1"]
# The same of a trainer; with "shardc" the remedy is one of compiling it.
TRAINING = {
    "an input without data": (
        ["--data", "labels=ids.npy", "--steps", "1"],
        [],
        r"give (--data input_ids=)FILE.npy, int64 \[samples, 64\]$",
        "{}ids.npy",
    ),
    "an input's name": (
        ["--data", "ids=ids.npy", *DATA[2:]],
        ["ids=ids.npy"],
        r"the model has no such input; its inputs are (\w+),",
        "{}=ids.npy",
    ),
    "a schedule's name": (
        [*DATA, "--schedule", "cosin"],
        ["cosin"],
        r"did you mean '(cosine)'\?$",
        "{}",
    ),
    "a norm of nothing": (
        [*DATA, "--clip-norm", "1"],
        [],
        r"--clip-norm has no effect without (--clip)$",
        "{} 1",
    ),
    "evaluations of nothing": (
        [*DATA, "--eval-every", "1"],
        [],
        r"--eval-every has no effect without (--eval-data)$",
        "{0} input_ids=ids.npy {0} labels=ids.npy",
    ),
    "more steps than there are samples": (
        [*DATA, "--grad-accumulation", "100"],
        ["--grad-accumulation", "100"],
        r"; give (--grad-accumulation \d+)$",
        "{}",
    ),
    "a folder that has a run": (
        [*DATA, "--steps", "2", "--checkpoint-dir", "saved"],
        [],
        r"give (--resume auto) to go on from it, or (--resume none) to begin anew$",
        "{0}",
    ),
}
COMPILED_ANEW = {
    "fewer samples than a batch": (
        ["--data", "input_ids=few.npy", "--data", "labels=few.npy", "--steps", "1"],
        ["--dim", "batch=2"],
        r"compile the model for a batch of 1 \(shardc (--dim batch=1)\)$",
        "{}",
    ),
    "momentum of another optimizer": (
        [*DATA, "--momentum", "0.9"],
        [],
        r"compile it with shardc (--optimizer sgd)$",
        "{}",
    ),
    "more threads than it was compiled for": (
        [*DATA, "--threads", "2"],
        [],
        r"was compiled for \(shardc (--threads-per-rank)\)$",
        "{} 2",
    ),
}


class Mistakes(ToolTest):
    def run_here(self, *words):
        return run(*words, cwd=self.folder)

    def remedied(self, words, wrong, answer, pattern, remedy):
        found = re.search(pattern, answer)
        self.assertIsNotNone(found, f"no remedy {pattern} in: {answer}")
        pasted = remedy.format(*found.groups()).split()
        at = next((i for i in range(len(words)) if words[i : i + len(wrong)] == wrong), len(words))
        return [*words[:at], *pasted, *words[at + len(wrong) if wrong else at :]]

    def compile(self, *flags, model=os.path.join(LLAMA, "model.onnx")):
        return self.run_here(SHARDC, model, *ROLES, *flags, "-q", "-o", "m.trainer")

    def compiling(self, words, wrong, pattern, remedy):
        model = os.path.join(LLAMA, "model.onnx")
        if "--init random" in pattern:
            model = os.path.join(self.folder, "model.onnx")
            self.write_without_values(model)
        result = self.compile(*words, model=model)
        self.assert_one_error(result, "shardc")
        self.assertFalse(os.path.exists(self.path("m.trainer")))
        words = self.remedied(words, wrong, result.err.strip(), pattern, remedy)
        result = self.compile(*words, model=model)
        self.assertEqual(result.code, 0, f"{words}: {result.err}")

    def write_without_values(self, path):
        import onnx

        proto = onnx.load(os.path.join(LLAMA, "model.onnx"))
        onnx.save(proto, path, save_as_external_data=True, size_threshold=0, location="values")
        os.remove(os.path.join(self.folder, "values"))

    def prepare(self):
        self.assertEqual(self.compile(*SIZES, *LOSS, "--threads-per-rank", "1").code, 0)
        ids = np.load(os.path.join(LLAMA, "data", "input_ids.npy"))
        np.save(self.path("ids.npy"), ids)
        np.save(self.path("few.npy"), ids[:1])

    def training(self, words, wrong, pattern, remedy):
        self.prepare()
        if "saved" in words:
            self.assertEqual(self.run_here("./m.trainer", *DATA, *words[-2:]).code, 0)
            words = ["2" if word == "1" else word for word in DATA] + words[-2:]
        result = self.run_here("./m.trainer", *words)
        self.assert_one_error(result, "trainer")
        words = self.remedied(words, wrong, result.err.strip(), pattern, remedy)
        result = self.run_here("./m.trainer", *words)
        self.assertEqual(result.code, 0, f"{words}: {result.err}")

    def compiled_anew(self, words, wrong, pattern, remedy):
        self.prepare()
        result = self.run_here("./m.trainer", *words)
        self.assert_one_error(result, "trainer")
        flags = [*SIZES, *LOSS]
        result = self.compile(*self.remedied(flags, wrong, result.err.strip(), pattern, remedy))
        self.assertEqual(result.code, 0, result.err)
        result = self.run_here("./m.trainer", *words)
        self.assertEqual(result.code, 0, result.err)

    def test_names_that_other_tools_have(self):
        self.prepare()
        with open(OTHER_NAMES) as file:
            known = r"\{Side::(\w+), \"(\S+).*?\",\s*((?:\"[^\"]*\"\s*)+)\}"
            table = re.findall(known, file.read())
        self.assertGreater(len(table), 30)
        helps = {
            "Trainer": self.run_here("./m.trainer", "--help").out,
            "Compiler": run(SHARDC, "--help").out,
        }
        for side, flag, names in table:
            flags = helps[side].replace(",", " ")
            self.assertIn(f" {flag} ", flags, side)
            for name in names.replace('"', " ").split():
                # None is explained away where it is one.
                self.assertEqual(f" --{name} " in flags, f"--{name}" == flag, (side, name))
        flags_of = {
            side: set(re.findall(r"^ +(?:-\w, ?)?--([\w-]+)", text, re.M))
            for side, text in helps.items()
        }
        with open(OTHER_NAMES) as file:
            lists = re.findall(r"(\w+)sOwn =\s*((?:\"[^\"]*\"\s*)+);", file.read())
        self.assertEqual([name.title() for name, _ in lists], ["Compiler", "Trainer"])
        for name, names in lists:
            (other,) = flags_of.keys() - {name.title()}
            only = flags_of[name.title()] - flags_of[other]
            self.assertEqual(names.replace('"', " ").split(), sorted(only))
        with open(self.path("keys.yaml"), "w") as file:
            file.write("learning_rate: 3\n")
        with open(self.path("section.yaml"), "w") as file:
            file.write("precision: bf16\n")
        with open(self.path("inner.yaml"), "w") as file:
            file.write("compile:\n  model: model.onnx\n  shuffle: true\n")
        for words, answer in (
            (["./m.trainer", "--freeze", "x"], "it is --freeze of shardc, when"),
            (["./m.trainer", "--config", "keys.yaml"], "'learning_rate': it is lr here"),
            (["./m.trainer", "--config", "section.yaml"], "precision of the section compile"),
            ([SHARDC, "--config", "inner.yaml"], "it is shuffle, outside of the section compile"),
            ([SHARDC, "model.onnx", "--momentum", "1"], "it is --momentum of the trainer"),
            (["./m.trainer", "--max_steps=3"], "--max_steps: it is --steps here"),
            (["./m.trainer", "--remat", "unit"], "--remat of shardc, when the trainer is compiled"),
            ([SHARDC, "model.onnx", "--lr", "1"], "it is --lr of the trainer that shardc writes"),
        ):
            said = self.run_here(*words)
            self.assertNotEqual(said.code, 0)
            self.assertIn(answer, said.err)

    def test_a_gpu_that_is_not_here(self):
        flags = [*SIZES, *LOSS, "--target"]
        self.assertEqual(self.compile(*flags, "cuda").code, 0)
        data = ("--data", "synthetic:1", "--steps", "1")
        said = self.run_here("./m.trainer", *data, "--device", "cpu")
        self.assert_one_error(said, "trainer")
        found = re.search(r"--target (cpu,cuda)", said.err)
        self.assertIsNotNone(found, said.err)
        self.assertEqual(self.compile(*flags, found.group(1)).code, 0)
        self.assertEqual(self.run_here("./m.trainer", *data, "--device", "cpu").code, 0)


def _add(what, cases, kind):
    for name, case in cases.items():
        setattr(
            Mistakes,
            f"test_{what}_" + re.sub(r"\W+", "_", name).strip("_"),
            lambda self, case=case: getattr(self, kind)(*case),
        )


_add("compiling", COMPILING, "compiling")
_add("training", TRAINING, "training")
_add("compiled_anew", COMPILED_ANEW, "compiled_anew")

if __name__ == "__main__":
    unittest.main()
