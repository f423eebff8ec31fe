"""Parameters on the host, or in a file: to the bit what they are in memory, whether they come to
be gathered or to be read."""
import unittest

import test_offload
from reference import CommandFailed
from test_offload import ALL, MODELS, PARAMETERS


class Parameters(test_offload.OffloadTest):
    def test_gathered(self):
        """Slices come to be gathered, also to be looked at, and of units that are not trained."""
        self.check("mlp-tiny-loss", "2", "float32", offload=PARAMETERS)
        self.check("gpt2-tiny", "2", "bf16", offload=PARAMETERS)
        self.check("gpt2-tiny", "4", "bf16", "--units", "block", offload=ALL)
        some = ("--offload", "parameters=100kB,optimizer=200kB")
        self.check("gpt2-tiny", "2x2", "float32", "--units", "block", offload=some)
        kept = ("--units", "block", "--reshard-after-forward", "2")
        self.check("s2-llama-tiny-mask", "4", "float32", *kept, offload=PARAMETERS)
        frozen = ("--freeze", "wte|h[.]0", "--units", "block")
        self.check("gpt2-tiny", "2", "float32", *frozen, offload=ALL)
        # Steps that are skipped leave them as they are.
        scaled = ("--loss-scale", "dynamic", "--loss-scale-initial", 2.0**24)
        self.check("mlp-tiny-loss", "2", "float16", run=scaled, offload=PARAMETERS)

    def test_read_where_they_lie(self):
        """On one rank, and where every rank has all of them, nothing is gathered."""
        self.check("gpt2-tiny", "1", "bf16", "--units", "block", offload=PARAMETERS)
        self.check("gpt2-tiny", "2", "bf16", "--strategy", "none", offload=ALL)
        frozen = ("--freeze", "wte|h[.]0", "--units", "block")
        self.check("gpt2-tiny", "1", "float32", *frozen, offload=ALL)
        accumulated = ("--grad-accumulation", 2)
        self.check("mlp-tiny-loss", "1", "float32", offload=ALL, run=accumulated, batch=4)
        scaled = ("--loss-scale", "dynamic", "--loss-scale-initial", 2.0**24)
        self.check("mlp-tiny-loss", "1", "float16", run=scaled, offload=PARAMETERS)
        # Statistics of batches are written where they lie, and stay.
        self.check("resnet-tiny", "1", "float32", offload=ALL)

    def test_auto_where_states_are_not_enough(self):
        model, flags = MODELS["s2-llama-tiny-mask"], ("--units", "block")
        _, memory = self.compile("m", model, "1", "float32", *flags)
        limit = int(0.45 * memory["live_bound_bytes"])
        auto = ("--offload", "auto", "--memory-limit", limit)
        self.check("s2-llama-tiny-mask", "1", "float32", *flags, offload=auto)
        _, left = self.compile("o", model, "1", "float32", *flags, *auto)
        self.assertLess(left["pools"]["persistent"], 0.3 * memory["pools"]["persistent"])

    def test_auto_beside_matrices_that_stay(self):
        """Muon's states and matrices stay; parameters of what adamw updates leave alone."""
        model = MODELS["gpt2-tiny"]
        flags = ("--units", "block", "--optimizer", "muon", "--offload", "auto")
        with self.assertRaises(CommandFailed) as caught:
            self.compile("t", model, "2", "float32", *flags, "--memory-limit", "100kB")
        self.assertIn("--memory-limit 100kB: the plan takes", str(caught.exception))
        _, kept = self.compile("m", model, "2", "float32", *flags)
        limit = int(0.62 * kept["live_bound_bytes"])
        auto = ("--offload", "auto", "--memory-limit", limit)
        self.check("gpt2-tiny", "2", "float32", *flags[:2], offload=auto, optimizer="muon")

    def test_of_which_others_update_a_part(self):
        for mesh, strategy in (("2", "opt"), ("2x2", "hybrid_opt")):
            flags = (*PARAMETERS, "--strategy", strategy)
            with self.subTest(mesh=mesh), self.assertRaises(CommandFailed) as caught:
                MODELS["mlp-tiny-loss"].compile(self.path("t"), mesh, "float32", *flags)
            self.assertIn("no rank has parameters that it updates alone", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
