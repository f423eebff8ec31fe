"""What a user can get wrong with a trainer: each case is one line on stderr that says what and what
to do, a non-zero exit, soon and within little memory; and nothing half written is left."""
import os
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "gpt2-tiny")


class TrainerBadInput(ToolTest):
    """gpt2-tiny on two ranks with two samples each; every test changes one thing of a run that
    works."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model_folder = os.path.join(folder.name, "model")
        os.mkdir(cls.model_folder)
        for name in ("model.onnx", "model.onnx.data"):
            if os.path.exists(os.path.join(MODEL, name)):
                shutil.copyfile(os.path.join(MODEL, name), os.path.join(cls.model_folder, name))
        cls.trainer = os.path.join(folder.name, "m.trainer")
        result = run(
            SHARDC,
            os.path.join(cls.model_folder, "model.onnx"),
            "--mesh",
            2,
            "--dim",
            "batch=2",
            "--dim",
            "sequence=64",
            "--loss",
            "cross-entropy:logits=logits,labels=labels,shift=1",
            "-o",
            cls.trainer,
        )
        assert result.code == 0, result.err
        cls.ids = np.load(os.path.join(MODEL, "data", "input_ids.npy"))
        cls.labels = np.load(os.path.join(MODEL, "data", "labels.npy"))

    def setUp(self):
        super().setUp()
        self.save("ids.npy", self.ids)
        self.save("labels.npy", self.labels)

    def save(self, name, array):
        np.save(self.path(name), array)

    def words(self, *flags, steps=2):
        return [
            self.trainer,
            "--data",
            f"input_ids={self.path('ids.npy')}",
            "--data",
            f"labels={self.path('labels.npy')}",
            "--steps",
            steps,
            *flags,
        ]

    def fails(self, words, *parts, limits=()):
        """The error's text, which holds all `parts`."""
        before = sorted(os.listdir(self.folder))
        result = run(*words, limits=limits)
        self.assert_one_error(result, "trainer", *parts)
        self.assertEqual(sorted(os.listdir(self.folder)), before, "files were left or lost")
        return result.err

    def test_the_run_that_the_others_change_works(self):
        result = run(*self.words("--export-safetensors", self.path("p.safetensors")))
        self.assertEqual(result.code, 0, result.err)
        self.assertTrue(os.path.exists(self.path("p.safetensors")))

    # Flags

    def test_unknown_flag(self):
        self.fails(
            self.words("--wieght-decay", "0.1"),
            "unknown flag --wieght-decay",
            "did you mean '--weight-decay'?",
        )

    def test_stray_argument(self):
        self.fails(self.words("ids.npy"), "unexpected argument 'ids.npy'")

    def test_flag_without_a_value(self):
        self.fails(self.words("--lr"), "--lr")

    def test_values_out_of_range(self):
        for flag, value in (
            ("--lr", "-1"),
            ("--lr", "nan"),
            ("--betas", "0.9"),
            ("--betas", "0.9,1.5"),
            ("--clip", "-1"),
            ("--steps", "-3"),
            ("--steps", "1.5"),
            ("--schedule", "cubic"),
            ("--seed", "-1"),
            ("--threads", "0"),
            ("--eps", "x"),
            ("--init", "ones"),
            ("--warmup-steps", "99999999999999999999"),
            ("--data", "input_ids"),
            ("--grad-accumulation", "0"),
            ("--loss-norm", "mean"),
            ("--grad-divide", "0"),
            ("--loss-scale", "-1"),
            ("--no-decay", "norms"),
            ("--group", "lr-scale=2,match=("),
        ):
            with self.subTest(flag=flag, value=value):
                self.fails(self.words(flag, value), flag, value.split(",")[-1])

    def test_flags_that_this_trainer_cannot_honour(self):
        self.fails(self.words("--momentum", "0.9"), "--momentum", "sgd", "adamw")
        self.fails(
            self.words("--total-steps", "9"), "--total-steps has no effect", "--schedule constant"
        )
        self.fails(self.words("--seed", "1"), "--seed has no effect", "--shuffle")
        self.fails(self.words("--lr", "1", "--lr", "2"), "--lr is given twice: 1 and 2")
        self.fails(self.words("--nesterov", "--momentum", "0.9"), "sgd")
        self.fails(self.words("--min-lr", "1e-5"), "--min-lr", "--schedule constant")
        self.fails(self.words("--eval-every", "2"), "--eval-every", "--eval-data")
        self.fails(self.words("--epochs", "2"), "--steps", "--epochs")
        self.fails(self.words("--warmup-start-factor", "0.1"), "--warmup-steps")
        self.fails(self.words("--clip-norm", "1"), "--clip-norm", "--clip")
        self.fails(
            self.words("--loss-scale-window", "5"),
            "--loss-scale-window",
            "float32",
            "--loss-scale dynamic",
        )
        self.fails(
            self.words("--no-decay", "norm", "--weight-decay", "0"), "--no-decay", "--weight-decay"
        )

    def test_groups_that_get_no_parameter(self):
        self.fails(
            self.words("--group", "match=q_proj,lr-scale=2"),
            "q_proj",
            "no trained parameter",
            "transformer.h.*.attn.c_attn.weight",
        )
        self.fails(
            self.words("--group", "match=h.0,lr-scale=2", "--group", "match=h.0.attn,lr-scale=3"),
            "h.0.attn",
            "the first match wins",
        )

    def test_more_micro_batches_than_samples(self):
        self.fails(
            self.words("--grad-accumulation", "1000"),
            "too few for one global batch of 4000",
            "1000 micro-batches",
        )
        self.fails(self.words("--init", "random", "--weights", "x.onnx"), "--weights")

    def test_launched_as_several_processes(self):
        processes = {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
        with mock.patch.dict(os.environ, processes):
            self.fails(self.words(), "3 processes", "2 ranks")
        with mock.patch.dict(os.environ, {"RANK": "0", "WORLD_SIZE": "2"}):
            self.fails(self.words(), "MASTER_ADDR")
        with mock.patch.dict(os.environ, {"RANK": "0", "WORLD_SIZE": "1"}):
            self.assertEqual(run(*self.words()).code, 0)
        with mock.patch.dict(os.environ, {"NODE_RANK": "0", "NUM_NODES": "2"}):
            self.fails(self.words(), "2 nodes need a place to meet", "MASTER_ADDR")

    # Data

    def test_file_that_is_not_there(self):
        os.remove(self.path("ids.npy"))
        self.fails(self.words(), "ids.npy", "No such file")

    def test_input_without_data(self):
        self.fails(self.words()[:3], "labels", "--data labels=")

    def test_wrong_name(self):
        self.fails(
            self.words("--data", f"input_idz={self.path('ids.npy')}"),
            "input_idz",
            "did you mean 'input_ids'?",
        )

    def test_the_same_input_twice(self):
        # What else an input is given is more of its samples.
        more = self.words("--data", f"labels={self.path('ids.npy')}")
        self.fails(more, "labels.npy", "ids.npy", "has 128 samples", "has 64")
        again = self.words("--data", f"labels={self.path('labels.npy')}")
        self.fails(again, "labels", "twice")

    def test_wrong_dtype(self):
        self.save("ids.npy", self.ids.astype(np.float32))
        self.fails(self.words(), "ids.npy", "expects int64", "float32")
        self.save("ids.npy", self.ids.astype(np.complex64))
        self.fails(self.words(), "ids.npy", "<c8")

    def test_wrong_shape(self):
        self.save("ids.npy", self.ids[:, :-1])
        self.fails(self.words(), "ids.npy", "[64, 64]", "[64, 63]")
        self.save("ids.npy", self.ids[..., None])
        self.fails(self.words(), "ids.npy", "[64, 64, 1]")

    def test_too_few_samples(self):
        self.save("ids.npy", self.ids[:3])
        self.save("labels.npy", self.labels[:3])
        self.fails(self.words(), "3 samples", "4")

    def test_files_of_unequal_length(self):
        self.save("labels.npy", self.labels[:-1])
        self.fails(self.words(), "labels.npy", "63 samples", "64")

    def test_labels_out_of_range(self):
        for value in (512, -1, 2**40, -(2**63)):
            labels = self.labels.copy()
            labels[5, 7] = value
            self.save("labels.npy", labels)
            self.fails(self.words(), "labels.npy", "sample 5", "[7]", str(value), "511", "-100")

    def test_no_label_that_is_counted(self):
        none = np.full_like(self.labels, -100)
        self.save("none.npy", none)
        held = ("--eval-data", f"input_ids={self.path('ids.npy')}")
        held += ("--eval-data", f"labels={self.path('none.npy')}")
        said = f"none of the {len(none)} samples has a label that is counted"
        self.fails(self.words(*held), f"--eval-data: {said}: all of them are -100")
        # The first position of each sample is not counted: labels are shifted.
        none[:, 0] = 1
        self.save("labels.npy", none)
        self.fails(self.words(), f"--data: {said}")
        none[-1, 1] = 1
        self.save("labels.npy", none)
        self.assertEqual(run(*self.words()).code, 0)

    def test_ids_out_of_range(self):
        for value in (512, 2**31):
            ids = self.ids.copy()
            ids[63, 0] = value
            self.save("ids.npy", ids)
            self.fails(self.words(), "ids.npy", "sample 63", str(value))

    def test_damaged_npy_files(self):
        header = lambda text: b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
        with open(self.path("ids.npy"), "rb") as file:
            whole = file.read()
        cases = {
            "empty": b"",
            "text": b"hello world, this is no array\n",
            "header alone": whole[:128],
            "half": whole[: len(whole) // 2],
            "half a header": whole[:40],
            "version 9": whole[:6] + b"\x09" + whole[7:],
            "huge": header(
                b"{'descr': '<i8', 'fortran_order': False, 'shape': (4611686018427387904, 64), }\n"
            ),
            "negative": header(b"{'descr': '<i8', 'fortran_order': False, 'shape': (-1, 64), }\n"),
            "no number": header(b"{'descr': '<i8', 'fortran_order': False, 'shape': (x, 64), }\n"),
            "lines": header(b"{'descr': '\n\n', 'fortran_order': False, 'shape': (64, 64), }\n"),
        }
        for name, content in cases.items():
            with self.subTest(case=name):
                with open(self.path("ids.npy"), "wb") as file:
                    file.write(content)
                self.fails(self.words(), "ids.npy")

    def test_arrays_of_other_kinds(self):
        for name, array, reason in (
            ("fortran", np.asfortranarray(self.ids), "Fortran"),
            ("big-endian", self.ids.astype(">i8"), "big-endian"),
            ("objects", self.ids.astype(object), "objects"),
            ("number", np.int64(3), "single number"),
            ("fields", np.zeros(64, [("a", "<i8")]), "structured"),
        ):
            with self.subTest(case=name):
                self.save("ids.npy", array)
                self.fails(self.words(), "ids.npy", reason)

    def test_a_folder_instead_of_data(self):
        os.mkdir(self.path("d"))
        self.fails(
            self.words(
                "--eval-data",
                f"input_ids={self.path('d')}",
                "--eval-data",
                f"labels={self.path('labels.npy')}",
            ),
            "is a folder without files",
        )

    # Weights

    def moved(self, name):
        """The model's file `name`, out of the way until the test ends."""
        path = os.path.join(self.model_folder, name)
        os.rename(path, path + ".away")
        self.addCleanup(os.replace, path + ".away", path)
        return path

    def weights_file(self):
        """The file that holds the weights."""
        return (
            "model.onnx.data"
            if os.path.exists(os.path.join(self.model_folder, "model.onnx.data"))
            else "model.onnx"
        )

    def test_missing_weights(self):
        name = self.weights_file()
        self.moved(name)
        self.fails(self.words(), name, "No such file", "--weights", "--init random")

    def test_short_weights(self):
        name = self.weights_file()
        path = self.moved(name)
        with open(path + ".away", "rb") as whole, open(path, "wb") as part:
            part.write(whole.read()[:5000])
        self.fails(self.words(), name, "parameter")

    def test_weights_behind_a_link(self):
        if self.weights_file() == "model.onnx":
            self.skipTest("this model keeps its weights inside")
        path = self.moved("model.onnx.data")
        shutil.copy(path + ".away", self.path("elsewhere"))
        os.symlink(self.path("elsewhere"), path)
        self.addCleanup(os.remove, path)
        self.fails(self.words(), "symbolic link", "elsewhere", "outside of the model's folder")
        os.remove(path)
        os.symlink("model.onnx.data.away", path)  # in the folder
        self.assertEqual(run(*self.words()).code, 0)

    def test_weights_of_another_model(self):
        other = os.path.join(MODELS, "mlp-tiny-loss", "model.onnx")
        self.fails(self.words("--weights", other), other, "has no initializer")
        with open(self.path("w.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", 2) + b"{}")
        self.fails(
            self.words("--weights", self.path("w.safetensors")), "w.safetensors", "has no tensor"
        )

    def test_damaged_weights(self):
        for name, content in (
            ("w.onnx", b""),
            ("w.onnx", b"\x3a\xff\xff\xff"),
            ("w.safetensors", b"{}"),
            ("w.safetensors", b"\xff" * 100),
            ("w.safetensors", struct.pack("<Q", 4) + b"[[[["),
            ("w.onnx", os.urandom(1000)),
        ):
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.fails(self.words("--weights", self.path(name)), name)
            os.remove(self.path(name))

    # The run

    def test_a_loss_that_is_not_finite(self):
        exports = [
            "--export-safetensors",
            self.path("p.safetensors"),
            "--export-onnx",
            self.path("p.onnx"),
        ]
        error = self.fails(
            self.words("--lr", "1e30", *exports, steps=20), "step ", "nothing was exported"
        )
        self.assertRegex(error, r"(loss|gradient norm) of step \d+ .* is (nan|inf)")

    def test_signals_end_the_run_after_a_step(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            words = self.words("--export-safetensors", self.path("p.safetensors"), steps=10**9)
            process = subprocess.Popen(
                [str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            process.stdout.readline()
            while "step" not in process.stdout.readline():
                pass
            process.send_signal(number)
            _, error = process.communicate(timeout=30)
            self.assertEqual(process.returncode, 128 + number)
            self.assertEqual(error.count("\n"), 1, error)
            self.assertEqual(sorted(os.listdir(self.folder)), ["ids.npy", "labels.npy"])

    # Outputs

    def test_outputs_that_cannot_be_written(self):
        os.mkdir(self.path("d"))
        for flag in ("--metrics", "--export-gradients", "--export-safetensors", "--export-onnx"):
            with self.subTest(flag=flag):
                self.fails(
                    self.words(flag, self.path("none/f"), steps=10**9), "none/f", "No such file"
                )
                self.fails(self.words(flag, self.path("d"), steps=10**9), "cannot write")
        self.fails(self.words("--export-safetensors", "/dev/null"), "not a regular file")

    def test_a_disk_that_fills(self):
        for flag in ("--export-gradients", "--export-safetensors", "--export-onnx"):
            with self.subTest(flag=flag):
                with open(self.path("f"), "w") as file:
                    file.write("old")
                self.fails(
                    self.words(flag, self.path("f")),
                    "cannot write",
                    "File too large",
                    limits=[(resource.RLIMIT_FSIZE, 100000)],
                )
                with open(self.path("f")) as file:
                    self.assertEqual(file.read(), "old")

    def test_a_full_file_system(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small file system needs root")
        mount = self.path("small")
        os.mkdir(mount)
        if subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount], capture_output=True
        ).returncode:
            os.rmdir(mount)
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", mount])
        with open(os.path.join(mount, "f"), "w") as file:
            file.write("old")
        self.fails(
            self.words("--export-safetensors", os.path.join(mount, "f")), "cannot write", "left"
        )
        self.assertEqual(os.listdir(mount), ["f"])

    def test_two_outputs_of_one_name(self):
        self.fails(
            self.words("--metrics", self.path("f"), "--export-onnx", self.path("f")), "two outputs"
        )

    # The trainer itself

    def test_damaged_trainers(self):
        with open(self.trainer, "rb") as file:
            whole = file.read()
        for name, content in (
            ("cut off", whole[:-100]),
            ("one byte wrong", whole[:-5000] + bytes([whole[-5000] ^ 1]) + whole[-4999:]),
        ):
            with self.subTest(case=name):
                with open(self.path("t"), "wb") as file:
                    file.write(content)
                os.chmod(self.path("t"), 0o755)
                words = self.words()
                words[0] = self.path("t")
                self.fails(words, *(["t is cut short"] if name == "cut off" else []))

    def test_weights_behind_the_model_that_changed(self):
        data = os.path.join(self.model_folder, "model.onnx.data")
        values = np.fromfile(data, np.float32)
        self.addCleanup(values.tofile, data)
        values[::-1].tofile(data)
        said = ("model.onnx.data has not the values that", "compile it again, or give --weights")
        self.fails(self.words(), *said)
        self.fails(self.words("--export-onnx", self.path("x.onnx")), *said)
        weights = ("--weights", os.path.join(self.model_folder, "model.onnx"))
        self.assertEqual(run(*self.words(*weights)).code, 0)
        self.assertEqual(run(*self.words("--init", "random")).code, 0)

    def test_small_stacks(self):
        limits = [(resource.RLIMIT_STACK, 128 << 10)]
        result = run(*self.words(), limits=limits)
        self.assertEqual(result.code, 0, result.err)


if __name__ == "__main__":
    unittest.main()
