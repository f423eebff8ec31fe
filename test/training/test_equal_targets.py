"""Processors and GPUs take the same: models, flags of shardc, and flags of trainers. What one of
the two alone can have is listed here, and each of these is refused by the other in one line."""
import glob
import json
import lzma
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from emulated_cuda import environment
from reference import MODELS as FOLDER
from reference import SHARDC, models

# Of processor time: see test/run.py.
LONG = True

ARCHITECTURES = os.path.join(FOLDER, "architectures")
TARGETS = {"cpu": "cpu", "cuda": "cuda:sm_80"}
# {flag: values}, of which each is tried on both targets. None: the flag alone.
COMPILER = {
    "--metric": ["accuracy"],
    "--init": ["random"],
    "--embed-weights": [None],
    "--mesh": ["2", "2x2"],
    "--strategy": "full grad_op opt none".split(),
    "--reshard-after-forward": ["always", "never"],
    "--reshard-after-backward": ["always", "never"],
    "--unit-option": ["match=0,reshard=never"],
    "--units": ["block", "size:1kB", "one"],
    "--cluster": ["cpu", "dgx-a100", "cloud-l40s"],
    "--prefetch": ["0", "forward=2,backward=1", "auto"],
    "--memory-limit": ["1GB", "1kB"],
    "--offload": ["optimizer", "activations=1GB", "auto", "parameters"],
    "--optimizer": "adamw adam sgd lion amsgrad adagrad muon".split(),
    "--accumulate": ["sharded", "unsharded"],
    "--update": ["step", "backward"],
    "--embedding": ["auto", "rows", "table"],
    "--freeze": ["bias", "nothing"],
    "--trainable": ["weight"],
    "--buffer": ["bias"],
    "--untie": ["nothing"],
    "--precision": [
        "bf16",
        "float16",
        "float64",
        "param=bf16,reduce=bf16",
        "param=float32,reduce=bf16",
    ],
    "--remat": "none all cheap selective unit time=10 budget=1MB class:norm scope:.".split(),
    "--threads-per-rank": ["2"],
    "--cpu": ["x86-64-v3"],
    "--compile-to": "import raise train shard kernels plan".split(),
    "--report": ["r.json"],
    "--timeline": ["t.json", "t.svg", "t.html"],
    "--kernels": ["k"],
    "--kernel-cache": ["c"],
    "--dump-phases-to": ["p"],
    "--disable-pass": ["nn-raise"],
    "--remarks": ["."],
    "--batch-sums": ["global", "rank"],
    "--pass-timing": [None],
    "--checkable": [None],
}
# With others beside them, without a say on targets, or not of a compile.
COMPILER_ELSEWHERE = """
    --help --version --list-ops --output --dim --loss --output-values --muon --newton-schulz-steps
    --master --batch-norm --target --quiet --config --set --print-config
    """.split()
COMBINED = [
    ["--optimizer", "muon", "--muon", "weight", "--newton-schulz-steps", "3"],
    ["--precision", "bf16", "--master", "split"],
    ["--precision", "bf16", "--master", "bf16"],
    ["--precision", "bf16", "--offload", "optimizer"],
    ["--precision", "bf16", "--optimizer", "muon"],
    ["--mesh", "2x2", "--strategy", "hybrid_opt"],
]
TRAINER_DEVICES = {
    "--device": ["auto", "cpu", "cuda"],
    "--threads": ["1"],
    "--cuda-graph": ["on", "off"],
    "--tune": ["t.json"],
}
# These want a mesh, attention, or what is offloaded.
TRAINER_ELSEWHERE = ["--offload-dir", "--attention", "--reduce"]
TRAINER = {
    "--shuffle": [None],
    "--loss-scale": ["dynamic", "8"],
    "--clip-norm": ["1", "inf"],
    "--grad-divide": ["2"],
    "--check-finite": [None],
    "--profile": [None],
    "--trace": ["trace.json"],
    "--metrics": ["m.jsonl"],
    "--checkpoint-dir": ["c"],
    "--checkpoint-sync": [None],
    "--export-safetensors": ["w.safetensors"],
    "--export-gradients": ["g.safetensors"],
    "--export-onnx": ["trained.onnx"],
    "--init": ["random"],
    "--report": [None],
    "--dry-run": [None],
    "--selftest": [None],
    "--no-host-memory": [None],
}
# What one of the two alone takes.
COMPILER_DIFFERENCES = {("--threads-per-rank", "2"): "cpu", ("--cpu", "x86-64-v3"): "cpu"}
TRAINER_DIFFERENCES = {
    ("--device", "cpu"): "cpu",
    ("--device", "cuda"): "cuda",
    ("--cuda-graph", "on"): "cuda",
    ("--cuda-graph", "off"): "cuda",
    ("--tune", "t.json"): "cuda",
}


