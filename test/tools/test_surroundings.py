"""What a run stands in: files that are no files, closed and full outputs, signals, data that
shrink. Each ends in one line and an exit code, soon, and leaves nothing half-written."""
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "gpt2-tiny")
LOSS = "cross-entropy:logits=logits,labels=labels,shift=1"
UNSAVED = "without --checkpoint-dir nothing is saved"


class Surroundings(ToolTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.shared = folder.name
        for name in ("model.onnx", "model.onnx.data"):
            if os.path.exists(os.path.join(MODEL, name)):
                shutil.copyfile(os.path.join(MODEL, name), os.path.join(folder.name, name))
        cls.model = os.path.join(folder.name, "model.onnx")
        cls.flags = ["--mesh", 2, "--dim", "batch=2", "--dim", "sequence=64", "--loss", LOSS]
        for name, more in (
            ("t", ()),
            ("random", ("--init", "random")),
            ("embedded", ("--embed-weights",)),
        ):
            result = run(
                SHARDC, cls.model, *cls.flags, *more, "-q", "-o", os.path.join(folder.name, name)
            )
            assert result.code == 0, result.err

    def setUp(self):
        super().setUp()
        for name in ("input_ids", "labels"):
            shutil.copyfile(os.path.join(MODEL, "data", f"{name}.npy"), self.path(f"{name}.npy"))
        self.files = sorted(os.listdir(self.folder))

    def words(self, *flags, trainer="t", steps=2, ids=None):
        return [
            os.path.join(self.shared, trainer),
            "--data",
            f"input_ids={ids or self.path('input_ids.npy')}",
            "--data",
            f"labels={self.path('labels.npy')}",
            "--steps",
            steps,
            *flags,
        ]

    def start(self, *flags, **more):
        """A run without an end, behind its first step."""
        process = subprocess.Popen(
            [str(w) for w in self.words(*flags, steps=10**9, **more)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        while "step 1/" not in process.stdout.readline():
            self.assertIsNone(process.poll(), "it ended before its first step")
        return process

    def assert_nothing_left(self, *besides):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([*self.files, *besides]))

    def shell(self, words, redirection):
        """bash's exit code and stderr."""
        text = " ".join(f"'{w}'" for w in words)
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {text} {redirection}"],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stderr

    # Initial values

    def first_loss(self, trainer, *flags):
        result = run(*self.words(*flags, trainer=trainer, steps=1))
        self.assertEqual(result.code, 0, result.err)
        values = next(
            line for line in result.out.splitlines() if line.startswith("initial values ")
        )
        steps = (line for line in result.out.splitlines() if line.startswith("step 1/1"))
        return values, next(steps).split()[3]

    def test_fewer_instructions_than_the_processor_has(self):
        """SHARDC_CPU holds the runtime's loops and products to a level that the processor has."""
        losses = {}
        for cpu in ("", "x86-64-v3", "x86-64-v2"):
            result = run("env", f"SHARDC_CPU={cpu}", *self.words())
            self.assertEqual(result.code, 0, result.err)
            losses[cpu] = float(re.search(r"^done: loss ([\d.]+),", result.out, re.M).group(1))
        for cpu in ("x86-64-v3", "x86-64-v2"):
            self.assertAlmostEqual(losses[cpu], losses[""], delta=1e-4)
        for cpu in ("haswell", "x86-64-v9", "avx2"):
            result = run("env", f"SHARDC_CPU={cpu}", *self.words())
            self.assert_one_error(result, "trainer", "SHARDC_CPU: expected x86-64-v2", cpu)

    def test_what_was_compiled_is_the_default(self):
        stored, drawn = self.first_loss("t"), self.first_loss("t", "--init", "random")
        self.assertNotEqual(stored[1], drawn[1])
        self.assertEqual(self.first_loss("random"), drawn)
        self.assertEqual(drawn[0], "initial values drawn, seed 0")
        self.assertEqual(self.first_loss("random", "--init", "file"), stored)
        self.assertEqual(self.first_loss("random", "--weights", self.model)[1], stored[1])
        self.assertNotEqual(self.first_loss("random", "--seed", "3")[1], drawn[1])
        for trainer, default in (("t", "file"), ("random", "random")):
            self.assertIn(
                f"[{default}, as it was compiled]",
                " ".join(run(os.path.join(self.shared, trainer), "--help").out.split()),
            )

    # Embedded weights

    def test_a_flipped_bit_of_embedded_weights(self):
        with open(os.path.join(self.shared, "embedded"), "rb") as file:
            whole = bytearray(file.read())
        table, _, count, _ = struct.unpack("<QQII", whole[-32:-8])
        sections = [
            struct.unpack("<I4xQQ8x", whole[table + 32 * i : table + 32 * i + 32])
            for i in range(count)
        ]
        begin, length = next((offset, length) for kind, offset, length in sections if kind == 4)
        random = np.random.default_rng(1)
        damaged = self.path("damaged")
        for at in random.integers(begin, begin + length, 8):
            flipped = whole.copy()
            flipped[at] ^= 1 << int(random.integers(8))
            with open(damaged, "wb") as file:
                file.write(flipped)
            os.chmod(damaged, 0o755)
            result = run(damaged, *self.words()[1:])
            self.assert_one_error(result, "trainer", "weights", "damaged", "compile it again")

    # Files that are no files

    def test_pipes_and_devices_instead_of_files(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        for path in (pipe, "/dev/zero", self.folder):
            with self.subTest(path=path):
                self.assert_one_error(
                    run(*self.words(ids=path)), "trainer", path, "is not a regular file"
                )
                if path != self.folder:
                    self.assert_one_error(
                        run(*self.words("--weights", path)),
                        "trainer",
                        path,
                        "is not a regular file",
                    )
                self.assert_one_error(
                    run(SHARDC, path, *self.flags, "-o", self.path("o")),
                    "shardc",
                    path,
                    "is not a regular file",
                )
                self.assert_one_error(
                    run(SHARDC, self.model, *self.flags, "--cluster", path, "-o", self.path("o")),
                    "shardc",
                    path,
                    "is not a regular file",
                )
        self.assert_nothing_left("pipe")

    # Outputs

    def test_a_stdout_that_is_full_or_closed(self):
        for redirection, reason in (
            ("> /dev/full", "No space left"),
            (">&-", "Bad file descriptor"),
        ):
            with self.subTest(redirection=redirection):
                compile_words = [SHARDC, self.model, *self.flags]
                for words, program in (
                    (compile_words + ["-o", self.path("o")], "shardc"),
                    (compile_words + ["--compile-to=import"], "shardc"),
                    ([SHARDC, "--help"], "shardc"),
                    (self.words("--help"), "trainer"),
                    (self.words("--report"), "trainer"),
                    (self.words("--export-safetensors", self.path("p.st")), "trainer"),
                ):
                    code, error = self.shell(words, redirection)
                    self.assertEqual(code, 1, error)
                    self.assertRegex(
                        error, f"^{program}: error: cannot write to stdout: {reason}.*\n$"
                    )
        self.assert_nothing_left("o")

    def test_a_stdout_that_fills_while_it_trains(self):
        """The results do not depend on who watches."""
        most = 1 << 24
        with open(self.path("log"), "wb") as log:
            log.truncate(most - 1000)  # room for the banner and a few steps
            log.seek(0, os.SEEK_END)
            words = self.words("--export-safetensors", self.path("p.st"), steps=50)
            process = subprocess.Popen(
                [str(w) for w in words],
                stdout=log,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
            )
            _, error = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, error)
        self.assertEqual(
            error,
            (
                "trainer: error: cannot write to stdout: File too large; the run is complete and"
                " its results are written\n"
            ),
        )
        self.assert_nothing_left("log", "p.st")

    def test_a_pipe_that_nobody_reads(self):
        code, error = self.shell(
            self.words("--export-safetensors", self.path("p.st"), steps=10**9),
            "| head -1 > /dev/null",
        )
        self.assertEqual(code, 128 + signal.SIGPIPE, error)
        self.assertRegex(
            error, f"^trainer: stopped by Broken pipe; {UNSAVED}; nothing was exported\n$"
        )
        code, error = self.shell(
            [SHARDC, self.model, *self.flags, "--compile-to=plan"], "| head -1 > /dev/null"
        )
        self.assertIn(
            (code, error),
            [
                (128 + signal.SIGPIPE, ""),
                (1, "shardc: error: cannot write to stdout: Broken pipe\n"),
            ],
        )
        self.assert_nothing_left()

    # Signals

    def test_a_terminal_that_goes_away(self):
        # These tests may run under nohup, which children inherit.
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        process = self.start("--export-safetensors", self.path("p.st"))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        _, error = process.communicate(timeout=30)
        self.assertEqual(
            (process.returncode, error),
            (128 + signal.SIGHUP, f"trainer: stopped by Hangup; {UNSAVED}; nothing was exported\n"),
        )
        self.assert_nothing_left()

    def test_nohup_outlives_the_terminal(self):
        words = ["nohup", *self.words(steps=10**9)]
        process = subprocess.Popen(
            [str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.addCleanup(process.kill)
        while "step 1/" not in process.stdout.readline():
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_even_a_killed_run_leaves_nothing(self):
        process = self.start(
            "--export-safetensors",
            self.path("p.st"),
            "--export-onnx",
            self.path("p.onnx"),
            "--export-gradients",
            self.path("g.st"),
        )
        process.kill()
        process.communicate(timeout=30)
        self.assert_nothing_left("g.st")  # the first step's, whole

    # Files that change

    def test_data_that_shrink_while_it_trains(self):
        process = self.start("--export-safetensors", self.path("p.st"))
        os.truncate(self.path("input_ids.npy"), 1000)
        _, error = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, error)
        self.assertRegex(
            error,
            "^trainer: error: .*/input_ids.npy was truncated while it was in use: it ends .*\n$",
        )
        self.assert_nothing_left()

    def test_a_model_that_shrinks_while_it_is_compiled(self):
        """The compiler maps what it reads; the program below shrinks the file as soon as it is
        mapped."""
        watcher = (
            "import os, sys, subprocess\n"
            "path = sys.argv[1]\n"
            "process = subprocess.Popen(sys.argv[2:], stderr=subprocess.PIPE, text=True)\n"
            "while process.poll() is None:\n"
            "    try:\n"
            "        mapped = path in open(f'/proc/{process.pid}/maps').read()\n"
            "    except OSError:\n"
            "        break\n"
            "    if mapped:\n"
            "        os.truncate(path, 0)\n"
            "        break\n"
            "error = process.communicate()[1]\n"
            "print(process.returncode, error, end='')\n"
        )
        copy = self.path("model.onnx")
        rows, columns = 4096, 2048
        from onnx import TensorProto, helper, numpy_helper

        weight = numpy_helper.from_array(
            np.random.default_rng(0).standard_normal((rows, columns), np.float32), "w"
        )
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", rows])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", columns])],
            [weight],
        )
        content = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9
        ).SerializeToString()
        for _ in range(3):
            with open(copy, "wb") as file:
                file.write(content)
            done = subprocess.run(
                [
                    sys.executable,
                    "-c",
                    watcher,
                    copy,
                    SHARDC,
                    copy,
                    "--dim",
                    "batch=2",
                    "--loss",
                    "mse:output=y,target=t",
                    "-q",
                    "--embed-weights",
                    "-o",
                    self.path("o"),
                ],
                capture_output=True,
                text=True,
                timeout=120,
            )
            code, _, error = done.stdout.partition(" ")
            # It may be too late, or so early that the file was found to be empty.
            self.assertIn(code, ("0", "1"), done.stdout)
            if code == "1":
                self.assertRegex(error, "^shardc: error: .*model.onnx.*\n$")
            for leftover in set(os.listdir(self.folder)) - {*self.files, "model.onnx", "o"}:
                self.fail(f"{leftover} was left")


if __name__ == "__main__":
    unittest.main()
