"""One file describes a run: shardc and the trainer read it, say what holds, and have one line for
what is wrong with it. --dry-run finds what would end the run."""
import json
import os
import random
import shutil
import unittest
from unittest import mock

import numpy as np

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "gpt2-tiny")
# {folder} has the trainer, the data and what is written.
YAML = """\
# gpt2-tiny on two ranks
lr: 3e-3
steps: 3
schedule: cosine
betas: [0.9, 0.95]
clip: 1.0
data:
  input_ids: {folder}/ids.npy
  labels: {{path: "{folder}/labels.npy"}}
group:
  - {{match: "wte|wpe", weight-decay: 0}}
metrics: {folder}/m.jsonl
compile:
  model: {model}
  output: {folder}/m.trainer
  mesh: 2
  dim: {{batch: 2, sequence: 64}}
  loss: "cross-entropy:logits=logits,labels=labels,shift=1"
"""
TOML = """\
lr = 3e-3
steps = 3
schedule = "cosine"
betas = [0.9, 0.95]
clip = 1.0
data = ["input_ids={folder}/ids.npy", "labels={folder}/labels.npy"]
group = "match=wte|wpe,weight-decay=0"
metrics = "{folder}/m.jsonl"

[compile]
model = "{model}"
output = "{folder}/m.trainer"
mesh = "2"
dim = ["batch=2", "sequence=64"]
loss = "cross-entropy:logits=logits,labels=labels,shift=1"
"""


