"""Real trainers whose ranks are in several processes: losses, norms, exports, predictions and
checkpoints are those of one process, to the last bit, whatever the split.

With --thorough every model runs on every mesh with every strategy and in every
precision; else each of these appears in some run."""
import itertools
import os
import re
import tempfile
import unittest

from reference import CommandFailed, models, read_metrics

# Of processor time: see test/run.py.
LONG = True

EXPORTS = {
    "--export-gradients": "gradients.safetensors",
    "--export-safetensors": "parameters.safetensors",
    "--export-onnx": "trained.onnx",
}
MODELS = ("mlp-tiny-loss", "gpt2-tiny", "s2-llama-tiny-causal", "s4-bloom-tiny-dynamo")
STRATEGIES = ("full", "grad_op", "opt", "none", "hybrid", "hybrid_grad_op", "hybrid_opt")
MESHES = {"4": (2, 4), "2x2": (2, 4), "2x4": (2, 4, 8)}  # and the processes of each
PRECISIONS = ("float32", "float64", "bf16", "float16")
# Model, mesh, strategy, precision, flags of the trainer.
CASES = (
    ("mlp-tiny-loss", "4", "full", "float64", ()),
    ("gpt2-tiny", "2x4", "full", "float32", ("--shuffle", "--seed", 3)),
    ("gpt2-tiny", "4", "none", "bf16", ("--grad-accumulation", 2, "--clip-norm", "inf")),
    ("s2-llama-tiny-causal", "2x4", "hybrid", "bf16", ("--grad-accumulation", 2)),
    ("s2-llama-tiny-causal", "2x2", "opt", "float32", ("--loss-norm", "rank")),
    ("s2-llama-tiny-causal", "4", "grad_op", "float16", ()),
    ("s4-bloom-tiny-dynamo", "2x2", "hybrid_opt", "float32", ()),
    ("s4-bloom-tiny-dynamo", "2x4", "hybrid_grad_op", "float64", ("--grad-accumulation", 2)),
)


def all_cases():
    flags = ((), ("--grad-accumulation", 2))
    for case in itertools.product(MODELS, MESHES, STRATEGIES, PRECISIONS, flags):
        if not (case[1] == "4" and case[2].startswith("hybrid")):  # which needs two dims
            yield case