class EqualTargets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.model = models()["mlp-tiny-loss"]

    def run_here(self, *words, env=None):
        return subprocess.run(
            [str(word) for word in words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
        )

    def compile(self, target, *flags):
        words = ["--dim", f"batch={self.model.batch // 4}", "--loss", self.model.loss()]
        words += ["-q", "--target", TARGETS[target], "-o", f"{target}.trainer"]
        if "--compile-to" in flags:
            words[-1] = "out"
        return self.run_here(SHARDC, self.model.onnx, *words, *flags)

    def agree(self, flags, results, only=None):
        """Both are taken, or refused for one reason; or as is listed."""
        with self.subTest(flags=flags):
            for target, result in results.items():
                taken = result.returncode == 0
                if only:
                    self.assertEqual(taken, target == only, result.stderr)
                if not taken:
                    self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
            if not only:
                codes = {target: result.returncode for target, result in results.items()}
                said = {target: result.stderr for target, result in results.items()}
                self.assertEqual(codes["cpu"], codes["cuda"], said)

    def test_every_flag_of_shardc_is_looked_at(self):
        said = self.run_here(SHARDC, "--help").stdout
        flags = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", said, re.MULTILINE))
        self.assertEqual(flags, {*COMPILER, *COMPILER_ELSEWHERE})

    def test_flags_of_shardc(self):
        for flag, values in COMPILER.items():
            for value in values:
                words = [flag] if value is None else [flag, value]
                results = {target: self.compile(target, *words) for target in TARGETS}
                self.agree(words, results, COMPILER_DIFFERENCES.get((flag, value)))
        for words in COMBINED:
            self.agree(words, {target: self.compile(target, *words) for target in TARGETS})

    def train(self, target, *flags):
        result = self.run_here(
            f"./{target}.trainer", *self.model.train_flags(2), *flags, env=environment(1)
        )
        for name in set(os.listdir(self.folder)) - {f"{target}.trainer" for target in TARGETS}:
            path = os.path.join(self.folder, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
        return result

    def test_flags_of_devices_and_others(self):
        for target in TARGETS:
            self.assertEqual(self.compile(target).returncode, 0)
        said = self.run_here("./cuda.trainer", "--help").stdout
        devices = set(
            re.findall(r"^  (--[a-z-]+)", said.split("\nDevices:")[1].split("\n\n\n")[0], re.M)
        )
        self.assertEqual(devices, {*TRAINER_DEVICES, *TRAINER_ELSEWHERE})
        for flag, values in {**TRAINER_DEVICES, **TRAINER}.items():
            for value in values:
                words = [flag] if value is None else [flag, value]
                results = {target: self.train(target, *words) for target in TARGETS}
                self.agree(words, results, TRAINER_DIFFERENCES.get((flag, value)))

    def test_each_keeps_what_is_offloaded_where_it_can(self):
        for target, flags in (("cpu", ("--offload-dir", self.folder)), ("cuda", ())):
            result = self.compile(target, "--offload", "optimizer")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(self.train(target, *flags).returncode, 0)
            other = () if flags else ("--offload-dir", self.folder)
            refused = self.train(target, *other)
            self.assertEqual(refused.returncode, 1)
            self.assertRegex(refused.stderr, "^trainer: error: .*--offload-dir.*\n$")

    def test_models(self):
        """GPUs take what test_parity trains on processors."""
        for name, model in models().items():
            if "tiny" not in name or not model.folder.startswith(FOLDER):
                continue
            for precision in ("float32", "bf16"):
                with self.subTest(model=name, precision=precision):
                    dims = [f"--dim={dim}={size}" for dim, size in model.dims(2).items()]
                    words = [*dims, "--loss", model.loss(), "--mesh", "2", "--precision", precision]
                    words += ["--target", TARGETS["cuda"], "-q", "--kernels", "k"]
                    result = self.run_here(SHARDC, model.onnx, *words)
                    self.assertEqual(result.returncode, 0, result.stderr)

    def test_architectures(self):
        """And what test_stored_architectures trains, every second of them without --thorough."""
        paths = sorted(glob.glob(os.path.join(ARCHITECTURES, "*.dynamo.onnx.xz")))
        for path in paths if os.environ.get("SHARDC_TEST_THOROUGH") else paths[::2]:
            with open(path.replace("dynamo.onnx.xz", "json")) as file:
                record = json.load(file)
            with lzma.open(path) as packed, open(f"{self.folder}/m.onnx", "wb") as file:
                file.write(packed.read())
            flags = record["exporters"]["dynamo"]["flags"]
            words = ["--dim", f"batch={record['samples']}", *flags, "--init", "random"]
            words += ["--target", TARGETS["cuda"], "-q", "--kernels", "k"]
            with self.subTest(os.path.basename(path)):
                result = self.run_here(SHARDC, "m.onnx", *words)
                self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    unittest.main()