class Configuration(ToolTest):
    def setUp(self):
        super().setUp()
        environment = mock.patch.dict(os.environ)
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("HYPERPARAMETERS_PATH", None)
        for name, array in (("ids", "input_ids"), ("labels", "labels")):
            shutil.copyfile(os.path.join(MODEL, "data", array + ".npy"), self.path(name + ".npy"))

    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def config(self, name, text):
        model = os.path.join(MODEL, "model.onnx")
        return self.write(name, text.format(folder=self.folder, model=model))

    def trainer(self, *words):
        return run(self.path("m.trainer"), *words)

    def compiled(self):
        path = self.config("run.yaml", YAML)
        result = run(SHARDC, "--config", path, "-q")
        self.assertEqual(result.code, 0, result.err)
        return path

    def losses(self):
        with open(self.path("m.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        os.remove(self.path("m.jsonl"))
        return [line["loss"] for line in lines if "event" not in line]

    def test_one_file_describes_a_run(self):
        found = []
        for name, text in (("run.yaml", YAML), ("run.toml", TOML)):
            path = self.config(name, text)
            result = run(SHARDC, "--config", path)
            self.assertEqual(result.code, 0, result.err)
            result = self.trainer("--config", path)
            self.assertEqual(result.code, 0, result.err)
            found.append(self.losses())
        words = "--lr 3e-3 --steps 3 --schedule cosine --betas 0.9,0.95 --clip 1.0".split()
        words += ["--group", "match=wte|wpe,weight-decay=0", "--metrics", self.path("m.jsonl")]
        words += ["--data", "input_ids=" + self.path("ids.npy")]
        words += ["--data", "labels=" + self.path("labels.npy")]
        self.assertEqual(self.trainer(*words).code, 0)
        found.append(self.losses())
        self.assertEqual(len(found[0]), 3)
        self.assertEqual(found[0], found[2])
        self.assertEqual(found[1], found[2])

    def test_what_is_printed_makes_the_same_run(self):
        path = self.compiled()
        printed = self.trainer("--config", path, "--set", "lr=0.01", "--steps", 2, "--print-config")
        self.assertEqual((printed.code, printed.err), (0, ""))
        self.assertFalse(os.path.exists(self.path("m.jsonl")))
        for line in (
            "lr = 0.01  # --set",
            "steps = 2  # command line",
            f'schedule = "cosine"  # {path}:4',
            f'betas = "0.9,0.95"  # {path}:5',
            f'  "labels={self.folder}/labels.npy",  # {path}:9',
            "# min-lr = 0  # default",
            "# weight-decay = 0.01  # default",
        ):
            self.assertIn(line, printed.out.splitlines())
        again = self.write("again.toml", printed.out)
        self.assertEqual(self.trainer("--config", again).code, 0)
        losses = self.losses()
        self.assertEqual(self.trainer("--config", path, "--lr", "0.01", "--steps", 2).code, 0)
        self.assertEqual(self.losses(), losses)

        printed = run(SHARDC, "--config", path, "--mesh", 1, "--print-config")
        self.assertEqual((printed.code, printed.err), (0, ""))
        self.assertIn('mesh = "1"  # command line', printed.out)
        self.assertIn(f"# {path}:", printed.out)
        again = self.write("again.toml", printed.out)
        same = run(SHARDC, "--config", again, "--print-config")
        self.assertEqual(
            [line.split("  #")[0] for line in same.out.splitlines()],
            [line.split("  #")[0] for line in printed.out.splitlines()],
        )

    def test_the_environment_names_the_file_of_a_job(self):
        path = self.compiled()
        job = self.write("job.json", '{"lr": 0.5, "compile": {"mesh": "4"}}')
        with mock.patch.dict(os.environ, HYPERPARAMETERS_PATH=job):
            printed = self.trainer("--config", path, "--print-config")
            self.assertIn(f"lr = 0.5  # {job}:1 (HYPERPARAMETERS_PATH)", printed.out)
            printed = run(SHARDC, "--config", path, "--print-config")
            self.assertIn(f'mesh = "4"  # {job}:1 (HYPERPARAMETERS_PATH)', printed.out)
        with mock.patch.dict(os.environ, HYPERPARAMETERS_PATH=self.path("none.toml")):
            self.assert_one_error(
                self.trainer("--report"), "trainer", "HYPERPARAMETERS_PATH", "none.toml"
            )

    def test_what_is_wrong_is_one_line(self):
        self.compiled()
        os.mkfifo(self.path("pipe.yaml"))
        self.write("key.toml", "# a run\nwarmup_steps = 3\n")
        self.write("type.yaml", "lr: fast\n")
        self.write("twice.yaml", "lr: 1\nsteps: 1\nlr: 2\n")
        self.write("twice.toml", "lr = 1\nsteps = 1\nlr = 2\n")
        self.write("nested.yaml", "optimizer:\n  lr: 1\n")
        self.write("junk.yaml", bytes(range(256)))
        self.write("junk.toml", bytes(range(256)))
        self.write("idle.yaml", "steps: 1\nmin-lr: 0.0001\n")
        self.write("compile.yaml", "compile:\n  mehs: 2\n")
        self.write(
            "bomb.yaml",
            "a: &a [x,x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(30)),
        )
        self.write("deep.yaml", "a: " + "[" * 500000)
        self.write("deep.toml", "a = " + "[" * 500000)
        for name, words in (
            ("key.toml", ("key.toml:2: ", "'warmup_steps'", "it is warmup-steps here")),
            ("type.yaml", ("type.yaml:1: lr expects a number", "'fast'")),
            ("twice.yaml", ("twice.yaml:3: lr is given twice",)),
            ("twice.toml", ("twice.toml:3: ", "'lr'")),
            ("nested.yaml", ("nested.yaml:1: unknown key 'optimizer'",)),
            ("junk.yaml", ("junk.yaml",)),
            ("junk.toml", ("junk.toml",)),
            ("idle.yaml", ("idle.yaml:2: --min-lr has no effect",)),
            ("bomb.yaml", ("bomb.yaml:2: ", "alias")),
            ("deep.yaml", ("deep.yaml",)),
            ("deep.toml", ("deep.toml",)),
            ("none.toml", ("none.toml", "No such file")),
            ("pipe.yaml", ("pipe.yaml", "a pipe")),
            (".", ("a folder",)),
        ):
            with self.subTest(name):
                result = self.trainer("--config", self.path(name))
                self.assert_one_error(result, "trainer", *words)
        result = run(SHARDC, "--config", self.path("compile.yaml"))
        self.assert_one_error(result, "shardc", "compile.yaml:2: unknown key 'mehs'", "'mesh'")
        result = self.trainer("--set", "compile.mesh=2")
        self.assert_one_error(result, "trainer", "compile.mesh")

    def test_damaged_files_are_read_or_are_one_line(self):
        path = self.compiled()
        generator = random.Random(3)
        for name in ("d.yaml", "d.toml"):
            whole = self.config(name, YAML if name == "d.yaml" else TOML)
            with open(whole, "rb") as file:
                text = file.read()
            for _ in range(40):
                damaged = bytearray(text)
                for _ in range(generator.randint(1, 4)):
                    at = generator.randrange(len(damaged))
                    damaged[at : at + generator.randint(0, 3)] = generator.randbytes(
                        generator.randint(0, 2)
                    )
                self.write(name, bytes(damaged))
                for result, program in (
                    (self.trainer("--config", self.path(name), "--print-config"), "trainer"),
                    (run(SHARDC, "--config", self.path(name), "--print-config"), "shardc"),
                ):
                    if result.code:
                        self.assert_one_error(result, program)
        self.assertTrue(os.path.exists(path))

    def test_a_dry_run_checks_labels_and_checkpoints(self):
        path = self.compiled()
        folder = self.path("c/new")
        dry = self.trainer(
            "--config", path, "--dry-run", "--checkpoint-dir", folder, "--checkpoint-every", 1,
            "--checkpoint-keep", 1,
        )  # fmt: skip
        self.assertEqual((dry.code, dry.err), (0, ""))
        self.assertRegex(dry.out, r"--data: \d+ of \d+ labels are counted\n")
        # The one that is kept, and the one that is being written.
        self.assertRegex(
            dry.out, r"checkpoints: 2 checkpoints of \S+ \w+ need \S+ \w+; .* are free"
        )
        self.assertFalse(os.path.exists(self.path("c")))
        self.assertFalse(os.path.exists(self.path("m.jsonl")))

        save = ("--config", path, "--checkpoint-dir", folder)
        self.assertEqual(self.trainer(*save).code, 0)
        labels = np.load(self.path("labels.npy"))
        np.save(self.path("labels.npy"), np.full_like(labels, -100))
        dry = self.trainer("--config", path, "--dry-run")
        self.assert_one_error(dry, "trainer", "--data: none of", "-100")
        labels[-1, -1] = 1 << 40
        np.save(self.path("labels.npy"), labels)
        dry = self.trainer("--config", path, "--dry-run")
        self.assert_one_error(dry, "trainer", "labels.npy", str(1 << 40))

    def test_files_in_checkpoints_are_no_others(self):
        path = self.compiled()
        step = self.path("c/step-00000003")
        os.makedirs(step)
        shutil.copyfile(self.path("ids.npy"), os.path.join(step, "ids.npy"))
        words = ("--config", path, "--checkpoint-dir", self.path("c"), "--resume", "none")
        for more in (
            ("--export-safetensors", os.path.join(step, "x.safetensors")),
            ("--trace", self.path("c/step-00000009.tmp/t.json")),
            ("--set", "data.input_ids=" + os.path.join(step, "ids.npy")),
        ):
            result = self.trainer(*words, *more, "--dry-run")
            self.assert_one_error(result, "trainer", "lies in step-0000000", "--checkpoint-dir")


if __name__ == "__main__":
    unittest.main()
