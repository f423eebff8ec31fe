"""./dev bench itself: it runs without torch, knows a wrong loss, and computes its targets from the
figures it prints."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from tool_test import BUILD, ROOT, ToolTest, run

BENCH = os.path.join(ROOT, "test", "bench")
sys.path.insert(0, BENCH)
import report  # noqa: E402
import sides  # noqa: E402
import workloads  # noqa: E402


def fake_run(who, seconds, losses=(2.0, 1.5, 1.2), **other):
    return sides.Run(
        who=who,
        precision="float32",
        seconds=seconds,
        losses=list(losses),
        gemm=100.0,
        pss_mib=300.0,
        peak_rss_mib=310.0,
        first_step=0.4,
        foreign=0.0,
        steal=0.0,
        idle=True,
        **other,
    )


class BenchRuns(ToolTest):
    @unittest.skipUnless(
        os.path.exists(os.path.join(BUILD, "bin", "gemm-bench")), "gemm-bench is not built"
    )
    def test_the_trainer_alone_gives_the_recorded_losses(self):
        figures = self.path("figures.json")
        result = run(
            sys.executable,
            os.path.join(BENCH, "bench.py"),
            "W4",
            "--quick",
            "--no-peer",
            "--no-compile",
            "--no-micro",
            "--wait",
            0,
            "--json",
            figures,
        )
        self.assertEqual(result.code, 0, result.err)
        self.assertRegex(result.out, r"(?m)^W4 +shardc +[\d.]+ \[[\d.]+, [\d.]+\] +\d+ +[\d.]+%")
        self.assertIn("every run within tolerance of the recorded FSDP2 run", result.out)
        with open(figures) as file:
            written = json.load(file)
        own = written["train"][0]["rounds"][0][0]
        with open(os.path.join(BENCH, "losses.json")) as file:
            recorded = json.load(file)["W4"][: len(own["losses"])]
        self.assertEqual(len(recorded), sum(workloads.QUICK["W4"]))
        self.assertIsNone(
            sides.loss_mismatch(own["losses"], recorded, sides.LOSS_TOLERANCE["float32"])
        )
        self.assertGreater(own["pss_mib"], 100)
        self.assertEqual([t["limit"] for t in written["targets"]], [report.FIRST_STEP])

    def test_bad_arguments(self):
        for words, expected in (
            (("W9",), "W9"),
            (("W1", "--ranks", 3), "3 ranks"),
            (("--ranks", 0), "positive"),
        ):
            result = run(sys.executable, os.path.join(BENCH, "bench.py"), *words)
            self.assertEqual(result.code, 2, result.err)
            self.assertIn(expected, result.err)


class BenchChecks(unittest.TestCase):
    def test_a_wrong_loss_is_named(self):
        self.assertIsNone(sides.loss_mismatch([2.0, 1.50001], [2.0, 1.5], 5e-5))
        self.assertIn(
            "step 2 is 1.501000, not 1.500000", sides.loss_mismatch([2.0, 1.501], [2.0, 1.5], 5e-5)
        )
        self.assertIn("step 1", sides.loss_mismatch([float("nan")], [2.0], 5e-5))
        self.assertIn("1 losses against 2", sides.loss_mismatch([2.0], [2.0, 1.5], 5e-5))

    def test_a_wrong_loss_ends_the_bench(self):
        import bench

        bench.check_losses(
            "W4", [fake_run("shardc", [1]), fake_run("FSDP2 eager", [1])], {"W4": [2.0, 1.5, 1.2]}
        )
        for recorded, other in (({}, (2.0, 1.6, 1.2)), ({"W4": [2.1]}, (2.0, 1.5, 1.2))):
            with self.assertRaises(SystemExit) as ended, open(os.devnull, "w") as sys.stderr:
                bench.check_losses(
                    "W4", [fake_run("shardc", [1]), fake_run("FSDP2 eager", [1], other)], recorded
                )
            sys.stderr = sys.__stderr__
            self.assertEqual(ended.exception.code, 1)

    def test_ratios_are_taken_round_by_round(self):
        rounds = [
            [fake_run("shardc", [9, s, s]), fake_run("FSDP2 eager", [9, t, t])]
            for s, t in ((1, 2), (2, 2), (1, 6))
        ]
        result = report.Result(workloads.WORKLOADS["W3"], 2, 2, 1, rounds)
        self.assertEqual(result.ratios("shardc", "FSDP2 eager"), [2, 1, 6])
        targets = {t.what.split(": ")[1]: t for t in result.targets(has_bf16=True)}
        self.assertEqual(targets["throughput over FSDP2 eager"].value, 2)
        self.assertTrue(targets["throughput over FSDP2 eager"].met)
        self.assertFalse(targets["PSS over FSDP2 eager's"].met)
        self.assertAlmostEqual(
            targets["FLOP/s over the GEMM library's"].value, workloads.WORKLOADS["W3"].flops / 1e11
        )

    def test_the_best_tuned_peer_counts(self):
        rounds = [
            [
                fake_run("shardc", [1]),
                fake_run("FSDP2 tuned", [3]),
                fake_run("FSDP2 tuned-eager", [2]),
            ]
        ]
        targets = report.Result(workloads.WORKLOADS["W1"], 2, 2, 0, rounds).targets(has_bf16=True)
        self.assertEqual(
            [(t.value, t.limit) for t in targets if "over FSDP2" in t.what],
            [(2, report.SPEED_TUNED)],
        )

    def test_initial_values_cover_every_parameter_of_the_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, elements in (
                ("W1", 124439808),
                ("W2", 179448576),
                ("W3", 8128768),
                ("W4", 12614666),
            ):
                shapes = workloads.parameters(workloads.graph(f"bench/{name}", folder))
                sizes = [1 if not s else s[0] * (s[1] if len(s) == 2 else 1) for _, s in shapes]
                self.assertEqual(sum(sizes), elements, name)


class Published(ToolTest):
    def test_estimates_are_those_of_published_runs(self):
        """Of two models, which take 5 s; docs/schedule.md has all of them."""
        script = os.path.join(BENCH, "published.py")
        words = [sys.executable, script, "--only", "1b", "7b", "--check", "5"]
        done = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"9 rows: median error [0-4]\.\d%")


if __name__ == "__main__":
    unittest.main()
