"""Exports a module to ONNX so that it can be trained: as it is, with all of its parameters."""
import contextlib
import dataclasses
import inspect
import io
import itertools
import logging
import os
import re
import shlex
import sys
import tempfile
import warnings

from shardc import checks
from shardc.programs import Error


@dataclasses.dataclass
class Exported:
    path: str
    source: object
    found: checks.Found

    def compile_flags(self, mesh, sizes):
        """shardc's flags for this model; `sizes`: of dims by name, those of the example else."""
        flags = [] if mesh is None else ["--mesh", str(mesh)]
        for name, size in {**self._sizes(), **sizes}.items():
            flags += ["--dim", f"{name}={size}"]
        if self.source.loss:
            flags += ["--loss", self.source.loss]
        return flags + _choice(self.found.frozen, self.found.trained)

    def _sizes(self):
        sizes = dict(self.source.sizes)
        for name, axes in self.source.dims.items():
            for axis, dim in axes.items():
                sizes.setdefault(dim, self.source.inputs[name].shape[axis])
        return sizes

    def commands(self, mesh, sizes):
        """What compiles the file, and what trains it."""
        trainer = os.path.splitext(self.path)[0] + ".trainer"
        compiler = ["shardc", self.path, *self.compile_flags(mesh, sizes), "-o", trainer]
        run = [trainer if os.path.dirname(trainer) else "./" + trainer]
        for name in [*self.source.inputs, *self.source.labels]:
            if name not in self.found.unread:
                run += ["--data", f"{name}={name}.npy"]
        run += ["--steps", "1000", "--lr", "1e-4", "--export-safetensors", "trained.safetensors"]
        return shlex.join(compiler), shlex.join(run)


def _choice(frozen, trained):
    """Flags that say which are trained: by what is frozen, or by what is not, whichever is less."""
    freeze, train = _patterns(frozen, trained), _patterns(trained, frozen)
    by_less = ("--trainable", train) if 0 < len(train) < len(freeze) else ("--freeze", freeze)
    return [word for pattern in by_less[1] for word in (by_less[0], pattern)]


def _patterns(chosen, others):
    """Regular expressions that are found in the names of `chosen`, and of no other: those of whole
    modules where these are, and of all layers where these are alike."""
    patterns, left = [], list(chosen)
    while left:
        parts = left[0].split(".")
        for count in range(1, len(parts) + 1):
            head = ".".join(parts[:count])
            pattern = (
                "^" + re.escape(head).replace(r"\-", "-") + ("$" if count == len(parts) else r"\.")
            )
            if not any(re.search(pattern, name) for name in others):
                break
        of_all = re.sub(r"(?<=\\\.)\d+(?=\\\.|\$)", "[0-9]+", pattern)
        rest, rest_of_all = (
            [name for name in left if not re.search(each, name)] for each in (pattern, of_all)
        )
        if len(rest_of_all) < len(rest) and not any(re.search(of_all, name) for name in others):
            pattern, rest = of_all, rest_of_all
        patterns.append(pattern)
        left = rest
    return patterns


