"""shardc-ckpt: what can be done with checkpoints without a trainer."""
import json
import os
import shutil
import struct
import unittest

import numpy as np

from tool_test import BUILD, MODELS, SHARDC, ToolTest, run

CKPT = os.path.join(BUILD, "bin", "shardc-ckpt")
MODEL = os.path.join(MODELS, "mlp-tiny-loss")


def tensors(path):
    """Of a safetensors file: its header's entries, each with its bytes."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    header.pop("__metadata__")
    return {
        name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }


class ShardcCkpt(ToolTest):
    def setUp(self):
        super().setUp()
        self.trainer, self.runs = self.path("m.trainer"), self.path("runs")
        compiled = run(
            SHARDC,
            os.path.join(MODEL, "model.onnx"),
            *("--mesh", 4, "--dim", "batch=2", "--loss", "output:loss", "-o", self.trainer),
        )
        self.assertEqual(compiled.code, 0, compiled.err)
        self.data = [w for n in ("x", "labels") for w in ("--data", f"{n}={MODEL}/data/{n}.npy")]
        saved = self.works(
            self.trainer,
            *self.data,
            *("--steps", 4, "--checkpoint-dir", self.runs, "--checkpoint-every", 2),
            *("--export-safetensors", self.path("final"), "--export-onnx", self.path("final.onnx")),
        )
        self.assertIn("step 4 is saved", saved)
        self.last = os.path.join(self.runs, "step-00000004")

    def works(self, *words):
        result = run(*words)
        self.assertEqual((result.code, result.err), (0, ""), result.err)
        return result.out

    def fails(self, *words):
        result = run(CKPT, *words)
        self.assertEqual(result.err.count("\n"), 1, result.err)
        self.assertGreater(result.code, 0)
        self.assertTrue(result.err.startswith("shardc-ckpt: error: "), result.err)
        return result.err

    def test_inspect(self):
        text = self.works(CKPT, "inspect", self.runs)
        self.assertIn("step-00000004: step 4, 4 updates; epoch 0, 32 of its ", text)
        self.assertIn("strategy full; float32; adamw; global batch 8", text)
        self.assertIn("model: 6 tensors, 6.92k elements", text)
        self.assertIn("optim: 18 tensors", text)
        text = self.works(CKPT, "inspect", self.last, "--tensors")
        self.assertIn("\n  layers.0.weight  float32 [64, 32]\n", text)
        self.assertIn("\n  state.layers.0.weight.step  float32 []\n", text)

    def test_verify(self):
        text = self.works(CKPT, "verify", self.runs)
        self.assertEqual(text.count(" is whole: 8 files, "), 2, text)
        name = os.path.join(self.last, "optim", sorted(os.listdir(self.last + "/optim"))[1])
        with open(name, "r+b") as file:
            file.seek(-3, os.SEEK_END)
            file.write(b"\x55")
        self.assertIn("are not those that were written", self.fails("verify", self.last))
        result = run(CKPT, "verify", self.runs)
        self.assertEqual(result.out.count(" is whole"), 1)
        self.assertIn(f"{self.runs} has checkpoints that are damaged", result.err)
        os.remove(name)
        self.assertIn(name, self.fails("verify", self.last))
        self.assertIn("is no checkpoint", self.fails("verify", self.folder))

    def test_diff(self):
        first = os.path.join(self.runs, "step-00000002")
        same = self.path("same")
        shutil.copytree(self.last, same)
        self.assertEqual(self.works(CKPT, "diff", self.last, same), "")
        result = run(CKPT, "diff", first, self.last)
        self.assertEqual((result.code, result.err), (1, ""))
        self.assertIn("steps 2 and 4\n", result.out)
        self.assertRegex(result.out, r"\nlayers.0.weight: \d+ elements differ, by \S+ at most\n")
        self.assertIn("\nstate.layers.0.bias.step: 1 elements differ, by 2 at most\n", result.out)
        # As diff(1) does.
        self.assertEqual(run(CKPT, "diff", first, self.path("nothing")).code, 2)

    def test_prune(self):
        result = run(CKPT, "prune", self.runs)
        self.assertEqual((result.code, len(os.listdir(self.runs))), (2, 2))
        self.assertIn("--keep is required", result.err)
        keep = ("--keep", 1)
        self.assertIn("1 of 2 checkpoints stay", self.works(CKPT, "prune", self.runs, *keep))
        self.assertEqual(os.listdir(self.runs), ["step-00000004"])
        self.assertIn("is no checkpoint", self.fails("prune", self.path("nothing"), *keep))

    def test_unknown_command(self):
        result = run(CKPT, "inspekt", self.runs)
        self.assertEqual(result.code, 2)
        self.assertIn("unknown command 'inspekt', did you mean 'inspect'?", result.err)

    def test_export_to_hf(self):
        os.mkdir(self.path("like"))
        for name in ("config.json", "tokenizer.json", "a.index.json"):
            with open(self.path("like/" + name), "w") as file:
                file.write(name)
        shutil.copy(self.path("final"), self.path("like/model.safetensors"))
        words = ("export", self.runs, "--to", "hf", "-o")
        self.works(CKPT, *words, self.path("one"), "--like", self.path("like"))
        self.assertEqual(
            sorted(os.listdir(self.path("one"))),
            ["config.json", "model.safetensors", "tokenizer.json"],
        )
        expected = tensors(self.path("final"))
        self.assertEqual(tensors(self.path("one/model.safetensors")), expected)
        self.works(CKPT, *words, self.path("many"), "--shard-size", "10KB")
        with open(self.path("many/model.safetensors.index.json")) as file:
            index = json.load(file)
        self.assertEqual(index["metadata"]["total_size"], sum(len(t[2]) for t in expected.values()))
        self.assertEqual(index["weight_map"].keys(), expected.keys())
        for name, file in index["weight_map"].items():
            self.assertEqual(tensors(self.path("many/" + file))[name], expected[name])
        self.assertGreater(len(set(index["weight_map"].values())), 2)
        # What an earlier export left with other files is no part of this one.
        self.works(CKPT, *words, self.path("many"))
        self.assertEqual(os.listdir(self.path("many")), ["model.safetensors"])
        self.works(CKPT, *words, self.path("many"), "--shard-size", "10KB")
        self.assertEqual(
            set(os.listdir(self.path("many"))),
            {"model.safetensors.index.json", *index["weight_map"].values()},
        )
        self.works(CKPT, *words, self.path("half"), "--dtype", "bfloat16")
        for name, (kind, shape, values) in tensors(self.path("half/model.safetensors")).items():
            self.assertEqual((kind, shape), ("BF16", expected[name][1]))
            whole = np.frombuffer(expected[name][2], np.float32)
            halves = np.frombuffer(values, np.uint16).astype(np.uint32) << 16
            np.testing.assert_allclose(halves.view(np.float32), whole, rtol=2**-8)
        # A trainer takes both.
        for folder in ("one", "many"):
            again = ("--weights", self.path(folder), "--steps", 0)
            self.works(self.trainer, *self.data, *again, "--export-safetensors", self.path("again"))
            self.assertEqual(tensors(self.path("again")), expected)

    def test_names_that_the_original_lacks(self):
        def like(names):
            header = {n: {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in names}
            text = json.dumps(header).encode()
            with open(self.path("original/model.safetensors"), "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text)

        os.mkdir(self.path("original"))
        words = ("export", self.runs, "--to", "hf", "-o", self.path("named"))
        words += ("--like", self.path("original"))
        names = list(tensors(self.path("final")))
        like(names)
        self.assertEqual(run(CKPT, *words).err, "")
        like([*names, "head.weight"])
        result = run(CKPT, *words)
        self.assertEqual(result.code, 0)
        self.assertRegex(
            result.err,
            rf"^shardc-ckpt: warning: 1 of the {len(names) + 1} tensors of .*original are not in"
            rf" the checkpoint, the first is head.weight, while that has {min(names)};"
            r" from_pretrained draws them anew\n$",
        )
        like(["module." + name for name in names])
        self.assertIn(f"the first is module.{min(names)}", self.fails(*words))

    def test_export_to_dcp(self):
        words = ("export", self.runs, "--to", "dcp", "-o", self.path("dcp"), "--shard-size", "8KB")
        self.assertIn(" tensors in ", self.works(CKPT, *words))
        whole = {}
        for part in ("model", "optim"):
            names = sorted(os.listdir(self.path("dcp/" + part)))
            self.assertGreater(len(names), 1)
            for at, name in enumerate(names, 1):
                self.assertEqual(name, f"shard-00001-model-{at:05}-of-{len(names):05}.safetensors")
                with open(self.path(f"dcp/{part}/{name}"), "rb") as file:
                    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
                metadata = header.pop("__metadata__")
                self.assertEqual((metadata["format"], metadata["DCP_VERSION"]), ("pt", "1.0"))
                offsets = json.loads(metadata["DCP_SHARDING_INFO"])
                self.assertEqual(
                    offsets,
                    {k: {"saved_offsets": [0] * len(e["shape"])} for k, e in header.items()},
                )
                whole.update(tensors(self.path(f"dcp/{part}/{name}")))
        expected = tensors(self.path("final"))
        self.assertEqual({k: v for k, v in whole.items() if not k.startswith("state.")}, expected)
        # A trainer goes on with it as with what torch wrote, and saves the same again.
        again = ("--resume", self.path("dcp"), "--steps", 4, "--checkpoint-dir", self.path("again"))
        self.works(self.trainer, *self.data, *again)
        same = ("diff", self.last, self.path("again/step-00000004"))
        self.works(CKPT, *same)

    def test_export_to_onnx(self):
        words = ("export", self.last, "--to", "onnx", "-o", self.path("m.onnx"))
        self.assertIn("needs --trainer", self.fails(*words))
        self.works(CKPT, *words, "--trainer", self.trainer)
        with open(self.path("m.onnx"), "rb") as got, open(self.path("final.onnx"), "rb") as want:
            self.assertEqual(got.read(), want.read())

    def test_nothing_that_is_read_is_written(self):
        def refused(to, output, *more):
            return self.fails("export", self.last, "--to", to, "-o", output, *more)

        trainer = ("--trainer", self.trainer)
        self.assertIn("would overwrite what is read", refused("onnx", self.trainer, *trainer))
        inside = os.path.join(self.last, "manifest.json")
        self.assertIn("lies in the checkpoint that is read", refused("onnx", inside, *trainer))
        for to in ("hf", "dcp"):
            self.assertIn("lies in the checkpoint that is read", refused(to, self.last))
        self.works(CKPT, "verify", self.last)

    def test_words_that_are_wrong(self):
        self.assertIn("--help lists the commands", self.fails("nonesuch"))
        self.assertIn("--help lists the commands", self.fails())
        self.assertIn("--to", self.fails("export", self.last, "--to", "zip", "-o", "x"))
        self.assertIn(
            "--shard-size expects a size such as 500MB",
            self.fails("export", self.last, "--to", "hf", "-o", "x", "--shard-size", "big"),
        )


if __name__ == "__main__":
    unittest.main()
