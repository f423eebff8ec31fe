"""Runs that are saved, stopped, and gone on with."""
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np

from reference import BUILD, MODELS, CommandFailed, Model, command, read_metrics, read_safetensors

MLP = Model(os.path.join(MODELS, "mlp-tiny-loss"))
STEPS, SAVED = 6, 3


# Reads a checkpoint as torch does, into tensors of the shapes that stand in the JSON on stdin, and
# prints the sum of each.
TORCH_READ = """
import json, sys
import torch
import torch.distributed.checkpoint as dcp
folder, shapes = sys.argv[1], json.load(sys.stdin)
state = {key: torch.full(shape, float("nan")) for key, shape in shapes.items()}
dcp.load(state, storage_reader=dcp.HuggingFaceStorageReader(path=folder))
print(json.dumps({key: value.flatten().tolist() for key, value in state.items()}))
"""


class Checkpoints(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda *names: os.path.join(folder.name, *names)

    def compile(self, mesh="2", precision="float32", *flags, model=MLP, batch=None):
        trainer = self.path(re.sub(r"\W", "-", f"{mesh}-{precision}-{batch}-{flags}"))
        if not os.path.exists(trainer):
            model.compile(trainer, mesh, precision, *flags, batch=batch)
        return trainer

    def train(self, trainer, tag, *flags, steps=STEPS, model=MLP, optimizer="adamw"):
        """What the run's steps came to, by step, and its parameters."""
        final = self.path(tag + ".safetensors")
        metrics = self.path(tag + ".jsonl")
        words = ["--metrics", metrics, "--export-safetensors", final]
        model.train(trainer, *words, *flags, steps=steps, optimizer=optimizer)
        done, _ = read_metrics(metrics)
        keys = ("loss", "grad_norm", "learning_rate", "loss_scale", "skipped")
        return {s["step"]: [s.get(k) for k in keys] for s in done}, read_safetensors(final)

    def assert_equal_values(self, got, expected):
        self.assertEqual(got.keys(), expected.keys())
        for name, value in expected.items():
            self.assertEqual(got[name].tobytes(), value.tobytes(), name)

    def content(self, folder):
        """Of a checkpoint: the bytes of every file but the manifest."""
        found = {}
        for part in ("model", "optim"):
            for name in sorted(os.listdir(os.path.join(folder, part))):
                with open(os.path.join(folder, part, name), "rb") as file:
                    found[part, name] = file.read()
        return found

    def tensors(self, folder):
        """Of a checkpoint: whole tensors, put together as PyTorch's reader does."""
        pieces = {}
        for part in ("model", "optim"):
            for name in os.listdir(os.path.join(folder, part)):
                path = os.path.join(folder, part, name)
                with open(path, "rb") as file:
                    header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
                metadata = header["__metadata__"]
                self.assertEqual((metadata["format"], metadata["DCP_VERSION"]), ("pt", "1.0"))
                offsets = json.loads(metadata["DCP_SHARDING_INFO"])
                for key, values in read_safetensors(path).items():
                    pieces.setdefault(key, []).append((offsets[key]["saved_offsets"], values))
        whole = {}
        for key, chunks in pieces.items():
            chunks.sort(key=lambda chunk: chunk[0])
            row = 0
            for offsets, values in chunks:
                self.assertEqual(offsets[:1], [row] if offsets else [], key)
                self.assertEqual(set(offsets[1:]) - {0}, set(), key)
                row += len(values) if offsets else 0
            whole[key] = np.concatenate([v for _, v in chunks]) if row else chunks[0][1]
        return whole

    # -- the same run ------------------------------------------------------------------------------

    def test_goes_on_with_the_same_bits(self):
        shuffle = ("--shuffle", "--seed", 5)
        for mesh, precision, compiled, flags, optimizer in (
            ("1", "float32", (), (), "adamw"),
            ("2", "float32", (), shuffle, "amsgrad"),
            ("4", "bf16", (), ("--grad-accumulation", 2), "adamw"),
            ("2x2", "float32", ("--strategy", "hybrid_opt"), shuffle, "sgd"),
            ("2x2", "float64", ("--strategy", "hybrid"), shuffle, "lion"),
            (
                "2",
                "float16",
                (),
                ("--loss-scale-initial", 2.0**40, "--loss-scale-window", 2),
                "adamw",
            ),
            ("2", "float32", ("--strategy", "none"), ("--evaluate",), "adamw"),
        ):
            with self.subTest(mesh=mesh, precision=precision, flags=flags):
                flags = tuple(
                    w
                    for f in flags
                    for w in (
                        [f]
                        if f != "--evaluate"
                        else ["--eval-every", 1]
                        + [w for n, p in MLP.data().items() for w in ("--eval-data", f"{n}={p}")]
                    )
                )
                trainer = self.compile(
                    mesh, precision, *compiled, "--optimizer", optimizer, batch=8
                )
                run = lambda tag, *more, steps=STEPS: self.train(
                    trainer,
                    tag,
                    *flags,
                    *more,
                    steps=steps,
                    optimizer=optimizer,
                )
                try:
                    whole = run("whole", "--checkpoint-dir", self.path("a"))
                    run("first", "--checkpoint-dir", self.path("b"), steps=SAVED)
                    rest = run("rest", "--checkpoint-dir", self.path("b"), "--resume", "auto")
                finally:
                    for name in os.listdir(self.path()):
                        if name.endswith(".jsonl"):
                            os.remove(self.path(name))
                self.assertEqual(rest[0], {s: n for s, n in whole[0].items() if s >= SAVED})
                self.assert_equal_values(rest[1], whole[1])
                last = f"step-{STEPS:08}"
                self.assertEqual(
                    self.content(self.path("a", last)), self.content(self.path("b", last))
                )
                for folder in ("a", "b"):
                    shutil.rmtree(self.path(folder))

    def test_metrics_go_on_in_the_same_file(self):
        trainer = self.compile()
        saves = ("--checkpoint-dir", self.path("c"), "--checkpoint-every", 2)
        whole, _ = self.train(trainer, "m", *saves, steps=5)
        shutil.rmtree(self.path("c", "step-00000005"))
        # The lines of steps behind the checkpoint were of a run that was lost.
        again, _ = self.train(trainer, "m", *saves, "--resume", "auto", steps=7)
        self.assertEqual(sorted(again), list(range(7)))
        self.assertEqual({s: again[s][0] for s in whole}, {s: whole[s][0] for s in whole})
        with open(self.path("m.jsonl")) as file:
            steps = [json.loads(line).get("step") for line in file if '"grad_norm"' in line]
        self.assertEqual(steps, list(range(7)))

    # -- other meshes ------------------------------------------------------------------------------

    def test_every_layout_goes_on_from_every_other(self):
        layouts = [
            ("1", "full"),
            ("2", "full"),
            ("4", "grad_op"),
            ("8", "full"),
            ("4", "opt"),
            ("2x2", "hybrid"),
            ("2x2", "hybrid_opt"),
            ("2", "none"),
        ]
        trainers = {l: self.compile(l[0], "float64", "--strategy", l[1]) for l in layouts}
        saved, whole = {}, {}
        for at, layout in enumerate(layouts):
            folder = self.path(f"c{at}")
            whole[layout] = self.train(
                trainers[layout], f"w{at}", "--checkpoint-dir", folder, "--checkpoint-every", SAVED
            )
            saved[layout] = os.path.join(folder, f"step-{SAVED:08}")
        for source in layouts:
            expected = self.tensors(saved[source])
            for target in layouts:
                with self.subTest(source=source, target=target):
                    tag = f"{layouts.index(source)}-{layouts.index(target)}"
                    # What was read is written as it was: no step is left.
                    folder = self.path("again" + tag)
                    resume = ("--resume", saved[source])
                    saves = ("--checkpoint-dir", folder)
                    self.train(trainers[target], "r" + tag, *resume, *saves, steps=SAVED)
                    again = self.tensors(os.path.join(folder, f"step-{SAVED:08}"))
                    self.assert_equal_values(again, expected)
                    # And goes on as if it had been this layout's.
                    steps, _ = self.train(trainers[target], "t" + tag, *resume)
                    for step, numbers in steps.items():
                        np.testing.assert_allclose(numbers[0], whole[source][0][step][0], rtol=1e-9)
            names = {k.rsplit(".", 1)[1] for k in expected if k.startswith("state.")}
            self.assertEqual(names, {"step", "exp_avg", "exp_avg_sq"})

    def test_another_global_batch_goes_on_with_what_is_left(self):
        for flags in ((), ("--shuffle", "--seed", 1)):
            small = self.compile("2", "float64", batch=4)
            large = self.compile("2", "float64", batch=8)
            folder = self.path("c" + str(len(flags)))
            self.train(small, "s", *flags, "--checkpoint-dir", folder, steps=4)
            with open(os.path.join(folder, "step-00000004", "manifest.json")) as file:
                manifest = json.load(file)
            self.assertEqual((manifest["epoch"], manifest["position"]), (0, 16))
            samples = manifest["samples"]
            text = command(
                large, *MLP.train_flags()[2:], *flags, "--epochs", 1, "--resume", folder
            ).stdout
            done = re.findall(r"^step (\d+)/(\d+)", text, re.M)
            last = 4 + (samples - 16) // 8
            self.assertEqual(done[0], ("5", str(last)))
            self.assertEqual(done[-1], (str(last), str(last)))
            os.remove(self.path("s.jsonl"))

    # -- PyTorch -----------------------------------------------------------------------------------

    def test_what_torch_wrote_is_gone_on_with(self):
        dcp = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dcp")
        with open(os.path.join(dcp, "steps.json")) as file:
            expected = json.load(file)
        for mesh in ("1", "4"):
            trainer = self.compile(mesh)
            data = [w for n, p in MLP.data().items() for w in ("--data", f"{n}={p}")]
            outputs = ["--metrics", self.path("m.jsonl"), "--export-safetensors", self.path("f")]
            resume = ["--resume", os.path.join(dcp, "torch"), "--lr", 1e-2, "--steps", 6]
            command(trainer, *data, *resume, *outputs)
            steps, _ = read_metrics(self.path("m.jsonl"))
            self.assertEqual([s["step"] for s in steps], [3, 4, 5])
            np.testing.assert_allclose(
                [s["loss"] for s in steps], expected["losses"][3:], rtol=1e-6
            )
            final = read_safetensors(self.path("f"))
            for name, values in expected["parameters"].items():
                np.testing.assert_allclose(
                    final[name].ravel()[:5], values, rtol=1e-5, atol=1e-6, err_msg=name
                )
            # The parameters alone, as the values that another run begins with.
            command(
                trainer,
                *data,
                "--weights",
                os.path.join(dcp, "torch", "model"),
                "--steps",
                0,
                "--export-safetensors",
                self.path("w"),
            )
            command(
                trainer, *data, *resume[:2], "--steps", 3, "--export-safetensors", self.path("v")
            )
            self.assert_equal_values(
                read_safetensors(self.path("w")), read_safetensors(self.path("v"))
            )
            os.remove(self.path("m.jsonl"))

    @unittest.skipUnless(
        os.environ.get("SHARDC_TEST_TORCH"), "compares live with PyTorch: ./dev test --torch"
    )
    def test_torch_reads_what_was_saved(self):
        for mesh, strategy in (("1", "full"), ("4", "full"), ("2x2", "hybrid_opt")):
            trainer, folder = self.compile(mesh, "float32", "--strategy", strategy), self.path(mesh)
            self.train(trainer, "t" + mesh, "--checkpoint-dir", folder)
            saved = os.path.join(folder, f"step-{STEPS:08}")
            expected = self.tensors(saved)
            for part in ("model", "optim"):
                mine = {
                    k: v for k, v in expected.items() if k.startswith("state.") == (part == "optim")
                }
                run = subprocess.run(
                    [os.environ["PYTHON"], "-c", TORCH_READ, os.path.join(saved, part)],
                    input=json.dumps({k: v.shape for k, v in mine.items()}),
                    capture_output=True,
                    text=True,
                )
                self.assertEqual(run.returncode, 0, run.stderr)
                read = json.loads(run.stdout)
                self.assertEqual(read.keys(), mine.keys())
                for key, values in read.items():
                    self.assertEqual(values, mine[key].ravel().tolist(), key)

    def test_weights_are_taken_from_a_checkpoint(self):
        trainer, folder = self.compile("4", "bf16"), self.path("c")
        _, saved = self.train(trainer, "a", "--checkpoint-dir", folder)
        other = self.compile("1", "float32")
        checkpoint = os.path.join(folder, f"step-{STEPS:08}")
        data = [w for n, p in MLP.data().items() for w in ("--data", f"{n}={p}")]
        words = [other, *data, "--weights", checkpoint, "--steps", "0"]
        command(*words, "--export-safetensors", self.path("b"))
        self.assert_equal_values(read_safetensors(self.path("b")), saved)
        shutil.rmtree(os.path.join(checkpoint, "optim"))
        self.assertIn("No such file", self.fails(*words))

    # -- stops -------------------------------------------------------------------------------------

    def words(self, trainer, *flags, steps):
        return [str(w) for w in (trainer, *MLP.train_flags(steps), *flags)]

    def test_signals_and_time_limits_save(self):
        trainer = self.compile()
        saves = ("--checkpoint-dir", self.path("c"))
        process = subprocess.Popen(
            self.words(trainer, *saves, steps=10**7),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in process.stdout:
            if line.startswith("step "):
                break
        time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        (name,) = os.listdir(self.path("c"))
        step = int(name[5:])
        self.assertIn(f"stopped by Terminated; step {step} is saved; nothing was exported", error)
        self.assertGreaterEqual(step, 1)

        words = self.words(
            trainer, *saves, "--resume", "auto", "--time-limit", "0.5s", steps=10**7
        )
        result = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        last = max(int(name[5:]) for name in os.listdir(self.path("c")))
        self.assertGreater(last, step)
        self.assertIn(f"stopped by --time-limit; step {last} is saved", result.stderr)

    def test_killed_at_any_moment_it_loses_no_checkpoint(self):
        trainer = self.compile()
        steps, kills = 60, int(os.environ.get("SHARDC_TEST_KILLS", 50))
        expected, _ = self.train(trainer, "whole", steps=steps)
        draws = random.Random(7)
        flags = ("--checkpoint-dir", self.path("c"), "--checkpoint-every", 1)
        flags += ("--checkpoint-keep", 2, "--resume", "auto")
        committed = 0
        for _ in range(kills):
            process = subprocess.Popen(
                self.words(trainer, *flags, steps=10**6),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            time.sleep(draws.uniform(0.01, 0.25))
            process.kill()
            error = process.communicate()[1]
            self.assertEqual(error, b"")  # no checkpoint was passed over
            found = [n for n in os.listdir(self.path("c"))] if os.path.isdir(self.path("c")) else []
            kept = [int(n[5:]) for n in found if re.fullmatch(r"step-\d{8}", n)]
            self.assertGreaterEqual(max(kept, default=0), committed)
            committed = max(kept, default=0)
            if committed >= steps:
                shutil.rmtree(self.path("c"))
                committed = 0
        last, _ = self.train(trainer, "last", *flags, steps=steps)
        for step, numbers in last.items():
            self.assertEqual(numbers, expected[step])
        self.assertIn(steps - 1, last)

    def test_old_checkpoints_are_removed(self):
        trainer = self.compile()
        saves = ("--checkpoint-dir", self.path("c"), "--checkpoint-every", 1)
        self.train(trainer, "a", *saves, "--checkpoint-keep", 2)
        self.assertEqual(sorted(os.listdir(self.path("c"))), ["step-00000005", "step-00000006"])

    # -- what is refused ---------------------------------------------------------------------------

    def fails(self, *words):
        with self.assertRaises(CommandFailed) as caught:
            command(*words)
        text = str(caught.exception).split("\n", 2)[2]
        self.assertEqual(text.count("\n"), 1, text)
        return text

    def test_what_cannot_be_gone_on_with(self):
        trainer = self.compile()
        folder = self.path("c")
        self.train(trainer, "a", "--checkpoint-dir", folder, "--checkpoint-every", 2)
        words = self.words(trainer, steps=STEPS)
        self.assertIn(
            f"--checkpoint-dir {folder} has checkpoints up to step 6; give --resume auto",
            self.fails(*words, "--checkpoint-dir", folder),
        )
        self.assertIn(
            "took its samples with no --shuffle, and this one with --shuffle --seed 0",
            self.fails(*words, "--resume", folder, "--shuffle"),
        )
        self.assertIn("is no folder", self.fails(*words, "--resume", self.path("nothing")))
        self.assertIn(
            "neither a manifest.json nor folders", self.fails(*words, "--resume", self.path())
        )
        self.assertIn("needs --checkpoint-dir", self.fails(*words, "--resume", "auto"))
        other = self.compile("2", "float32", "--optimizer", "sgd")
        plain = [str(w) for w in (other, *MLP.train_flags(STEPS, optimizer="sgd"))]
        self.assertIn(
            "saved by a run with --optimizer adamw, and this trainer was compiled for sgd",
            self.fails(*plain, "--resume", folder),
        )
        # What begins anew leaves what was there.
        command(*words, "--checkpoint-dir", folder, "--resume", "none")
        self.assertEqual(sorted(os.listdir(folder)), ["earlier-1", "step-00000006"])
        self.assertEqual(len(os.listdir(os.path.join(folder, "earlier-1"))), 3)

    def test_damage_is_found_and_an_older_checkpoint_taken(self):
        trainer = self.compile()
        folder = self.path("c")
        saves = ("--checkpoint-dir", folder, "--checkpoint-every", 2)
        whole, parameters = self.train(trainer, "a", *saves)
        last = os.path.join(folder, f"step-{STEPS:08}")
        files = [os.path.join("model", n) for n in os.listdir(os.path.join(last, "model"))]
        files += [os.path.join("optim", n) for n in os.listdir(os.path.join(last, "optim"))]
        words = self.words(trainer, steps=STEPS)
        backup = self.path("backup")
        shutil.copytree(last, backup)
        for name in [*files, "manifest.json"]:
            file = os.path.join(last, name)
            size = os.path.getsize(file)
            for damage in ("flip", "cut", "missing", "longer"):
                with self.subTest(file=name, damage=damage):
                    if damage == "missing":
                        os.remove(file)
                    else:
                        with open(file, "r+b") as opened:
                            if damage == "flip":
                                at = random.Random(name).randrange(size)
                                opened.seek(at)
                                byte = opened.read(1)[0]
                                opened.seek(at)
                                opened.write(bytes([byte ^ 4]))
                            else:
                                opened.truncate(size - 1 if damage == "cut" else size + 1)
                    text = self.fails(*words, "--resume", last)
                    self.assertIn(name, text)
                    again = command(*words, *saves, "--resume", "auto", "--dry-run")
                    self.assertIn("goes on behind step 4", again.stdout)
                    self.assertIn("an older checkpoint is taken", again.stderr)
                    shutil.copy(os.path.join(backup, name), file)
        rest, read = self.train(trainer, "b", *saves, "--resume", "auto", steps=STEPS + 1)
        self.assertEqual(list(rest), [STEPS])

    def test_every_call_of_a_save_may_fail(self):
        trainer, before, folder = self.compile(), self.path("before"), self.path("c")
        self.train(trainer, "a", "--checkpoint-dir", before, steps=2)
        words = self.words(trainer, steps=4) + ["--checkpoint-dir", folder, "--resume", "auto"]
        expected = command(*self.words(trainer, steps=4)).stdout.splitlines()[-2].split("lr")[0]
        failed = []
        for kind in ("ENOSPC", "EIO", "short"):
            for call in range(1, 100):
                shutil.copytree(before, folder)
                log = self.path("log")
                environment = {
                    **os.environ,
                    "LD_PRELOAD": os.path.join(BUILD, "bin", "faults.so"),
                    "FAULT_FOLDER": "step-00000004",
                    "FAULT_CALL": str(call),
                    "FAULT_KIND": kind,
                    "FAULT_LOG": log,
                }
                result = subprocess.run(words, capture_output=True, text=True, env=environment)
                happened = os.path.exists(log)
                if happened:
                    with open(log) as file:
                        failed.append((kind, file.read().strip()))
                    os.remove(log)
                with self.subTest(kind=kind, call=call, failed=failed[-1:]):
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertIn(expected, result.stdout)
                    kept = sorted(n for n in os.listdir(folder) if not n.endswith(".tmp"))
                    if "cannot be saved" in result.stderr:
                        self.assertIn("the run goes on, older checkpoints stand", result.stderr)
                        self.assertEqual(kept, ["step-00000002"])
                    else:
                        self.assertEqual(kept, ["step-00000002", "step-00000004"])
                    # What stands is whole.
                    again = command(*words, "--dry-run")
                    self.assertIn(f"behind step {int(kept[-1][5:])}", again.stdout)
                    self.assertEqual(again.stderr, "")
                shutil.rmtree(folder)
                if not happened:
                    break
        calls = {call for _, call in failed}
        self.assertGreaterEqual(calls, {"write", "fsync", "mkdir", "open", "renameat2"})
        self.assertGreater(len(failed), 45)

    def test_saves_that_fail_in_a_row_end_the_run(self):
        trainer, folder = self.compile(), self.path("c")
        words = self.words(trainer, "--checkpoint-dir", folder, "--checkpoint-every", 1, steps=9)
        limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
        run = lambda *more: subprocess.run(
            [*words, *more], capture_output=True, text=True, preexec_fn=limited
        )
        none = run()
        self.assertEqual(none.returncode, 1)
        self.assertRegex(none.stderr, "step 1 cannot be saved: .*there is no older checkpoint")
        self.train(trainer, "a", "--checkpoint-dir", folder, steps=2)
        third = run("--resume", "auto")
        self.assertEqual(third.returncode, 1)
        self.assertEqual(third.stderr.count("warning: step"), 2, third.stderr)
        self.assertIn("it is the 3rd save in a row that failed", third.stderr)
        self.assertEqual(os.listdir(folder), ["step-00000002"])

    def test_a_folder_that_cannot_be_written(self):
        trainer = self.compile()
        with open(self.path("file"), "w"):
            pass
        words = self.words(trainer, "--checkpoint-dir", self.path("file", "c"), steps=2)
        self.assertIn("file/c: Not a directory", self.fails(*words))


if __name__ == "__main__":
    unittest.main()
