"""How batches go to a GPU, on an emulated one: the host loads the next one while the device is at
the one before, through pinned memory of which there is twice what a batch takes. The order of what
the driver is asked for shows it."""
import os
import tempfile
import unittest

from emulated_cuda import emulated
from reference import command, models

STEPS = 8
COPY, LAUNCH = "cuMemcpyHtoDAsync_v2", "cuGraphLaunch"
# Of the device's stream, and of a copy from the pinned memory that is to be filled.
STREAM = {"cuStreamSynchronize", "cuStreamQuery"}
EVENT = {"cuEventSynchronize", "cuEventQuery"}


class Input(unittest.TestCase):
    def calls(self, mesh, *flags, batch=8):
        """What a run asks of the first GPU's driver, as (function, bytes)."""
        model = models()["mlp-tiny-loss"]
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)
            model.compile(path("t"), mesh, "float32", "--target", "cuda:sm_90", batch=batch)
            words = [path("t"), "--data", "synthetic:1", "--lr", "1e-3", "--steps", STEPS]
            with emulated(int(mesh), CALLS=path("calls")):
                command(*words, "--nproc-per-node", 1, *flags)
            with open(path("calls"), encoding="utf-8") as file:
                lines = [line.split() for line in file]
        return [(of, int(size)) for device, of, size in lines if device == "0"]

    def between(self, calls):
        """The functions that are called behind each launch, up to the next one."""
        names = [of for of, _ in calls]
        launches = [i for i, of in enumerate(names) if of == LAUNCH]
        return [names[one + 1 : next] for one, next in zip(launches, launches[1:])]

    def test_nobody_waits_between_micro_batches(self):
        for mesh in ("1", "2"):
            calls = self.calls(mesh, "--grad-accumulation", 3)
            with self.subTest(mesh=mesh):
                gaps = self.between(calls)
                self.assertEqual(len(gaps), 3 * (STEPS - 1) - 1)
                for i, gap in enumerate(gaps):
                    self.assertIn(COPY, gap)
                    waits = [of for of in gap if of in STREAM | EVENT]
                    # The third of these is behind a step.
                    self.assertEqual(bool(waits), i % 3 == 2, (i, gap))

    def test_a_step_is_not_waited_for_before_the_next_one_is_loaded(self):
        for mesh in ("1", "2"):
            gaps = self.between(self.calls(mesh))
            self.assertEqual(len(gaps), STEPS - 2)
            before = []
            for gap in gaps:
                wait = next(i for i, of in enumerate(gap) if of in STREAM)
                before.append(gap[:wait].count(COPY))
            # x and labels.
            self.assertEqual(before, [2] * len(gaps))


if __name__ == "__main__":
    unittest.main()
