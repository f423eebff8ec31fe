"""Exports an architecture by both of PyTorch's exporters, trains it, and says what differs from
PyTorch's own run in float64.

    python compare.py FOLDER ARCHITECTURE...

writes FOLDER/NAME.json for each. Needs torch, transformers, onnx, onnxscript and safetensors;
shardc is looked for as `shardc export` does.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TRAINING = os.path.dirname(HERE)
sys.path[:0] = [HERE, TRAINING, os.path.join(TRAINING, "..", "..", "tools", "python")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from safetensors.torch import load_file  # noqa: E402

import drawn_dropout  # noqa: E402
import zoo  # noqa: E402
from shardc import Error, programs, sources, tasks  # noqa: E402
from shardc.export import export  # noqa: E402
from torch_exports import everything_in_float64  # noqa: E402

LOSS, GRADIENT, RUNNING = 1e-7, 1e-6, 1e-6
MESHES = {"1": 1, "2": 2, "4": 4, "2x2": 4}
SETTINGS = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
FLAGS = ["--lr", "1e-3", "--betas", "0.9,0.999", "--eps", "1e-8", "--weight-decay", "0.01"]
EXPORTERS = ("dynamo", "tracing")
DRAWN = ("Dropout", "RandomUniformLike", "Bernoulli")


def moved(source):
    """With values as trained models have: few are equal, and biases are no zeros."""
    module = source.module
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.05)
    return source


def source_of(name, exporter, as_is=False):
    case = zoo.ARCHITECTURES[name]
    made = zoo.module_of(name, as_is)
    if case.config is None:
        loss = "cross-entropy:logits=logits,labels=labels"
        ids = torch.randint(zoo.VOCABULARY, (3, 18))
        if case.kind == "map":
            inputs, loss = {"x": torch.randn(3, 3, 8, 8)}, "mse:output=logits,target=labels"
        elif case.kind == "image":
            inputs = {"x": torch.randn(3, 3, 32, 32)}
        elif case.kind == "two":
            inputs = {"ids": ids, "decoder_input_ids": ids[:, :14]}
        else:
            inputs = {"ids": ids}
        source = sources.from_module(made, inputs, outputs=["logits"], loss=loss)
    elif case.kind:
        source = special(case, made)
    else:
        folder = tempfile.TemporaryDirectory()
        made.save_pretrained(folder.name)
        # Tracing makes masks of a causal model of an input alone.
        causal = tasks.of_config(made, folder.name) == "causal-lm"
        mask = True if causal and exporter == "tracing" else None
        torch.manual_seed(1)
        source = sources.open_source(folder.name, sources.Wanted(mask=mask))
        other = source.otherwise

        def otherwise():
            with folder:  # of which it is made again
                return moved(other())

        source.otherwise = otherwise
    return moved(source)


def special(case, config):
    """Inputs that tiny models have smaller than tasks do."""
    import transformers

    config.use_cache = False
    if case.kind == "own loss":
        config._experts_implementation = sources.EXPERTS["experts_implementation"]
    module = getattr(transformers, case.architecture)(config).train()
    ids = torch.randint(3, zoo.VOCABULARY, (3, 18))
    loss = "cross-entropy:logits=logits,labels=labels"
    if case.kind == "sound":
        inputs, dims = {"input_values": torch.randn(3, 256)}, {0: "batch"}
        dims = {"input_values": dims}
    elif case.kind == "pair":
        module.__class__ = paired(type(module))
        inputs = {"input_ids": ids, "pixel_values": torch.randn(3, 3, 32, 32)}
        dims = {"input_ids": {0: "batch", 1: "sequence"}, "pixel_values": {0: "batch"}}
        return sources.from_module(module, inputs, dims=dims, outputs=["loss"])
    elif case.kind == "own loss":
        module.__class__ = with_its_loss(type(module))
        inputs = {"input_ids": ids, "labels": ids.clone()}
        dims = {name: {0: "batch", 1: "sequence"} for name in inputs}
        return sources.from_module(module, inputs, dims=dims, outputs=["loss"])
    elif case.kind == "features":
        inputs = {
            "input_features": torch.randn(3, config.num_mel_bins, 2 * config.max_source_positions),
            "decoder_input_ids": ids[:, :14],
        }
        dims = {"input_features": {0: "batch"}, "decoder_input_ids": {0: "batch", 1: "target"}}
    else:  # the sequence is part of the graph
        inputs, dims = {"input_ids": ids[:, : zoo.LENGTH]}, {"input_ids": {0: "batch"}}
        loss += ",shift=1"
    return sources.from_module(module, inputs, dims=dims, outputs=["logits"], loss=loss)


def paired(base):
    """A class of models that compare all of a batch with all of it."""

    class Paired(base):
        def forward(self, input_ids, pixel_values):
            return (super().forward(input_ids, pixel_values, return_loss=True).loss,)

    Paired.__name__ = base.__name__
    return Paired


def with_its_loss(base):
    """A class of models that compute their loss, with what they add to it."""

    class WithLoss(base):
        def forward(self, input_ids, labels):
            return (super().forward(input_ids=input_ids, labels=labels).loss,)

    WithLoss.__name__ = base.__name__
    return WithLoss


def loss_of(source, logits, labels):
    if source.loss.startswith("mse"):
        return F.mse_loss(logits, labels)
    if "shift=1" in source.loss:
        logits, labels = logits[:, :-1], labels[:, 1:]
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))


def torch_run(source, data, begin=lambda step: None):
    """(losses, {name: the first gradient}, {name: a running statistic at the end}) in float64;
    `begin` is called before each step."""
    module = source.module
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    module.double()
    inputs = {name: torch.from_numpy(data[name]) for name in source.inputs}
    inputs = {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}
    labels = torch.from_numpy(data["labels"]) if source.loss else None
    if source.loss and labels.is_floating_point():
        labels = labels.double()
    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], **SETTINGS)
    losses, gradients = [], {}
    with everything_in_float64():
        for step in range(zoo.STEPS):
            begin(step)
            result = module(**inputs)
            if source.loss:
                logits = result if isinstance(result, torch.Tensor) else result.logits
                loss = loss_of(source, logits, labels)
            else:
                loss = result[0]
            optimizer.zero_grad()
            loss.backward()
            if step == 0:
                gradients = {
                    n: p.grad.clone() for n, p in module.named_parameters() if p.grad is not None
                }
            optimizer.step()
            losses.append(loss.item())
    running = {n: b.clone() for n, b in module.named_buffers() if ".running_" in f".{n}"}
    module.float()
    module.load_state_dict(kept)
    return losses, gradients, running


def run(words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        told = next((line for line in lines if "error:" in line), (lines or ["nothing"])[-1])
        raise Error(re.sub(r"^.*?error: ", "", told)[:300])
    return done


def dims_of(source, batch):
    used = {dim for axes in source.dims.values() for dim in axes.values()}
    sizes = {tasks.BATCH: batch, tasks.SEQUENCE: zoo.LENGTH, tasks.TARGET: zoo.TARGET}
    sizes.update({tasks.SEQUENCE + "2": zoo.TARGET, tasks.CHOICES: zoo.CHOICES})
    return {name: sizes[name] for name in used}


def train(made, folder, mesh, ranks, data):
    """(losses, gradients by name, what is trained and running statistics by name) of a trainer."""
    path = lambda name: os.path.join(folder, name)
    flags = made.compile_flags(mesh, dims_of(made.source, zoo.BATCH // ranks))
    trainer = path("m.trainer")
    run([programs.find("shardc"), made.path, *flags, "--precision", "float64", "-q", "-o", trainer])
    words = [trainer, *FLAGS, "--steps", str(zoo.STEPS), "--metrics", path("m.jsonl")]
    words += ["--export-gradients", path("g.safetensors")]
    words += ["--export-safetensors", path("w.safetensors")]
    for input, values in data.items():
        if input in made.found.unread:
            continue
        np.save(path(f"{input}.npy"), values)
        words += ["--data", f"{input}={path(input)}.npy"]
    run(words)
    with open(path("m.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    losses = [line["loss"] for line in lines if "event" not in line]
    return losses, load_file(path("g.safetensors")), load_file(path("w.safetensors"))


def difference(source, wanted, found):
    """The largest difference of a gradient, of its largest element; names may be a tie's others."""
    aliases = {}
    for name, parameter in source.module.named_parameters(remove_duplicate=False):
        aliases.setdefault(id(parameter), []).append(name)
    first = {alias: names[0] for names in aliases.values() for alias in names}
    found = {first.get(name, name): value for name, value in found.items()}
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise Error(f"does not train {missing[0]}")
    # One that is 0 but for rounding has no largest element of its own.
    least = LOSS * max(float(g.abs().max()) for g in wanted.values())
    return max(
        float((found[n] - g).abs().max() / g.abs().max().clamp(min=least))
        for n, g in wanted.items()
    )


