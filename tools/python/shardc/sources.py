"""What is exported: a folder of Hugging Face, or a function of a file that makes a module."""
import dataclasses
import importlib.util
import inspect
import os
import re
import sys

from shardc import tasks, weights
from shardc.programs import Error


# What a first run is compiled for: samples of a rank, tokens of each, and choices.
SAMPLES, LENGTH, CHOICES = 4, 128, 4


@dataclasses.dataclass
class Source:
    """A module, and what its forward takes and gives."""

    module: object
    inputs: dict  # {name: tensor}, keywords of forward
    dims: dict  # {name: {axis: name of the dim}}
    outputs: tuple = ("output",)
    loss: str = None  # shardc's flag; None: forward gives a loss, or the user says
    labels: tuple = ()  # names of what the loss reads beside the graph
    sizes: dict = dataclasses.field(default_factory=dict)  # of dims, to compile it with
    notes: tuple = ()  # warnings
    asides: tuple = ()  # what is good to know
    # (what forward gives, inputs that are not forward's) -> loss; None: forward gives its own.
    loss_of: object = None
    # The same in another way, where a first one cannot be exported; None: there is none.
    otherwise: object = None


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What is asked of a folder's model; of a function's module only whether it trains."""

    task: str = None  # None: that of the class in its config.json
    mask: bool = None  # whether attention_mask is an input; None: as of the task
    token_types: bool = None  # whether token_type_ids is one; None: no
    trains: bool = True  # whether it is in train mode; a function's is as it is, or not
    classes: int = None  # how many it tells apart; None: as many as its config says


def open_source(text, wanted):
    file, colon, function = text.rpartition(":")
    if colon and file.endswith(".py"):
        for flag, given in (
            ("--task", wanted.task),
            ("--num-labels", wanted.classes),
            ("--token-types", wanted.token_types),
        ):
            if given:
                raise Error(
                    f"{flag} is for folders of Hugging Face: a function says what its module is"
                )
        return from_function(file, function, wanted.trains)
    if os.path.isdir(text):
        return from_folder(text, wanted)
    raise Error(
        f"'{text}' is neither a folder with a config.json nor FILE.py:FUNCTION; models of a hub are"
        " downloaded first (hf download NAME --local-dir FOLDER)"
    )


def from_folder(folder, wanted):
    if not os.path.exists(os.path.join(folder, "config.json")):
        raise Error(f"{folder} has no config.json: it is no folder of Hugging Face")
    try:
        import transformers
    except ImportError as error:
        raise Error(f"a folder of Hugging Face needs transformers: {error}")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    except (ValueError, OSError, KeyError) as error:
        raise Error(f"{folder}: {_first_line(error)}")
    wanted = dataclasses.replace(wanted, task=wanted.task or tasks.of_config(config, folder))
    if wanted.classes:
        if not wanted.task.endswith("classification"):
            raise Error(f"--num-labels is for tasks with classes, and {wanted.task} has none")
        config.num_labels = wanted.classes
    return _of_config(folder, config, wanted, {})


# What torch's exporters make nothing of in a model, and transformers has another way for: views of
# transposed scores (T5), and experts whose tokens are sorted.
EAGER = {"attn_implementation": "eager"}
EXPERTS = {"experts_implementation": "batched_mm"}


def _of_config(folder, config, wanted, how):
    import transformers

    auto = getattr(transformers, tasks.TASKS[wanted.task].auto)
    if any(hasattr(config, each) for each in ("num_experts", "num_local_experts")):
        how = {**EXPERTS, **how}
    stored = any(
        name.endswith((".safetensors", ".safetensors.index.json", ".bin", ".bin.index.json"))
        for name in os.listdir(folder)
    )
    notes = ()
    try:
        if stored:
            module, info = auto.from_pretrained(
                folder,
                config=config,
                local_files_only=True,
                dtype="float32",
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # which are judged with what is missing
                **how,
            )
            saved = lambda: weights.names_of_saved(config)
            notes = weights.check(folder, module, info, saved, wanted.classes)
        else:
            module = auto.from_config(config, **how).float()
            notes = (f"{folder} has no weights: values are those that transformers draws",)
    except (ValueError, OSError, KeyError, ImportError) as error:
        raise Error(f"{folder}: {_first_line(error)}")
    module.config.use_cache = False
    module.train(wanted.trains)
    of = tasks.of_problem(tasks.TASKS[wanted.task], module.config)
    inputs, dims = tasks.example(of, module.config, wanted.mask)
    asides = _add_token_types(folder, module, inputs, dims, wanted)
    most = getattr(module.config, "max_position_embeddings", None) or LENGTH
    lengths = {name: min(LENGTH, most) for name in (tasks.SEQUENCE, tasks.TARGET)}
    sizes = {tasks.BATCH: SAMPLES, tasks.CHOICES: CHOICES, **lengths}
    used = {dim for axes in dims.values() for dim in axes.values()}
    suggested = {n: s for n, s in sizes.items() if n in used}
    source = Source(module, inputs, dims, of.outputs, of.loss, of.labels, suggested, notes)
    source.loss_of, source.asides = of.loss_of, asides
    if "attn_implementation" not in how:
        how = {**how, **EAGER}
        source.otherwise = lambda: _of_config(folder, config, wanted, how)
    return source


def _add_token_types(folder, module, inputs, dims, wanted):
    """token_type_ids as an input, if that is wanted; returns asides."""
    import torch

    types = getattr(module.config, "type_vocab_size", 0) or 0
    if "token_type_ids" not in inspect.signature(module.forward).parameters or types < 2:
        if wanted.token_types:
            raise Error(f"{folder}: --token-types: the model tells no types of tokens apart")
        return ()
    if not wanted.token_types:
        pairs = wanted.task in ("classification", "question-answering", "multiple-choice")
        told = pairs and wanted.token_types is None
        return ("token_type_ids are zeros; --token-types makes them an input",) if told else ()
    draw = torch.Generator().manual_seed(2)
    shape = inputs["input_ids"].shape
    inputs["token_type_ids"] = torch.randint(types, shape, generator=draw)
    dims["token_type_ids"] = dims["input_ids"]
    return ()


def from_function(file, name, trains):
    """The function gives (module, inputs) or (module, inputs, options): inputs are a tensor, a
    tuple of them in the order of forward's arguments, or a dict by their names; options a dict of
    `dims` ({input: {axis: name}}), `outputs` (names), `loss` and `labels` (names), as Source."""
    if not os.path.exists(file):
        raise Error(f"there is no file {file}")
    spec = importlib.util.spec_from_file_location(os.path.basename(file)[:-3], file)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    spec.loader.exec_module(loaded)
    function = getattr(loaded, name, None)
    if not callable(function):
        raise Error(f"{file} has no function '{name}'")
    made = function()
    if not isinstance(made, tuple) or len(made) not in (2, 3):
        raise Error(f"{file}:{name} gives {type(made).__name__}, expected (module, inputs)")
    module, inputs, *rest = made
    options = rest[0] if rest else {}
    unknown = sorted(set(options) - set(OPTIONS))
    if unknown:
        raise Error(f"{file}:{name} gives the option '{unknown[0]}', expected {', '.join(OPTIONS)}")
    if not trains:
        module.eval()
    return from_module(module, inputs, **options)


OPTIONS = ("dims", "outputs", "loss", "labels")


def from_module(module, inputs, dims=None, outputs=None, loss=None, labels=None):
    import torch

    if not isinstance(module, torch.nn.Module):
        raise Error(f"expected a torch.nn.Module, got {type(module).__name__}")
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if not isinstance(inputs, dict):
        names = [
            name
            for name, parameter in inspect.signature(module.forward).parameters.items()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        if len(names) < len(inputs):
            raise Error(f"forward takes {len(names)} arguments, and there are {len(inputs)} inputs")
        inputs = dict(zip(names, inputs))
    dims = dims or _dims(inputs)
    notes = ()
    if not module.training:
        notes = ("the module is in eval mode: it trains without dropout, by running statistics",)
    if labels is None:
        labels = re.findall(r"\b(?:labels|target)=([^,]+)", loss or "")
    return Source(
        module, inputs, dims, outputs and tuple(outputs), loss, tuple(labels), notes=notes
    )


def _dims(inputs):
    """The first dim of all inputs that have the same is the batch; the second of integers a
    sequence."""
    sizes = {each.shape[0] for each in inputs.values() if each.dim()}
    if len(sizes) != 1:
        raise Error(f"inputs have first dims of {sorted(sizes)}: say `dims`, which are which")
    lengths, dims = {}, {}
    for name, tensor in inputs.items():
        if not tensor.dim():
            continue
        dims[name] = {0: tasks.BATCH}
        if tensor.dim() == 2 and not tensor.is_floating_point():
            number = lengths.setdefault(tensor.shape[1], len(lengths))
            dims[name][1] = tasks.SEQUENCE + (str(number + 1) if number else "")
    return dims


def _first_line(error):
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
