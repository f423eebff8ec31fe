"""Units that stay gathered over the micro-batches of a step (--reshard-after-backward never): to
the bit what a step does that gathers them anew for each, by one gather of each unit."""
import os
import subprocess
import unittest
import unittest.mock

import reference
from edited_plan import edit
from emulated_cuda import emulated
from other_runtime import OtherRuntime
from reference import BUILD, MODELS as FOLDER, command, models
from trained_bits import TrainedBits, unclipped

# Of processor time: see test/run.py.
LONG = True

MODELS = models()
CHECK = os.path.join(BUILD, "bin", "shardc-check")
NEVER = ("--reshard-after-backward", "never")
BLOCKS = ("--units", "block")


def accumulated(micro_batches):
    return ("--grad-accumulation", micro_batches)


# Also what repeats a proof: ./dev test --thorough.
THOROUGH = bool(os.environ.get("SHARDC_TEST_THOROUGH"))


class StayTest(TrainedBits):
    def gathers(self):
        """Of a step of the last run."""
        counts = self.summary["collectives"].items()
        return sum(count for what, count in counts if what.startswith("all_gather "))

    def check(self, name, mesh, precision, *flags, run=accumulated(3), stay=NEVER):
        """Returns the gathers of a step, without and with units that stay."""
        model, trainer = MODELS[name], self.path("t")
        if "--update" in flags:
            model = unclipped(model)
        with self.subTest(model=name, mesh=mesh, precision=precision, flags=flags, run=run):
            model.compile(trainer, mesh, precision, *flags)
            expected, before = self.train(model, trainer, *run), self.gathers()
            model.compile(trainer, mesh, precision, *flags, *stay)
            trained, after = self.train(model, trainer, *run), self.gathers()
            self.assertEqual(trained, expected)
            self.assertLess(after, before)
            return before, after


class EqualBits(StayTest):
    def test_every_tiny_model(self):
        for name in MODELS:
            if "tiny" in name and MODELS[name].folder.startswith(FOLDER):
                self.check(name, "2", "float32", *BLOCKS)

    def test_strategies(self):
        for mesh, *flags in (
            ("2", "--accumulate", "unsharded"),
            ("2x2", "--strategy", "full"),
            ("2x2", "--strategy", "hybrid_opt"),
            ("4", "--strategy", "grad_op"),
        ):
            self.check("gpt2-tiny", mesh, "bf16", *BLOCKS, *flags, run=accumulated(2))

    def test_each_unit_is_gathered_once(self):
        before, after = self.check("gpt2-tiny", "2", "float32", *BLOCKS)
        # Three blocks, and a root that stays until backward by itself.
        self.assertEqual((before, after), (3 * (3 * 2 + 1), 4))
        # Of one micro-batch backward's gathers alone are left out.
        before, after = self.check("gpt2-tiny", "2", "float32", *BLOCKS, run=())
        self.assertEqual((before, after), (3 * 2 + 1, 4))

    def test_some_units(self):
        some = ("--unit-option", "match=h.1,after-backward=never")
        before, after = self.check("gpt2-tiny", "2", "float32", *BLOCKS, stay=some)
        self.assertEqual((before, after), (21, 21 - 5))

    def test_schedules_and_updates(self):
        for flags in (
            ("--prefetch", "auto", "--cluster", "dgx-h100"),
            ("--prefetch", "0"),
            ("--update", "backward"),
            ("--remat", "unit"),
        ):
            self.check("s2-llama-tiny-mask", "4", "float32", *BLOCKS, *flags)

    def test_two_forwards(self):
        self.check("preference-tiny", "2", "float32")

    def test_processes_which_gather_by_copying(self):
        for processes in (2, 4):
            run = ("--nproc-per-node", processes, *accumulated(2))
            self.check("gpt2-tiny", "4", "float32", *BLOCKS, run=run)

    def test_state_in_a_file(self):
        run = ("--offload-dir", self.path(), *accumulated(2))
        self.check("gpt2-tiny", "2", "float32", *BLOCKS, "--offload", "optimizer", run=run)
        some = ("--unit-option", "match=h.1,after-backward=never")
        flags = ("--offload", "parameters,optimizer", *BLOCKS)
        self.check("gpt2-tiny", "2", "float32", *flags, run=run, stay=some)

    def test_evaluations_between_steps(self):
        """They gather into the same pool, so the next step gathers anew."""
        model = MODELS["gpt2-tiny"]
        data = [word for word in model.train_flags() if str(word).endswith(".npy")]
        run = (*accumulated(2), "--eval-every", 1)
        for word in data:
            run += ("--eval-data", word)
        self.check("gpt2-tiny", "2", "float32", *BLOCKS, run=run)

    def test_emulated_gpus(self):
        with emulated():
            for prefetch in ("auto", "1") if THOROUGH else ("auto",):
                flags = ("--target", "cuda", "--prefetch", prefetch)
                self.check("gpt2-tiny", "2", "bf16", *BLOCKS, *flags)


class Guarded(OtherRuntime, StayTest):
    """On a device whose memory knows who may read what (test/runtime/device/GuardedDevice.h)."""

    runtime = "guarded-runtime"

    def test_units_stay(self):
        with unittest.mock.patch.object(reference, "SHARDC", self.shardc):
            self.check("gpt2-tiny", "4", "bf16", *BLOCKS)


class Checked(StayTest):
    def compiled(self, *flags):
        model = MODELS["gpt2-tiny"]
        model.compile(self.path("t"), "2", "float32", *BLOCKS, *NEVER, *flags)
        return model

    def test_updates_are_those_of_the_unsharded_step(self):
        model = self.compiled("--checkable")
        said = command(CHECK, self.path("t"), model.onnx).stdout
        self.assertRegex(said, r"values: \d+ results are the")
        model.train(self.path("t"), "--check", 1, *accumulated(2), steps=2)

    def test_what_writes_over_a_unit_that_stays(self):
        """Micro-batches behind the first would read something else."""
        self.compiled()

        def change(plan):
            buffers = plan.buffers
            staying = [
                e.all_gather_start.gathered
                for e in plan.train.entries
                if e.first and e.HasField("all_gather_start")
            ]
            self.assertEqual(len(staying), 4)
            buffers[staying[0]].offset = buffers[staying[1]].offset

        edit(self.path("t"), self.path("e"), change)
        process = subprocess.run([CHECK, self.path("e")], capture_output=True, text=True)
        self.assertEqual(process.returncode, 1, process.stdout)
        self.assertRegex(process.stderr, r"shares bytes with buffer gathered\.")


class Refusals(StayTest):
    def test_what_cannot_stay(self):
        for *flags, text in (
            ("--strategy", "none", "there is nothing to reshard"),
            ("--reshard-after-forward", "always", "cannot be after forward"),
            ("--unit-option", "match=h,reshard=always", "cannot be after forward"),
            ("--offload", "parameters", "--reshard-after-backward always"),
        ):
            with self.assertRaisesRegex(Exception, text):
                self.compiled_with(*flags)
            self.assertFalse(os.path.exists(self.path("t")))

    def compiled_with(self, *flags):
        MODELS["gpt2-tiny"].compile(self.path("t"), "2", "float32", *BLOCKS, *NEVER, *flags)


if __name__ == "__main__":
    unittest.main()
