"""Files that a user has: nothing that is read is written over, nothing is written twice, no run is
lost with its metrics, and weights are read wherever and however they lie."""
import json
import os
import shutil
import subprocess
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tool_test import MODELS, SHARDC, ToolTest, run
from user_files import Files, content, read_safetensors, write_safetensors


class CompilerFiles(Files):
    def shardc(self, *words):
        return (SHARDC, "model.onnx", "--dim", "batch=2", *words)

    def test_outputs_over_inputs(self):
        os.link(self.path("model.onnx"), self.path("hard"))
        os.symlink("model.onnx", self.path("soft"))
        shutil.copyfile(self.path("model.onnx"), self.path("2-raise.mlir"))
        for words, parts in (
            (["-o", "model.onnx"], ["(-o model.onnx)", "the model model.onnx"]),
            (["-o", "./model.onnx"], ["./model.onnx"]),
            (["-o", "hard"], ["hard", "model.onnx"]),
            (["-o", "soft"], ["soft"]),
            (["--report", self.path("model.onnx")], ["--report", "the model"]),
            (["--report", "hard"], ["--report hard"]),
            (["-o", SHARDC], ["shardc itself"]),
        ):
            with self.subTest(words=words):
                self.fails("shardc", self.shardc(*words), "would overwrite", *parts)
        with open(self.path("c.toml"), "w") as file:
            file.write("memory_gb = 1\n")
        self.fails(
            "shardc",
            self.shardc("--cluster", "c.toml", "--report", "./c.toml"),
            "--cluster c.toml",
            "--report ./c.toml",
        )
        self.fails(
            "shardc",
            (SHARDC, "2-raise.mlir", "--dim", "batch=2", "--dump-phases-to", "."),
            "--dump-phases-to .",
            "the model 2-raise.mlir",
        )

    def test_outputs_over_external_data(self):
        large = os.path.join(MODELS, "gpt2-tiny")
        if not os.path.exists(os.path.join(large, "model.onnx.data")):
            self.skipTest("this model keeps its weights inside")
        for name in ("model.onnx", "model.onnx.data"):
            shutil.copyfile(os.path.join(large, name), self.path(name))
        words = (
            SHARDC,
            "model.onnx",
            "--dim",
            "batch=2",
            "--dim",
            "sequence=64",
            "--loss",
            "cross-entropy:logits=logits,labels=labels,shift=1",
        )
        self.fails(
            "shardc",
            (*words, "-o", "model.onnx.data", "--dump-phases-to", "phases"),
            "model.onnx.data",
            "external data",
        )

    def test_two_outputs_of_one_file(self):
        os.mkdir(self.path("d"))
        os.symlink("d", self.path("link"))
        for first, second in (("q", "q"), ("q", "./q"), ("d/q", "link/q"), (self.path("q"), "q")):
            with self.subTest(first=first, second=second):
                self.fails(
                    "shardc",
                    self.shardc("-o", first, "--report", second),
                    "two outputs",
                    f"-o {first}",
                    f"--report {second}",
                )
        self.fails(
            "shardc",
            self.shardc("--dump-phases-to", "d", "--report", "link/1-import.mlir"),
            "two outputs",
            "--dump-phases-to d",
            "--report link/1-import.mlir",
        )
        self.fails(
            "shardc",
            self.shardc("--dump-phases-to", "new", "--report", "./new/2-raise.mlir"),
            "two outputs",
            "--dump-phases-to new",
        )
        self.fails(
            "shardc",
            self.shardc("--kernels", "d", "-o", "link/kernels.so"),
            "two outputs",
            "--kernels d",
            "-o link/kernels.so",
        )

    def test_kernels_over_inputs(self):
        os.mkdir(self.path("k"))
        os.link(self.path("model.onnx"), self.path("k/a.cubin"))
        self.fails("shardc", self.shardc("--kernels", "k"), "--kernels k", "the model model.onnx")
        os.rename(self.path("k/a.cubin"), self.path("k/a.onnx"))
        result = run(*self.shardc("--kernels", "k", "--target", "cuda:sm_90"), cwd=self.folder)
        self.assertEqual(result.code, 0, result.err)
        # Over the last ones.
        again = run(*self.shardc("--kernels", "k", "--target", "cuda:sm_90"), cwd=self.folder)
        self.assertEqual(again.code, 0, again.err)

    def test_what_is_given_twice_or_does_nothing(self):
        for words, parts in (
            (["--mesh", "2", "--mesh", "4"], ["--mesh", "given twice", "2 and 4"]),
            (["-q", "-q"], ["--quiet", "given twice"]),
            (["-o", "a", "-o", "b"], ["--output", "given twice"]),
            (["--target", "cuda", "--cpu", "native"], ["--cpu", "no effect", "--target"]),
            (["--target", "cpu:x86-64-v3", "--cpu", "native"], ["--cpu", "no effect", "--target"]),
            (["--target", "cuda", "--threads-per-rank", "1"], ["--threads-per-rank", "no effect"]),
            (
                ["--kernels", "k", "--threads-per-rank", "1"],
                ["--threads-per-rank", "no effect", "-o FILE"],
            ),
        ):
            with self.subTest(words=words):
                self.fails("shardc", self.shardc(*words), *parts)
        self.assertEqual(
            run(*self.shardc("--dim", "batch=2", "-o", "m.trainer"), cwd=self.folder).code, 0
        )

    def test_names_that_a_terminal_would_obey(self):
        for name, shown in (
            ("\x1b[31mx", "\\x1b[31mx"),
            ("a\nb", "a\\nb"),
            (os.fsdecode(b"\xff\xfe"), "\\xff\\xfe"),
            ("\u202egnp", "\\u{202e}gnp"),
        ):
            with self.subTest(name=name):
                error = self.fails("shardc", (SHARDC, name + ".onnx"), shown)
                self.assertNotIn("\x1b", error)
        error = self.fails(
            "shardc",
            (SHARDC, "model.onnx", "--dim", "batch=2", "--loss", "output:" + "n" * 100000),
            "nnn...nnn",
        )
        self.assertLess(len(error), 5000)


