"""A learning rate that falls where evaluations get no better: that of every step follows from the
evaluations before it, by torch's rule, in one run and in two."""
import os
import tempfile
import unittest

from reference import command, models, read_metrics

MLP = models()["mlp-tiny-loss"]
FACTOR, PATIENCE, COOLDOWN, THRESHOLD = 0.5, 1, 1, 0.7
PLATEAU = (
    *("--schedule", "reduce_lr_on_plateau", "--plateau-factor", FACTOR),
    *("--plateau-patience", PATIENCE, "--plateau-cooldown", COOLDOWN),
    *("--plateau-threshold", THRESHOLD),
)


class Rule:
    """torch.optim.lr_scheduler.ReduceLROnPlateau(threshold_mode="rel")."""

    def __init__(self, rate, minimum, more):
        self.rate, self.minimum, self.more = rate, minimum, more
        self.best, self.bad, self.waits = -float("inf") if more else float("inf"), 0, 0

    def is_better(self, value):
        if self.more:
            return value > self.best * (1 + THRESHOLD)
        return value < self.best * (1 - THRESHOLD)

    def take(self, value):
        if self.is_better(value):
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        if self.waits:
            self.waits, self.bad = self.waits - 1, 0
        if self.bad > PATIENCE:
            self.rate = max(self.rate * FACTOR, self.minimum)
            self.waits, self.bad = COOLDOWN, 0


class Plateau(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)
        MLP.compile(self.path("trainer"), "2", "float32")

    def run_lines(self, *flags, steps=40, rate=0.02):
        words = [self.path("trainer"), "--steps", steps, "--lr", rate, "--eval-every", 2]
        for name, path in MLP.data().items():
            words += ["--data", f"{name}={path}", "--eval-data", f"{name}={path}"]
        self.said = command(*words, *PLATEAU, "--metrics", self.path("m"), *flags).stdout
        steps, events = read_metrics(self.path("m"))
        return steps, [event for event in events if event["event"] == "eval"]

    def check(self, steps, events, rate, minimum=0, warmup=0, metric="loss"):
        rule = Rule(rate, minimum, more=metric == "accuracy")
        values = {event["step"]: event[metric] for event in events}
        for line in steps:
            if (before := line["step"]) in values and before > 0:
                rule.take(values[before])
            wanted = rule.rate * before / warmup if before < warmup else rule.rate
            self.assertAlmostEqual(line["learning_rate"], wanted, delta=1e-12)
        self.assertEqual(self.said.count("the learning rate falls to"), self.falls(steps, warmup))
        return rule

    @staticmethod
    def falls(steps, warmup):
        rates = [line["learning_rate"] for line in steps[warmup:]]
        return sum(after < before for before, after in zip(rates, rates[1:]))

    def test_rates_follow_evaluations(self):
        steps, events = self.run_lines("--min-lr", 2e-3)
        rule = self.check(steps, events, 0.02, 2e-3)
        self.assertEqual(rule.rate, 2e-3)
        self.assertEqual(self.falls(steps, 0), 4)  # 0.01, 0.005, 0.0025 and the least
        steps, events = self.run_lines("--warmup-steps", 3)
        self.check(steps, events, 0.02, warmup=3)

    def test_a_run_that_goes_on(self):
        saves = ("--checkpoint-dir", self.path("c"), "--checkpoint-every", 7)
        whole, _ = self.run_lines()
        first, _ = self.run_lines(*saves, steps=21)
        second, _ = self.run_lines(*saves, "--resume", "auto")
        self.assertGreater(self.falls(first, 0), 0)
        for part in (first, second):
            for line in part:
                one = whole[line["step"]]
                self.assertEqual(line["learning_rate"], one["learning_rate"])
                self.assertEqual(line["loss"], one["loss"])

    def test_the_metric_of_keep_best(self):
        MLP.compile(self.path("trainer"), "2", "float32", "--metric", "accuracy")
        keeps = ("--checkpoint-dir", self.path("c"), "--keep-best", "accuracy")
        steps, events = self.run_lines(*keeps)
        self.check(steps, events, 0.02, metric="accuracy")
        self.assertGreater(self.falls(steps, 0), 0)


if __name__ == "__main__":
    unittest.main()