def difference_of_running(wanted, found):
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise Error(f"does not have {missing[0]}")
    # A variance that is 0 but for rounding has no size of its own.
    least = LOSS * max((float(value.abs().max()) for value in wanted.values()), default=0)
    return max(
        (
            float((found[n].double() - w).abs().max() / w.abs().max().clamp(min=least))
            for n, w in wanted.items()
        ),
        default=0.0,
    )


def compare(name, exporter, folder):
    try:
        made = export(source_of(name, exporter), os.path.join(folder, "model.onnx"), exporter)
    except Error as error:
        return {"outcome": "no export", "why": str(error)}
    source = made.source
    data = zoo.data_of(name, source, zoo.BATCH)
    wanted = torch_run(source, data)
    size = {"parameters": sum(p.numel() for p in source.module.parameters())}
    return {**size, **on_meshes(made, name, data, wanted, folder)}


def on_meshes(made, name, data, wanted, folder):
    """The outcome of an exported model beside torch_run's, and the largest differences."""
    source, alone = made.source, zoo.ARCHITECTURES[name].alone
    wanted_losses, wanted_gradients, wanted_running = wanted
    result = {"outcome": "ok", "loss": 0.0, "gradient": 0.0}
    if wanted_running:
        result["running"] = 0.0
    result["meshes"] = []
    try:
        for mesh, ranks in MESHES.items():
            if ranks > 1 and alone:
                continue
            losses, found, trained = train(made, folder, mesh, ranks, data)
            off = max(abs(a - b) / abs(b) for a, b in zip(losses, wanted_losses))
            result["loss"] = max(result["loss"], off)
            off = difference(source, wanted_gradients, found)
            result["gradient"] = max(result["gradient"], off)
            if wanted_running:
                off = difference_of_running(wanted_running, trained)
                result["running"] = max(result["running"], off)
            result["meshes"].append(mesh)
    except Error as error:
        return {**result, "outcome": "refused", "why": str(error)}
    bounds = {"loss": LOSS, "gradient": GRADIENT, "running": RUNNING}
    if any(not result.get(what, 0) <= bound for what, bound in bounds.items()):
        result["outcome"] = "other numbers"
    return result


