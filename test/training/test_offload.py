"""Master weights, optimizer state and activations in a file or on the host: to the bit what they
are in memory, in a process whose memory is half of the state."""
import contextlib
import copy
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from edited_plan import edit
from emulated_cuda import emulated
from reference import (
    BUILD,
    MODELS as FOLDER,
    SHARDC,
    CommandFailed,
    command,
    models,
    read_metrics,
    read_safetensors,
)
from small_models import Small

# Of processor time: see test/run.py.
LONG = True

MODELS = models()
OFFLOAD = ("--offload", "optimizer")
# With a size all that can leave does, whether or not it is waited for.
ACTIVATIONS = ("--offload", "activations=1GB")
BOTH = ("--offload", "optimizer,activations=1GB")
PARAMETERS = ("--offload", "parameters")
ALL = ("--offload", "parameters,optimizer,activations=1GB")
CHECK = os.path.join(BUILD, "bin", "shardc-check")


class OffloadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)
        os.mkdir(self.path("disk"))
        self.disk = ("--offload-dir", self.path("disk"))

    def compile(self, name, model, mesh, precision, *flags, batch=None):
        trainer, report = self.path(name), self.path("report.json")
        model.compile(trainer, mesh, precision, "--report", report, *flags, batch=batch)
        with open(report) as file:
            return trainer, json.load(file)["memory"]

    def train(self, model, trainer, *flags, steps=3, **more):
        """What the steps came to, the first gradients and the parameters, as bits."""
        metrics, gradients, final = map(self.path, ("m.jsonl", "g.safetensors", "f.safetensors"))
        for path in (metrics, gradients, final):
            if os.path.exists(path):
                os.remove(path)
        words = ["--metrics", metrics, "--export-safetensors", final]
        words += ["--export-gradients", gradients]
        model.train(trainer, *words, *flags, steps=steps, **more)
        done, _ = read_metrics(metrics)
        bits = lambda path: {n: v.tobytes() for n, v in read_safetensors(path).items()}
        keys = ("loss", "grad_norm", "skipped")
        return [[s.get(k) for k in keys] for s in done], bits(gradients), bits(final)

    def failure(self, *words, **options):
        """The one line that a command ends with."""
        process = subprocess.run(
            [str(w) for w in words], capture_output=True, text=True, timeout=300, **options
        )
        self.assertNotEqual(process.returncode, 0, process.stdout)
        self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
        return process.stderr

    def check(
        self,
        name,
        mesh,
        precision,
        *flags,
        offload=OFFLOAD,
        run=(),
        optimizer="adamw",
        batch=None,
    ):
        model = MODELS[name]
        with self.subTest(
            model=name, mesh=mesh, precision=precision, flags=flags, offload=offload, run=run
        ):
            flags = ("--optimizer", optimizer, *flags)
            trainer, kept = self.compile("m", model, mesh, precision, *flags, batch=batch)
            expected = self.train(model, trainer, *run, optimizer=optimizer)
            trainer, memory = self.compile(
                "o", model, mesh, precision, *flags, *offload, batch=batch
            )
            got = self.train(model, trainer, *run, *self.disk, optimizer=optimizer)
            self.assertEqual(got, expected)
            self.assertEqual(os.listdir(self.path("disk")), [])
            # What was in memory between steps is in the file, or in the step.
            left = kept["pools"]["persistent"] - memory["pools"]["persistent"]
            if offload == ACTIVATIONS:
                self.assertEqual(left, 0)
                self.assertLessEqual(memory["pools"]["step"], kept["pools"]["step"])
            else:
                self.assertGreater(left, 0)
            self.assertGreaterEqual(memory["pools"]["host"], max(left, 1))
            command(CHECK, trainer, model.onnx)


