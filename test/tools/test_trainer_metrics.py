"""What --tensorboard, --prometheus and --log-format hf say of a run, against its --metrics."""
import ast
import glob
import json
import math
import os
import re
import struct
import unittest

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "gpt2-tiny")
STEPS = 4


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked_checksum(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """Of a TFRecord file, whose checksums must be right."""
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        record, end = data[12 : 12 + length], 16 + length
        assert struct.unpack("<I", data[8:12])[0] == masked_checksum(data[:8])
        assert struct.unpack("<I", data[12 + length : end])[0] == masked_checksum(record)
        yield record
        data = data[end:]


def fields(message):
    """(number, value) of a protobuf message: varints as numbers, all else as bytes."""

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    at = 0
    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, message[at : at + size]
        at += size


def scalars(path):
    """{tag: {step: value}} of an event file, and the steps at which a run has started again."""
    found, starts = {}, []
    with open(path, "rb") as file:
        events = [dict(fields(record)) for record in records(file.read())]
    assert events[0][3] == b"brain.Event:2"
    for event in events[1:]:
        assert struct.unpack("<d", event[1])[0] > 1.7e9
        if 7 in event:
            starts.append(event.get(2, 0))
        for _, value in fields(event.get(5, b"")):
            value = dict(fields(value))
            tag = found.setdefault(value[1].decode(), {})
            tag[event.get(2, 0)] = struct.unpack("<f", value[2])[0]
    return found, starts


def gauges(path):
    """{name: value}; every name has its help and its type."""
    with open(path) as file:
        text = file.read()
    found = re.findall(r"# HELP (\w+) .+\n# TYPE (\w+) gauge\n(\w+) (\S+)\n", text)
    assert 3 * len(found) == text.count("\n"), text
    assert all(a == b == c for a, b, c, _ in found), text
    return {name: float(value) for name, _, _, value in found}


def float32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


class TrainerMetrics(ToolTest):
    def train(self, *flags, steps=STEPS):
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
                "--loss",
                "cross-entropy:logits=logits,labels=labels,shift=1",
                "-o",
                trainer,
            )
            self.assertEqual(result.code, 0, result.err)
        data = [
            word
            for flag in ("--data", "--eval-data")
            for name in ("input_ids", "labels")
            for word in (flag, f"{name}={MODEL}/data/{name}.npy")
        ]
        result = run(trainer, *data, "--steps", steps, *flags)
        return result

    def lines(self, name):
        with open(self.path(name)) as file:
            lines = [json.loads(line) for line in file]
        events = [line for line in lines if line.get("event") == "eval"]
        return [line for line in lines if "event" not in line], events

    def event_files(self):
        return sorted(glob.glob(self.path("board/events.out.tfevents.*.0")), key=os.path.getmtime)

    def test_lines_say_how_far_the_run_is(self):
        flags = ("--grad-accumulation", 2, "--metrics", self.path("m.jsonl"))
        self.assertEqual(self.train(*flags, "--peak-tflops", 2).code, 0)
        steps, _ = self.lines("m.jsonl")
        report = run(self.path("m.trainer"), "--report", "--grad-accumulation", 2).out
        number, letter = re.search(r"FLOPs of a rank's step: ([0-9.]+)([kMGT]?)", report).groups()
        flops = float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}[letter]
        for step in steps:
            self.assertEqual(step["samples"], 8 * (step["step"] + 1))
            self.assertEqual(step["tokens"], 64 * step["samples"])
            self.assertGreater(step["epoch"], 0)
            self.assertAlmostEqual(step["epoch"] / steps[0]["epoch"], step["step"] + 1)
            self.assertGreater(step["data_seconds"], 0)
            self.assertLess(step["data_seconds"], step["step_seconds"])
            # The report has the optimizer in every micro-batch.
            self.assertAlmostEqual(
                step["tflops_per_rank"] * step["step_seconds"] / (flops * 1e-12), 1, delta=0.02
            )
            self.assertAlmostEqual(step["mfu"], step["tflops_per_rank"] / 2)

    def test_tensorboard_has_the_values_of_the_lines(self):
        result = self.train(
            "--metrics",
            self.path("m.jsonl"),
            "--tensorboard",
            self.path("board"),
            "--loss-scale",
            8,
            "--eval-every",
            2,
        )
        self.assertEqual(result.code, 0, result.err)
        steps, evals = self.lines("m.jsonl")
        (path,) = self.event_files()
        found, starts = scalars(path)
        self.assertEqual(starts, [0])
        keys = ("loss", "grad_norm", "learning_rate", "tokens_per_second", "loss_scale")
        expected = {
            f"train/{key}": {step["step"] + 1: float32(step[key]) for step in steps} for key in keys
        }
        expected["eval/loss"] = {event["step"]: float32(event["loss"]) for event in evals}
        expected["eval/perplexity"] = {
            event["step"]: float32(event["perplexity"]) for event in evals
        }
        self.assertEqual(found, expected)
        for event in evals:
            self.assertAlmostEqual(event["perplexity"] / math.exp(event["loss"]), 1)
        self.assertEqual(sorted(found["eval/loss"]), [0, 2, 4])
        self.read_with_tensorboard(expected)

    def read_with_tensorboard(self, expected):
        """Its own reader, where it is installed."""
        try:
            from tensorboard.backend.event_processing import event_accumulator
        except ImportError:
            return
        events = event_accumulator.EventAccumulator(self.path("board")).Reload()
        tags = events.Tags()["scalars"]
        found = {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in tags}
        self.assertEqual(found, expected)

    def test_a_run_that_goes_on_has_an_event_file_of_its_own(self):
        flags = (
            "--tensorboard",
            self.path("board"),
            "--checkpoint-dir",
            self.path("saved"),
            "--resume",
            "auto",
        )
        self.assertEqual(self.train(*flags, steps=2).code, 0)
        result = self.train(*flags, "--metrics", self.path("m.jsonl"), steps=4)
        self.assertEqual(result.code, 0, result.err)
        steps, _ = self.lines("m.jsonl")
        self.assertEqual([step["samples"] for step in steps], [12, 16])
        first, second = (scalars(path) for path in self.event_files())
        self.assertEqual(sorted(first[0]["train/loss"]), [1, 2])
        self.assertEqual(sorted(second[0]["train/loss"]), [3, 4])
        self.assertEqual((first[1], second[1]), ([0], [3]))

    def test_prometheus_has_the_last_step(self):
        flags = ("--metrics", self.path("m.jsonl"), "--prometheus", self.path("shardc.prom"))
        self.assertEqual(self.train(*flags).code, 0)
        steps, evals = self.lines("m.jsonl")
        last = steps[-1]
        self.assertEqual(
            gauges(self.path("shardc.prom")),
            {
                "shardc_step": STEPS,
                "shardc_loss": last["loss"],
                "shardc_grad_norm": last["grad_norm"],
                "shardc_learning_rate": last["learning_rate"],
                "shardc_tokens_per_second": last["tokens_per_second"],
                "shardc_eval_loss": evals[-1]["loss"],
                "shardc_eval_perplexity": evals[-1]["perplexity"],
            },
        )
        self.assertEqual(sorted(os.listdir(self.folder)), ["m.jsonl", "m.trainer", "shardc.prom"])

    def test_hf_lines_are_dictionaries(self):
        flags = ("--metrics", self.path("m.jsonl"), "--log-format", "hf", "--print-every", 2)
        result = self.train(*flags)
        self.assertEqual(result.code, 0, result.err)
        steps, evals = self.lines("m.jsonl")
        printed = [
            ast.literal_eval(line) for line in result.out.splitlines() if line.startswith("{")
        ]
        self.assertEqual(len(printed), 4)
        for line, number in zip(printed, (1, 3)):
            mean = (steps[number - 1]["loss"] + steps[number]["loss"]) / 2
            self.assertEqual(list(line), ["loss", "grad_norm", "learning_rate", "epoch"])
            self.assertAlmostEqual(line["loss"], mean, delta=6e-5)
            self.assertEqual(line["grad_norm"], steps[number]["grad_norm"])
            self.assertEqual(line["learning_rate"], 0.001)
            self.assertAlmostEqual(line["epoch"], steps[number]["epoch"], delta=6e-3)
        self.assertEqual(
            list(printed[2]),
            [
                "eval_loss",
                "eval_perplexity",
                "eval_runtime",
                "eval_samples_per_second",
                "epoch",
            ],
        )
        self.assertEqual(printed[2]["eval_perplexity"], evals[0]["perplexity"])
        self.assertEqual(printed[2]["eval_loss"], evals[0]["loss"])
        self.assertEqual(
            list(printed[3]),
            [
                "train_runtime",
                "train_samples_per_second",
                "train_steps_per_second",
                "train_loss",
                "epoch",
            ],
        )
        mean = sum(step["loss"] for step in steps) / STEPS
        self.assertAlmostEqual(printed[3]["train_loss"], mean, places=12)
        self.assertNotIn("done: ", result.out)

    def test_outputs_that_cannot_be(self):
        for words, parts in (
            (["--tensorboard", self.path("m.trainer")], ["--tensorboard", "this trainer"]),
            (["--prometheus", self.path("none/p")], ["none/p"]),
            (["--prometheus", self.path("p"), "--metrics", self.path("p")], ["two outputs"]),
            (["--peak-tflops", 1], ["--peak-tflops has no effect without --metrics"]),
            (["--log-format", "hg"], ["--log-format expects text, bar or hf, got 'hg'"]),
        ):
            with self.subTest(words=words):
                self.assert_one_error(self.train(*words), "trainer", *parts)
        # A run that does not begin leaves no event file.
        flags = ("--tensorboard", self.path("board"), "--metrics", self.path("none/m.jsonl"))
        self.assert_one_error(self.train(*flags), "trainer", "none/m.jsonl")
        self.assertEqual(os.listdir(self.folder), ["m.trainer"])


if __name__ == "__main__":
    unittest.main()
