"""shardc diff: what two trainers differ in, and which plan entry of two runs has first made
something else (--hash-entries)."""
import os
import shutil
import sys
import unittest

import numpy as np

from tool_test import MODELS, ROOT, SHARDC, ToolTest, run

sys.path.insert(0, os.path.join(ROOT, "test", "training"))
from emulated_cuda import emulated  # noqa: E402
from reference import read_safetensors  # noqa: E402

MLP = os.path.join(MODELS, "mlp-tiny-loss")
LLAMA = os.path.join(MODELS, "s2-llama-tiny-causal")


class DiffTest(ToolTest):
    def compile(self, name, *flags, model=MLP, dims=("batch=4",), loss="output:loss"):
        words = [word for dim in dims for word in ("--dim", dim)]
        words += ["--loss", loss, "-q", "-o", self.path(name)]
        result = run(SHARDC, os.path.join(model, "model.onnx"), *words, *flags)
        self.assertEqual(result.code, 0, result.err)
        return self.path(name)

    def diff(self, a, b, code, *flags):
        result = run(SHARDC, "diff", a, b, *flags)
        self.assertEqual(result.code, code, result.out + result.err)
        if code < 2:
            self.assertEqual(result.err, "")
        return result.out if code < 2 else result.err


class Trainers(DiffTest):
    def test_the_same(self):
        a, b = self.compile("a"), self.compile("b")
        self.assertEqual(self.diff(a, b, 0), "the plans are the same\n")
        # Attributes of kernels' ops are maps, whose entries have no order.
        llama = self.compile(
            "llama",
            model=LLAMA,
            dims=("batch=2", "sequence=64"),
            loss="cross-entropy:logits=logits,labels=labels,shift=1",
        )
        self.assertEqual(self.diff(llama, llama, 0), "the plans are the same\n")

    def test_what_a_flag_does(self):
        llama = {
            "model": LLAMA,
            "dims": ("batch=2", "sequence=64"),
            "loss": "cross-entropy:logits=logits,labels=labels,shift=1",
        }
        a = self.compile("a", "--mesh", "2", "--remat", "none", **llama)
        for flags, shown, bits in (
            (["--remat", "unit"], ["arithmetic", "memory, step", r"\(-.* MiB\)"], True),
            (["--remat", "none", "--prefetch", "0"], ["memory, gather"], True),
            (["--remat", "none", "--units", "one"], ["units"], True),
            (["--remat", "none", "--strategy", "opt"], ["strategy *full *opt"], True),
            (
                ["--remat", "none", "--offload", "optimizer"],
                ["memory, host", "moved, host", r"memory, persistent .*\(-"],
                True,
            ),
            (["--remat", "none", "--precision", "bf16"], ["parameters *float32 *bfloat16"], False),
            (["--remat", "none", "--optimizer", "lion"], ["optimizer *adamw *lion"], False),
            (["--remat", "none", "--target", "cuda"], ["target *cpu:.* *cuda:sm_90"], False),
        ):
            with self.subTest(flags=flags):
                b = self.compile("b", "--mesh", "2", *flags, **llama)
                said = self.diff(a, b, 1)
                for line in shown:
                    self.assertRegex(said, rf"(?m)^.*{line}")
                if not bits:
                    self.assertIn("bits: not the same: ", said)
                    continue
                self.assertIn("bits: the same losses, gradients and parameters", said)
                check = os.path.join(os.path.dirname(SHARDC), "shardc-check")
                proved = run(check, b, "--reference", a)
                self.assertEqual(proved.code, 0, proved.err)

    def test_a_mesh_changes_bits_by_its_batch(self):
        a = self.compile("a", "--mesh", "2")
        b = self.compile("b", "--mesh", "4", dims=("batch=2",))
        self.assertIn("bits: not the same: sums over samples are bracketed", self.diff(a, b, 1))
        b = self.compile("b", "--mesh", "4")
        self.assertIn("all ranks has 8 and 16 samples", self.diff(a, b, 1))

    def test_one_of_several_plans(self):
        a = self.compile("a", "--target", "cpu,cuda")
        b = self.compile("b", "--target", "cuda")
        self.assertRegex(self.diff(a, b, 1), "target *cpu")
        self.assertEqual(self.diff(a, b, 0, "--target", "cuda"), "the plans are the same\n")
        said = self.diff(a, b, 2, "--target", "tpu")
        self.assertIn("has no plan for --target tpu; it was compiled for cpu", said)

    def test_bad_input(self):
        a = self.compile("a")
        os.mkdir(self.path("folder"))
        with open(self.path("text"), "w") as file:
            file.write("no trainer")
        with open(a, "rb") as file, open(self.path("cut"), "wb") as cut:
            cut.write(file.read()[:-100])
        with open(a, "rb") as file, open(self.path("damaged"), "wb") as damaged:
            content = bytearray(file.read())
            content[content.rindex(b"mlp-tiny-loss")] ^= 1  # in the plan
            damaged.write(content)
        for words, said in (
            ((a, self.path("none")), "cannot open"),
            ((a, self.path("folder")), "expects two trainers, or two folders"),
            ((a, self.path("text")), "text: is no trainer of shardc"),
            ((a, self.path("cut")), "cut: is no trainer of shardc"),
            ((a, self.path("damaged")), "is not what was compiled: it is damaged"),
            ((self.path("folder"), self.path("folder")), "rank-00000.jsonl: is not there"),
            ((a,), "diff: second is required; see shardc diff --help"),
        ):
            with self.subTest(said=said):
                result = run(SHARDC, "diff", *words)
                self.assertEqual((result.code, result.out), (2, ""))
                self.assertEqual(result.err.count("\n"), 1, result.err)
                self.assertTrue(result.err.startswith("shardc: error: "), result.err)
                self.assertIn(said, result.err)


