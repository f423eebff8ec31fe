"""What --log-samples says: each sample comes once in an epoch, in whatever order, on every mesh,
and also where a run goes on with another global batch."""
import json
import os
import tempfile
import unittest

from reference import MODELS, CommandFailed, Model, command

MLP = Model(os.path.join(MODELS, "mlp-tiny-loss"))
ORDERS = {
    "in order": (),
    "shuffled": ("--shuffle", "--seed", 3),
    "as torch": ("--sampler", "torch", "--seed", 3),
}


class Samples(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)

    def compile(self, mesh, batch):
        trainer = self.path(f"{mesh}-{batch}.trainer")
        if not os.path.exists(trainer):
            MLP.compile(trainer, mesh, "float64", batch=batch)
        return trainer

    def steps(self, trainer, tag, *flags):
        """What a run that did not end with an error has logged."""
        log = self.path(tag)
        words = MLP.train_flags()[2:]
        command(trainer, *words, *flags, "--log-samples", log)
        with open(log) as file:
            return [json.loads(line) for line in file]

    @staticmethod
    def of(step):
        return [s for rank in step["samples"] for batch in rank for s in batch]

    def by_epoch(self, steps):
        epochs = {}
        for step in steps:
            epochs.setdefault(step["epoch"], []).extend(self.of(step))
        return epochs

    def test_each_sample_comes_once_in_an_epoch(self):
        limit = ("--data-limit", 24)
        for name, order in ORDERS.items():
            whole = {}
            for mesh, batch, accumulation in (
                ("1", 4, 1), ("2", 4, 1), ("4", 4, 1), ("2x2", 4, 1), ("2", 2, 2), ("1", 2, 2)
            ):  # fmt: skip
                with self.subTest(order=name, mesh=mesh, batch=batch):
                    tag = f"{name}-{mesh}-{accumulation}"
                    more = ("--epochs", 3, "--grad-accumulation", accumulation)
                    trainer = self.compile(mesh, batch)
                    steps = self.steps(trainer, tag, *limit, *order, *more)
                    self.assertEqual([s["step"] for s in steps], list(range(18)))
                    self.assertEqual([s["position"] for s in steps], list(range(0, 24, 4)) * 3)
                    epochs = self.by_epoch(steps)
                    self.assertEqual(list(epochs), [0, 1, 2])
                    for samples in epochs.values():
                        self.assertEqual(sorted(samples), list(range(24)))
                    if order:
                        self.assertNotEqual(epochs[0], epochs[1])
                    ranks = 4 if mesh == "2x2" else int(mesh)
                    for step in steps:
                        self.assertEqual(len(step["samples"]), ranks)
                        for rank in step["samples"]:
                            self.assertEqual(len(rank), accumulation)
                    # A step's samples are no matter of the mesh.
                    sets = [sorted(self.of(s)) for s in steps]
                    self.assertEqual(whole.setdefault(name, sets), sets)

    def test_what_fills_no_batch_is_left_out_or_filled_up(self):
        trainer = self.compile("2", 4)
        flags = ("--data-limit", 22, "--shuffle", "--epochs", 2)
        dropped = self.by_epoch(self.steps(trainer, "d", *flags))
        padded = self.by_epoch(self.steps(trainer, "p", *flags, "--last-batch", "pad"))
        for epoch in (0, 1):
            self.assertEqual(len(dropped[epoch]), 20)
            self.assertEqual(len(set(dropped[epoch])), 20)
            self.assertEqual(padded[epoch][:20], dropped[epoch])
            self.assertEqual(sorted(padded[epoch][:22]), list(range(22)))
            self.assertEqual(padded[epoch][22:], padded[epoch][:2])

    def test_another_global_batch_goes_on_with_the_rest(self):
        for name, order in ORDERS.items():
            with self.subTest(order=name):
                flags = ("--data-limit", 24, *order, "--checkpoint-dir", self.path("c" + name))
                small = self.steps(self.compile("2", 4), name, *flags, "--steps", 2)
                self.assertEqual(len(small), 2)
                resume = ("--resume", "auto", "--epochs", 2)
                both = self.steps(self.compile("4", 8), name, *flags, *resume)
                self.assertEqual(both[:2], small)
                self.assertEqual([s["step"] for s in both], list(range(2 + 2 + 3)))
                epochs = self.by_epoch(both)
                for samples in epochs.values():
                    self.assertEqual(sorted(samples), list(range(24)))

    def test_a_run_that_goes_on_again_has_each_step_once(self):
        trainer = self.compile("2", 4)
        flags = ("--shuffle", "--checkpoint-dir", self.path("c"), "--checkpoint-every", 2)
        whole = self.steps(trainer, "w", *flags, "--steps", 5)
        again = self.steps(
            trainer, "w", *flags, "--steps", 7, "--resume", self.path("c", "step-00000002")
        )
        self.assertEqual(again[:5], whole)
        self.assertEqual([s["step"] for s in again], list(range(7)))

    def test_what_it_does_not_write_over(self):
        trainer = self.compile("2", 4)
        with open(self.path("x"), "w") as file:
            file.write("mine\n")
        with self.assertRaisesRegex(CommandFailed, "something else than the samples of an earlier"):
            self.steps(trainer, "x", "--steps", 1)
        with open(self.path("x")) as file:
            self.assertEqual(file.read(), "mine\n")
        with self.assertRaisesRegex(CommandFailed, "--log-samples has no effect"):
            self.steps(trainer, "y", "--steps", 0)


if __name__ == "__main__":
    unittest.main()
