"""Saves that fail, checkpoints that are damaged, and runs that are killed."""
import os
import random
import re
import resource
import shutil
import subprocess
import time

from checkpoint_test import CheckpointTest, MLP, STEPS
from reference import BUILD, command

LOST = "step 4 cannot be saved: .*; the run ends there, older checkpoints stand"


class CheckpointFaults(CheckpointTest):
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

    def each_fault(self, words, kind, **settings):
        """Runs with the first call of a save that fails, the second, and so on, until there are no
        more: what failed, the run, what stands in the folder, and what goes on from there."""
        before, folder, log = self.path("before"), self.path("c"), self.path("log")
        for call in range(1, 100):
            shutil.copytree(before, folder, symlinks=True)
            environment = {
                **os.environ,
                "LD_PRELOAD": os.path.join(BUILD, "bin", "faults.so"),
                "FAULT_FOLDER": folder,
                "FAULT_CALL": str(call),
                "FAULT_KIND": kind,
                "FAULT_LOG": log,
                **settings,
            }
            result = subprocess.run(words, capture_output=True, text=True, env=environment)
            failed = ""
            if os.path.exists(log):
                with open(log) as file:
                    failed = file.read().replace(self.path(), "").strip()
                os.remove(log)
            with self.subTest(kind=kind, call=call, failed=failed):
                if failed.endswith("/.lock"):
                    # Before the run has begun; a write that is short opens it all the same.
                    expected = "" if kind == "short" else r"trainer: error: cannot write .*\n"
                    self.assertEqual(result.returncode, int(kind != "short"))
                    self.assertRegex(result.stderr, f"^{expected}$")
                    shutil.rmtree(folder)
                    continue
                lost = result.stderr.startswith("trainer: error: step ")
                self.assertEqual(result.returncode, int(lost), result.stderr)
                kept = sorted(n for n in os.listdir(folder) if re.fullmatch(r"step-\d+", n))
                yield failed, result, kept
                # What stands is whole.
                again = command(*words, "--dry-run")
                self.assertIn(f"behind step {int(kept[-1][5:])}", again.stdout)
                self.assertEqual(again.stderr, "")
            shutil.rmtree(folder)
            if not failed:
                return

    def test_every_call_of_a_save_may_fail(self):
        trainer = self.compile()
        self.train(trainer, "a", "--checkpoint-dir", self.path("before"), steps=2)
        words = self.words(trainer, steps=4) + ["--checkpoint-dir", self.path("c")]
        words += ["--resume", "auto"]
        expected = command(*self.words(trainer, steps=4)).stdout.splitlines()[-2].split("lr")[0]
        calls = []
        for kind in ("ENOSPC", "EIO", "short"):
            for failed, result, kept in self.each_fault(words, kind):
                calls.append(failed)
                self.assertIn(expected, result.stdout)
                if (
                    kind == "short"
                    or not failed
                    or failed.split()[0]
                    in (
                        "sync_file_range",  # which only begins what fsync ends
                        "renameat2",  # rename takes its place
                    )
                ):
                    self.assertEqual(result.stderr, "")
                    self.assertEqual(kept, ["step-00000002", "step-00000004"])
                    continue
                self.assertRegex(result.stderr, f"^trainer: error: {LOST}\n$")
                self.assertEqual(result.returncode, 1)
                # The last sync is that of a name which is there, if not for certain.
                last = ["step-00000004"] if failed == "fsync /c" else []
                self.assertEqual(kept, ["step-00000002", *last])
        self.assertEqual(calls.count(""), 3)
        kinds = {call.split()[0] for call in calls if call}
        self.assertEqual(kinds, {"write", "sync_file_range", "fsync", "mkdir", "open", "renameat2"})
        self.assertEqual(calls.count("fsync /c"), 3)
        self.assertGreater(len(calls), 60)

    def test_every_name_that_a_save_changes_may_stay(self):
        trainer = self.compile()
        self.train(trainer, "a", "--checkpoint-dir", self.path("before"), steps=2)
        words = self.words(trainer, steps=4) + ["--checkpoint-dir", self.path("c")]
        words += ["--resume", "auto", "--keep-best", "eval_loss", "--eval-every", "4"]
        words += ["--checkpoint-keep", "1"]
        words += [w for n, p in MLP.data().items() for w in ("--eval-data", f"{n}={p}")]
        names = {"FAULT_ONLY": " rename symlink ", "FAULT_NO_RENAMEAT2": "1"}
        found = {}
        for failed, result, kept in self.each_fault(words, "EIO", **names):
            best = os.path.join(self.path("c"), "best")
            found[failed] = (kept, os.path.islink(best) and os.readlink(best))
            self.assertEqual(result.stderr.count("\n"), 1 if failed else 0, result.stderr)
            if failed.endswith("/step-00000004"):
                self.assertRegex(result.stderr, f"^trainer: error: {LOST}\n$")
            elif failed:
                self.assertRegex(result.stderr, "warning: cannot (make the link|rename) .*error")
        first, last = "step-00000002", "step-00000004"
        self.assertEqual(
            found,
            {
                "rename /c/step-00000004": ([first], False),
                "symlink /c/best.tmp": ([first, last], False),
                "rename /c/best": ([first, last], False),
                "rename /c/step-00000002.tmp": ([first, last], last),
                "": ([last], last),
            },
        )

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
