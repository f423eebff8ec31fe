"""Where the time goes, as --profile and --trace show it."""
import json
import os
import re
import unittest

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "gpt2-tiny")


class TrainerProfile(ToolTest):
    def train(self, *flags, steps=5):
        trainer = self.path("m.trainer")
        if not os.path.exists(trainer):
            result = run(
                SHARDC,
                os.path.join(MODEL, "model.onnx"),
                "--mesh",
                2,
                "--dim",
                "batch=2",
                "--dim",
                "sequence=64",
                "--units",
                "block",
                "--loss",
                "cross-entropy:logits=logits,labels=labels,shift=1",
                "-o",
                trainer,
            )
            self.assertEqual(result.code, 0, result.err)
        data = [
            word
            for name in ("input_ids", "labels")
            for word in ("--data", f"{name}={MODEL}/data/{name}.npy")
        ]
        return run(trainer, *data, "--steps", steps, *flags)

    def test_print_every_shows_one_step_of_so_many_and_the_last(self):
        metrics = self.path("m.jsonl")
        every = self.train("--metrics", metrics)
        some = self.train("--print-every", "2")
        shown = lambda result: re.findall(r"^step (\d+)/5 .*?loss (\S+)", result.out, re.M)
        self.assertEqual([step for step, _ in shown(every)], ["1", "2", "3", "4", "5"])
        self.assertEqual(shown(some), [shown(every)[i] for i in (1, 3, 4)])
        os.remove(metrics)
        self.train("--metrics", metrics, "--print-every", "4")
        with open(metrics) as file:
            self.assertEqual(sum('"grad_norm"' in line for line in file), 5)
        none = self.train("--print-every", "0")
        self.assertEqual((shown(none), none.code), ([], 0))
        refused = self.train("--print-every", "-1")
        self.assertIn("--print-every expects", refused.err)

    def test_profile_shares_add_up_to_a_step(self):
        result = self.train("--profile")
        self.assertEqual(result.code, 0, result.err)
        table = result.out[result.out.index("where a step's time goes") :]
        shares = {
            m[1].strip(): float(m[2])
            for m in re.finditer(r"^(.+?) +[0-9.]+ +([0-9.]+)%", table, re.M)
        }
        self.assertEqual(shares.pop("a step"), 100.0)
        self.assertGreater(shares["matrix products"], 0)
        self.assertAlmostEqual(sum(shares.values()), 100, delta=1)

    def test_trace_has_every_entry_of_every_rank(self):
        trace = self.path("trace.json")
        result = self.train("--trace", trace, "--trace-steps", 2)
        self.assertEqual(result.code, 0, result.err)
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        steps = [e for e in events if e["ph"] == "X" and e["tid"] == 2]
        self.assertEqual([e["name"] for e in steps], ["step 3", "step 4"])
        entries = {
            rank: [e for e in events if e["ph"] == "X" and e["tid"] == 0 and e["pid"] == rank]
            for rank in (0, 1)
        }
        self.assertEqual([e["name"] for e in entries[0]], [e["name"] for e in entries[1]])
        half = len(entries[0]) // 2
        self.assertEqual(
            [e["name"] for e in entries[0][:half]], [e["name"] for e in entries[0][half:]]
        )
        for rank in (0, 1):
            for before, after in zip(entries[rank], entries[rank][1:]):
                self.assertLessEqual(before["ts"] + before["dur"], after["ts"] + 1e-3)
        gemms = [e for e in entries[0] if e["cat"] == "gemm"]
        self.assertTrue(
            any(e["args"]["unit"] == "transformer.h.1" and e["args"]["nodes"] for e in gemms)
        )
        # A collective is in flight from its start to the end of its wait.
        begun, ended = (
            {(e["pid"], e["id"]): e for e in events if e["ph"] == phase} for phase in "be"
        )
        self.assertEqual(set(begun), set(ended))
        self.assertTrue(all(begun[key]["ts"] <= ended[key]["ts"] for key in begun))

    def test_a_run_of_few_steps_is_traced_whole(self):
        trace = self.path("trace.json")
        self.assertEqual(self.train("--trace", trace, steps=1).code, 0)
        with open(trace) as file:
            self.assertEqual(
                [
                    e["name"]
                    for e in json.load(file)["traceEvents"]
                    if e.get("tid") == 2 and e["ph"] == "X"
                ],
                ["step 1"],
            )

    def test_trace_that_cannot_be_written(self):
        self.assert_one_error(
            self.train("--trace", self.path("none/trace.json")), "trainer", "none"
        )
        self.assert_one_error(self.train("--trace-steps", 2), "trainer", "--trace-steps", "--trace")


if __name__ == "__main__":
    unittest.main()
