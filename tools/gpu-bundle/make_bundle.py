#!/usr/bin/env python3
"""Makes the archive that is taken to a machine with a GPU (docs/performance.md).

    make_bundle.py                     build/shardc-gpu-bundle.tar.gz
    make_bundle.py --models mlp-tiny-loss --no-speed -o FILE.tar.gz    a small one

In it are the suites, the runtime, trainers (for sm_90, with PTX for newer GPUs), the data and
PyTorch's numbers of small models, the calls that trainers make of the emulated libraries, and
run.py, which needs nothing but python3 there.
"""
import argparse
import gzip
import json
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test", "training"))

import emulated_cuda  # noqa: E402
import parity  # noqa: E402
from reference import BUILD, MODELS, SHARDC, command, models  # noqa: E402

sys.path.insert(0, os.path.join(HERE, "shipped"))

import bundle  # noqa: E402
import launches  # noqa: E402

NAME = "shardc-gpu-bundle"
TARGET = ("--target", "cuda:sm_90")
MOST_BYTES = 60_000_000
RECORDING_SECONDS = 1800
SUITES = ("cuda-driver-tests", "cublaslt-tests", "nccl-tests", "runtime-tests")
# Models beside float64, which all have; where a name stands is also what the other parts run.
SMALLER_TYPES = {
    "mlp-tiny-loss": ("float32",),
    "gpt2-tiny": ("float32", "bf16"),
    "s1-llama31-tiny": ("bf16",),
    "s2-llama-tiny-mask": ("float32", "bf16"),
}
# Of these the importer makes the graph of s0-mlp-transformer-tiny-dynamo: a GPU sees nothing new.
IMPORTED_ALIKE = {
    "s0-mlp-transformer-tiny-dynamo-zero-bias",
    "s0-mlp-transformer-tiny-legacy",
    "s0-mlp-transformer-tiny-legacy-folded",
}
# What 16 bits lose in losses beside float64, as test/training/test_cuda.py has it.
HALF_BOUND = 2e-2
RECORDED = (("mlp-tiny-loss", "float32"), ("gpt2-tiny", "float32"), ("s1-llama31-tiny", "bf16"))
SANITIZED = (("mlp-tiny-loss", "float32"), ("gpt2-tiny", "bf16"))
# Goals by what is in the device's name, in tokens a second. What a Llama of 8B parameters has in
# float32 leaves an H200 6 GB beside one batch.
GPT2 = dict(model="gpt2-124m", vocabulary=50257)
LLAMA = dict(model="s1-llama31-8b", steps=20, vocabulary=128256)
LEAN = ("--remat", "time=5")
SPEED = (
    dict(GPT2, batch=32, sequence=1024, steps=40, goals={"H200": 550000}),
    dict(LLAMA, batch=2, sequence=4096, compile=LEAN, goals={"H200": 12500}),
    dict(LLAMA, batch=2, sequence=4096, compile=("--master", "split"), goals={"H200": 12500}),
    dict(LLAMA, batch=1, sequence=8192, compile=LEAN, goals={"H200": 11000}),
)
LOSS = "cross-entropy:logits=logits,labels=labels,shift=1"


