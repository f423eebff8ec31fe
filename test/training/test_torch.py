"""Live against PyTorch (./dev test --torch): each optimizer with torch's own class, from the same
values on the same batches.

The interpreter that has torch is this one, or the one that PYTHON names.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from reference import MODELS, Model, command, read_metrics, read_safetensors

# The model of mlp-tiny-loss; reads a job from standard input, writes losses and final
# parameters to standard output.
TORCH_RUN = """
import json, sys
import numpy as np, torch
from torch import nn
job = json.load(sys.stdin)
layers = (nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))
model = nn.Sequential(*layers).double()
values = {n: torch.tensor(v, dtype=torch.float64) for n, v in job["parameters"].items()}
model.load_state_dict({n.removeprefix("layers."): v for n, v in values.items()})
class Lion(torch.optim.Optimizer):  # torch has none: Algorithm 2 of arXiv:2302.06675
    def __init__(self, parameters, lr, weight_decay, betas=(0.9, 0.99)):
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay, "betas": betas})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                lr, (b1, b2) = group["lr"], group["betas"]
                p.mul_(1 - lr * group["weight_decay"])
                p.sub_(lr * torch.sign(b1 * m + (1 - b1) * p.grad))
                m.mul_(b2).add_((1 - b2) * p.grad)
kind = Lion if job["class"] == "Lion" else getattr(torch.optim, job["class"])
optimizer = kind(model.parameters(), **job["arguments"])
x, labels = torch.tensor(np.load(job["x"])).double(), torch.tensor(np.load(job["labels"]))
losses = []
for step in range(job["steps"]):
    rows = [(step * job["batch"] + i) % len(x) for i in range(job["batch"])]
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x[rows]), labels[rows])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), job["clip"])
    optimizer.step()
    losses.append(loss.item())
parameters = {"layers." + n: p.tolist() for n, p in model.state_dict().items()}
print(json.dumps({"losses": losses, "parameters": parameters}))
"""

# fmt: off
OPTIMIZERS = {
    "adamw": ("adamw", "AdamW",
              {"lr": 1e-2, "betas": [0.8, 0.95], "eps": 1e-7, "weight_decay": 0.1},
              ["--lr", "1e-2", "--betas", "0.8,0.95", "--eps", "1e-7", "--weight-decay", "0.1"]),
    "adam with weight decay": ("adam", "Adam", {"lr": 1e-2, "weight_decay": 0.1},
                               ["--lr", "1e-2", "--weight-decay", "0.1"]),
    "amsgrad": ("amsgrad", "AdamW", {"lr": 1e-2, "betas": [0.8, 0.6], "amsgrad": True},
                ["--lr", "1e-2", "--betas", "0.8,0.6"]),
    "adagrad": ("adagrad", "Adagrad", {"lr": 5e-2, "weight_decay": 0.1},
                ["--lr", "5e-2", "--weight-decay", "0.1"]),
    "lion": ("lion", "Lion", {"lr": 1e-3, "weight_decay": 0.1},
             ["--lr", "1e-3", "--weight-decay", "0.1"]),
    "sgd": ("sgd", "SGD", {"lr": 0.1}, ["--lr", "0.1"]),
    "sgd with momentum and weight decay": (
        "sgd", "SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01},
        ["--lr", "0.1", "--momentum", "0.9", "--weight-decay", "0.01"]),
    "sgd with nesterov": ("sgd", "SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True},
                          ["--lr", "0.1", "--momentum", "0.9", "--nesterov"]),
}
# fmt: on


@unittest.skipUnless(
    os.environ.get("SHARDC_TEST_TORCH"), "compares live with PyTorch: ./dev test --torch"
)
class Torch(unittest.TestCase):
    def check(self, kind, torch_class, arguments, flags):
        model = Model(os.path.join(MODELS, "mlp-tiny-loss"))
        data = model.data()
        given = [w for n, p in data.items() for w in ("--data", f"{n}={p}")]
        with tempfile.TemporaryDirectory() as folder:
            path = lambda name: os.path.join(folder, name)
            model.compile(path("m.trainer"), 2, "float64", "--optimizer", kind)
            command(
                path("m.trainer"),
                *given,
                "--steps",
                1,
                "--lr",
                0,
                "--export-safetensors",
                path("initial.safetensors"),
            )
            command(
                path("m.trainer"),
                *given,
                "--steps",
                40,
                "--clip",
                0.5,
                *flags,
                "--metrics",
                path("m.jsonl"),
                "--export-safetensors",
                path("final.safetensors"),
            )
            initial = read_safetensors(path("initial.safetensors"))
            final = read_safetensors(path("final.safetensors"))
            losses = [s["loss"] for s in read_metrics(path("m.jsonl"))[0]]
        job = {
            "class": torch_class,
            "arguments": arguments,
            "steps": 40,
            "batch": model.batch,
            "clip": 0.5,
            "x": data["x"],
            "labels": data["labels"],
            "parameters": {n: v.tolist() for n, v in initial.items()},
        }
        run = subprocess.run(
            [os.environ.get("PYTHON", sys.executable), "-c", TORCH_RUN],
            input=json.dumps(job),
            capture_output=True,
            text=True,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        expected = json.loads(run.stdout)
        np.testing.assert_allclose(losses, expected["losses"], rtol=1e-9)
        for name, value in expected["parameters"].items():
            np.testing.assert_allclose(final[name], value, rtol=1e-6, atol=1e-9, err_msg=name)


for _name, _case in OPTIMIZERS.items():
    setattr(Torch, "test_" + _name.replace(" ", "_"), lambda self, case=_case: self.check(*case))

if __name__ == "__main__":
    unittest.main()