@contextlib.contextmanager
def _quiet():
    """Exporters say much, none of which a user can do something about; some of it from C++."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    sys.stdout.flush(), sys.stderr.flush()
    kept = {descriptor: os.dup(descriptor) for descriptor in (1, 2)}
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in kept:
        os.dup2(nothing, descriptor)
    os.close(nothing)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            with contextlib.redirect_stderr(io.StringIO()):
                yield
    finally:
        logging.disable(before)
        for descriptor, copy in kept.items():
            os.dup2(copy, descriptor)
            os.close(copy)


@contextlib.contextmanager
def _as_forward(source, outputs):
    """The module with a forward that takes these inputs alone and gives tensors: its class for a
    while, so that no parameter gets another name."""
    module = source.module
    base, names = type(module), list(source.inputs)
    takes = inspect.signature(source.loss_of).parameters if source.loss_of else {}

    def forward(self, *positional, **given):
        given.update(zip(names, positional))  # as the older exporter calls it
        labels = {name: given.pop(name) for name in names if name in takes}
        result = base.forward(self, **given)
        if source.loss_of:
            result["loss"] = source.loss_of(result, **labels)
        if isinstance(result, tuple) and not outputs:
            return result
        if outputs and not _is_tensor(result) and not isinstance(result, (tuple, list)):
            missing = [name for name in outputs if result.get(name) is None]
            if missing:
                raise Error(f"forward gives no '{missing[0]}', it gives {', '.join(result)}")
            result = tuple(result[name] for name in outputs)
        return result[0] if isinstance(result, (tuple, list)) and len(result) == 1 else result

    parameter = inspect.Parameter
    forward.__signature__ = inspect.Signature(
        [parameter("self", parameter.POSITIONAL_OR_KEYWORD)]
        + [parameter(name, parameter.POSITIONAL_OR_KEYWORD) for name in names]
    )
    module.__class__ = type(base.__name__, (base,), {"forward": forward})
    module.__class__.__module__, module.__class__.__qualname__ = base.__module__, base.__qualname__
    try:
        yield
    finally:
        module.__class__ = base


def _said(error):
    """The cause of an exporter's error, in one line: what is around it says what to read next."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in re.sub(r"\x1b\[\d*m", "", str(error)).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300] if lines else 'it does not say why'}"


def _is_tensor(value):
    import torch

    return isinstance(value, torch.Tensor)


def _used(program, source):
    """Names of parameters that an output depends on: by torch.export's graph, else by what has a
    gradient."""
    exported = getattr(program, "exported_program", None)
    if exported is None:
        return _with_gradients(source)
    by_placeholder = exported.graph_signature.inputs_to_parameters
    return {
        by_placeholder[node.name]
        for node in exported.graph.nodes
        if node.op == "placeholder" and node.name in by_placeholder and node.users
    }


def _named(result):
    """{name: tensor} of what forward gives."""
    if _is_tensor(result):
        return {"output" if result.dim() else "loss": result}
    if not isinstance(result, dict):
        result = {f"output_{i}": value for i, value in enumerate(result)}
    return {name: value for name, value in result.items() if _is_tensor(value)}


def _with_gradients(source):
    import torch

    named = {n: p for n, p in source.module.named_parameters() if p.requires_grad}
    used = {n for n, p in source.module.named_parameters() if not p.requires_grad}
    with _no_change(source.module), torch.enable_grad():
        outputs = _named(source.module(**source.inputs)).values()
        sums = [each.sum() for each in outputs if each.requires_grad]
        if sums:
            gradients = torch.autograd.grad(sum(sums), list(named.values()), allow_unused=True)
            used |= {name for name, each in zip(named, gradients) if each is not None}
    return used


def _outputs(source):
    """The names of what forward gives; a tensor alone is called what the loss calls it."""
    if source.outputs:
        return list(source.outputs)
    with _no_change(source.module):
        result = source.module(**source.inputs)
    read = re.findall(r"\b(?:logits|output)[=:]([^,]+)", source.loss or "")
    return read if _is_tensor(result) and len(read) == 1 else list(_named(result))


@contextlib.contextmanager
def _no_change(module):
    """What a forward pass draws and counts is forgotten."""
    import torch

    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        yield
        for name, buffer in module.named_buffers():
            buffer.copy_(buffers[name])


def _dynamo(source, outputs, path, opset):
    import torch

    program = torch.onnx.export(
        source.module,
        (),
        kwargs=source.inputs,
        dynamo=True,
        optimize=False,
        input_names=list(source.inputs),
        output_names=outputs,
        dynamic_shapes={name: source.dims.get(name, {}) for name in source.inputs},
        opset_version=opset,
        verbose=False,
    )
    _name_once(program.model.graph)
    program.save(path, external_data=True)
    return program


