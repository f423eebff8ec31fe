"""shardc explain: what it says is what --report, the trace and the phases say."""
import json
import os
import re
import unittest

import explain_page
from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "s2-llama-tiny-causal", "model.onnx")
FLAGS = ["--dim", "batch=2", "--dim", "sequence=64", "--mesh", "2", "--target", "cpu"]
FLAGS += ["--cpu", "x86-64-v3", "--threads-per-rank", "1", "--init", "random"]
FLAGS += ["--loss", "cross-entropy:logits=logits,labels=labels,shift=1"]


class Explain(ToolTest):
    def ask(self, *words):
        result = run(SHARDC, "explain", MODEL, *FLAGS, *words)
        self.assertEqual(result.code, 0, result.err)
        return result.out

    def report(self):
        path = self.path("report.json")
        result = run(
            *(SHARDC, MODEL, *FLAGS, "--report", path, "-o", self.path("m.trainer")),
            *("--timeline", self.path("t.json")),
        )
        self.assertEqual(result.code, 0, result.err)
        with open(path) as file, open(self.path("t.json")) as trace:
            return json.load(file), json.load(trace)

    def test_memory_says_what_is_alive_at_most(self):
        report, _ = self.report()
        text = self.ask("memory")
        allocated = re.search(r"^memory of a rank: ([\d.]+) MB allocated", text).group(1)
        self.assertAlmostEqual(
            float(allocated), report["memory"]["peak_bytes"] / 1e6, delta=0.005001
        )
        sizes = re.findall(r"^ {4} +([\d.]+) (B|kB|MB|GB)  (.+)$", text, re.MULTILINE)
        factors = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}
        bytes_of = {owner: float(number) * factors[unit] for number, unit, owner in sizes}
        self.assertEqual(list(bytes_of.values()), sorted(bytes_of.values(), reverse=True))
        unit = next(unit for unit in report["units"] if unit["name"] == "layers.0")["per_rank"]
        # Figures have three digits.
        self.assertAlmostEqual(
            bytes_of["persistent of layers.0"] / (unit["parameters"] + unit["optimizer"]),
            1,
            delta=0.005,
        )
        self.assertIn(f"--remat {report['remat']['policy']} keeps", text)

    def test_the_smallest_limit_works_and_a_smaller_one_does_not(self):
        line = re.search(r"^the smallest limit .*: (.*)$", self.ask("memory"), re.MULTILINE).group(
            1
        )
        words = line.split()
        self.assertEqual(words[0], "--memory-limit")
        self.assertTrue({"--remat", "--offload"} & set(words), line)

        def compile_with(limit):
            pasted = ["--memory-limit", limit, *words[2:], "-o", self.path("m.trainer")]
            return run(SHARDC, MODEL, *FLAGS, *pasted)

        self.assertEqual(compile_with(words[1]).code, 0)
        self.assert_one_error(compile_with(int(words[1]) - 1), "shardc", "the plan takes")

    def test_out_of_memory_has_a_remedy_that_works(self):
        self.assertIn("1GB suffice", self.ask("oom", "1GB"))
        text = self.ask("oom", "4MB")
        words = re.search(r"^the quickest that fits, .*: (.*)$", text, re.MULTILINE).group(1)
        result = run(SHARDC, MODEL, *FLAGS, *words.split(), "-o", self.path("m.trainer"))
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("no plan of the same bits fits", self.ask("oom", "1MB"))
        for words in (["oom"], ["memory", "4MB"], ["oom", "4 apples"]):
            result = run(SHARDC, "explain", MODEL, *FLAGS, *words)
            self.assert_one_error(result, "shardc", f"explain {words[0]}")

    def test_a_parameter_is_where_its_unit_is_cut(self):
        report, _ = self.report()
        name = "layers.1.attn.q_proj.weight"
        text = self.ask(name)
        unit = next(unit for unit in report["units"] if name in unit["parameters"])
        begin, end, named = re.search(
            r"elements (\d+) to (\d+) of the flat buffer of unit (\S+),", text
        ).groups()
        self.assertEqual(named, unit["name"])
        self.assertEqual(int(end) + 1 - int(begin), 64 * 64)
        size = unit["elements"] // report["shards"]
        first, last = re.search(r"lies in slices (\d+) to (\d+)", text).groups()
        self.assertEqual((int(first), int(last)), (int(begin) // size, int(end) // size))
        self.assertIn(unit["reason"], text)

    def test_a_unit_has_its_reason_and_its_collectives(self):
        report, trace = self.report()
        text = self.ask("layers.2")
        unit = next(unit for unit in report["units"] if unit["name"] == "layers.2")
        self.assertIn("why: " + unit["reason"], text)
        of_trace = {
            event["name"]
            for event in trace["traceEvents"]
            if event["ph"] == "X" and event["tid"] in (1, 2) and event["name"].endswith("layers.2")
        }
        self.assertEqual(set(re.findall(r"^collective (.+?), in", text, re.MULTILINE)), of_trace)
        self.assertEqual(len(of_trace), 3)

    def test_a_collective_says_how_long_it_is_waited_for(self):
        report, _ = self.report()
        wait = report["timeline"]["waits"][0]
        text = self.ask(wait["what"])
        number, unit = re.search(r"stands still for ([\d.]+) (ns|us|ms)", text).groups()
        seconds = float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}[unit]
        self.assertAlmostEqual(seconds / wait["seconds"], 1, delta=0.01)

    def test_a_buffer_has_its_time_and_what_passes_said_of_it(self):
        text = self.ask("/layers.0/attn/v_proj/MatMul")
        self.assertIn("buffer /layers.0/attn/v_proj/MatMul: activation of layers.0, ", text)
        self.assertRegex(text, r"alive from layers\.0/\S+ \(forward, ")
        self.assertRegex(text, r"to layers\.0/\S+ \(backward, ")
        self.assertIn("nn-remat: ", text)

    def test_what_there_is_not_is_an_error_with_what_there_is(self):
        result = run(SHARDC, "explain", MODEL, *FLAGS, "layers.7")
        self.assert_one_error(result, "shardc", "explain layers.7", "layers.0, layers.1")

    def test_flags_that_an_answer_does_not_need_are_refused(self):
        result = run(SHARDC, "explain", MODEL, *FLAGS, "-o", "x.trainer", "memory")
        self.assert_one_error(result, "shardc", "--output has no effect with explain")

    def test_the_page_quotes_what_is_said(self):
        with open(explain_page.PAGE) as file:
            page = file.read()
        self.maxDiff = None
        # Bits of a run, and their hashes, are those of the processor's kernels.
        quoted, said = (
            re.sub(r"\b[0-9a-f]{16}\b", "HASH", text) for text in (page, explain_page.written(page))
        )
        self.assertIn("'master': HASH and HASH", quoted)
        self.assertEqual(said, quoted, "run test/tools/explain_page.py, and read it")

    def test_help_shows_the_command(self):
        self.assertIn("shardc explain MODEL.onnx [flags] WHAT", run(SHARDC, "--help").out)
        self.assertIn("what WHAT", run(SHARDC, "explain", "--help").out)


if __name__ == "__main__":
    unittest.main()