class Processes(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def path(self, name):
        return os.path.join(self.folder, name)

    def compile(self, model, mesh, strategy, precision, *flags):
        self.model = models()[model]
        ranks = 1
        for size in mesh.split("x"):
            ranks *= int(size)
        batch = max(self.model.batch, ranks)
        words = ("--strategy", strategy, "-q", *flags)
        self.model.compile(self.path("t"), mesh, precision, *words, batch=batch)

    def train(self, processes, *flags, steps=3, exports=True, bits=()):
        """What a run has left: losses and norms, and files by name."""
        words = list(flags)
        words += ["--nproc-per-node", processes] if processes > 1 else []
        words += ["--metrics", self.path("m.jsonl")]
        for flag, name in EXPORTS.items() if exports else ():
            words += [flag, self.path(name)]
        said = self.model.train(self.path("t"), *words, steps=steps)
        # The recipe's warm-up is longer than these runs.
        self.assertRegex(said.stderr, r"^(trainer: warning: the warm-up of .*\n)?$")
        done, events = read_metrics(self.path("m.jsonl"))
        left = {"steps": [(s["step"], s["loss"], s["grad_norm"]) for s in done]}
        left["evals"] = [
            {k: v for k, v in e.items() if k in ("loss", "eval_loss", "perplexity", "accuracy")}
            for e in events
            if e["event"] == "eval"
        ]
        os.remove(self.path("m.jsonl"))
        for name in (*EXPORTS.values(), *bits) if exports else bits:
            with open(self.path(name), "rb") as file:
                left[name] = file.read()
            os.remove(self.path(name))
        return left

    def check(self, counts, *flags, **changes):
        expected = self.train(1, *flags, **changes)
        self.assertTrue(expected["steps"])
        self.assertEqual(bool(expected["evals"]), "--eval-data" in flags)
        for processes in counts:
            found = self.train(processes, *flags, **changes)
            for name, value in expected.items():
                self.assertTrue(found[name] == value, f"{name} in {processes} processes")

    def test_every_split_has_the_bits_of_one_process(self):
        everything = os.environ.get("SHARDC_TEST_THOROUGH")
        for model, mesh, strategy, precision, flags in all_cases() if everything else CASES:
            with self.subTest(model=model, mesh=mesh, strategy=strategy, precision=precision):
                self.compile(model, mesh, strategy, precision)
                self.check(MESHES[mesh], *flags)

    def test_the_network_alone(self):
        """Where processes of a host do not read each other's memory, as those of two hosts."""
        for mesh, strategy in (("4", "full"), ("2x2", "hybrid")):
            with self.subTest(mesh=mesh, strategy=strategy):
                self.compile("gpt2-tiny", mesh, strategy, "float32")
                expected = self.train(1)
                for processes in (2, 4):
                    self.assertTrue(self.train(processes, "--no-host-memory") == expected)

    def test_evaluations_and_predictions(self):
        """Their number of samples is no multiple of a batch."""
        self.compile("gpt2-tiny", "4", "full", "float32", "--output-values", "logits")
        ids = self.model.data()
        words = [w for name, path in ids.items() for w in ("--eval-data", f"{name}={path}")]
        words += ["--eval-every", 1, "--predict", self.path("logits.npy")]
        self.check((2, 4), *words, bits=("logits.npy",))

    def test_checkpoints_go_between_splits(self):
        self.compile("gpt2-tiny", "2x2", "full", "bf16")
        whole = self.train(1, steps=6, bits=())
        for saves, goes_on in ((1, 4), (2, 1), (4, 2)):
            with self.subTest(saves=saves, goes_on=goes_on):
                words = ("--checkpoint-dir", self.path(f"c{saves}"))
                first = self.train(saves, *words, steps=3, exports=False)
                self.assertEqual(first["steps"], whole["steps"][:3])
                words += ("--resume", "auto")
                # The gradients are those of the first step of a run.
                second = self.train(goes_on, *words, steps=6)
                self.assertEqual(second["steps"], whole["steps"][3:])
                for name in ("parameters.safetensors", "trained.onnx"):
                    self.assertTrue(second[name] == whole[name], name)

    def traffic(self, *flags):
        """Of both processes of a run, in a step: [sent, received, read]."""
        words = ("--nproc-per-node", 2, "--metrics", self.path("m.jsonl"), *flags)
        self.model.train(self.path("t"), *words, steps=2)
        _, (summary,) = read_metrics(self.path("m.jsonl"))
        os.remove(self.path("m.jsonl"))
        keys = [f"{kind}_bytes_per_step" for kind in ("sent", "received", "read")]
        return [[process[key] for key in keys] for process in summary["processes"]]

    def assert_bytes(self, found, data):
        """What a process moves is `data`; words that begin and end collectives, the loss and what
        processes agree on before a step, and norms of gradients come on top."""
        self.assertGreaterEqual(found, data)
        self.assertLess(found, data + 8192)

    def test_bytes_are_those_of_the_formulas(self):
        """On 2x4 ranks in two processes of four: a gathered unit costs a process the unit less its
        own slices; a reduction at most the flat gradient in and out; `hybrid` exchanges nothing but
        its shards of gradients."""
        for strategy in ("full", "hybrid", "none"):
            with self.subTest(strategy=strategy):
                self.compile("gpt2-tiny", "2x4", strategy, "float32")
                report = self.model.train(self.path("t"), "--report", "--dry-run").stdout
                unit = 4 * int(re.search(r"parameters, (\d+) elements", report).group(1))
                network = self.traffic("--no-host-memory")
                memory = self.traffic()
                for sent, received, read in network:
                    self.assertEqual(read, 0)
                    if strategy != "full":  # partial sums one way, sums the other
                        self.assert_bytes(sent, unit)
                        self.assert_bytes(received, unit)
                if strategy == "full":
                    # Both get the half that they lack. The first sends sums of its ranks for all
                    # slices, and gets the sums of those that are its own.
                    self.assert_bytes(network[0][0], unit // 2 + unit)
                    self.assert_bytes(network[0][1], unit // 2 + unit // 2)
                    self.assert_bytes(network[1][0], unit // 2 + unit // 2)
                    self.assert_bytes(network[1][1], unit // 2 + unit)
                for sent, received, read in memory:
                    self.assert_bytes(sent, 0)
                    self.assert_bytes(received, 0)
                    if strategy == "hybrid":
                        self.assertEqual(read, unit)

    def test_what_is_not_possible_is_said(self):
        self.compile("gpt2-tiny", "4", "full", "float32")
        with self.assertRaisesRegex(CommandFailed, "4 ranks.* 3 processes"):
            self.train(3)


if __name__ == "__main__":
    unittest.main()
