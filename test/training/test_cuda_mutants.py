"""Defects of trainers for GPUs (cuda_mutants.py), each of which must be caught, and by what it is
said to be."""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import unittest

from cuda_mutants import CALLS, GONE, NUMBERS, PLANS
from edited_plan import edit, plan_classes
from emulated_cuda import environment
from record_bits import digest
from reference import ROOT, models

STEPS, MUTANT = 3, "emulated CUDA: mutant: "
PAGE = os.path.join(ROOT, "docs", "emulated-cuda.md")
# Trainer, ranks, flags of shardc, flags of the trainer.
TRAINERS = {
    "one": ("1", [], []),
    "two": ("2", ["--units", "size:17kB", "--prefetch", "1"], []),
    "sums": ("1", [], ["--grad-accumulation", "2"]),
}


def rows():
    """Of the table in docs/emulated-cuda.md."""
    yield from (f"| {name} | {by.name} |" for name, _, _, by in CALLS)
    yield from (f"| plan: {name} | {by.name} |" for name, _, _, by in PLANS)


class Run:
    """A few steps of a trainer with a defect, and how they ended."""

    def __init__(self, model, trainer, flags, ranks, **settings):
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)
            words = [trainer, "--export-safetensors", path("f.safetensors"), *flags]
            words += ["--nproc-per-node", 1, "--steps", STEPS, "--lr", 1e-3, "--clip", 1]
            # No step has the learning rate of another.
            words += ["--schedule", "cosine", "--total-steps", 20]
            for name, data in model.data().items():
                words += ["--data", f"{name}={data}"]
            process = subprocess.run(
                [str(word) for word in words],
                env={**os.environ, **environment(int(ranks), SHARED_CHECKS=1, **settings)},
                capture_output=True,
                text=True,
                timeout=300,
            )
            self.code = process.returncode
            lines = process.stderr.splitlines()
            self.is_applied = any(line.startswith(MUTANT) for line in lines)
            self.said = [line for line in lines if not line.startswith(MUTANT)]
            self.numbers = None
            if self.code == 0:
                shown = re.findall(r"loss (\S+)  grad norm (\S+)", process.stdout)
                with open(path("f.safetensors"), "rb") as file:
                    self.numbers = shown, digest(file.read())

    def is_caught(self, by, numbers):
        if by is NUMBERS:
            return self.code == 0 and self.numbers != numbers
        prefix = "emulated CUDA: " if by.finding else "trainer: error: "
        said = [line[len(prefix) :] for line in self.said if line.startswith(prefix)]
        return (
            self.code == (86 if by.finding else 1)
            and len(said) == 1
            and bool(re.search(by.finding or by.error, said[0]))
        )

    def __str__(self):
        return "\n".join([f"exit code {self.code}, numbers {self.numbers}", *self.said])


class Mutants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.model = models()["mlp-tiny-loss"]
        for name, (ranks, flags, _) in TRAINERS.items():
            cls.model.compile(
                cls.path(name),
                ranks,
                "float32",
                "--target",
                "cuda:sm_90",
                *flags,
                batch=8 * int(ranks),
            )
        plan_classes()  # before threads ask for them
        cls.numbers = {name: cls.run_one(name).numbers for name in TRAINERS}

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, f"{name}.trainer")

    @classmethod
    def run_one(cls, name, path=None, **settings):
        ranks, _, flags = TRAINERS[name]
        return Run(cls.model, path or cls.path(name), flags, ranks, **settings)

    def mutated_call(self, mutant):
        _, name, text, by = mutant
        # Ranks that wait for one that does not come give up sooner.
        patience = {"NCCL_PATIENCE": 5} if by is GONE else {}
        return self.run_one(name, MUTANT=text, **patience)

    def mutated_plan(self, mutant):
        defect, name, change, _ = mutant
        path = os.path.join(self.folder, f"{defect}.trainer")
        edit(self.path(name), path, change)
        run = self.run_one(name, path)
        os.remove(path)
        return run

    def all_are_caught(self, mutants, mutated, is_applied):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for mutant, run in zip(mutants, pool.map(mutated, mutants)):
                defect, name, _, by = mutant
                with self.subTest(defect=defect):
                    self.assertTrue(is_applied(run), f"no such call\n{run}")
                    self.assertTrue(
                        run.is_caught(by, self.numbers[name]), f"not caught by {by.name}\n{run}"
                    )

    def test_without_a_defect_all_runs_have_the_same_numbers(self):
        for name in TRAINERS:
            again = self.run_one(name, MUTANT="drop|no such call|1|0")
            self.assertIsNotNone(again.numbers, str(again))
            self.assertEqual(again.numbers, self.numbers[name])

    def test_defects_of_calls_are_caught(self):
        self.all_are_caught(CALLS, self.mutated_call, lambda run: run.is_applied)

    def test_defects_of_plans_are_caught(self):
        self.all_are_caught(PLANS, self.mutated_plan, lambda run: True)

    def test_there_are_enough_and_the_documentation_has_them(self):
        listed = list(rows())
        self.assertGreaterEqual(len(listed), 30)
        self.assertEqual(len(set(listed)), len(listed))
        with open(PAGE) as file:
            lines = file.read().splitlines()
        self.assertEqual([row for row in listed if row not in lines], [])


if __name__ == "__main__":
    if sys.argv[1:] == ["--rows"]:
        print(*rows(), sep="\n")
    else:
        unittest.main()