class EqualBits(OffloadTest):
    def test_every_tiny_model(self):
        for name in MODELS:
            if "tiny" in name and MODELS[name].folder.startswith(FOLDER):
                self.check(name, "1", "float64", offload=ALL)
                self.check(name, "2", "float32", offload=ALL)
                self.check(name, "2x2", "float64", offload=BOTH)

    def test_masters_of_sixteen_bits(self):
        self.check("gpt2-tiny", "2", "bf16", offload=BOTH)
        self.check("s2-llama-tiny-mask", "2x2", "param=bf16,reduce=bf16")
        scaled = ("--loss-scale", "dynamic", "--loss-scale-initial", 2.0**24)
        self.check("mlp-tiny-loss", "2", "float16", run=scaled, offload=BOTH)

    def test_every_optimizer(self):
        for optimizer in ("sgd", "lion", "amsgrad", "adam"):
            momentum = ("--momentum", 0.9) if optimizer == "sgd" else ()
            self.check("mlp-tiny-loss", "2", "float32", optimizer=optimizer, run=momentum)

    def test_strategies_and_micro_batches(self):
        for mesh, strategy in (("2", "none"), ("2", "opt"), ("2x2", "hybrid_opt")):
            self.check("gpt2-tiny", mesh, "float32", "--strategy", strategy)
        for offload in (OFFLOAD, BOTH):
            run = ("--grad-accumulation", 2)
            self.check("mlp-tiny-loss", "2", "float32", offload=offload, run=run, batch=4)

    def test_state_that_stays(self):
        """Activations leave beside whole matrices and split masters."""
        self.check("gpt2-tiny", "2", "float32", offload=ACTIVATIONS, optimizer="muon")
        self.check("gpt2-tiny", "2", "bf16", "--master", "split", offload=ACTIVATIONS)
        # Whatever the limit is, they alone leave.
        auto = ("--offload", "auto")
        model = MODELS["gpt2-tiny"]
        _, kept = self.compile("m", model, "2", "float32", "--optimizer", "muon")
        limit = ("--memory-limit", int(0.9 * kept["peak_bytes"]))
        _, left = self.compile("o", model, "2", "float32", "--optimizer", "muon", *auto, *limit)
        self.assertIn("offloaded", left["kinds"])
        self.assertNotIn("state", left["kinds"])

    def test_auto_offloads_what_does_not_fit(self):
        model = MODELS["gpt2-tiny"]
        _, memory = self.compile("m", model, "2", "float32")
        for spare, leaves in ((1, False), (-1, True)):
            limit = ("--memory-limit", memory["live_bound_bytes"] + 64 * 200 * spare)
            flags = ("--offload", "auto", *limit)
            _, chosen = self.compile("a", model, "2", "float32", *flags)
            self.assertEqual("host" in chosen["pools"], leaves)

    def test_processes(self):
        self.check("gpt2-tiny", "4", "float32", offload=ALL, run=("--nproc-per-node", 2))

    def test_norms_and_looks(self):
        """Clipping by another norm, and entries that are looked at one by one."""
        self.check("mlp-tiny-loss", "2", "float32", run=("--clip-norm", "inf"))
        self.check("mlp-tiny-loss", "2", "float32", run=("--check-finite",))


