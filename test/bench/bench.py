#!/usr/bin/env python3
"""Benchmarks: what the compiler costs, and what the trainer reaches beside PyTorch FSDP2 where torch is installed.

Compile: seconds, kernels and the compiler's peak memory for GPT-2 124M and Llama graphs of 12 and 48 layers (no weights needed).
Train: the workloads of test/models/bench on 2 ranks from random initial values. tokens/s from the median step; the share of the step
spent in GEMM; model FLOP/s over the rate of the GEMM library alone at 1024^3 on all ranks at once; memory of the whole process
(VmHWM); seconds from the process's start to the end of the first step.

With torch: fsdp2_peer.py runs the same workload in turn with the trainer, and the ratio of throughputs is printed.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SHARDC = os.path.join(ROOT, "build", "bin", "shardc")
HERE = os.path.dirname(os.path.abspath(__file__))
PEER_PYTHON = os.environ.get("PYTHON", sys.executable)  # one that has torch


@dataclass(frozen=True)
class Workload:
    batch: int  # global
    sequence: int
    layers: int
    dim: int
    vocab: int  # 0: float input and 10 classes
    matrices: int  # elements of all matrices that take part in products
    causal: bool
    warmup: int
    steps: int

    @property
    def tokens(self):
        return self.batch * self.sequence

    @property
    def flops(self):
        """Model FLOPs of one step, forward and backward: 6 N a token, and 12 L S D for the attention products, half if causal."""
        return self.tokens * (6 * self.matrices + 12 * self.layers * self.sequence * self.dim * (0.5 if self.causal else 1))


def llama_matrices(dim, ffn, kv, layers, vocab):
    return layers * (2 * dim * dim + 2 * dim * kv + 3 * dim * ffn) + dim * vocab


WORKLOADS = {
    "W3": Workload(16, 128, 4, 256, 8192, llama_matrices(256, 1024, 128, 4, 8192), True, 5, 25),
    "W4": Workload(64, 1, 4, 512, 0, 4 * (4 * 512 * 512 + 2 * 512 * 2048) + 512 * 10, False, 20, 100),
}


def timed(*words):
    """(seconds, peak MiB of the process)."""
    start = time.monotonic()
    process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"bench: error: {' '.join(map(str, words))} failed")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def bench_compile(folder):
    print(f"{'compile':24} {'seconds':>8} {'kernels':>8} {'peak MiB':>9}")
    loss = ("--loss", "cross-entropy:logits=logits,labels=labels")
    seconds = {}
    cases = {"gpt2-124m": (os.path.join(ROOT, "test/models/gpt2-124m/model.onnx"), ["--dim", "sequence=256"]),
             "llama 12 layers, 180M": (os.path.join(ROOT, "test/models/s2-llama-pretrain-12l/model.onnx"), ["--dim", "sequence=512"])}
    for layers in (12, 48):
        path = os.path.join(folder, f"llama-{layers}.onnx")
        subprocess.run([sys.executable, os.path.join(HERE, "make_llama.py"), "--layers", str(layers), "-o", path], check=True)
        cases[f"llama {layers} layers"] = (path, [])
    for name, (path, dims) in cases.items():
        report = os.path.join(folder, "report.json")
        runs = [timed(SHARDC, path, "--mesh", 8, "--dim", "batch=1", *dims, *loss, "--init", "random", "--quiet", "-o",
                      os.path.join(folder, "m.trainer"), "--report", report) for _ in range(3)]
        seconds[name] = statistics.median(r[0] for r in runs)
        with open(report) as file:
            kernels = json.load(file)["kernels"]
        print(f"{name:24} {seconds[name]:8.2f} {kernels:8} {max(r[1] for r in runs):9.0f}", flush=True)
    print(f"48 layers over 12: {seconds['llama 48 layers'] / seconds['llama 12 layers']:.2f}")


def write_batches(name, folder):
    w, generator = WORKLOADS[name], np.random.default_rng(1234)
    samples = w.batch * 4
    if w.vocab:
        ids = generator.integers(0, w.vocab, (samples, w.sequence + 1))
        arrays = {"input": ids[:, :-1], "labels": ids[:, 1:]}
    else:
        arrays = {"input": generator.standard_normal((samples, w.sequence, w.dim), np.float32), "labels": generator.integers(0, 10, samples)}
    for key, array in arrays.items():
        np.save(os.path.join(folder, f"{key}.npy"), np.ascontiguousarray(array))


def run_trainer(name, folder, ranks):
    w = WORKLOADS[name]
    metrics = os.path.join(folder, "metrics.jsonl")
    timed(os.path.join(folder, f"{name}.trainer"), "--data", f"input={folder}/input.npy", "--data", f"labels={folder}/labels.npy",
          "--init", "random", "--steps", w.warmup + w.steps, "--lr", "3e-4", "--betas", "0.9,0.95", "--weight-decay", "0.1", "--clip", "1",
          "--metrics", metrics)
    with open(metrics) as file:
        lines = [json.loads(line) for line in file]
    steps = [l["step_seconds"] for l in lines if "event" not in l][w.warmup:]
    summary = next(l for l in lines if l.get("event") == "summary")
    return {"step": statistics.median(steps), "memory": summary["peak_rss_bytes"] / 2**20, "first": summary["seconds_to_first_step"],
            "gemm": summary["gemm_share"]}


def has_torch():
    return subprocess.run([PEER_PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


def run_peer(name, folder, ranks):
    out = subprocess.run([PEER_PYTHON, os.path.join(HERE, "fsdp2_peer.py"), "--workload", name, "--ranks", str(ranks), "--folder", folder],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out.splitlines()[-1])


def bench_train(names, ranks, pairs, folder, with_peer):
    gemm = float(subprocess.run([os.path.join(ROOT, "build", "bin", "gemm-bench"), str(ranks)], check=True, capture_output=True, text=True).stdout)
    print(f"\nGEMM 1024^3 float32 on {ranks} threads at once: {gemm:.0f} GFLOP/s")
    print(f"{'train':6} {'who':8} {'step ms':>9} {'tokens/s':>10} {'FLOP/s of GEMM':>15} {'GEMM share':>11} {'MiB':>7} {'first step s':>13}")
    for name in names:
        w = WORKLOADS[name]
        write_batches(name, folder)
        subprocess.run([SHARDC, os.path.join(ROOT, "test/models/bench", name, "model.onnx"), "--mesh", str(ranks), "--dim", f"batch={w.batch // ranks}",
                        "--loss", "cross-entropy:logits=logits,labels=labels", "--init", "random", "--quiet", "-o", f"{folder}/{name}.trainer"], check=True)
        results = {"shardc": [], "FSDP2": []}
        for _ in range(pairs):
            results["shardc"].append(run_trainer(name, folder, ranks))
            if with_peer:
                results["FSDP2"].append(run_peer(name, folder, ranks))
        middle = {who: {key: statistics.median(r[key] for r in runs) for key in runs[0]} for who, runs in results.items() if runs}
        for who, r in middle.items():
            share = f"{r['gemm']:10.0%}" if "gemm" in r else " " * 10
            print(f"{name:6} {who:8} {r['step'] * 1e3:9.2f} {w.tokens / r['step']:10.0f} {w.flops / r['step'] / 1e9 / gemm:15.1%} {share:>11} "
                  f"{r['memory']:7.0f} {r['first']:13.2f}", flush=True)
        if with_peer:
            ratios = sorted(p["step"] / s["step"] for s, p in zip(results["shardc"], results["FSDP2"]))
            print(f"{name}: throughput over FSDP2 eager {statistics.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}]")
    if not with_peer:
        print("no FSDP2 beside it: torch is not installed; PYTHON names the interpreter that has it")


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", help=f"default: {' '.join(WORKLOADS)}")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=3, help="runs of each side, in turn")
    parser.add_argument("--no-compile", action="store_true", help="leave out the compile-time figures")
    a = parser.parse_args()
    if unknown := [n for n in a.workloads if n not in WORKLOADS]:
        parser.error(f"unknown workload {unknown[0]}; there are {', '.join(WORKLOADS)}")
    with tempfile.TemporaryDirectory() as folder:
        if not a.no_compile:
            bench_compile(folder)
        bench_train(a.workloads or list(WORKLOADS), a.ranks, a.pairs, folder, has_torch())


if __name__ == "__main__":
    main()
