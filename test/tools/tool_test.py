"""Running a program as its user does, and what a good error looks like."""
import os
import resource
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BUILD = os.environ.get("SHARDC_BUILD", os.path.join(ROOT, "build"))
SHARDC = os.path.join(BUILD, "bin", "shardc")
MODELS = os.path.join(ROOT, "test", "models")
SECONDS, MEGABYTES = 2.0, 1024


class Result:
    def __init__(self, code, out, err, seconds, megabytes):
        self.code = code
        self.out = out
        self.err = err
        self.seconds = seconds
        self.megabytes = megabytes


def run(*words, cwd=None, limits=()):
    """Runs to the end; `limits` are (resource, value) pairs for the child."""

    def limit():
        for which, value in limits:
            resource.setrlimit(which, (value, value))

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        process = subprocess.Popen(
            [str(w) for w in words],
            stdout=out,
            stderr=err,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            preexec_fn=limit,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), err.seek(0)
        return Result(
            process.returncode,
            out.read().decode(),
            err.read().decode(),
            seconds,
            usage.ru_maxrss / 1024,
        )


class ToolTest(unittest.TestCase):
    """A temporary folder, and the rule for bad input: one line, a non-zero exit, soon, in little
    memory, nothing half-written."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def assert_one_error(self, result, program, *words):
        text = f"exit {result.code}\nstdout: {result.out}\nstderr: {result.err}"
        self.assertGreater(result.code, 0, f"must end with an error, not by a signal\n{text}")
        errors = [
            line for line in result.err.splitlines() if not line.startswith(f"{program}: warning:")
        ]
        self.assertEqual(len(errors), 1, text)
        self.assertTrue(errors[0].startswith(f"{program}: error: "), text)
        for word in words:
            self.assertIn(word, errors[0])
        self.assertLess(result.seconds, SECONDS, text)
        self.assertLess(result.megabytes, MEGABYTES, text)