class Gpus(OffloadTest):
    """State and activations in the host's memory, on emulated GPUs."""

    def check(self, name, mesh, precision, *flags, offload=BOTH, run=()):
        model = MODELS[name]
        with self.subTest(
            model=name, mesh=mesh, precision=precision, flags=flags, offload=offload, run=run
        ):
            flags = ("--target", "cuda", *flags)
            trainer, kept = self.compile("m", model, mesh, precision, *flags)
            with emulated():
                expected = self.train(model, trainer, *run)
            trainer, memory = self.compile("o", model, mesh, precision, *flags, *offload)
            with emulated():
                self.assertEqual(self.train(model, trainer, *run), expected)
            self.assertGreater(memory["pools"]["host"], 0)
            self.assertLess(memory["pools"]["persistent"], kept["pools"]["persistent"])
            command(CHECK, trainer, model.onnx)

    def test_equal_bits(self):
        self.check("mlp-tiny-loss", "1", "float32", offload=OFFLOAD)
        self.check("mlp-tiny-loss", "2", "bf16", run=("--cuda-graph", "off"))
        self.check("mlp-tiny-loss", "2x2", "float32", "--strategy", "hybrid_opt")
        self.check("gpt2-tiny", "2", "float32", "--units", "block", offload=ALL)
        self.check("mlp-tiny-loss", "2", "bf16", offload=PARAMETERS)
        self.check("gpt2-tiny", "1", "bf16", "--units", "block", offload=ALL)
        scaled = ("--loss-scale", "dynamic", "--loss-scale-initial", 2.0**24)
        self.check("mlp-tiny-loss", "2", "float16", run=scaled)
        self.check("gpt2-tiny", "2", "bf16")

    def test_checkpoints(self):
        model = MODELS["mlp-tiny-loss"]
        trainer, _ = self.compile("o", model, "2", "bf16", "--target", "cuda", *OFFLOAD)
        other, _ = self.compile("m", model, "2", "bf16", "--target", "cuda")
        where = ("--checkpoint-dir", self.path("c"), "--checkpoint-every", 1)
        with emulated():
            steps, _, expected = self.train(model, other, steps=6)
            self.train(model, trainer, *where)
            for each in (trainer, other):
                rest, _, final = self.train(model, each, *where, "--resume", "auto", steps=6)
                self.assertEqual((rest, final), (steps[3:], expected))
                shutil.rmtree(self.path("c", "step-00000006"))
                shutil.rmtree(self.path("c", "step-00000005"))
                shutil.rmtree(self.path("c", "step-00000004"))

    def test_there_is_no_file(self):
        model = MODELS["mlp-tiny-loss"]
        trainer, _ = self.compile("o", model, "1", "float32", "--target", "cuda", *OFFLOAD)
        said = self.failure(trainer, *model.train_flags(1), *self.disk)
        self.assertIn("--offload-dir has no effect: on GPUs, what is offloaded stays in", said)
        said = command(trainer, "--report").stdout
        self.assertRegex(said, r"host .* of the host's memory, beside all pools")


class Defects(OffloadTest):
    def test_shardc_check_finds_them(self):
        """A transfer or a wait that is missing, a part that is another one, states that change
        places: none is certified, none runs on as if nothing were wrong with its form."""
        model = MODELS["gpt2-tiny"]
        trainer, _ = self.compile("o", model, "2", "bf16", "--units", "block", *ALL)
        plans, made = [], 0
        edit(trainer, self.path("same"), plans.append)
        command(CHECK, trainer)
        kinds = [entry.WhichOneof("kind") for entry in plans[0].train.entries]

        def check(what, change):
            plan = copy.deepcopy(plans[0])
            change(plan.train.entries)
            with open(self.path("plan"), "wb") as file:
                file.write(plan.SerializeToString())
            process = subprocess.run([CHECK, self.path("plan")], capture_output=True, text=True)
            with self.subTest(what=what):
                self.assertEqual(process.returncode, 1, process.stderr)
            return 1

        def waits(entries, index):
            token = entries[index].transfer_start.token
            return next(
                i for i, e in enumerate(entries) if e.HasField("wait") and e.wait.token == token
            )

        def without(*places):
            def change(entries):
                for place in sorted(places, reverse=True):
                    del entries[place]

            return change

        entries = plans[0].train.entries
        for index, kind in enumerate(kinds):
            name = entries[index].name
            if kind == "transfer_start":
                wait = waits(entries, index)
                made += check(f"{name} is missing", without(index, wait))
                made += check(f"the wait of {name} is missing", without(wait))

                def move(entries, index=index):
                    start = entries[index].transfer_start
                    start.source.shape[0] -= 32
                    start.destination.shape[0] -= 32

                made += check(f"{name} moves less", move)
            elif kind == "optimizer_step":
                made += check(f"{name} is missing", without(index))

                def swap(entries, index=index):
                    first, second = entries[index].optimizer_step.states
                    first.buffer, second.buffer = second.buffer, first.buffer

                def shift(entries, index=index):
                    entries[index].optimizer_step.begin = 32

                def lose(entries, index=index):
                    entries[index].optimizer_step.ClearField("master")

                made += check(f"{name} has swapped states", swap)
                made += check(f"{name} is another part", shift)
                made += check(f"{name} has no master", lose)
        self.assertGreater(made, 40)


