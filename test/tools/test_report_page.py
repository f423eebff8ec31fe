"""The page of --report FILE.html: what stands in it, and what a browser draws of it."""
import json
import os
import re
import shutil
import unittest

from browser import document, needs_browser
from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "s2-llama-tiny-causal", "model.onnx")
FLAGS = ["--dim", "batch=2", "--dim", "sequence=64", "--mesh", "2", "--buffer", "rotary"]
FLAGS += ["--loss", "cross-entropy:logits=logits,labels=labels,shift=1", "--threads-per-rank", "1"]
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


class ReportPage(ToolTest):
    def compile(self, report, *flags):
        result = run(
            *(SHARDC, MODEL, *FLAGS, "--target", "cpu:x86-64-v3", *flags, "-q"),
            *("--report", self.path(report), "-o", self.path("m.trainer")),
        )
        self.assertEqual((result.code, result.err), (0, ""))
        with open(self.path(report), encoding="utf-8") as file:
            return file.read()

    def data(self, page):
        (text,) = DATA.findall(page)
        return json.loads(text)

    def test_it_says_what_the_report_says(self):
        report = json.loads(self.compile("r.json"))
        page = self.data(self.compile("r.html"))
        self.assertEqual(page["title"], "model.onnx")
        (plan,) = page["plans"]
        for key in ("units", "collectives", "memory", "remat", "timeline", "mesh"):
            self.assertEqual(plan["report"][key], report[key], key)
        self.assertEqual(plan["target"], "cpu:x86-64-v3")
        self.assertAlmostEqual(plan["seconds"], report["timeline"]["step_seconds"])
        self.assertEqual(len(plan["collectives"]), len(report["collectives"]))
        waited = sum(collective["waited"] for collective in plan["collectives"])
        self.assertAlmostEqual(waited, report["timeline"]["exposed_seconds"])

    def test_what_is_alive_is_what_explain_says(self):
        (plan,) = self.data(self.compile("r.html"))["plans"]
        alive = [
            sum(b["bytes"] for b in plan["buffers"] if b["first"] <= i <= b["last"])
            for i in range(len(plan["entries"]))
        ]
        flags = [*FLAGS, "--target", "cpu:x86-64-v3"]
        said = run(SHARDC, "explain", MODEL, *flags, "memory").out
        at_once, peak = re.search(
            r"allocated, ([\d.]+) MB of it alive at once\n  most is alive at (\S+) ", said
        ).groups()
        self.assertAlmostEqual(max(alive) / 1e6, float(at_once), delta=0.005001)
        self.assertEqual(plan["entries"][alive.index(max(alive))]["name"], peak)

    def test_the_front_is_that_of_pareto(self):
        (plan,) = self.data(self.compile("r.html"))["plans"]
        flags = [*FLAGS, "--target", "cpu:x86-64-v3", "--remat", "pareto", "-q"]
        result = run(SHARDC, MODEL, *flags, "--report", self.path("p.json"))
        self.assertEqual(result.code, 0, result.err)
        with open(self.path("p.json")) as file:
            (other,) = json.load(file)["pareto"]
        of = lambda points: {
            (p["memory_bytes"], round(p["recomputed_seconds"], 12), p["on_front"]) for p in points
        }
        self.assertEqual(of(plan["pareto"]), of(other["points"]))

    def test_it_needs_no_network(self):
        page = self.compile("r.html")
        links = set(re.findall(r"\w+://[^\"' )]+", page)) - {"http://www.w3.org/2000/svg"}
        self.assertEqual(links, set())
        self.assertNotIn("src=", page)

    def test_a_name_that_looks_like_a_script(self):
        path = self.path("<script>.onnx")
        shutil.copy(MODEL, path)
        result = run(
            *(SHARDC, path, *FLAGS, "-q", "--init", "random"),
            *("--report", self.path("r.html"), "-o", self.path("m.trainer")),
        )
        self.assertEqual(result.code, 0, result.err)
        with open(self.path("r.html"), encoding="utf-8") as file:
            self.assertEqual(self.data(file.read())["title"], "<script>.onnx")

    def test_two_targets_have_a_plan_each(self):
        result = run(
            *(SHARDC, MODEL, *FLAGS, "--target", "cpu:x86-64-v3,cuda:sm_90", "-q"),
            *("--report", self.path("r.html"), "-o", self.path("m.trainer")),
        )
        self.assertEqual(result.code, 0, result.err)
        with open(self.path("r.html"), encoding="utf-8") as file:
            page = self.data(file.read())
        self.assertEqual(
            [plan["target"] for plan in page["plans"]], ["cpu:x86-64-v3", "cuda:sm_90"]
        )

    def test_pareto_alone_has_no_page(self):
        result = run(
            *(SHARDC, MODEL, *FLAGS, "--remat", "pareto", "--report", self.path("r.html")),
        )
        self.assert_one_error(result, "shardc", "--remat pareto: writes JSON alone")

    @needs_browser
    def test_a_browser_draws_it(self):
        (plan,) = self.data(self.compile("r.html"))["plans"]
        dom, said = document(self.path("r.html"), self.path("profile"))
        drawn = set(re.findall(r'<path class="kind" data-kind="(\w+)"', dom))
        self.assertEqual(drawn, {buffer["kind"] for buffer in plan["buffers"]}, said)
        for path in re.findall(r'<path [^>]*d="([^"]*)"', dom):
            self.assertRegex(path, r"^M[\d.,L-]+Z?$")
        self.assertEqual(len(re.findall(r'<circle class="point', dom)), len(plan["pareto"]))
        self.assertEqual(dom.count('class="moves"'), len(plan["collectives"]))
        waited = sum(collective["waited"] > 0 for collective in plan["collectives"])
        self.assertEqual(dom.count('class="waits"'), waited)
        for name in ("units", "collectives"):
            body = re.search(rf'<table id="{name}">.*?</table>', dom, re.DOTALL)[0]
            rows = len(plan["report"]["units"] if name == "units" else plan["collectives"])
            self.assertEqual(body.count("<tr>"), 1 + rows)
        self.assertRegex(dom, r"<b>4\.\d+ MB</b>")


if __name__ == "__main__":
    unittest.main()
