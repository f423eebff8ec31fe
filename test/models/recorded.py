"""What the scripts beside it keep of PyTorch's training runs."""
import json
import os
import sys

import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "training"))
from reference import write_safetensors  # noqa: E402


def write_run(folder, note, recipe, of_float32, of_float64, **more):
    """A run is (losses, gradient norms, first gradients, parameters at the end, ...); the gradients
    are float64's, the parameters float32's. `more`: what a model has besides."""
    write_safetensors(os.path.join(folder, "grads_step0.safetensors"), of_float64[2])
    write_safetensors(os.path.join(folder, "final.safetensors"), of_float32[3])
    reference = {
        "model": os.path.basename(folder),
        "note": f"{os.path.basename(sys.argv[0])} made it{note}",
        "recipe": recipe,
        "dtype": "float32",
        "lost_parameters": [],
        "graph": {"exporter": "dynamo", "torch": torch.__version__},
        "loss": of_float32[0],
        "loss_f64": of_float64[0],
        "grad_norm": of_float32[1],
        "grad_norm_f64": of_float64[1],
        **more,
        "grads_step0": "grads_step0.safetensors",
        "final_params": "final.safetensors",
    }
    with open(os.path.join(folder, "reference.json"), "w") as file:
        json.dump(reference, file, indent=1)
        file.write("\n")