class Timeline(OffloadTest):
    def test_transfers_have_a_stream(self):
        """A disk that is slower makes a step longer that waits for it, by as much."""
        model, seconds = MODELS["gpt2-tiny"], {}
        for rate in (0.5, 0.25):
            cluster, timeline = self.path("c.toml"), self.path("t.json")
            with open(cluster, "w") as file:
                file.write(
                    f"memory_gb = 1\nhost_bandwidth_gb_per_s = {rate}\n"
                    "inside_node = {bandwidth_gb_per_s = 100, latency_us = 0}\n"
                    "tflop_per_s = {float64 = 9, float32 = 9, bfloat16 = 9}\n"
                )
            _, memory = self.compile(
                "o",
                model,
                "1",
                "float32",
                *OFFLOAD,
                *("--cluster", cluster, "--timeline", timeline),
            )
            with open(timeline) as file:
                events = json.load(file)["traceEvents"]
            names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
            self.assertIn("transfers", names)
            ends = [e["ts"] + e["dur"] for e in events if e.get("ph") == "X"]
            seconds[rate] = max(ends) / 1e6
        transferred = 2 * memory["pools"]["host"]
        self.assertAlmostEqual(
            seconds[0.25] - seconds[0.5], transferred / 0.5e9, delta=0.05 * transferred / 0.5e9
        )


class Checkpoints(OffloadTest):
    def test_state_moves_between_file_and_memory(self):
        """A run that is saved with its state in a file goes on with it in memory, and the other way
        round, with the bits of one that never stopped."""
        model = MODELS["mlp-tiny-loss"]
        trainers = {
            "memory": (self.compile("m", model, "2", "bf16")[0], ()),
            "file": (self.compile("o", model, "2", "bf16", *OFFLOAD)[0], self.disk),
        }
        trainer, flags = trainers["memory"]
        steps, _, expected = self.train(model, trainer, *flags, steps=6)
        for before, after in (("memory", "file"), ("file", "memory"), ("file", "file")):
            with self.subTest(before=before, after=after):
                where = (
                    "--checkpoint-dir",
                    self.path(f"{before}-{after}"),
                    "--checkpoint-every",
                    1,
                )
                trainer, flags = trainers[before]
                self.train(model, trainer, *flags, *where)
                trainer, flags = trainers[after]
                rest, _, final = self.train(
                    model, trainer, *flags, *where, "--resume", "auto", steps=6
                )
                self.assertEqual((rest, final), (steps[3:], expected))


def large(folder, width, layers=7):
    """A model of `layers` products of width x width."""
    model = Small(folder)
    model.batch, model.run = 8, ("--lr", 0.001, "--clip", 0.5, "--weight-decay", 0.1)
    value, columns = model.input("x", [64]), 64
    for layer in range(layers):
        value = model.node("Relu", model.linear(value, f"layers.{layer}", columns, width))
        columns = width
    model.node("Identity", model.linear(value, "head", columns, 8), output="y")
    model.input("target", [8])
    return model.finish("mse:output=y,target=target", y=[8])


class Memory(OffloadTest):
    """Parameters of 16 bits, of which amsgrad has 16 bytes besides, in an address space of half of
    the state."""

    def test_state_of_twice_the_memory(self):
        model = large(self.path(), 4096)
        parameters = sum(values.size for values in model.parameters.values())
        state = 18 * parameters
        flags = ("--optimizer", "amsgrad")
        precision = "param=bf16,reduce=bf16"
        trainer, _ = self.compile("m", model, "1", precision, *flags, batch=8)
        offloaded, memory = self.compile("o", model, "1", precision, *flags, *OFFLOAD, batch=8)
        self.assertGreaterEqual(memory["pools"]["host"], 16 * parameters)
        run = ("--threads", 1)
        # Parts of units, which have several.
        expected = self.train(model, trainer, *run)
        self.assertEqual(self.train(model, offloaded, *run, *self.disk), expected)

        data = [w for name, path in model.data.items() for w in ("--data", f"{name}={path}")]
        limit = ("prlimit", f"--as={state // 2}")
        words = (*data, *model.run, "--steps", 3, *run)
        said = self.failure(*limit, trainer, *words)
        self.assertIn("no memory for the persistent pool", said)
        metrics = self.path("limited.jsonl")
        saved = ("--checkpoint-dir", self.path("saved"))
        said = command(
            *limit,
            offloaded,
            *words,
            *self.disk,
            *saved,
            "--checkpoint-every",
            2,
            "--metrics",
            metrics,
        ).stdout
        self.assertIn(" in a file, and", said)
        steps, _ = read_metrics(metrics)
        self.assertEqual([s["loss"] for s in steps], [s[0] for s in expected[0]])
        shutil.rmtree(self.path("saved", "step-00000003"))
        os.remove(metrics)
        command(
            *limit, offloaded, *words, *self.disk, *saved, "--resume", "auto", "--metrics", metrics
        )
        steps, _ = read_metrics(metrics)
        self.assertEqual([s["loss"] for s in steps], [expected[0][2][0]])


