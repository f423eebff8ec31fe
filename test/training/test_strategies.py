"""What FSDP means, run: every strategy, mesh and accumulation gives PyTorch's numbers, communicates
what it should, and freezes what it is told."""
import os
import tempfile
import unittest

import numpy as np
import strategies
from reference import models, read_safetensors

# Of processor time: see test/run.py.
LONG = True

MODELS = models()


class Parity(unittest.TestCase):
    """The whole matrix on the smallest model; on the others each strategy once, with another mesh
    and accumulation each."""


def add_parity(name, mesh, strategy, accumulation, flags=(), thorough=False):
    @unittest.skipIf(
        thorough and not os.environ.get("SHARDC_TEST_THOROUGH"),
        "a strategy on one more model: ./dev test --thorough",
    )
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            row = strategies.measure(
                MODELS[name], mesh, strategy, accumulation, "float64", folder, flags
            )
        self.assertEqual(strategies.out_of_bounds(row), [], row)

    label = "_".join([name, mesh, strategy, str(accumulation[0]), accumulation[1], *flags])
    setattr(Parity, "test_" + "".join(c if c.isalnum() else "_" for c in label), test)


for case in strategies.cases():
    add_parity("mlp-tiny-loss", *case)
# Unequal numbers of valid labels, a tied head, two exporters.
DIAGONAL = [
    ("2x2", "full", (2, "sharded")),
    ("4", "grad_op", (2, "unsharded")),
    ("2x4", "hybrid", (1, "sharded")),
    ("2x2", "hybrid_grad_op", (2, "sharded")),
    ("2x2", "hybrid_opt", (2, "unsharded")),
    ("4", "opt", (2, "sharded")),
    ("2x4", "none", (2, "sharded")),
]
for place, case in enumerate(DIAGONAL):
    add_parity("gpt2-tiny", *case)
    add_parity("s2-llama-tiny-mask", *case, thorough=place % 2 == 1)
    add_parity("s4-bloom-tiny-legacy", *case, thorough=place % 2 == 0)
# Frozen embeddings (gpt2's is the head as well), against the unsharded program.
for case in (
    ("4", "full", (1, "sharded")),
    ("2x2", "hybrid", (2, "sharded")),
    ("2x2", "hybrid_opt", (1, "sharded")),
):
    add_parity("s2-llama-tiny-mask", *case, ("--freeze", "embed"))
    add_parity("gpt2-tiny", *case, ("--freeze", "wte"))
# Resharding to a smaller group, and one unit kept.
add_parity("s2-llama-tiny-mask", "4", "full", (1, "sharded"), ("--reshard-after-forward", "2"))
add_parity("s2-llama-tiny-mask", "2x4", "hybrid", (1, "sharded"), ("--reshard-after-forward", "2"))
add_parity(
    "s2-llama-tiny-mask",
    "4",
    "full",
    (2, "sharded"),
    ("--unit-option", "match=layers.0,reshard=never"),
)


class Bits(unittest.TestCase):
    def test_strategies_that_reduce_the_same_values_give_the_same_bits(self):
        for name in ("mlp-tiny-loss", "gpt2-tiny"):
            for mesh in ("2", "4", "2x2"):
                runs = {}
                for strategy in ("full", "grad_op", "opt", "none"):
                    with tempfile.TemporaryDirectory() as folder:
                        runs[strategy] = strategies.Run(
                            MODELS[name],
                            mesh,
                            "float32",
                            folder,
                            ["--strategy", strategy],
                            steps=10,
                        )
                for strategy, run in runs.items():
                    with self.subTest(model=name, mesh=mesh, strategy=strategy):
                        self.assertEqual(run.losses, runs["none"].losses)
                        self.assertEqual(run.norms, runs["none"].norms)
                        for parameter, values in runs["none"].parameters.items():
                            np.testing.assert_array_equal(
                                run.parameters[parameter], values, err_msg=parameter
                            )


