"""Real trainers whose ranks are in two worlds, each with a main of its own
(test/runtime/launch/two-worlds-runtime.cpp): what they write and print is what one world's do. The
world without rank 0 opens no output and prints nothing: everything would be there twice."""
import os
import re
import tempfile
import unittest
import unittest.mock

import reference
from other_runtime import OtherRuntime
from record_bits import digest
from reference import SHARDC, models, read_metrics

FILES = {
    "--export-gradients": "g.safetensors",
    "--export-safetensors": "f.safetensors",
    "--export-onnx": "f.onnx",
}


class Worlds(OtherRuntime):
    runtime = "two-worlds-runtime"

    def trained(self, shardc, mesh, *flags):
        model = models()["mlp-tiny-loss"]
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(
            reference, "SHARDC", shardc
        ):
            path = lambda name: os.path.join(folder, name)
            model.compile(path("m.trainer"), mesh, "float64")
            exports = [part for flag, name in FILES.items() for part in (flag, path(name))]
            said = model.train(
                path("m.trainer"),
                "--metrics",
                path("m.jsonl"),
                "--trace",
                path("t.json"),
                *exports,
                *flags,
                steps=3,
            )
            found = sorted(os.listdir(folder))
            if "--dry-run" in flags:
                return said.stdout.splitlines(), said.stderr, found
            steps, (summary,) = read_metrics(path("m.jsonl"))
            digests = []
            for name in FILES.values():
                with open(path(name), "rb") as file:
                    digests.append(digest(file.read()))
        # Threads, rates and memory are the machine's affair.
        lines = [
            re.sub(r"\d+ threads? per rank|[\d.]+[kMG]? \w+/s|peak memory .*", "", line)
            for line in said.stdout.splitlines()
        ]
        return (
            lines,
            said.stderr,
            found,
            [(s["loss"], s["grad_norm"]) for s in steps],
            summary["collectives"],
            len(summary["memory"]),
            digests,
        )

    def check(self, mesh, *flags):
        expected = self.trained(SHARDC, mesh, *flags)
        self.assertTrue(expected[0])
        for split in (1, 3):
            with self.subTest(mesh=mesh, split=split), unittest.mock.patch.dict(
                os.environ, SHARDC_SPLIT=str(split)
            ):
                self.assertEqual(self.trained(self.shardc, mesh, *flags), expected)

    def test_leave_what_one_leaves(self):
        for mesh in ("4", "2x2"):
            self.check(mesh)

    def test_check_a_dry_run_once(self):
        self.check("4", "--dry-run")


if __name__ == "__main__":
    unittest.main()
