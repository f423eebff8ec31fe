"""Runs that are saved, stopped, and gone on with."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np

from checkpoint_test import CheckpointTest, MLP, SAVED, STEPS
from reference import BUILD, CommandFailed, Model, command, read_metrics, read_safetensors


class Checkpoints(CheckpointTest):
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

    def test_every_layout_goes_on_from_every_other(self):
        # Each number of ranks, each strategy, and meshes of one dimension and two.
        layouts = [
            ("1", "full"),
            ("2", "none"),
            ("3", "grad_op"),
            ("2x2", "hybrid"),
            ("5", "full"),
            ("2x3", "hybrid_opt"),
            ("7", "opt"),
            ("8", "full"),
        ]
        batch = 840  # which all of them divide
        model = Model(MLP.folder)
        model.data = lambda: {n: self.path(n + ".npy") for n in MLP.data()}
        for name, path in MLP.data().items():
            np.save(model.data()[name], np.load(path)[np.arange(STEPS * batch) % 251])
        trainers = {
            l: self.compile(l[0], "float64", "--strategy", l[1], batch=batch) for l in layouts
        }
        saved, whole = {}, {}
        for at, layout in enumerate(layouts):
            folder = self.path(f"c{at}")
            saves = ("--checkpoint-dir", folder, "--checkpoint-every", SAVED)
            whole[layout] = self.train(
                trainers[layout], f"w{at}", *saves, steps=SAVED + 2, model=model
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
                    self.train(
                        trainers[target], "r" + tag, *resume, *saves, steps=SAVED, model=model
                    )
                    again = self.tensors(os.path.join(folder, f"step-{SAVED:08}"))
                    self.assert_equal_values(again, expected)
                    # And goes on as if it had been this layout's.
                    steps, _ = self.train(
                        trainers[target], "t" + tag, *resume, steps=SAVED + 2, model=model
                    )
                    self.assertEqual(list(steps), [SAVED, SAVED + 1])
                    for step, numbers in steps.items():
                        np.testing.assert_allclose(numbers[0], whole[source][0][step][0], rtol=1e-9)
            names = {k.rsplit(".", 1)[1] for k in expected if k.startswith("state.")}
            self.assertEqual(names, {"step", "exp_avg", "exp_avg_sq"})

    def test_other_meshes_go_on_with_the_same_bits(self):
        # Eight parts of two samples a step: as many as ranks times micro-batches, on every mesh.
        parts, batch = 8, 2
        meshes = (("4", "full"), ("2x4", "grad_op"), ("2", "opt"), ("1", "full"))
        for precision in ("float64", "bf16", "float16"):
            for mesh, strategy in meshes:
                with self.subTest(precision=precision, mesh=mesh):
                    ranks = int(np.prod([int(d) for d in mesh.split("x")]))
                    trainer = self.compile(
                        mesh, precision, "--strategy", strategy, batch=batch * ranks
                    )
                    flags = ["--grad-accumulation", parts // ranks, "--shuffle", "--seed", 3]
                    tag = f"{precision}-{mesh}"
                    if mesh == meshes[0][0]:
                        saves = ("--checkpoint-dir", self.path(tag), "--checkpoint-every", SAVED)
                        steps, final = self.train(trainer, tag, *flags, *saves)
                        saved = self.path(tag, f"step-{SAVED:08}")
                        continue
                    got, ended = self.train(trainer, tag, *flags, "--resume", saved)
                    self.assertEqual(got, {s: n for s, n in steps.items() if s >= SAVED})
                    self.assert_equal_values(ended, final)

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
            left = samples - 16
            last = 4 + (left // 8 if flags else -(-left // 8))
            self.assertEqual(done[0], ("5", str(last)))
            self.assertEqual(done[-1], (str(last), str(last)))
            os.remove(self.path("s.jsonl"))

    def test_epochs_in_order_end_where_their_samples_do(self):
        """Also behind steps of another global batch: as ceil(E N / G) from the first step on."""
        small, large = (self.compile("2", "float64", batch=batch) for batch in (4, 12))
        data = [w for n, p in MLP.data().items() for w in ("--data", f"{n}={p}")]
        limit = ("--data-limit", 40)
        for before, epochs in ((7, 2), (4, 3), (8, 1), (11, 3)):
            with self.subTest(before=before, epochs=epochs):
                folder = ("--checkpoint-dir", self.path(f"c{before}-{epochs}"))
                command(small, *data, *limit, *folder, "--steps", before)
                words = (*data, *limit, *folder, "--resume", "auto", "--epochs", epochs)
                last = before + -(-(40 * epochs - 4 * before) // 12)
                self.assertIn(f"step {last}/{last} ", command(large, *words).stdout)
                # Again there is nothing left; fewer epochs are an error.
                self.assertNotRegex(command(large, *words).stdout, r"(?m)^step \d+/")
        with self.assertRaisesRegex(CommandFailed, "--epochs 1 end before the checkpoint"):
            command(large, *words[:-1], 1)

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

    def test_without_checkpoints_a_time_limit_is_the_end(self):
        out = self.path("out.safetensors")
        flags = ("--time-limit", "0.3s", "--export-safetensors", out)
        result = command(*self.words(self.compile(), *flags, steps=10**7))
        self.assertEqual(result.stderr, "")
        self.assertRegex(result.stdout, r"(?m)^stopped after step \d+ by --time-limit$")
        self.assertTrue(os.path.exists(out))

    def test_an_evaluation_that_is_not_finite_loses_nothing(self):
        trainer, folder = self.compile(), self.path("c")
        held = {name: np.load(path) for name, path in MLP.data().items()}
        floats = next(name for name, values in held.items() if values.dtype == np.float32)
        held[floats] = np.full_like(held[floats], np.nan)
        flags = ["--checkpoint-dir", folder, "--export-safetensors", self.path("bad")]
        for name, values in held.items():
            np.save(self.path(name + ".npy"), values)
            flags += ["--eval-data", f"{name}={self.path(name)}.npy"]
        result = subprocess.run(
            self.words(trainer, *flags, steps=2), capture_output=True, text=True
        )
        self.assertEqual(result.returncode, 1)
        self.assertRegex(
            result.stderr,
            r"^trainer: error: the loss of the evaluation after step 2 is nan; look for numbers"
            r" that are not finite in --eval-data; the step is saved, exported was only .*bad\n$",
        )
        self.assertEqual(os.listdir(folder), ["step-00000002"])
        good = self.path("good")
        command(*self.words(trainer, "--export-safetensors", good, steps=2))
        self.assert_equal_values(read_safetensors(self.path("bad")), read_safetensors(good))

    def test_the_last_step_may_be_the_best(self):
        """Of a run that evaluates only when it goes on from its end."""
        trainer, folder = self.compile(), self.path("c")
        saves = ("--checkpoint-dir", folder)
        _, saved = self.train(trainer, "a", *saves, steps=SAVED)
        held = [w for n, p in MLP.data().items() for w in ("--eval-data", f"{n}={p}")]
        best = ("--keep-best", "eval_loss", "--eval-every", 1, "--resume", "auto")
        steps, again = self.train(trainer, "b", *saves, *held, *best, steps=SAVED)
        self.assertEqual(steps, {})
        self.assertEqual(os.readlink(os.path.join(folder, "best")), f"step-{SAVED:08}")
        with open(os.path.join(folder, "best", "manifest.json")) as file:
            self.assertEqual(json.load(file)["best"]["step"], SAVED)
        self.assert_equal_values(again, saved)

    def test_flags_that_are_not_given_again_are_said(self):
        trainer, folder = self.compile(), self.path("c")
        data = [w for n, p in MLP.data().items() for w in ("--data", f"{n}={p}")]
        flags = ("--lr", 0.1, "--no-decay", "bias", "--clip", 2)
        saves = ("--checkpoint-dir", folder)
        command(trainer, *data, *saves, *flags, "--steps", 2)
        goes_on = (trainer, *data, *saves, "--resume", "auto")
        self.assertEqual(command(*goes_on, *flags, "--steps", 3).stderr, "")
        said = command(*goes_on, "--lr", 0.2, "--steps", 4).stderr
        self.assertEqual(
            said,
            "trainer: warning: the run that was saved was given --no-decay bias, --clip 2, and"
            " this one is not: it goes on without\n"
            "trainer: warning: the last step of the run that was saved had a learning rate of 0.1,"
            " and by the flags of this one it is 0.2\n",
        )
        self.assertEqual(command(*goes_on, "--steps", 4).stderr, "")  # nothing is learned

    def test_what_is_exported_may_be_the_best(self):
        folder, out = self.path("c"), self.path("out")
        held = [w for n, p in MLP.data().items() for w in ("--eval-data", f"{n}={p}")]
        flags = [*held, "--eval-every", 1, "--checkpoint-dir", folder, "--keep-best", "eval_loss"]
        flags += ["--export-best", "--export-safetensors", out]
        for mesh in ("1", "2x2"):
            with self.subTest(mesh=mesh):
                result = command(self.compile(mesh), *MLP.train_flags(6, lr=3), *flags)
                best = int(os.readlink(os.path.join(folder, "best"))[5:])
                self.assertLess(best, 6)
                self.assertRegex(
                    result.stdout,
                    rf"(?m)^what is exported is of step {best}, whose eval_loss is the best: ",
                )
                words = ("export", os.path.join(folder, "best"), "--to", "hf", "-o")
                command(os.path.join(BUILD, "bin", "shardc-ckpt"), *words, self.path("hf"))
                expected = read_safetensors(self.path("hf/model.safetensors"))
                self.assert_equal_values(read_safetensors(out), expected)
                shutil.rmtree(folder)

    def test_old_checkpoints_are_removed(self):
        trainer = self.compile()
        saves = ("--checkpoint-dir", self.path("c"), "--checkpoint-every", 1)
        self.train(trainer, "a", *saves, "--checkpoint-keep", 2)
        self.assertEqual(sorted(os.listdir(self.path("c"))), ["step-00000005", "step-00000006"])

    def test_a_run_that_goes_back_keeps_its_own(self):
        """What it went back behind is set aside, neither counted, removed nor gone on with."""
        trainer = self.compile()
        folder = self.path("c")
        saves = ("--checkpoint-dir", folder, "--checkpoint-every", 2)
        self.train(trainer, "a", *saves)
        back = ("--resume", os.path.join(folder, "step-00000002"), "--checkpoint-keep", 1)
        self.train(trainer, "b", *saves, *back, steps=5)
        self.assertEqual(sorted(os.listdir(folder)), ["earlier-1", "step-00000005"])
        aside = os.listdir(os.path.join(folder, "earlier-1"))
        self.assertEqual(sorted(aside), ["step-00000004", "step-00000006"])
        # One that is not whole, of a later step, stays what it is.
        os.mkdir(os.path.join(folder, "step-00000009"))
        more = ("--resume", "auto", "--checkpoint-keep", 1)
        self.train(trainer, "c", *saves, *more, steps=6)
        self.assertEqual(
            sorted(os.listdir(folder)), ["earlier-1", "step-00000006", "step-00000009"]
        )

    def test_a_run_from_elsewhere_sets_aside_what_is_there(self):
        """Another run's checkpoints are neither replaced nor gone on with."""
        trainer = self.compile()
        folder, other = self.path("c"), self.path("other")
        self.train(trainer, "a", "--checkpoint-dir", folder, "--checkpoint-every", 2)
        kept = self.content(os.path.join(folder, "step-00000004"))
        self.train(trainer, "b", "--checkpoint-dir", other, "--grad-divide", 3, steps=2)
        saves = ("--checkpoint-dir", folder, "--checkpoint-every", 2)
        self.train(trainer, "c", *saves, "--resume", other, steps=4)
        self.assertEqual(sorted(os.listdir(folder)), ["earlier-1", "step-00000004"])
        aside = os.path.join(folder, "earlier-1")
        self.assertEqual(
            sorted(os.listdir(aside)), ["step-00000002", "step-00000004", "step-00000006"]
        )
        self.assertEqual(self.content(os.path.join(aside, "step-00000004")), kept)
        self.assertNotEqual(self.content(os.path.join(folder, "step-00000004")), kept)

    def test_a_restart_goes_on_from_what_was_saved(self):
        """Whatever --resume says of the first start; a first start follows it."""
        trainer, folder = self.compile(), self.path("c")
        whole, final = self.train(trainer, "whole", steps=2000)
        self.train(trainer, "a", "--checkpoint-dir", folder, steps=1)
        words = [trainer, *MLP.train_flags(steps=2000), "--nproc-per-node", 2]
        words += ["--max-restarts", 1, "--checkpoint-dir", folder, "--checkpoint-every", 20]
        words += ["--resume", "none", "--metrics", self.path("m.jsonl")]
        words += ["--export-safetensors", self.path("p.safetensors")]
        process = subprocess.Popen(
            [str(word) for word in words],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        end = time.monotonic() + 60
        while not os.path.isdir(os.path.join(folder, "step-00000020")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.001)
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            os.kill(int(file.read().split()[-1]), signal.SIGKILL)
        said = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("restart 1: goes on from what it has saved in", said)
        self.assertEqual(os.listdir(os.path.join(folder, "earlier-1")), ["step-00000001"])
        done = {step["step"]: step["loss"] for step in read_metrics(self.path("m.jsonl"))[0]}
        self.assertEqual(done, {step: values[0] for step, values in whole.items()})
        self.assert_equal_values(read_safetensors(self.path("p.safetensors")), final)

    def test_other_data_is_begun_where_that_is_said(self):
        trainer, folder = self.compile(), self.path("c")
        self.train(trainer, "a", "--checkpoint-dir", folder, steps=2)
        data = MLP.data()
        other = {name: self.path(name + ".npy") for name in data}
        for name, path in data.items():
            np.save(other[name], np.roll(np.load(path), 1, axis=0))
        words = [trainer, "--checkpoint-dir", folder, "--resume", "auto"]
        words += [w for name, path in other.items() for w in ("--data", f"{name}={path}")]
        said = command(*words, "--steps", 3)
        self.assertRegex(said.stderr, r"warning: --data .* is not what the run was saved with; it")
        self.assertIn("step 3/3", said.stdout)
        # Step 3 is of the other data by now, so what is new is shuffled.
        words += ["--shuffle", "--epochs", 1]
        with self.assertRaisesRegex(CommandFailed, "with no --shuffle, and this one .*--new-data"):
            command(*words)
        said = command(*words, "--new-data").stdout
        samples = len(np.load(next(iter(other.values()))))
        ends = 3 + samples // (MLP.batch // 2 * 2)
        self.assertRegex(said, r"goes on behind step 3, from .*, with new data, at its first")
        self.assertIn(f"step {ends}/{ends}", said)
        # The same command goes on in it.
        said = command(*words, "--new-data").stdout
        self.assertRegex(said, rf"goes on behind step {ends}, from \S+\n")
        self.assertNotIn("new data", said)


if __name__ == "__main__":
    unittest.main()