class Counts(unittest.TestCase):
    """Collectives of a step as the ranks counted them while running, for U units: three
    blocks and the root."""

    UNITS = 4

    def counts(self, strategy, mesh, micro_batches=1, accumulate="sharded", flags=()):
        with tempfile.TemporaryDirectory() as folder:
            model = MODELS["gpt2-tiny"]
            run = strategies.Run(
                model,
                mesh,
                "float32",
                folder,
                ["--units", "block", "--strategy", strategy, "--accumulate", accumulate, *flags],
                micro_batches,
                steps=2,
            )
        return run.summary["collectives"]

    def check(self, expected, *arguments, **named):
        got = self.counts(*arguments, **named)
        self.assertEqual({k: v for k, v in got.items() if v}, expected)

    def test_full_gathers_twice_and_keeps_the_last_unit(self):
        u = self.UNITS
        self.check(
            {
                "all_gather forward": u,
                "all_gather backward": u - 1,
                "reduce_scatter backward": u,
                "all_reduce optimizer": 1,
            },
            "full",
            "4",
        )

    def test_always_reshards_the_last_unit_too(self):
        u = self.UNITS
        self.check(
            {
                "all_gather forward": u,
                "all_gather backward": u,
                "reduce_scatter backward": u,
                "all_reduce optimizer": 1,
            },
            "full",
            "4",
            flags=["--reshard-after-forward", "always"],
        )

    def test_grad_op_gathers_once(self):
        u = self.UNITS
        self.check(
            {"all_gather forward": u, "reduce_scatter backward": u, "all_reduce optimizer": 1},
            "grad_op",
            "4",
        )

    def test_hybrid_adds_an_all_reduce_per_unit_and_clips_once_per_dimension(self):
        u = self.UNITS
        self.check(
            {
                "all_gather forward": u,
                "all_gather backward": u - 1,
                "reduce_scatter backward": u,
                "all_reduce_gradients backward": u,
                "all_reduce optimizer": 2,
            },
            "hybrid",
            "2x2",
        )

    def test_opt_gathers_what_the_optimizer_wrote(self):
        u = self.UNITS
        self.check(
            {
                "reduce_scatter backward": u,
                "all_gather_updates optimizer": u,
                "all_reduce optimizer": 1,
            },
            "opt",
            "4",
        )

    def test_none_reduces_whole_gradients(self):
        u = self.UNITS
        self.check({"all_reduce_gradients backward": u, "all_reduce optimizer": 1}, "none", "4")

    def test_sharded_accumulation_reduces_in_every_micro_batch(self):
        u = self.UNITS
        self.check(
            {
                "all_gather forward": 2 * u,
                "all_gather backward": 2 * (u - 1),
                "reduce_scatter backward": 2 * u,
                "all_reduce optimizer": 1,
            },
            "full",
            "2",
            micro_batches=2,
        )

    def test_unsharded_accumulation_reduces_in_the_last(self):
        u = self.UNITS
        self.check(
            {
                "all_gather forward": 2 * u,
                "all_gather backward": 2 * (u - 1),
                "reduce_scatter backward": u,
                "all_reduce optimizer": 1,
            },
            "full",
            "2",
            micro_batches=2,
            accumulate="unsharded",
        )

    def test_a_frozen_unit_is_not_reduced(self):
        u = self.UNITS
        self.check(
            {
                "all_gather forward": u,
                "all_gather backward": u - 1,
                "reduce_scatter backward": u - 1,
                "all_reduce optimizer": 1,
            },
            "full",
            "4",
            flags=["--freeze", r"transformer\.h\.1\."],
        )


class Frozen(unittest.TestCase):
    def test_frozen_parameters_keep_their_values_and_the_others_their_gradients(self):
        model = MODELS["s2-llama-tiny-mask"]
        with tempfile.TemporaryDirectory() as folder:
            run = strategies.Run(
                model, "2x2", "float64", folder, ["--freeze", "embed|norm"], steps=2
            )
        reference = read_safetensors(os.path.join(model.folder, model.reference["grads_step0"]))
        self.assertFalse([n for n in run.gradients if "embed" in n or "norm" in n])
        for name, gradient in run.gradients.items():
            np.testing.assert_allclose(
                gradient, reference[name], atol=1e-9 * np.abs(reference[name]).max(), err_msg=name
            )

    def test_trainable_freezes_the_rest(self):
        model = MODELS["mlp-tiny-loss"]
        with tempfile.TemporaryDirectory() as folder:
            run = strategies.Run(
                model, "2", "float64", folder, ["--trainable", r"layers\.0\."], steps=2
            )
        self.assertTrue(run.gradients)
        self.assertTrue(all(n.startswith("layers.0.") for n in run.gradients), list(run.gradients))


if __name__ == "__main__":
    unittest.main()
