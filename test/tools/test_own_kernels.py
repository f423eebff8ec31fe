"""Device code that is the runtime's own assembles for every architecture, without spills."""
import glob
import os
import re
import shutil
import subprocess
import unittest

from tool_test import BUILD

# Of processor time: see test/run.py.
LONG = True

PTXAS = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")


ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


@unittest.skipUnless(PTXAS, "there is no ptxas: it comes with the CUDA toolkit")
class OwnKernels(unittest.TestCase):
    def check(self, architecture):
        files = sorted(glob.glob(os.path.join(BUILD, "runtime/cuda/kernels/*.ptx")))
        self.assertGreaterEqual(len(files), 2)
        for path in files:
            with open(path, encoding="utf-8") as file:
                entries = file.read().count(".visible .entry")
            with self.subTest(file=os.path.basename(path)):
                done = subprocess.run(
                    [PTXAS, "-arch", architecture, "-v", path, "-o", "/dev/null"],
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(done.returncode, 0, done.stderr)
                spills = re.findall(r"(\d+) bytes spill (?:stores|loads)", done.stderr)
                self.assertEqual(len(spills), 2 * entries)
                self.assertEqual(set(spills), {"0"})


for _architecture in ARCHITECTURES:
    setattr(
        OwnKernels,
        f"test_{_architecture}_without_spills",
        lambda self, architecture=_architecture: self.check(architecture),
    )

if __name__ == "__main__":
    unittest.main()