def _name_once(graph):
    """Gives nodes' values other names that are also those of parameters or buffers: without its
    optimizer the exporter calls what an op makes after the op, and a buffer may be called `mean`.
    """
    taken = {*graph.initializers, *(value.name for value in graph.inputs)}
    for node in graph:
        for value in node.outputs:
            if value.name in taken and not value.is_graph_output():
                value.name = next(
                    name for i in itertools.count(1) if (name := f"{value.name}_{i}") not in taken
                )
            taken.add(value.name)


def _tracing(source, outputs, path, opset):
    import onnx
    import torch

    training = torch.onnx.TrainingMode
    torch.onnx.export(
        source.module,
        (),
        path,
        kwargs=source.inputs,
        dynamo=False,
        input_names=list(source.inputs),
        output_names=outputs,
        dynamic_axes={name: dict(axes) for name, axes in source.dims.items() if axes},
        training=training.TRAINING if source.module.training else training.PRESERVE,
        do_constant_folding=False,
        opset_version=opset,
    )
    model = onnx.load(path, load_external_data=False)
    if _tell_padding(source.module, model.graph):
        onnx.save(model, path)


def _keep_dropout(path):
    """Has every dropout of a module in train mode drop: both exporters leave that of
    scaled_dot_product_attention without its training_mode, and by ONNX it drops nothing then."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    true = onnx.helper.make_tensor("", onnx.TensorProto.BOOL, [], [True])
    changed = False
    for body in [model.graph, *model.functions]:
        name = "shardc.training_mode"
        without = [
            node
            for node in body.node
            if node.op_type == "Dropout" and node.domain == "" and len(node.input) == 2
        ]
        for node in without:
            node.input.append(name)
        if without:
            body.node.insert(0, onnx.helper.make_node("Constant", [], [name], value=true))
            changed = True
    if changed:
        onnx.save(model, path)


def _tell_padding(module, graph):
    """Says on each node that reads an embedding with a padding_idx what the dynamo exporter says
    there, since the older one leaves no trace of it; whether there is any."""
    import torch

    padded = {
        name: each.padding_idx
        for name, each in module.named_modules(remove_duplicate=False)
        if isinstance(each, torch.nn.Embedding) and each.padding_idx is not None
    }
    told = False
    for node in graph.node:
        scope = node.name.strip("/").rpartition("/")[0].replace("/", ".")
        if node.op_type == "Gather" and scope in padded:
            arguments = f"(%weight, %ids, {padded[scope]})"
            node.metadata_props.add(
                key="pkg.torch.onnx.fx_node",
                value="%rows : [num_users=1] = call_function[target="
                f"torch.ops.aten.embedding.default](args = {arguments}, kwargs = {{}})",
            )
            told = True
    return told


EXPORTERS = {"dynamo": _dynamo, "tracing": _tracing}


def export(source, path, exporter="dynamo", opset=None):
    """Writes the file, and its values beside it, when all of it is right; else the source's other
    way does. Raises an Error where there is none, and leaves what was there."""
    try:
        return _export(source, path, exporter, opset)
    except Error:
        if not source.otherwise:
            raise
    return export(source.otherwise(), path, exporter, opset)


def _export(source, path, exporter, opset):
    try:
        import onnx
        import onnxscript  # noqa: F401, torch's exporter asks for it
    except ImportError as error:
        raise Error(f"exporting needs onnx and onnxscript: {error}; pip install 'shardc[export]'")
    outputs = _outputs(source)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(path))) as folder:
        made = os.path.join(folder, os.path.basename(path))
        try:
            with _quiet(), _as_forward(source, outputs):
                program = EXPORTERS[exporter](source, outputs, made, opset)
        except Error:
            raise
        except Exception as error:  # the exporter's own, of any kind
            raise Error(f"torch.onnx.export ends with {_said(error)}")
        if source.module.training:
            _keep_dropout(made)
        graph = onnx.load(made, load_external_data=False).graph
        found = checks.check(source.module, graph, folder, _used(program, source))
        for name in sorted(os.listdir(folder), reverse=True):  # the values before the file
            os.replace(
                os.path.join(folder, name),
                os.path.join(os.path.dirname(os.path.abspath(path)), name),
            )
    return Exported(path, source, found)