def dropped_by_attention(made, folder):
    """The names of dropouts that became part of an attention, which draws in a way of its own."""
    flags = made.compile_flags("1", dims_of(made.source, zoo.BATCH))
    words = [programs.find("shardc"), made.path, *flags, "--precision", "float64"]
    words += ["--remarks", "nn-raise", "-q", "-o", os.path.join(folder, "raised.trainer")]
    return set(re.findall(r"probabilities dropped at .*? by .*?node '(.*?)'", run(words).stderr))


def as_is(name, folder):
    """With its own dropout, whose masks PyTorch takes from the same numbers."""
    try:
        made = export(source_of(name, "dynamo", as_is=True), os.path.join(folder, "as-is.onnx"))
    except Error as error:
        return {"outcome": "no export", "why": str(error)}
    source = made.source
    drawn = [node.name for node in onnx.load(made.path).graph.node if node.op_type in DRAWN]
    data = zoo.data_of(name, source, zoo.BATCH)
    own = dropped_by_attention(made, folder)
    raised = {site for site, node in enumerate(drawn) if node in own}
    sites = drawn_dropout.Sites(zoo.BATCH, (zoo.LENGTH, zoo.TARGET), raised)
    with drawn_dropout.drawn_by(sites, source.module):
        wanted = torch_run(source, data, sites.begin)
    if len(drawn) != sites.next:
        why = f"PyTorch draws {sites.next} masks of {len(drawn)}"
        return {"outcome": "refused", "why": why}
    return {"sites": len(drawn), **on_meshes(made, name, data, wanted, folder)}


def main(folder, names):
    torch.set_num_threads(1)
    for name in names:
        results = {}
        for exporter in EXPORTERS:
            with tempfile.TemporaryDirectory() as scratch:
                results[exporter] = compare(name, exporter, scratch)
        with tempfile.TemporaryDirectory() as scratch:
            case = zoo.ARCHITECTURES[name]
            if case.dry or case.config is None:
                results["as is"] = as_is(name, scratch)
        with open(os.path.join(folder, name.replace("/", "-") + ".json"), "w") as file:
            json.dump(results, file, indent=1)
        print(name, {k: v.get("why", v["outcome"])[:160] for k, v in results.items()}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] or list(zoo.ARCHITECTURES))
