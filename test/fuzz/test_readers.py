"""The builds of the fuzz targets: the default tests build none of them, and notice all the same
when what they name has moved."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from reader_seeds import ROOT, TARGETS  # noqa: E402


class Builds(unittest.TestCase):
    def check(self, preset):
        with tempfile.TemporaryDirectory() as folder:
            configured = subprocess.run(
                ["cmake", "--preset", preset, "-B", folder],
                cwd=ROOT,
                capture_output=True,
                text=True,
            )
            self.assertEqual(configured.returncode, 0, configured.stderr)
            # CMake looks for the sources, Ninja for the targets.
            names = [f"fuzz-{name}" for name in TARGETS]
            known = subprocess.run(
                ["ninja", "-C", folder, "-t", "commands", "fuzz-readers", *names],
                capture_output=True,
                text=True,
            )
            self.assertEqual(known.returncode, 0, known.stderr)
            for name in names:
                self.assertIn(f" -o bin/{name} ", known.stdout)

    def test_with_address_sanitizer(self):
        self.check("sanitize")

    def test_at_speed(self):
        self.check("fuzz")


if __name__ == "__main__":
    unittest.main()
