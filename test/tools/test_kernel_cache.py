"""--kernel-cache: what is compiled with it is what is compiled without, whatever lies in the
folder; what is there is not compiled again."""
import json
import os
import unittest

from tool_test import MODELS, SHARDC, ToolTest, run

MODEL = os.path.join(MODELS, "gpt2-tiny", "model.onnx")
FLAGS = (
    *("--dim", "batch=4", "--dim", "sequence=16"),
    *("--loss", "cross-entropy:logits=logits,labels=labels,shift=1"),
)


class KernelCache(ToolTest):
    def compile(self, name, *flags, env=None):
        """The trainer's bytes."""
        environment = {
            name: value for name, value in os.environ.items() if name != "SHARDC_KERNEL_CACHE"
        } | (env or {})
        words = [f"{name}={value}" for name, value in environment.items()]
        result = run("env", "-i", *words, SHARDC, MODEL, *FLAGS, *flags, "-o", self.path(name))
        self.assertEqual(result.code, 0, result.err)
        # Without CUDA's toolkit there is PTX alone, and that is said.
        said = [line for line in result.err.splitlines() if not line.endswith("PTX alone")]
        self.assertEqual(said, [])
        with open(self.path(name), "rb") as file:
            return file.read()

    def cached(self, name, *flags):
        return self.compile(name, "--kernel-cache", self.path("cache"), *flags)

    def kept(self):
        """{kernel's file: what changes when it is written again}."""
        return {
            name: os.stat(self.path(f"cache/{name}")).st_ino
            for name in os.listdir(self.path("cache"))
            if name != "llvmcache.timestamp"
        }

    def kernels(self):
        report = self.path("report.json")
        self.cached("counted", "--report", report)
        with open(report, encoding="utf-8") as file:
            return len(json.load(file)["compiled_kernels"]["kernels"])

    def test_equal_trainers(self):
        plain = self.compile("plain")
        self.assertEqual(self.cached("first"), plain)
        kept = self.kept()
        self.assertEqual(len(kept), self.kernels())
        self.assertEqual(self.cached("second"), plain)
        # A mesh changes no kernel.
        self.assertNotEqual(self.cached("mesh", "--mesh", "2"), plain)
        self.assertEqual(self.kept(), kept)

    def test_what_kernels_depend_on(self):
        self.cached("first", "--cpu", "x86-64-v3")
        kept = self.kept()
        self.assertEqual(
            self.cached("v2", "--cpu", "x86-64-v2"), self.compile("plain", "--cpu", "x86-64-v2")
        )
        self.assertEqual(len(self.kept()), 2 * len(kept))

    def test_damaged_files(self):
        plain = self.compile("plain")
        self.cached("first")
        kept = self.kept()
        for index, name in enumerate(sorted(kept)):
            path = self.path(f"cache/{name}")
            size = os.path.getsize(path)
            with open(path, "r+b") as file:
                if index % 3 == 0:
                    file.truncate((0, 7, size // 2, size - 1)[index // 3 % 4])
                elif index % 3 == 1:
                    file.seek(size // 2)
                    byte = file.read(1)[0]
                    file.seek(size // 2)
                    file.write(bytes([byte ^ 1]))
        self.assertEqual(self.cached("second"), plain)
        mended = self.kept()
        self.assertEqual(set(mended), set(kept))
        for index, name in enumerate(sorted(kept)):
            with self.subTest(name=name, index=index):
                self.assertEqual(mended[name] == kept[name], index % 3 == 2)

    def test_cuda(self):
        flags = ("--target", "cuda:sm_80")
        plain = self.compile("plain", *flags)
        self.assertEqual(self.cached("first", *flags), plain)
        kept = self.kept()
        self.assertGreater(len(kept), 0)
        self.assertEqual(self.cached("second", *flags), plain)
        self.assertEqual(self.kept(), kept)

    def test_checkable(self):
        # The unsharded step's kernels are kept as well.
        plain = self.compile("plain", "--mesh", "2", "--checkable")
        self.assertEqual(self.cached("first", "--mesh", "2", "--checkable"), plain)
        kept = self.kept()
        self.assertEqual(self.cached("second", "--mesh", "2", "--checkable"), plain)
        self.assertEqual(self.kept(), kept)

    def test_environment(self):
        plain = self.compile("plain")
        variable = {"SHARDC_KERNEL_CACHE": self.path("cache")}
        self.assertEqual(self.compile("first", env=variable), plain)
        kept = self.kept()
        self.assertGreater(len(kept), 0)
        # The flag comes first.
        self.compile("second", "--kernel-cache", self.path("other"), env=variable)
        self.assertEqual(len(os.listdir(self.path("other"))), len(os.listdir(self.path("cache"))))
        self.assertEqual(self.kept(), kept)
        self.compile("third", env={"SHARDC_KERNEL_CACHE": ""})

    def test_folders_that_are_none(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        for folder in ("/proc/none", self.path("file"), self.path("file/below")):
            with self.subTest(folder=folder):
                result = run(SHARDC, MODEL, *FLAGS, "--kernel-cache", folder, "-o", self.path("t"))
                self.assert_one_error(result, "shardc", "--kernel-cache", folder)
                self.assertFalse(os.path.exists(self.path("t")))

    def test_nothing_to_compile(self):
        folder = ("--kernel-cache", self.path("cache"))
        for words in (["--compile-to", "plan"], ["--remat", "pareto"]):
            with self.subTest(words=words):
                result = run(SHARDC, MODEL, *FLAGS, *folder, *words)
                self.assert_one_error(result, "shardc", "--kernel-cache")
        result = run(SHARDC, "explain", MODEL, *FLAGS, *folder, "memory")
        self.assert_one_error(result, "shardc", "--kernel-cache")
        self.assertFalse(os.path.exists(self.path("cache")))
        # What the environment names is not looked at either.
        words = ("env", "SHARDC_KERNEL_CACHE=/proc/none", SHARDC, "explain", MODEL, *FLAGS)
        result = run(*words, "memory")
        self.assertEqual((result.code, result.err), (0, ""))


if __name__ == "__main__":
    unittest.main()