class TrainerFiles(Files):
    def setUp(self):
        super().setUp()
        self.compile()

    def test_exports_over_inputs(self):
        first = self.inputs[0]
        os.link(self.path(first + ".npy"), self.path("hard"))
        os.symlink("model.onnx", self.path("soft"))
        for flag in (
            "--export-safetensors",
            "--export-onnx",
            "--export-gradients",
            "--metrics",
            "--trace",
        ):
            for path, other in (
                (first + ".npy", f"--data {first}={first}.npy"),
                (f"./{first}.npy", "--data"),
                ("hard", "--data"),
                ("model.onnx", "the compiled model"),
                ("soft", "the compiled model"),
                ("m.trainer", "this trainer"),
            ):
                with self.subTest(flag=flag, path=path):
                    self.fails(
                        "trainer", self.words(flag, path), f"{flag} {path} would overwrite", other
                    )
        self.fails(
            "trainer", self.words("--export-onnx", "model.onnx", "--dry-run"), "the compiled model"
        )

    def test_exports_over_weights(self):
        self.works("--export-safetensors", "w.safetensors", "--export-onnx", "w.onnx")
        for name in ("w.safetensors", "w.onnx"):
            self.fails(
                "trainer",
                self.words("--weights", name, "--export-safetensors", "./" + name),
                f"--weights, {name}",
                f"--export-safetensors ./{name}",
            )

    def test_two_outputs_of_one_file(self):
        os.mkdir(self.path("d"))
        os.symlink("d", self.path("link"))
        for first, second in (("z.st", "./z.st"), ("d/z", "link/z"), ("z", self.path("z"))):
            with self.subTest(first=first):
                self.fails(
                    "trainer",
                    self.words("--export-safetensors", first, "--metrics", second),
                    "two outputs",
                    f"--export-safetensors {first}",
                    f"--metrics {second}",
                )
        self.fails(
            "trainer",
            self.words("--export-gradients", "z", "--export-safetensors", "z"),
            "two outputs",
            "--export-gradients z",
            "--export-safetensors z",
        )

    def test_exports_that_may_be_replaced(self):
        for _ in range(2):
            self.works("--export-safetensors", "p", "--export-onnx", "p.onnx", "--trace", "t.json")

    def test_the_metrics_of_an_earlier_run(self):
        self.works("--metrics", "m.jsonl", steps=1)
        first = content(self.path("m.jsonl"))
        result = self.works("--metrics", "m.jsonl", steps=2)
        self.assertIn("m.jsonl.1", result.out)
        self.assertEqual(content(self.path("m.jsonl.1")), first)
        self.assertEqual(len(content(self.path("m.jsonl")).splitlines()), 3)
        with open(self.path("notes.txt"), "w") as file:
            file.write("no metrics\n")
        self.fails("trainer", self.words("--metrics", "notes.txt"), "notes.txt", "something else")

    def test_two_runs_with_one_metrics_file(self):
        words = [str(w) for w in self.words("--metrics", "m.jsonl", steps=10**9)]
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.terminate)
        while "step" not in process.stdout.readline():
            pass
        result = run(*self.words("--metrics", "./m.jsonl"), cwd=self.folder)
        self.assert_one_error(result, "trainer", "m.jsonl", "another process")
        self.assertEqual(sorted(f for f in os.listdir(self.folder) if "jsonl" in f), ["m.jsonl"])

    def test_metrics_on_a_full_disk(self):
        result = self.works("--metrics", "/dev/full", "--export-safetensors", "p", steps=3)
        self.assertEqual(result.err.count("\n"), 1, result.err)
        self.assertIn(
            "trainer: warning: cannot write /dev/full: No space left on device", result.err
        )
        self.assertIn("4 of 4 lines of metrics are lost", result.out)
        self.assertIn("p", os.listdir(self.folder))

    def test_what_was_exported(self):
        error = self.fails_later(
            "--export-gradients", "g", "--export-safetensors", "p", "--lr", "1e30"
        )
        self.assertIn("exported was only g", error)
        self.assertNotIn("nothing was exported", error)
        self.assertNotIn("-nan", error)
        self.assertIn(
            "nothing was exported", self.fails_later("--export-safetensors", "p", "--lr", "1e30")
        )

    def fails_later(self, *flags):
        result = run(*self.words(*flags, steps=30), cwd=self.folder)
        self.assert_one_error(result, "trainer", "step ")
        return result.err

    def test_a_damaged_trainer_is_named(self):
        whole = content(self.path("m.trainer"))
        with open(self.path("m.trainer"), "r+b") as file:
            file.seek(len(whole) - 5000)
            file.write(bytes([whole[-5000] ^ 1]))
        error = self.fails("trainer", self.words(), "m.trainer")
        self.assertNotIn("/proc/self/exe", error)

    # Weights

    def exported(self):
        self.works(
            "--export-safetensors", "w.safetensors", "--export-onnx", "w.onnx", "--lr", "0.1"
        )
        return read_safetensors(self.path("w.safetensors"))

    def reads(self, path, expected):
        """`--weights PATH` gives these values."""
        self.works("--weights", path, "--export-safetensors", "read", steps=0)
        self.assertEqual(read_safetensors(self.path("read")), expected)

    def test_weights_are_known_by_their_content(self):
        tensors = self.exported()
        for name in ("w.safetensors", "w.onnx"):
            for other in ("e.st", "e", "e.onnx", "e.bin", "e.safetensors"):
                with self.subTest(name=name, other=other):
                    shutil.copyfile(self.path(name), self.path(other))
                    self.reads(other, tensors)

    def test_weights_in_a_folder(self):
        tensors = self.exported()
        os.mkdir(self.path("hub"))
        self.fails(
            "trainer",
            self.words("--weights", "hub"),
            "hub",
            "none of model.onnx, model.safetensors.index.json, model.safetensors",
        )
        shutil.copyfile(self.path("w.safetensors"), self.path("hub/model.safetensors"))
        self.reads("hub", tensors)
        os.remove(self.path("hub/model.safetensors"))
        self.shard(tensors, "hub")
        self.reads("hub", tensors)
        self.reads("hub/model.safetensors.index.json", tensors)
        shutil.copyfile(self.path("hub/model.safetensors.index.json"), self.path("hub/index"))
        self.reads("hub/index", tensors)

    def shard(self, tensors, folder, change=lambda weight_map: None):
        names = sorted(tensors)
        weight_map = {}
        for number, part in enumerate((names[::2], names[1::2])):
            file = f"model-{number + 1:05}-of-00002.safetensors"
            write_safetensors(
                os.path.join(self.folder, folder, file), {n: tensors[n] for n in part}
            )
            weight_map.update({n: file for n in part})
        change(weight_map)
        with open(os.path.join(self.folder, folder, "model.safetensors.index.json"), "w") as file:
            json.dump({"metadata": {"total_size": 1}, "weight_map": weight_map}, file)

    def test_shards_that_are_not_in_order(self):
        tensors = self.exported()
        name = sorted(tensors)[0]
        os.mkdir(self.path("hub"))
        write_safetensors(self.path("outside.safetensors"), tensors)
        for change, parts in (
            (lambda m: m.update({name: "gone.safetensors"}), ["gone.safetensors", "No such file"]),
            (
                lambda m: m.update({name: "../outside.safetensors"}),
                ["../outside.safetensors", "not a path inside"],
            ),
            (
                lambda m: m.update({name: self.path("outside.safetensors")}),
                ["outside.safetensors", "not a path inside"],
            ),
            (
                lambda m: m.update({name: "model-00002-of-00002.safetensors"}),
                [name, "has no tensor"],
            ),
            (lambda m: m.pop(name), [name, "has no tensor"]),
            (lambda m: m.update({name: 3}), ["weight_map"]),
        ):
            self.shard(tensors, "hub", change)
            self.fails("trainer", self.words("--weights", "hub"), *parts)
        for text in ("{", "{}", "[]", '{"weight_map": []}'):
            with open(self.path("hub/model.safetensors.index.json"), "w") as file:
                file.write(text)
            self.fails("trainer", self.words("--weights", "hub"), "model.safetensors.index.json")

    def test_formats_that_are_not_read(self):
        np.savez(self.path("w.npz"), a=np.zeros(3))
        np.save(self.path("w.npy"), np.zeros(3))
        with open(self.path("pointer.safetensors"), "w") as file:
            file.write("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n")
        for name, part in (
            ("w.npz", "zip archive"),
            ("w.npy", "NumPy"),
            ("pointer.safetensors", "git lfs pull"),
        ):
            self.fails("trainer", self.words("--weights", name), name, part)

    def test_tensors_of_a_model_inside(self):
        tensors = self.exported()
        outer = {"net." + n: t for n, t in tensors.items()}
        write_safetensors(self.path("outer"), outer)
        self.works("--weights", "outer", steps=0)
        outer.popitem()
        write_safetensors(self.path("outer"), outer)
        self.fails(
            "trainer", self.words("--weights", "outer"), "has no tensor", "did you mean 'net."
        )

    # Meshes

    def test_exports_do_not_depend_on_the_mesh(self):
        files = {}
        for mesh in ("1", "2", "4", "2x2"):
            for units in ("auto", "block", "one"):
                self.compile("--mesh", mesh, "--units", units)
                self.works("--export-safetensors", "p", "--export-onnx", "o", steps=0)
                files[mesh, units] = content(self.path("p")), content(self.path("o"))
                result = run(*self.words("--export-gradients", "g", steps=1), cwd=self.folder)
                self.assertEqual(result.code, 0, result.err)
                files[mesh, units] += (list(read_safetensors(self.path("g"))),)
        first = files["1", "auto"]
        for key, other in files.items():
            self.assertEqual(other[0], first[0], f"safetensors of {key}")
            self.assertEqual(other[1], first[1], f"ONNX of {key}")
            self.assertEqual(other[2], first[2], f"order of gradients of {key}")


