"""PyTorch's FSDP2 beside the trainers, where python3 has torch and transformers."""
import json
import os
import subprocess
import sys

import speed
from bundle import Failed

HAS_TORCH = [sys.executable, "-c", "import torch, transformers; assert torch.cuda.is_available()"]
KINDS = {"eager": [], "compiled": ["--compile"]}


def measure(bundle, run, flags):
    words = [sys.executable, bundle.path("torch_peer.py"), run["model"]]
    words += ["--batch", str(run["batch"]), "--sequence", str(run["sequence"])]
    # torch brings its own libraries.
    said = bundle.command(words + flags, {"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")})
    return json.loads(said.strip().splitlines()[-1])


def run(bundle, report):
    seen = set()
    for each in bundle.runs("speed"):
        key = (each["model"], each["batch"], each["sequence"])
        if key in seen:
            continue
        seen.add(key)
        name = f"torch: {each['model']} bf16, {each['batch']} samples of {each['sequence']}"
        if bundle.gpu.is_emulated:
            report.skipped(name, "an emulated GPU has no speed")
            continue
        if subprocess.run(HAS_TORCH, capture_output=True).returncode:
            report.skipped(name, "python3 has no torch and transformers for this GPU")
            continue
        # As the trainer of a model whose state fills the GPU, it keeps no activations.
        again = ["--checkpoint"] if each["bytes"] > speed.LARGE else []
        for kind, flags in KINDS.items():
            try:
                said = measure(bundle, each, flags + again)
            except Failed as error:
                report.skipped(f"{name}, {kind}", str(error))
                continue
            rate = each["batch"] * each["sequence"] / said["seconds"]
            detail = f"{rate:.0f} tokens/s, {said['seconds'] * 1e3:.1f} ms a step, at most"
            detail += f" {said['bytes'] / 1e9:.1f} GB, torch {said['torch']}"
            report.passed(f"{name}, {kind}", detail)