class Maker:
    def __init__(self, folder):
        self.folder = folder
        self.contents = {"parity": [], "launches": [], "sanitizer": [], "speed": []}
        with open(self.path("bin", "runtime"), "wb") as file:
            with open(os.path.join(BUILD, "bin", "shardc-runtime"), "rb") as runtime:
                self.runtime = runtime.read()
            file.write(self.runtime)

    def path(self, *names):
        path = os.path.join(self.folder, *names)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def add_programs(self):
        for suite in SUITES:
            source = os.path.join(BUILD, "bin", suite)
            command("strip", "-o", self.path("bin", suite), source)
        shutil.copy(os.path.join(BUILD, "bin", "launch-log.so"), self.path("bin", "launch-log.so"))
        for name in sorted(os.listdir(os.path.join(HERE, "shipped"))):
            if name.endswith(".py"):
                shutil.copy(os.path.join(HERE, "shipped", name), self.path(name))

    def add_trainer(self, made, name):
        """Keeps what comes behind the runtime, with which all trainers begin."""
        with open(made, "rb") as file:
            trainer = file.read()
        if not trainer.startswith(self.runtime):
            sys.exit(f"error: {name} does not begin with bin/shardc-runtime; run ./dev build")
        with open(self.path("trainers", name), "wb") as file:
            file.write(trainer[len(self.runtime) :])
        os.remove(made)

    def add_model(self, model, precision):
        """A trainer, and what one needs to hold it against PyTorch."""
        name = f"{model.name}.{precision}"
        made = self.path("made.trainer")
        model.compile(made, "1", precision, *TARGET, "--embed-weights", "-q")
        self.add_trainer(made, name)
        r = model.reference
        run = {
            "model": model.name,
            "precision": precision,
            "trainer": name,
            "steps": model.recipe["steps"],
            "flags": [],
            "data": {},
            "losses": r["loss_f64"],
            "norms": r["grad_norm_f64"],
            "lost_parameters": r["lost_parameters"],
        }
        words = list(map(str, model.train_flags()))
        while words:
            flag, value = words[:2]
            del words[:2]
            if flag == "--data":
                what, _, file = value.partition("=")
                run["data"][what] = self.add_file(file)
            elif flag != "--steps":
                run["flags"] += [flag, value]
        if precision == "bf16":
            run["bounds"] = {"losses": HALF_BOUND}
        else:
            run["gradients"] = self.add_file(os.path.join(model.folder, r["grads_step0"]))
            run["bounds"] = {
                "losses": parity.curve_bound(r["loss"], r["loss_f64"], precision),
                "norms": parity.curve_bound(r["grad_norm"], r["grad_norm_f64"], precision),
                "gradients": parity.gradient_bounds(precision),
            }
        self.contents["parity"].append(run)
        if (model.name, precision) in SANITIZED:
            self.contents["sanitizer"].append(run)
        if (model.name, precision) in RECORDED:
            # No emulated GPU runs cuDNN, which is for 16 bits.
            own = ["--attention", "own"] if precision == "bf16" else []
            flags = run["flags"] + own
            self.contents["launches"].append({**run, "flags": flags, "log": f"launches/{name}.log"})

    def add_file(self, source):
        """A model's file; links to one are that one."""
        name = os.path.join("models", os.path.relpath(os.path.realpath(source), MODELS))
        if not os.path.exists(self.path(name)):
            shutil.copy(source, self.path(name))
        return name

    def add_speed(self, run):
        given = run.get("compile", ())
        words = [run["model"], str(run["sequence"]), *(word.strip("-") for word in given)]
        name = ".".join([*words, "bf16"])
        onnx = os.path.join(MODELS, run["model"], "model.onnx")
        made, report = self.path("made.trainer"), self.path("made.json")
        with tempfile.TemporaryDirectory() as folder:
            if not os.path.exists(onnx):
                with lzma.open(onnx + ".xz") as packed:
                    onnx = os.path.join(folder, "model.onnx")
                    with open(onnx, "wb") as file:
                        file.write(packed.read())
            words = [SHARDC, onnx, "--init", "random", "--mesh", 1, "--precision", "bf16"]
            words += [*TARGET, "--loss", LOSS, "-q", "-o", made, "--report", report]
            words += ["--dim", f"batch={run['batch']}", "--dim", f"sequence={run['sequence']}"]
            words += given
            command(*words)
        self.add_trainer(made, name)
        with open(report) as file:
            memory = json.load(file)["memory"]["peak_bytes"]
        os.remove(report)
        self.contents["speed"].append(
            {
                **run,
                "precision": "bf16",
                "trainer": name,
                "bytes": memory,
                "flags": ["--lr", "1e-4"],
            }
        )

    def write_contents(self):
        with open(self.path("bundle.json"), "w") as file:
            json.dump(self.contents, file, indent=1)

    def record_launches(self):
        """What the trainers ask of the emulated libraries, by the very code that asks there."""
        with emulated_cuda.emulated(1), tempfile.TemporaryDirectory() as folder:
            at = bundle.Bundle(None, folder, time.monotonic() + RECORDING_SECONDS, root=self.folder)
            for run in self.contents["launches"]:
                lines, _, _ = launches.record(at, run)
                with open(self.path(run["log"]), "w") as file:
                    file.writelines(line + "\n" for line in lines)


def pack(folder, target):
    """Names in order and no times, so that equal contents are an equal archive."""

    def plain(entry):
        entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
        return entry

    with open(target + ".new", "wb") as raw:
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            with tarfile.open(fileobj=packed, mode="w") as archive:
                archive.add(folder, NAME, filter=plain)
    os.replace(target + ".new", target)


def main():
    parser = argparse.ArgumentParser(
        prog="./dev gpu-bundle",
        description=__doc__.splitlines()[0],
        epilog=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-o", "--output", default=os.path.join(BUILD, NAME + ".tar.gz"))
    parser.add_argument("--models", help="small models, with commas between [all]")
    parser.add_argument("--no-speed", action="store_true", help="without the large models")
    args = parser.parse_args()
    small = {n: m for n, m in models().items() if "tiny" in n and m.folder.startswith(MODELS)}
    for name in args.models.split(",") if args.models else ():
        if name not in small:
            parser.error(f"there is no small model '{name}'; there are {', '.join(small)}")
    chosen = (
        args.models.split(",") if args.models else [n for n in small if n not in IMPORTED_ALIKE]
    )
    with tempfile.TemporaryDirectory() as folder:
        maker = Maker(folder)
        maker.add_programs()
        for name in chosen:
            for precision in ("float64", *SMALLER_TYPES.get(name, ())):
                print(f"{name} {precision}", flush=True)
                maker.add_model(small[name], precision)
        for run in () if args.no_speed else SPEED:
            print(f"{run['model']} bf16", flush=True)
            maker.add_speed(run)
        maker.write_contents()
        maker.record_launches()
        pack(folder, args.output)
    size = os.path.getsize(args.output)
    print(f"{args.output}: {size / 1e6:.1f} MB")
    if size > MOST_BYTES:
        sys.exit(f"error: {size} bytes, expected at most {MOST_BYTES}")


if __name__ == "__main__":
    main()