class Names(ToolTest):
    """A model whose parameter and node have names that a terminal would obey."""

    def model(self, name):
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "QQQQ"], ["y"], name="QQQQ")],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
            [numpy_helper.from_array(np.eye(4, dtype=np.float32), "QQQQ")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        assert len(name) == 4
        with open(self.path("m.onnx"), "wb") as file:
            file.write(model.SerializeToString().replace(b"QQQQ", name))
        np.save(self.path("x.npy"), np.ones((4, 4), np.float32))
        np.save(self.path("t.npy"), np.ones((4, 4), np.float32))

    def check(self, name):
        self.model(name)
        result = run(
            SHARDC,
            "m.onnx",
            "--dim",
            "batch=2",
            "--loss",
            "mse:output=y,target=t",
            "-o",
            "m.trainer",
            "--report",
            "r.json",
            cwd=self.folder,
        )
        shown = [result]
        if result.code:
            self.assert_one_error(result, "shardc")
        else:
            with open(self.path("r.json"), encoding="utf-8") as file:
                json.load(file)
            words = (
                "--data",
                "x=x.npy",
                "--data",
                "t=t.npy",
                "--steps",
                1,
                "--metrics",
                "m.jsonl",
                "--trace",
                "t.json",
                "--export-safetensors",
                "p",
                "--report",
            )
            shown.append(run(self.path("m.trainer"), *words, cwd=self.folder))
            self.assertEqual(shown[1].code, 0, shown[1].err)
            with open(self.path("m.jsonl"), encoding="utf-8") as file:
                [json.loads(line) for line in file]
            with open(self.path("t.json"), encoding="utf-8") as file:
                json.load(file)
            read_safetensors(self.path("p"))
            shown.append(
                run(
                    self.path("m.trainer"),
                    *words[:6],
                    "--group",
                    "match=nothing,lr-scale=2",
                    cwd=self.folder,
                )
            )
        for each in shown:
            self.assertNotRegex(each.out + each.err, r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
        return result

    def test_escapes_of_terminals(self):
        self.assertEqual(self.check(b"\x1b[3m").code, 0)


if __name__ == "__main__":
    unittest.main()