class BadInput(OffloadTest):
    def trainer(self, *flags):
        return self.compile("m", MODELS["mlp-tiny-loss"], "2", "float32", *flags)[0]

    def words(self, trainer, *flags, steps=3):
        return (trainer, *MODELS["mlp-tiny-loss"].train_flags(steps), *flags)

    def test_folders(self):
        trainer = self.trainer(*OFFLOAD)
        said = self.failure(*self.words(trainer))
        self.assertIn("give --offload-dir DIR", said)
        said = self.failure(*self.words(trainer, "--offload-dir", self.path("none")))
        self.assertIn("none: No such file or directory", said)
        said = self.failure(*self.words(trainer, "--offload-dir", "/proc"))
        self.assertIn("cannot write the file in --offload-dir /proc", said)
        with open(self.path("file"), "w"):
            said = self.failure(*self.words(trainer, "--offload-dir", self.path("file")))
        self.assertIn("Not a directory", said)

    def test_a_trainer_that_keeps_all_in_memory(self):
        said = self.failure(*self.words(self.trainer(), *self.disk))
        self.assertIn("--offload-dir", said)
        self.assertIn("shardc --offload optimizer", said)

    def test_what_cannot_leave(self):
        for flags, expected in (
            (("--optimizer", "muon"), "give --optimizer adamw"),
            (("--master", "split"), "give --master float32"),
        ):
            model = MODELS["mlp-tiny-loss"]
            with self.subTest(flags=flags), self.assertRaises(CommandFailed) as caught:
                model.compile(self.path("m"), "1", "bf16", *OFFLOAD, *flags)
            self.assertIn(expected, str(caught.exception))
        said = self.failure(SHARDC, model.onnx, *OFFLOAD, "--compile-to", "shard")
        self.assertIn("plans no memory; drop --offload", said)

    def test_what_is_not_said_right(self):
        model = MODELS["mlp-tiny-loss"]
        forms, size = "none, auto, optimizer[=SIZE]", "activations=SIZE to have a number of bytes"
        for what, expected in (
            *((wrong, forms) for wrong in ("everything", "auto,optimizer", "optimizer,")),
            *((f"activations={wrong}", size) for wrong in ("", "-1", "much")),
            ("optimizer=1GB,optimizer", "optimizer once"),
        ):
            said = self.failure(SHARDC, model.onnx, "--offload", what, "-o", self.path("t"))
            self.assertIn(f"--offload {what}: expected {expected}", said)
            self.assertFalse(os.path.exists(self.path("t")))

    def test_a_truncated_file(self):
        """What was written behind the new end is no longer there."""
        trainer = self.trainer(*OFFLOAD)
        process = subprocess.Popen(
            [str(w) for w in self.words(trainer, *self.disk, steps=10**6)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(process.kill)
        for line in process.stdout:
            if line.startswith("step 1/"):
                break
        folder = f"/proc/{process.pid}/fd"
        for name in os.listdir(folder):
            # A trainer that runs closes descriptors between the listing and the look.
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(os.path.join(folder, name)).startswith(self.path("disk")):
                    os.truncate(os.path.join(folder, name), 0)
        _, said = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn("was truncated while it was in use", said)


if __name__ == "__main__":
    unittest.main()
