"""Whether a folder's weights are those of its model, and what transformers draws beside them."""
import copy

from shardc.checks import shown
from shardc.programs import Error

NAMED = 3  # of tensors, in a line
# Of all tensors so many may lack in a file that has no others: checkpoints of transformers' own
# lack a pooler, or what marks masked positions, and are what its users have.
FEW = 0.05


def names_of_saved(config):
    """Names of the tensors of the class that config.json says was saved, or of the body where it
    says none: as the body calls its own."""
    import torch
    import transformers

    make = transformers.AutoModel.from_config
    for name in config.architectures or []:
        named = getattr(transformers, name, None)
        if getattr(named, "config_class", None) is type(config):
            make = named
            break
    with torch.device("meta"):
        module = make(copy.deepcopy(config))
    return {_of_body(name, module) for name in module.state_dict()}


def _of_body(name, module):
    """A body that is saved alone has its names without what they begin with in a task's model."""
    return name.removeprefix(module.base_model_prefix + ".")


def check(folder, module, info, saved, classes=None):
    """Notes of what is drawn anew for the task, and of what the task does not need. Raises an Error
    where the weights lack what the saved class has. `info`: what from_pretrained says of its
    loading; `saved`: gives names_of_saved; `classes`: how many --num-labels asks for."""
    known = saved() if info["missing_keys"] else set()
    drawn = [name for name in module.state_dict() if name in info["missing_keys"]]
    others = sorted(info["unexpected_keys"])
    lost = {name: _of_body(name, module) for name in drawn if _of_body(name, module) in known}
    if lost and (others or len(lost) > FEW * len(module.state_dict())):
        raise Error(f"{folder}: its weights {_what_is_lost(lost, others, module)}")
    for name, stored, wanted in sorted(info["mismatched_keys"]):
        if not _is_resized(stored, wanted, classes):
            raise Error(
                f"{folder}: '{name}' is {list(stored)} in its weights, and {list(wanted)} by its"
                " config.json"
            )
        drawn.append(name)
    notes = []
    if drawn:
        notes.append(
            f"{folder} has no values for {shown(drawn, NAMED)}: transformers draws them anew"
        )
    if others:
        notes.append(f"the task leaves out {folder}'s {shown(others, NAMED)}")
    return tuple(notes)


def _is_resized(stored, wanted, classes):
    """Whether a tensor has another number of classes, and is otherwise the same."""
    return len(stored) == len(wanted) and all(
        a == b or b == classes for a, b in zip(stored, wanted)
    )


def _what_is_lost(lost, others, module):
    """`lost`: {name: what the body calls it}; `others`: names that the model has not."""
    said = f"lack {len(lost)} of the model's {len(module.state_dict())} tensors"
    said += f" ({shown(list(lost), NAMED)})"
    if not others:
        return (
            f"{said}: config.json has to be theirs; where it is, from_pretrained and"
            " save_pretrained draw what lacks"
        )
    said += f", and have {len(others)} that it has not ({shown(others, NAMED)})"
    prefix = _common_prefix(list(lost), others) or _common_prefix(list(lost.values()), others)
    if prefix:
        return f"{said}: take '{prefix}' off their names, and save them again"
    return f"{said}: save them by the model's names, as its save_pretrained does"


def _common_prefix(names, others):
    """What stands before all of `names` in `others`; None: there is no such."""
    for other in others:
        prefix = other.removesuffix(names[0])
        if prefix != other and set(others).issuperset(prefix + name for name in names):
            return prefix
    return None
