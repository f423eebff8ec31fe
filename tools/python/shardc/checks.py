"""Whether a file has the module: every parameter once, under its own name, with its values."""
import dataclasses

from shardc.programs import Error

SHOWN = 8


@dataclasses.dataclass
class Found:
    trained: list
    frozen: list  # require no gradient
    unused: list  # no output depends on them
    unread: list  # inputs of the graph, which no node reads


def _names_of(module):
    """[(all names, parameter)], each parameter once; tied ones have several names."""
    names, parameters = {}, {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
        parameters[id(parameter)] = parameter
    return [(names[key], parameters[key]) for key in names]


def shown(names, most=SHOWN):
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _values(initializer, folder):
    from onnx import numpy_helper

    return numpy_helper.to_array(initializer, folder)


def _read(graph):
    """Names that nodes read, those of branches and loops among them."""
    names = set()
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            for inner in [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]:
                names |= _read(inner)
                names.update(output.name for output in inner.output)
    return names


def check(module, graph, folder, has_gradient):
    """`graph`: the file's, whose external data lie in `folder`; `has_gradient`: names of
    parameters that an output depends on. Raises an Error that names what the export lost."""
    import numpy as np

    stored = {each.name: each for each in graph.initializer}
    read = _read(graph)
    lost, twice, changed, unused, trained, frozen = [], [], [], [], [], []
    for names, parameter in _names_of(module):
        here = [name for name in names if name in stored and name in read]
        if not here:
            (lost if has_gradient.intersection(names) else unused).append(names[0])
            continue
        if len(here) > 1:
            twice.append(" and ".join(here))
            continue
        wanted = parameter.detach().cpu().float().numpy()
        found = _values(stored[here[0]], folder)
        if found.shape != wanted.shape or not np.array_equal(
            found.astype(np.float32), wanted, equal_nan=True
        ):
            changed.append(f"{names[0]} ({list(found.shape)} of {list(wanted.shape)})")
            continue
        (trained if parameter.requires_grad else frozen).append(here[0])
    problems = []
    if lost:
        problems.append(f"is without {shown(lost)}")
    if twice:
        problems.append(f"has two copies of tied parameters: {shown(twice)}")
    if changed:
        problems.append(f"has other values of {shown(changed)}")
    if problems:
        raise Error(
            f"the exported graph {'; it '.join(problems)}. What it trains is not the module: the"
            " exporter folded, merged or renamed parameters (docs/exporting.md says when it does)"
        )
    unread = [each.name for each in graph.input if each.name not in {*read, *stored}]
    return Found(trained, frozen, unused, unread)
