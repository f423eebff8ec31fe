"""Phases as pipelines: shardc-opt runs each by name and gets what shardc gets; a pass can be
left out, and timed."""
import os
import re
import unittest

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "mlp-tiny-loss", "model.onnx")
OPT = os.path.join(os.path.dirname(SHARDC), "shardc-opt")
PIPELINES = {
    "train": "--phase-train=remat=none",
    "shard": "--phase-shard=mesh=2 optimizer=lion",
    "kernels": "--phase-kernels",
    "plan": "--phase-plan=workers=3",
}


class Phases(ToolTest):
    def shardc(self, *words):
        return run(
            SHARDC,
            MODEL,
            "--dim",
            "batch=4",
            "--mesh",
            "2",
            "--optimizer",
            "lion",
            "--remat",
            "none",
            "--threads-per-rank",
            "3",
            *words,
        )

    def test_shardc_opt_runs_every_phase_by_name(self):
        result = self.shardc("--dump-phases-to", self.path("phases"), "--compile-to", "plan")
        self.assertEqual(result.code, 0, result.err)
        names = sorted(os.listdir(self.path("phases")))
        self.assertEqual(
            [name.split("-")[1].removesuffix(".mlir") for name in names],
            ["import", "raise", *PIPELINES],
        )
        for before, after in zip(names[1:], names[2:]):
            pipeline = PIPELINES[after.split("-")[1].removesuffix(".mlir")]
            with self.subTest(pipeline=pipeline):
                made = run(OPT, pipeline, self.path(f"phases/{before}"))
                self.assertEqual(made.code, 0, made.err)
                # The same printer for both, since a dump has no aliases. Nor has it locations, of
                # which buffers have their names.
                expected = run(OPT, self.path(f"phases/{after}")).out
                made, expected = (
                    re.sub(r'(= step\.buffer \w+ \d+ at \d+) "[^"]*"', r"\1", text)
                    for text in (made.out, expected)
                )
                self.assertEqual(made, expected)

    def test_raise_takes_what_the_command_line_does(self):
        self.shardc(
            "--dump-phases-to",
            self.path("phases"),
            "--compile-to",
            "raise",
            "--precision",
            "bf16",
            "--freeze",
            "layers.0",
        )
        made = run(
            OPT,
            "--phase-raise=mesh=2 precision=bf16 freeze=layers.0",
            self.path("phases/1-import.mlir"),
        )
        self.assertEqual(made.out, run(OPT, self.path("phases/2-raise.mlir")).out, made.err)

    def test_a_pass_can_be_left_out(self):
        whole, without = (
            self.shardc("--compile-to", "raise", *words).out
            for words in ((), ("--disable-pass", "fsdp-assign-units"))
        )
        self.assertIn("fsdp.unit_reasons", whole)
        self.assertNotIn("fsdp.unit_reasons", without)

    def test_a_trainer_without_a_pass_is_warned_of(self):
        result = self.shardc("--disable-pass", "fsdp-verify", "-o", self.path("m.trainer"))
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("warning: ", result.err)
        self.assertIn("compiled without fsdp-verify", result.err)

    def test_the_model_may_follow_a_flag_that_may_be_repeated(self):
        result = run(
            SHARDC,
            "--disable-pass",
            "fsdp-verify",
            "--dim",
            "batch=4",
            MODEL,
            "--compile-to",
            "shard",
        )
        self.assertEqual(result.code, 0, result.err)

    def test_a_pass_that_is_not_there_is_named_with_those_that_are(self):
        result = self.shardc("--disable-pass", "nn-rais", "-o", self.path("m.trainer"))
        self.assert_one_error(
            result, "shardc", "nn-rais", "nn-raise, nn-mark-parameters", "step-verify"
        )
        self.assertFalse(os.path.exists(self.path("m.trainer")))

    def test_timing_names_phases_and_passes(self):
        result = self.shardc("--pass-timing", "-o", self.path("m.trainer"))
        self.assertEqual(result.code, 0, result.err)
        for word in ("import", "raise", "NNRaise", "FSDPShard", "StepVerify", "trainer", "Total"):
            self.assertRegex(result.err, rf"\s{word}\n")


if __name__ == "__main__":
    unittest.main()
