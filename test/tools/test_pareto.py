"""--remat pareto: what each of several policies takes, planned, and no trainer."""
import json
import os
import unittest

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "s2-llama-tiny-causal", "model.onnx")
WORDS = "--dim batch=8 --dim sequence=64 --mesh 2 --units block --loss".split() + [
    "cross-entropy:logits=logits,labels=labels,shift=1"
]


class Pareto(ToolTest):
    def shardc(self, *words):
        return run(SHARDC, MODEL, *WORDS, *words)

    def test_lines_are_points_in_order(self):
        report = self.path("pareto.json")
        result = self.shardc("--remat", "pareto", "--target", "cpu,cuda:sm_90", "--report", report)
        self.assertEqual(result.code, 0, result.err)
        with open(report) as file:
            targets = json.load(file)["pareto"]
        self.assertEqual([t["target"].split(":")[0] for t in targets], ["cpu", "cuda"])
        lines = iter(result.out.splitlines())
        for target in targets:
            head = f"for {target['target']}, mesh 2: memory against time, of a rank"
            self.assertTrue(next(lines).startswith(head))
            next(lines)
            points = sorted(target["points"], key=lambda point: point["recomputed_seconds"])
            self.assertGreaterEqual(len(points), 4)
            for point in points:
                line = next(lines)
                self.assertEqual(line.split()[0], point["policy"])
                self.assertEqual(" * #" in line, point["on_front"])
                better = [
                    p
                    for p in points
                    if p["memory_bytes"] <= point["memory_bytes"]
                    and p["recomputed_seconds"] < point["recomputed_seconds"]
                ]
                if better:
                    self.assertFalse(point["on_front"])
            self.assertEqual(points[0]["policy"], "none")
            self.assertLess(min(p["kept_bytes"] for p in points), points[0]["kept_bytes"])

    def test_points_are_what_their_policies_take(self):
        report, alone = self.path("pareto.json"), self.path("alone.json")
        self.assertEqual(self.shardc("--remat", "pareto", "-q", "--report", report).code, 0)
        words = ("--remat", "unit", "-q", "--target", "cpu", "-o", self.path("m.trainer"))
        self.assertEqual(self.shardc(*words, "--report", alone).code, 0)
        with open(report) as file:
            points = json.load(file)["pareto"][0]["points"]
        with open(alone) as file:
            said = json.load(file)
        unit = next(point for point in points if point["policy"] == "unit")
        self.assertEqual(unit["kept_bytes"], said["remat"]["kept_bytes"])
        self.assertEqual(unit["memory_bytes"], said["memory"]["peak_bytes"])

    def test_no_trainer_is_made(self):
        for words in (("-o", self.path("x")), ("--compile-to", "plan"), ("--embed-weights",)):
            result = self.shardc("--remat", "pareto", *words)
            self.assert_one_error(result, "shardc", "--remat pareto, which makes no trainer")

    def test_words_that_are_no_policy(self):
        for word, why in (
            ("chaep", "unknown policy"),
            ("time=-1", "expects percent of the step's arithmetic"),
            ("budget=12XB", "expects a number of bytes"),
            ("class:gelu", "there is no class gelu"),
        ):
            result = self.shardc("--remat", word)
            self.assert_one_error(result, "shardc", f"--remat {word}: {why}", "; accepted are ")


if __name__ == "__main__":
    unittest.main()
