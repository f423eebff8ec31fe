"""Random graphs with random configurations, some of them on emulated GPUs as well, and what makes
the fuzzer trustworthy: that it knows every operator, and that it sees a wrong number. `./dev fuzz
--seeds N --minimize` makes a small reproducer of one."""
import concurrent.futures
import copy
import os
import re
import tempfile
import unittest

import numpy as np

import fuzz
import numpy_ops_moves  # noqa: F401
import numpy_ops_reductions  # noqa: F401
from evaluate import Written
from generate import Case, generate
from generators import GENERATORS
from judge import Judge, signature  # and where the next one is
from numpy_ops import OPS
from program import Loss, Node, Program

# Of processor time: see test/run.py.
LONG = True

BATCH = 10
# Of --thorough, and what is tried without it.
GRAPHS, FIRST_GRAPHS = 450, 150
CUDA, CUDA_GRAPHS, FIRST_CUDA_GRAPHS = "cuda:sm_80", 50, 20
THOROUGH = bool(os.environ.get("SHARDC_TEST_THOROUGH"))
# Put around nodes by the writer.
WRAPPED = {"If"}
# Of other domains: test/onnx/expanded_nodes.py compares them with onnxruntime.
OTHER_DOMAINS = re.compile(r".*\..*")
# Of opsets before 13 alone: test/onnx/old_opsets.py.
OLD = {"Scatter", "Upsample"}


def setUpModule():
    global pool, folder, results, cuda_results
    folder = tempfile.TemporaryDirectory(prefix="shardc-fuzz-")
    pool = concurrent.futures.ProcessPoolExecutor(max(2, (os.cpu_count() or 2) // 2))
    results = [
        pool.submit(fuzz.run_seed, seed, False, folder.name)
        for seed in range(GRAPHS if THOROUGH else FIRST_GRAPHS)
    ]
    cuda_results = {
        seed: pool.submit(fuzz.run_seed, seed, False, folder.name, CUDA)
        for seed in range(CUDA_GRAPHS if THOROUGH else FIRST_CUDA_GRAPHS)
    }


def tearDownModule():
    pool.shutdown(cancel_futures=True)
    folder.cleanup()


class Graphs(unittest.TestCase):
    """Loss and gradients of every graph, against the written reference and differences of it."""


def batch_of(seeds, target=""):
    def test(self):
        wrong = []
        for seed in seeds:
            finding = (cuda_results if target else results)[seed].result()[0]
            if finding:
                words = f"--seeds {seed} --minimize" + (f" --target {target}" if target else "")
                wrong.append(f"seed {seed}: {finding}; ./dev fuzz {words}")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    return test


def add_tests(graphs, without_more, prefix, target=""):
    for first in range(0, graphs, BATCH):
        seeds = range(first, first + BATCH)
        name = f"test_{prefix}seeds_{seeds[0]:03d}_to_{seeds[-1]:03d}"
        needed = unittest.skipUnless(
            THOROUGH or first < without_more, "more random graphs: ./dev test --thorough"
        )
        setattr(Graphs, name, needed(batch_of(seeds, target)))


add_tests(GRAPHS, FIRST_GRAPHS, "")
add_tests(CUDA_GRAPHS, FIRST_CUDA_GRAPHS, "cuda_", CUDA)


class Fuzzer(unittest.TestCase):
    def test_every_operator_of_the_compiler_is_drawn_and_has_a_reference(self):
        known = {op for op in fuzz.known_operators() if not OTHER_DOMAINS.match(op)}
        self.assertGreater(len(known), 100)
        self.assertEqual(known - set(GENERATORS) - WRAPPED - OLD, set(), "no generator")
        self.assertEqual(known - set(OPS) - WRAPPED - OLD, set(), "no reference")

    def test_a_seed_is_one_case(self):
        for seed in (3, 17, 40):
            first, second = generate(seed), generate(seed)
            self.assertEqual(first.program.text(), second.program.text())
            self.assertEqual(first.configuration, second.configuration)

    def test_wrong_numbers_are_found(self):
        """The judge gets a program whose parameter is not the one that was compiled."""
        seen = 0
        for seed in range(1000, 1040):
            case = generate(seed)
            if (
                case.configuration.precision != "float64"
                or case.configuration.frozen
                or case.program.loss.kind != "output"
            ):
                continue
            name = case.program.trained()[0]
            other = copy.deepcopy(case)
            dtype, values = other.program.parameters[name]
            other.program.parameters[name] = (dtype, values * 1.0001 + 0.0001)
            with tempfile.TemporaryDirectory() as place:
                if Judge().judge(case, place):
                    continue
            with tempfile.TemporaryDirectory() as place:
                finding = Swapped(other).judge(case, place)
            seen += finding is not None and finding.kind in ("loss", "gradient")
            if seen >= 3:
                return
        self.fail(f"{seen} of the wrong numbers were found")

    def test_a_lost_parameter_is_found(self):
        for seed in range(1000, 1040):
            case = generate(seed)
            if len(case.program.trained()) < 2 or case.configuration.frozen:
                continue
            hidden = Case(seed, case.program, copy.deepcopy(case.configuration), case.habit)
            hidden.configuration.compile["--freeze"] = "."
            with tempfile.TemporaryDirectory() as place:
                finding = Judge().judge(hidden, place)
            self.assertIsNotNone(finding)
            self.assertIn(finding.kind, ("lost", "refused"))
            return
        self.fail("no case")

    def test_a_gradient_at_a_kink_lies_between_both_sides(self):
        program = Program(
            23,
            1,
            [Node("Abs", ["w"], ["a"]), Node("ReduceSum", ["a"], ["sum"], {"keepdims": 0})],
            parameters={"w": ("f64", np.array([0.0, 2.0]))},
            types={"w": "f64", "a": "f64", "sum": "f64"},
            loss=Loss("output", "sum"),
        )
        for gradient, kind in (
            ([0, 1], None),
            ([-0.5, 1], None),
            ([1, 1], None),
            ([1.5, 1], "seam"),
            ([-1, 0.9], "gradient"),
            ([np.nan, 1], "seam"),
        ):
            finding = Judge.first_wrong(
                Written(program, 1),
                *("w", np.array(gradient, np.float64), np.array([0.0, 1.0])),
                lambda off: np.max(np.abs(off)),
                1e-8,
            )
            self.assertEqual(finding and finding.kind, kind, gradient)

    def test_signatures_leave_names_and_numbers_out(self):
        self.assertEqual(
            signature("of 'a.b' at [0, 1] is 0.25"), signature("of 'c' at [3, 2] is -1e-05")
        )


class Swapped(Judge):
    """Compares with another case than the one that ran."""

    def __init__(self, other):
        super().__init__()
        self.other = other

    def compare(self, case, work, loss, exported, output):
        return super().compare(self.other, work, loss, exported, output)


class References(unittest.TestCase):
    @unittest.skipUnless(
        os.environ.get("SHARDC_TEST_TORCH"), "compares with PyTorch: ./dev test --torch"
    )
    def test_the_references_agree(self):
        """The written one and torch, which share no code, without the compiler."""
        import subprocess
        import sys

        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compare_references.py")
        subprocess.run([os.environ.get("PYTHON", sys.executable), program, "0..200"], check=True)


if __name__ == "__main__":
    unittest.main()
