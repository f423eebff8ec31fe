"""The archive for machines with GPUs, unpacked and run on emulated ones: ./dev gpu-bundle.

With SHARDC_TEST_GPU_BUNDLE=1 all of its parts are run (about 20 minutes on two cores), else what is
quickest of them.
"""
import ctypes
import glob
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

from tool_test import ROOT

sys.path.insert(0, os.path.join(ROOT, "test", "training"))

import emulated_cuda  # noqa: E402

MAKE = os.path.join(ROOT, "tools", "gpu-bundle", "make_bundle.py")
MOST_BYTES = 60_000_000
QUICK = ("parity", "launches", "memory", "sanitizer", "speed", "torch", "--models", "mlp-tiny-loss")
ALL = os.environ.get("SHARDC_TEST_GPU_BUNDLE") == "1"
LAST = r"^(\d+) passed, (\d+) failed, (\d+) skipped$"
# The parts that are skipped on an emulated GPU, of which nobody may know here that it is one.
AS_ON_A_GPU = """
import tempfile
import time

import bundle
import device
import peer
import sanitizer
import speed

gpu, problem = device.look()
assert gpu, problem
gpu.is_emulated = False
with tempfile.TemporaryDirectory() as folder:
    at = bundle.Bundle(gpu, folder, time.monotonic() + 600, "gpt2-tiny,mlp-tiny-loss")
    small = dict(model="gpt2-tiny", precision="bf16", trainer="gpt2-tiny.bf16")
    small.update(batch=8, sequence=64)
    small.update(steps=7, vocabulary=512, bytes=1 << 20, goals={}, flags=["--lr", "1e-4"])
    goal, large = dict(small, goals={"Emulated": 10**9}), dict(small, bytes=1 << 40)
    at.contents["speed"] = [small, goal, large]
    at.contents["sanitizer"] = at.contents["sanitizer"][:1]
    report = bundle.Report()
    speed.run(at, report)
    sanitizer.run(at, report)
    peer.run(at, report)
"""


class GpuBundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        archive = os.path.join(folder.name, "bundle.tar.gz")
        subprocess.run([sys.executable, MAKE, "-o", archive], check=True, stdout=subprocess.DEVNULL)
        cls.bytes = os.path.getsize(archive)
        with tarfile.open(archive) as packed:
            packed.extractall(folder.name)
        (cls.folder,) = glob.glob(os.path.join(folder.name, "*", ""))

    def run_bundle(self, *words, gpus=1, environment=()):
        """As there: without what this machine has, but for emulated GPUs and python3."""
        where = emulated_cuda.environment(gpus) if gpus else {}
        done = subprocess.run(
            [sys.executable, "run.py", *words],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", **where, **dict(environment)},
            capture_output=True,
            text=True,
        )
        counts = re.search(LAST, done.stdout, re.M)
        self.assertTrue(counts, done.stdout + done.stderr)
        return done.returncode, tuple(map(int, counts.groups())), done.stdout

    def test_it_is_small(self):
        self.assertLess(self.bytes, MOST_BYTES)

    def test_it_passes_on_emulated_gpus(self):
        code, (passed, failed, skipped), said = self.run_bundle(*(() if ALL else QUICK), gpus=4)
        print(said)
        self.assertEqual((code, failed), (0, 0), said)
        self.assertGreaterEqual(passed, 4, said)
        # Each says why.
        reasons = re.findall(r"^skipped [^:]*: .*: \S+", said, re.M)
        self.assertEqual(len(reasons), skipped, said)

    def test_programs_need_glibc_alone(self):
        for program in os.listdir(os.path.join(self.folder, "bin")):
            path = os.path.join(self.folder, "bin", program)
            said = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
            with self.subTest(program=program):
                needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", said))
                self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"})

    def test_calls_that_are_not_the_recorded_ones_are_found(self):
        (log,) = glob.glob(os.path.join(self.folder, "launches", "mlp-tiny-loss.*"))
        with open(log) as file:
            recorded = file.read()
        self.addCleanup(self.write, log, recorded)
        part = ("launches", "--models", "mlp-tiny-loss")
        self.write(log, recorded.replace("block 256", "block 128", 1))
        code, counts, said = self.run_bundle(*part)
        self.assertEqual((code, counts), (1, (0, 1, 0)), said)
        self.assertRegex(said, r"line \d+ is '.*block 256.*', expected '.*block 128")
        self.write(log, recorded + "kernel another\n")
        self.assertEqual(self.run_bundle(*part)[:2], (1, (0, 1, 0)))

    def test_numbers_out_of_bounds_are_found(self):
        path = os.path.join(self.folder, "bundle.json")
        with open(path) as file:
            contents = file.read()
        self.addCleanup(self.write, path, contents)
        self.write(path, contents.replace('"losses": [\n', '"losses": [\n    9.5,\n'))
        code, (passed, failed, _), said = self.run_bundle("parity", "--models", "mlp-tiny-loss")
        self.assertEqual((code, passed, failed), (1, 0, 2), said)
        self.assertIn("out of bounds: losses", said)

    def test_no_gpu_is_a_failure_that_says_so(self):
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            pass
        else:
            self.skipTest("there is a driver here")
        code, counts, said = self.run_bundle("driver", "speed", gpus=0)
        self.assertEqual((code, counts), (1, (0, 2, 0)), said)
        self.assertRegex(said, "failed  speed: no GPU to use: .*libcuda.so.1")

    def test_what_only_a_gpu_runs(self):
        """Speed, and compute-sanitizer's findings, which a script stands in for."""
        sanitizer = os.path.join(self.folder, "compute-sanitizer")
        self.addCleanup(os.remove, sanitizer)
        self.write(
            sanitizer,
            "#!/bin/sh\ntool=$2; shift 4; [ $tool != racecheck ] || exit 86\n"
            '"$@" && echo "========= ERROR SUMMARY: 0 errors"\n',
        )
        os.chmod(sanitizer, 0o755)
        path = {"PATH": f"{self.folder}:/usr/bin:/bin"}
        done = subprocess.run(
            [sys.executable, "-c", AS_ON_A_GPU],
            cwd=self.folder,
            env={**path, **emulated_cuda.environment(1)},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = done.stdout.splitlines()
        speed = r"speed: gpt2-tiny bf16, S 64: \d+%s tokens/s, [\d.]+ ms a step, .*; ms: \w"
        self.assertRegex(said[0], "^passed  " + speed % "")
        self.assertRegex(said[1], "^failed  " + speed % " of 1000000000")
        self.assertRegex(said[2], r"^skipped speed: .*: it needs \d+\.\d GB, and the GPU has 4\.3")
        ends = ("passed", "passed", "failed", "passed")
        tools = ("memcheck", "initcheck", "racecheck", "synccheck")
        self.assertEqual(
            [line.split(",")[0] for line in said[3:7]],
            [f"{end:8}sanitizer: {tool}" for end, tool in zip(ends, tools)],
        )
        self.assertIn("compute-sanitizer ends with 86", said[5])
        self.assertRegex(said[7], "^skipped torch: gpt2-tiny bf16, .*: python3 has no torch")
        self.assertEqual(len(said), 8)

    @staticmethod
    def write(path, text):
        with open(path, "w") as file:
            file.write(text)


if __name__ == "__main__":
    unittest.main()
