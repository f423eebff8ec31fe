"""test/examples: each script, small, shows what it says."""
import importlib.util
import json
import math
import os
import signal
import subprocess
import time
import unittest

import numpy as np

from test_trainer_mlflow import LiveServerTest, MLflowTest, needs_mlflow
from tool_test import BUILD, MODELS, ROOT, ToolTest
from user_files import read_safetensors

EXAMPLES = os.path.join(ROOT, "test", "examples")
CKPT = os.path.join(BUILD, "bin", "shardc-ckpt")


def environment(**variables):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("MLFLOW_")}
    return kept | {"PATH": os.path.join(BUILD, "bin") + ":" + os.environ["PATH"]} | variables


class ScriptTest(ToolTest):
    def start(self, name, *words, **variables):
        process = subprocess.Popen(
            [os.path.join(EXAMPLES, name), *map(str, words)],
            cwd=self.folder,
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def script(self, name, *words, code=0, **variables):
        process = self.start(name, *words, **variables)
        out, error = process.communicate(timeout=240)
        self.assertEqual(process.returncode, code, error)
        if code == 0:
            self.assertEqual(error, "")
        return out if code == 0 else error

    def metrics(self, *path):
        """Its steps, and its events."""
        with open(self.path(os.path.join(*path, "metrics.jsonl"))) as file:
            lines = [json.loads(line) for line in file]
        return [x for x in lines if "event" not in x], [x for x in lines if "event" in x]

    def losses(self, *path):
        return [step["loss"] for step in self.metrics(*path)[0]]

    def evaluations(self, *path):
        """The loss after so many steps."""
        return {x["step"]: x["loss"] for x in self.metrics(*path)[1] if x["event"] == "eval"}

    def manifest(self, *path):
        with open(self.path(os.path.join(*path, "manifest.json"))) as file:
            return json.load(file)

    def checkpoints(self, *path):
        return sorted(os.listdir(self.path(os.path.join(*path, "checkpoints"))))

    def assert_equal_checkpoints(self, first, second):
        words = [CKPT, "diff", self.path(first), self.path(second)]
        process = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual((process.returncode, process.stdout, process.stderr), (0, "", ""))


class Settings(ScriptTest):
    NAMES = sorted(n for n in os.listdir(EXAMPLES) if n.endswith(".sh") and n != "settings.sh")

    def test_a_dry_run_ends_well(self):
        self.assertEqual(len(self.NAMES), 4)
        for name in self.NAMES:
            with self.subTest(name=name):
                text = self.script(name, "out=" + name, "--dry-run")
                self.assertIn("dry run: plan, data, weights and outputs are in order\n", text)
                self.assertNotIn("metrics.jsonl", os.listdir(self.path(name)))

    def test_an_unknown_one_is_an_error(self):
        for name in self.NAMES:
            with self.subTest(name=name):
                error = self.script(name, "batchsize=3", code=2)
                self.assertIn(f"{name}: error: there is no setting 'batchsize'", error)
                self.assertEqual(error.count("\n"), 1, error)
        self.assertEqual(os.listdir(self.folder), [])


class Classifier(ScriptTest, MLflowTest):
    """classifier-mlflow.sh: 128 samples in batches of 16."""

    NAME = "classifier-mlflow.sh"

    def setUp(self):
        ToolTest.setUp(self)  # it compiles its own trainer
        self.state_path = self.path("server.json")

    def test_checkpoints_mlflow_and_a_longer_run(self):
        _, port = self.serve()
        server = {
            "MLFLOW_TRACKING_URI": f"http://127.0.0.1:{port}",
            "MLFLOW_EXPERIMENT_NAME": "classifiers",
            "NO_PROXY": "*",
        }
        text = self.script(self.NAME, **server)
        self.assertEqual(
            self.checkpoints("classifier"), [f"step-{n:08d}" for n in (10, 20, 30, 40)]
        )
        self.assertEqual(text.count(" is whole: "), 4)
        losses = self.losses("classifier")
        self.assertGreater(np.mean(losses[:8]), 2 * np.mean(losses[-8:]))
        # It goes on, in its files and its MLflow run, as if it had never ended.
        text = self.script(self.NAME, "epochs=6", **server)
        self.assertIn("step-00000040", text)
        self.script(self.NAME, "epochs=6", "out=whole")
        self.assertEqual(self.losses("classifier"), self.losses("whole"))
        self.assertEqual(len(self.losses("whole")), 48)
        last = "checkpoints/step-00000048"
        self.assert_equal_checkpoints(f"classifier/{last}", f"whole/{last}")

        only, steps = self.only_run(), self.metrics("classifier")[0]
        self.assertEqual(only["info"]["status"], "FINISHED")
        for key, value in {"lr": "0.001", "weight-decay": "0.01", "optimizer": "adamw"}.items():
            self.assertEqual(only["params"][key], value)
        told = {step: value for key, step, _, value in only["metrics"] if key == "loss"}
        self.assertEqual(told, {step["step"] + 1: step["loss"] for step in steps})
        folder = f"1/{only['info']['run_id']}/artifacts"
        self.assertEqual(
            self.state()["artifacts"],
            {
                f"{folder}/{name}": os.path.getsize(self.path(f"classifier/{name}"))
                for name in ("model.safetensors", "model.onnx")
            },
        )

    def test_a_loss_that_does_not_fall(self):
        error = self.script(self.NAME, "epochs=1", "below=0.01", code=3)
        self.assertIn("--expect-loss-below 0.01: the loss of the last step is ", error)


@needs_mlflow
class LiveClassifier(ScriptTest, LiveServerTest):
    def setUp(self):
        ToolTest.setUp(self)

    def test_the_server_has_the_run(self):
        port = self.unused_port()
        self.start_server(port)
        uri = f"http://127.0.0.1:{port}"
        out = self.script(Classifier.NAME, MLFLOW_TRACKING_URI=uri, NO_PROXY="*")
        run_id = next(x["run_id"] for x in self.metrics("classifier")[1] if "run_id" in x)
        self.assertIn(f"MLflow: run {run_id}\n", out)
        steps, events = self.metrics("classifier")
        self.assert_server_has(run_id, steps + events)
        found = self.ask("runs/get", run_id=run_id)["run"]
        self.assertEqual(found["info"]["status"], "FINISHED")
        params = {param["key"]: param["value"] for param in found["data"]["params"]}
        self.assertEqual((params["lr"], params["optimizer"]), ("0.001", "adamw"))
        files = self.ask("artifacts/list", run_id=run_id)["files"]
        self.assertEqual(
            {file["path"]: file["file_size"] for file in files},
            {
                name: os.path.getsize(self.path(f"classifier/{name}"))
                for name in ("model.safetensors", "model.onnx")
            },
        )


class LlamaPretraining(ScriptTest):
    NAME = "llama-pretraining.sh"

    def test_a_run_that_is_killed_loses_nothing(self):
        self.script(self.NAME, "out=whole")
        killed = self.start(self.NAME, "out=killed")
        saved = self.path("killed/checkpoints/step-00000020")
        end = time.monotonic() + 120
        while not os.path.exists(saved) and killed.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.assertLess(len(self.losses("killed")), 60)
        text = self.script(self.NAME, "out=killed")
        self.assertRegex(text, r"killed/checkpoints/step-000000[2-5]0")

        losses = self.losses("whole")
        self.assertEqual(len(losses), 60)
        self.assertEqual(self.losses("killed"), losses)
        last = "checkpoints/step-00000060"
        self.assert_equal_checkpoints(f"killed/{last}", f"whole/{last}")
        self.assertEqual(self.evaluations("killed"), self.evaluations("whole"))
        self.assertEqual(self.checkpoints("killed"), [f"step-{n:08d}" for n in (40, 50, 60)])

        # From scratch: the loss begins at that of guessing among 512 ids.
        self.assertAlmostEqual(losses[0], math.log(512), delta=0.3)
        self.assertLess(losses[-1], 4)
        self.assertLess(self.evaluations("whole")[60], 4)
        steps = self.metrics("whole")[0]
        for step, line in enumerate(steps):
            rate = 0.1 + 0.9 * step / 10
            if step >= 10:
                rate = 0.5 * (1 + math.cos(math.pi * (step - 10) / 50))
            self.assertAlmostEqual(line["learning_rate"], 1e-3 * rate, delta=1e-9)
        self.assertEqual(steps[-1]["tokens"], 60 * 16 * 64)  # 2 ranks, 2 micro-batches of 4
        self.assertIn("bfloat16 (gradients float32", self.manifest("whole", last)["precision"])


class BloomStrategies(ScriptTest):
    NAME = "bloom-strategies.sh"

    def write_data(self):
        """Samples to learn by heart, and others that this is no help for."""
        draw = np.random.default_rng(11)
        source = os.path.join(MODELS, "s4-bloom-tiny-dynamo", "data")
        for part, count in (("data", 32), ("data/eval", 8)):
            os.mkdir(self.path(part))
            mask = np.load(os.path.join(source, "attention_mask.npy"))[:count]
            ids = np.where(mask == 1, draw.integers(1, 64, mask.shape), 0)
            labels = np.where(mask == 1, ids, -100)
            for name, values in (("input_ids", ids), ("attention_mask", mask), ("labels", labels)):
                np.save(self.path(f"{part}/{name}.npy"), values)

    def test_a_table_of_strategies(self):
        self.write_data()
        names = ["full", "grad_op", "hybrid", "none"]
        text = self.script(self.NAME, "data=data", "epochs=5", "lr=2e-2")
        table = text[text.rindex("strategy ") :]
        with open(self.path("bloom/strategies.txt")) as file:
            self.assertEqual(file.read(), table)
        rows = [line.split() for line in table.splitlines()[1:]]
        self.assertEqual([row[0] for row in rows], names)
        rows = {row[0]: [float(number) for number in row[1:]] for row in rows}
        best = set()
        for name in names:
            with self.subTest(name=name):
                loss, least, milliseconds, mebibytes = rows[name]
                steps, _ = self.metrics("bloom", name)
                self.assertEqual(len(steps), 20)
                self.assertAlmostEqual(loss, steps[-1]["loss"], places=6)
                seconds = np.mean([step["step_seconds"] for step in steps])
                self.assertAlmostEqual(milliseconds, 1000 * seconds, delta=2e-3)
                self.assertLess(abs(loss / rows["full"][0] - 1), 0.02)
                # Behind every epoch; the link leads to the lowest.
                losses = self.evaluations("bloom", name)
                self.assertEqual(sorted(losses), [0, 4, 8, 12, 16, 20])
                lowest = min(losses, key=losses.get)
                self.assertAlmostEqual(least, losses[lowest], places=6)
                self.assertNotIn(lowest, (0, 20), losses)
                self.assertEqual(
                    self.checkpoints("bloom", name),
                    ["best", f"step-{lowest:08d}", "step-00000020"],
                )
                link = os.path.join("bloom", name, "checkpoints", "best")
                self.assertEqual(os.readlink(self.path(link)), f"step-{lowest:08d}")
                self.assertEqual(self.manifest(link)["best"]["value"], losses[lowest])
                best.add(lowest)
                self.assertEqual(self.manifest(link)["strategy"], name)
        self.assertEqual(len(best), 1)
        memory = [rows[name][3] for name in ("full", "hybrid", "none")]
        self.assertEqual(sorted(memory), memory)
        self.assertLess(1.3 * memory[0], memory[2])


class Llama31FineTuning(ScriptTest):
    """llama31-finetuning.sh: 256 samples in batches of 32, on 16 ranks."""

    NAME = "llama31-finetuning.sh"

    def recorded(self):
        """What transformers says: record_llama31.py."""
        with open(os.path.join(EXAMPLES, "llama31-tiny.json")) as file:
            return json.load(file)

    def exported(self, folder):
        """The tensors of a folder as transformers has them."""
        tensors = {}
        for name in sorted(os.listdir(self.path(folder))):
            if name.endswith(".safetensors"):
                tensors |= read_safetensors(self.path(f"{folder}/{name}"))
        return tensors

    def test_sixteen_ranks_and_a_folder_of_transformers(self):
        text = self.script(self.NAME, "shard_size=300KB")
        self.assertIn("mesh 2x8 (replicate x shard, 16 ranks)", text)
        summary = self.metrics("llama31")[1][-1]
        self.assertEqual((summary["ranks"], summary["micro_batches"]), (16, 2))
        steps, losses = self.metrics("llama31")[0], self.evaluations("llama31")
        self.assertEqual([steps[0]["samples"], len(steps)], [32, 24])
        self.assertEqual(sorted(losses), [0, 8, 16, 24])
        self.assertLess(losses[24], losses[0] - 2)

        # Its folder: several files, all tensors of transformers' model, the configuration.
        names = sorted(os.listdir(self.path("llama31/hf")))
        self.assertIn("model-00001-of-00003.safetensors", names)
        self.assertIn("model.safetensors.index.json", names)
        with open(os.path.join(EXAMPLES, "llama31-tiny", "config.json")) as like:
            with open(self.path("llama31/hf/config.json")) as copy:
                self.assertEqual(copy.read(), like.read())
        tensors = self.exported("llama31/hf")
        shapes = {name: shape for name, (_, shape, _) in tensors.items()}
        self.assertEqual(shapes, self.recorded()["tensors"])
        # Its logits are those of the checkpoint: their loss is the run's, which is in bf16.
        logits = np.load(self.path("llama31/logits.npy"))
        self.assertEqual((logits.shape, logits.dtype), ((16, 64, 512), np.float32))
        predicted = float(text.rsplit("eval loss ", 1)[1].split(",")[0])
        self.assertAlmostEqual(predicted, losses[24], delta=0.01)

    def test_logits_are_those_of_transformers(self):
        """With weights that no training changes, so that they could be recorded."""
        text = self.script(self.NAME, "--lr", 0, "--epochs", 1)
        self.assertIn("hf: 30 tensors in 1 file", text)
        recorded = self.recorded()
        logits = np.load(self.path("llama31/logits.npy"))
        np.testing.assert_allclose(
            logits[recorded["samples"]][:, recorded["positions"]],
            np.array(recorded["logits"]),
            atol=1e-4,
            rtol=0,
        )

    @unittest.skipUnless(
        os.environ.get("SHARDC_TEST_TORCH")
        and all(map(importlib.util.find_spec, ("torch", "transformers", "datasets"))),
        "transformers loads the folder: ./dev test --torch, with PYTHON that has transformers and"
        " datasets",
    )
    def test_transformers_loads_the_folder_and_has_its_logits(self):
        import torch
        from datasets import load_from_disk
        from transformers import AutoModelForCausalLM

        self.script(self.NAME, "shard_size=300KB")
        model, info = AutoModelForCausalLM.from_pretrained(
            self.path("llama31/hf"), dtype=torch.float32, output_loading_info=True
        )
        self.assertEqual([*info["missing_keys"], *info["unexpected_keys"]], [])
        held_out = load_from_disk(os.path.join(EXAMPLES, "questions"))["test"]
        with torch.no_grad():
            logits = model.eval()(torch.tensor(held_out["input_ids"][:])).logits
        ours = np.load(self.path("llama31/logits.npy"))
        np.testing.assert_allclose(ours, logits.numpy(), atol=1e-4, rtol=0)


if __name__ == "__main__":
    unittest.main()
