"""The page of --html: what stands in it, and what a browser draws of it."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from browser import document, needs_browser
from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "gpt2-tiny")
SCRIPT = re.compile(r'<script type="application/json" id="run">(.*?)</script>', re.DOTALL)
CURVES = {
    "loss": "loss",
    "grad_norm": "grad_norm",
    "learning_rate": "learning_rate",
    "throughput": "tokens_per_second",
}


class TrainerHtml(ToolTest):
    def train(self, *flags, steps=12, folder=MODEL, code=0):
        trainer = self.path("m.trainer")
        if not os.path.exists(trainer):
            result = run(
                *(SHARDC, os.path.join(folder, "model.onnx"), "--mesh", 2, "-o", trainer),
                *("--dim", "batch=2", "--dim", "sequence=64"),
                *("--loss", "cross-entropy:logits=logits,labels=labels,shift=1"),
            )
            self.assertEqual(result.code, 0, result.err)
        result = run(*self.words(steps), *flags)
        self.assertEqual(result.code, code, result.err)
        return result

    def words(self, steps):
        data = [
            word
            for flag in ("--data", "--eval-data")
            for name in ("input_ids", "labels")
            for word in (flag, f"{name}={MODEL}/data/{name}.npy")
        ]
        return [self.path("m.trainer"), *data, "--steps", str(steps)]

    def page(self, name="run.html"):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def shown(self, name="run.html"):
        (text,) = SCRIPT.findall(self.page(name))
        return json.loads(text)

    def lines(self, name="m.jsonl"):
        with open(self.path(name)) as file:
            lines = [json.loads(line) for line in file]
        steps = [line for line in lines if "event" not in line]
        return steps, [line for line in lines if line.get("event") == "eval"], lines[-1]

    def assert_curve(self, curve, expected):
        self.assertEqual([point[0] for point in curve["points"]], [step for step, _ in expected])
        for point, (_, value) in zip(curve["points"], expected):
            self.assertAlmostEqual(point[1], value, delta=1e-6 * abs(value))

    def assert_curves(self, shown, steps, evals):
        for name, key in CURVES.items():
            self.assert_curve(
                shown["curves"][name], [(step["step"] + 1, step[key]) for step in steps]
            )
        self.assert_curve(
            shown["curves"]["eval_loss"], [(line["step"], line["loss"]) for line in evals]
        )

    def test_curves_time_memory_and_what_the_run_is(self):
        flags = ("--html", self.path("run.html"), "--metrics", self.path("m.jsonl"))
        self.train(*flags, "--eval-every", 4, "--schedule", "cosine", "--lr", "3e-4")
        steps, evals, summary = self.lines()
        shown = self.shown()
        self.assert_curves(shown, steps, evals)
        self.assertEqual((shown["status"], shown["step"], shown["steps"]), ("finished", 12, 12))
        description = dict(shown["description"])
        for key, value in {
            "model": "gpt2-tiny/model.onnx",
            "mesh": "2 (shard, 2 ranks)",
            "precision": "float32",
            "lr": "0.0003",
            "schedule": "cosine",
            "eval-every": "4",
        }.items():
            self.assertEqual(description[key], value)
        pools = summary["memory"][0]["pools"]
        self.assertEqual(
            dict(shown["memory"]),
            {name: p["allocated_bytes"] for name, p in pools.items() if p["allocated_bytes"]},
        )
        self.assertEqual(shown["step_milliseconds"], summary["step_milliseconds"])
        self.assertGreater(shown["step_milliseconds"]["matrix products"], 0)
        self.assertAlmostEqual(
            sum(summary["step_milliseconds"].values()),
            1e3 * sum(step["step_seconds"] for step in steps) / len(steps),
            delta=0.2 * 1e3 * max(step["step_seconds"] for step in steps),
        )
        seconds = shown["seconds"]
        self.assertAlmostEqual(
            seconds["steps"] + seconds["data"], sum(step["step_seconds"] for step in steps)
        )
        self.assertAlmostEqual(seconds["evaluation"], sum(line["seconds"] for line in evals))

    def test_nothing_is_fetched(self):
        self.train("--html", self.path("run.html"), steps=2)
        without_names = self.page().replace("http://www.w3.org/2000/svg", "")
        self.assertNotRegex(without_names, r"https?:|<link|<img|@import|url\(|\bsrc=|fetch\(")

    def test_a_run_that_goes_on_continues_its_curves(self):
        flags = ("--html", self.path("run.html"), "--checkpoint-dir", self.path("saved"))
        flags += ("--metrics", self.path("m.jsonl"), "--resume", "auto", "--checkpoint-every", 4)
        self.train(*flags, "--print-every", 4, steps=10)
        began = self.shown()["started"]
        # The steps behind the checkpoint are lost, and come again.
        shutil.rmtree(self.path("saved/step-00000010"))
        self.train(*flags, steps=14)
        steps, evals, _ = self.lines()
        shown = self.shown()
        self.assertEqual([step["step"] for step in steps], list(range(14)))
        self.assert_curves(shown, steps, [line for line in evals if line["step"] == 14])
        self.assertEqual((shown["started"], shown["step"]), (began, 14))
        # A page that is damaged, and what is no page, is replaced.
        for text in (self.page().replace('"curves"', '"c"'), "no page"):
            with open(self.path("run.html"), "w") as file:
                file.write(text)
            self.train(*flags, steps=15)
            self.assertEqual(self.shown()["status"], "finished")

    def test_how_the_run_ended(self):
        flags = ("--html", self.path("run.html"))
        self.train(*flags, "--lr", "1e30", steps=50, code=1)
        self.assertEqual(self.shown()["status"], "failed")
        saved = ("--checkpoint-dir", self.path("t"))
        self.train(*flags, *saved, "--time-limit", "0.3", steps=10**6)
        self.assertEqual(self.shown()["status"], "stopped")
        process = subprocess.Popen(
            [*self.words(10**6), *flags, "--checkpoint-dir", self.path("s")]
            + ["--checkpoint-every", "20"],
            stdout=subprocess.DEVNULL,
        )
        end = time.monotonic() + 60
        while self.shown()["status"] != "running" or self.shown()["step"] < 20:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertIn("loss", self.shown()["curves"])

    def test_names_are_no_html(self):
        self.train("--html", self.path("run.html"), steps=2)
        os.mkdir(self.path("<"))
        path = self.path("</script><b>&\"'é\u2028<!--.html")
        self.train("--html", path, steps=2)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("</script>"), self.page().count("</script>"))
        self.assertNotIn("<b>", text)
        (found,) = SCRIPT.findall(text)
        self.assertEqual(dict(json.loads(found)["description"])["html"], path)

    def test_a_page_that_cannot_be(self):
        self.train("--html", self.path("run.html"), steps=2)
        before = self.page()
        for words, parts in (
            (["--html", self.path("none/run.html")], ["none/run.html"]),
            (["--html", self.path("m.trainer")], ["--html", "this trainer"]),
            (["--html", self.path("a"), "--metrics", self.path("a")], ["two outputs"]),
        ):
            with self.subTest(words=words):
                self.assert_one_error(run(*self.words(2), *words), "trainer", *parts)
        self.train("--html", self.path("run.html"), "--dry-run")
        self.assertEqual(self.page(), before)

    @needs_browser
    def test_a_browser_draws_the_curves(self):
        flags = ("--eval-every", 4, "--metrics", self.path("m.jsonl"))
        self.train("--html", self.path("run.html"), *flags)
        self.train("--html", self.path("other.html"), "--lr", 0.01, "--eval-every", 4, steps=8)
        self.assert_drawn("run.html", "mine", 5)
        # As if it were picked there.
        for other in ("other.html", "m.jsonl"):
            literal = json.dumps(self.page(other)).replace("<", "\\u003c")
            page = self.page().replace(
                "\nrender();\n", f'\nother = parseRun({literal}, "o");\nrender();\n'
            )
            with open(self.path("both.html"), "w", encoding="utf-8") as file:
                file.write(page)
            dom = self.assert_drawn("both.html", "mine", 5)
            self.assertEqual(self.drawn(dom, "other"), self.drawn(dom, "mine"))
            if other.endswith("html"):
                self.assertIn('<tr class="differs"><th>lr</th><td>0.001</td><td>0.01</td>', dom)

    def drawn(self, dom, kind):
        found = re.findall(rf'<path class="curve {kind}[^>]*>', dom)
        return sorted(re.search(r'data-curve="(\w+)"', path)[1] for path in found)

    def assert_drawn(self, name, kind, count):
        dom, said = document(self.path(name), self.path("profile"))
        self.assertEqual(self.drawn(dom, kind), sorted([*CURVES, "eval_loss"]), said)
        for path in re.findall(r'<path class="curve [^>]* d="([^"]*)"', dom):
            self.assertRegex(path, r"^M[\d.,L-]+$")
        return dom


if __name__ == "__main__":
    unittest.main()