class Runs(DiffTest):
    def setUp(self):
        super().setUp()
        self.x = np.load(os.path.join(MLP, "data", "x.npy"))
        np.save(self.path("x.npy"), self.x)

    def train(self, trainer, hashes, *flags, steps=3):
        result = run(
            *(trainer, "--data", f"x={self.path('x.npy')}"),
            *("--data", f"labels={os.path.join(MLP, 'data', 'labels.npy')}"),
            *("--steps", steps, "--hash-entries", self.path(hashes), *flags),
        )
        self.assertEqual(result.code, 0, result.err)
        return self.path(hashes)

    def test_equal_runs(self):
        trainer = self.compile("a", "--mesh", "2")
        a = self.train(trainer, "a.hashes", "--hash-steps", 2)
        self.assertEqual(sorted(os.listdir(a)), ["rank-00000.jsonl", "rank-00001.jsonl"])
        b = self.train(trainer, "b.hashes", "--hash-steps", 2, "--threads", 1)
        self.assertRegex(self.diff(a, b, 0), "^[0-9]+ entries have made the same, to the bit\n$")
        processes = self.train(trainer, "c.hashes", "--hash-steps", 2, "--nproc-per-node", 2)
        self.diff(a, processes, 0)

    def test_data_of_a_later_step(self):
        trainer = self.compile("a", "--mesh", "2")
        a = self.train(trainer, "a.hashes", "--hash-steps", 3)
        self.x[8 + 4, 3] += 1  # step 2, rank 1's first sample
        np.save(self.path("x.npy"), self.x)
        said = self.diff(a, self.train(trainer, "b.hashes", "--hash-steps", 3), 1)
        self.assertIn("differs: step 2, micro-batch 1, rank 1: plan entry model/gemm (train,", said)
        self.assertIn("of ONNX node /layers/layers.0/Gemm", said)
        self.assertIn("of another a, which no entry before it has made: data, initial", said)

    def test_initial_values_and_numbers_of_the_run(self):
        trainer = self.compile("a", "--mesh", "2", "--init", "random")
        a = self.train(trainer, "a.hashes")
        said = self.diff(a, self.train(trainer, "b.hashes", "--seed", 1), 1)
        self.assertRegex(said, "differs: step 1, micro-batch 1, rank 0: .*forward")
        self.assertIn("which no entry before it has made", said)
        said = self.diff(a, self.train(trainer, "b.hashes", "--lr", 0.1), 1)
        self.assertRegex(said, r"differs: step 1, micro-batch 1, rank 0: .*\(train, optimizer\)")
        self.assertIn("of the same operands", said)

    def test_another_plan_of_the_same_bits(self):
        a = self.train(self.compile("a", "--mesh", "2"), "a.hashes")
        b = self.train(self.compile("b", "--mesh", "2", "--units", "size:1kB"), "b.hashes")
        said = self.diff(a, b, 1)
        self.assertIn("entries have made the same, to the bit", said)
        self.assertRegex(said, "[0-9]+ entries of .*a.hashes are not in .*b.hashes")

    def test_gpus(self):
        with emulated():
            trainer = self.compile("a", "--mesh", "2", "--target", "cuda")
            a = self.train(trainer, "a.hashes")
            self.diff(a, self.train(trainer, "b.hashes"), 0)

    def test_fewer_ranks_and_a_line_that_is_cut_off(self):
        trainer = self.compile("a", "--mesh", "2")
        a = self.train(trainer, "a.hashes")
        b = shutil.copytree(a, self.path("b.hashes"))
        path = os.path.join(b, "rank-00001.jsonl")
        with open(path) as file:
            lines = file.read()
        with open(path, "w") as file:
            file.write(lines[:-30])
        self.assertIn("1 entries of", self.diff(a, b, 1))
        with open(path, "w") as file:
            file.write(lines.replace('{"step"', '["step"', 1))
        self.assertIn("a line that is no entry of --hash-entries", self.diff(a, b, 2))
        other = self.train(self.compile("c", "--mesh", "4", dims=("batch=2",)), "c.hashes")
        self.assertIn("ranks: 2 and 4; those that both have are compared", self.diff(a, other, 1))

    def test_flags(self):
        trainer = self.compile("a")
        data = ("--data", "synthetic:1", "--steps", 1)
        with open(self.path("file"), "w"):
            pass
        for flags, said in (
            (("--hash-steps", 2), "--hash-steps has no effect without --hash-entries"),
            (("--hash-entries", self.path("file")), "--hash-entries"),
            (("--hash-entries", "/proc/none"), "--hash-entries: cannot make the folder /proc/none"),
        ):
            with self.subTest(flags=flags):
                self.assert_one_error(run(trainer, *data, *flags), "trainer", said)


if __name__ == "__main__":
    unittest.main()
