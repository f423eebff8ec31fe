"""--timeline and what the report says of a step's time; and that a planned schedule is no slower
than PyTorch's, of a part of test/bench/schedules.py."""
import json
import os
import sys
import tempfile
import unittest
from xml.etree import ElementTree

from tool_test import MODELS, ROOT, SHARDC, ToolTest, run

sys.path.insert(0, os.path.join(ROOT, "test", "bench"))
import schedules

GPT = os.path.join(MODELS, "gpt2-tiny", "model.onnx")
FLAGS = ["--dim", "batch=4", "--dim", "sequence=32", "--init", "random"]
FLAGS += ["--loss", "cross-entropy:logits=logits,labels=labels", "--units", "block"]
SVG = "{http://www.w3.org/2000/svg}"


class Timeline(ToolTest):
    def compile(self, name, mesh="2"):
        report = self.path("report.json")
        command = [SHARDC, GPT, *FLAGS, "--report", report, "-o", self.path("m.trainer")]
        result = run(*command, "--timeline", self.path(name), "--mesh", mesh)
        self.assertEqual(result.code, 0, result.err)
        with open(report) as file:
            return json.load(file), result.out

    def test_a_trace_has_what_the_report_says(self):
        report, text = self.compile("t.json")
        timeline = report["timeline"]
        with open(self.path("t.json")) as file:
            trace = json.load(file)
        names = {
            event["tid"]: event["args"]["name"]
            for event in trace["traceEvents"]
            if event["name"] == "thread_name"
        }
        streams = ["compute", "gather over world", "reduce over world", "waiting"]
        self.assertEqual(list(names.values()), streams)
        bars = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        seconds = {name: 0 for name in streams}
        for bar in bars:
            seconds[names[bar["tid"]]] += bar["dur"] / 1e6
        self.assertAlmostEqual(seconds["waiting"], timeline["exposed_seconds"], 12)
        self.assertAlmostEqual(
            seconds["waiting"], sum(wait["seconds"] for wait in timeline["waits"]), 12
        )
        # Computing and waiting fill the step.
        self.assertAlmostEqual(
            seconds["compute"] + seconds["waiting"], timeline["step_seconds"], 12
        )
        # No two bars of a thread overlap, and there is one for every collective.
        for thread in names:
            end = 0
            for bar in sorted((b for b in bars if b["tid"] == thread), key=lambda b: b["ts"]):
                self.assertGreaterEqual(bar["ts"], end - 1e-6)
                end = bar["ts"] + bar["dur"]
        of_streams = [bar for bar in bars if names[bar["tid"]] in streams[1:3]]
        self.assertEqual(len(of_streams), len(report["collectives"]))
        # A gather of B bytes over two ranks on `cpu`: 5 us and half of B at 10 GB/s, where nothing
        # else is on its link.
        gathers = [b for b in of_streams if b["name"] == "all_gather forward transformer.h.0"]
        size = next(u["bytes"] for u in report["units"] if u["name"] == "transformer.h.0")
        self.assertAlmostEqual(gathers[0]["dur"], 5 + size / 2 / 10e9 * 1e6, 6)
        self.assertIn("estimated step on cpu: ", text)
        self.assertIn("waiting for collectives: ", text)

    def test_pictures_need_nothing_from_elsewhere(self):
        report, _ = self.compile("t.svg")
        root = ElementTree.parse(self.path("t.svg")).getroot()
        titles = [t.text for t in root.iter(SVG + "title")]
        for unit in report["units"]:
            for text in (f"all_gather forward {unit['name']}, ", f"{unit['name']} backward, "):
                self.assertTrue(any(t.startswith(text) for t in titles), text)
        width = float(root.get("width"))
        for bar in root.iter(SVG + "rect"):
            if "bar" in bar.get("class", "").split():
                self.assertLessEqual(float(bar.get("x")) + float(bar.get("width")), width)
        self.compile("t.html")
        with open(self.path("t.html")) as file:
            page = file.read()
        self.assertIn(report["timeline"]["waits"][0]["what"], page)
        self.assertEqual(page.count("http"), page.count('xmlns="http://www.w3.org/2000/svg"'))
        for word in ("src=", "href=", "<script", "@import", "url("):
            self.assertNotIn(word, page)

    def test_one_rank_waits_for_nothing(self):
        report, _ = self.compile("t.json", mesh="1")
        self.assertEqual(report["timeline"]["exposed_seconds"], 0)
        self.assertEqual(report["timeline"]["waits"], [])
        self.assertGreater(report["timeline"]["step_seconds"], 0)

    def test_refused(self):
        trainer = self.path("m.trainer")
        for flags, words in (
            (["--timeline", self.path("t.png")], (".json, .svg or .html",)),
            (["--timeline", trainer + ".json", "--report", trainer + ".json"], ("one file",)),
            (["--memory-limit", "much"], ("--memory-limit much", "MB, GB")),
            (["--memory-limit", "1MB"], ("--memory-limit 1MB", "the plan takes", "--remat unit")),
            (
                ["--memory-limit", "1MB", "--prefetch", "2"],
                ("--memory-limit 1MB", "--prefetch auto"),
            ),
            (["--prefetch", "soon"], ("--prefetch soon", "forward=N,backward=M")),
            (["--prefetch", "forward=65,backward=1"], ("--prefetch forward=65", "0 to 64")),
        ):
            with self.subTest(flags=flags):
                result = run(SHARDC, GPT, *FLAGS, "--mesh", "2", *flags, "-o", trainer)
                self.assert_one_error(result, "shardc", *words)
                self.assertEqual(os.listdir(self.folder), [])

    def test_a_plan_that_is_printed_keeps_to_its_limit(self):
        words = [SHARDC, GPT, *FLAGS, "--mesh", "2", "--compile-to", "plan", "--memory-limit"]
        result = run(*words, "1MB")
        self.assert_one_error(result, "shardc", "--memory-limit 1MB", "the plan takes")
        self.assertEqual(run(*words, "1GB").code, 0)


class Schedules(unittest.TestCase):
    def test_no_slower_than_pytorchs(self):
        with tempfile.TemporaryDirectory() as folder:
            for mesh, sequence, most in (("8", 8192, 0.01), ("512", 2048, 0.7)):
                model = schedules.make_model("8b", sequence, folder)
                ours, peer = (
                    schedules.estimate(model, mesh, sequence, 1, flags, folder)["timeline"]
                    for flags in schedules.SIDES.values()
                )
                self.assertLessEqual(ours["step_seconds"], peer["step_seconds"])
                self.assertLessEqual(ours["exposed_seconds"] / ours["step_seconds"], most)


if __name__ == "__main__":
    unittest.main()
