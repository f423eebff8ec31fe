"""Forms of losses inside the graph, each with numpy's numbers in float64.

`local` computes a loss and its gradient of the scores for some samples, as one process would. A
form is `whole` where the result is that of one process with all samples of a step, or with those of
each of its "micro-batches", else the mean over ranks and micro-batches of their own.
"""
import numpy as np
from onnx import helper

IGNORED = -1  # the label that some forms leave out
# Probabilities of the classes, by label.
TABLE = np.random.default_rng(6).dirichlet(np.ones(5), 5).astype(np.float32)
WEIGHTS = np.array([0.5, 2, 1, 0.25, 1.5], np.float32)  # of the classes


def cross_entropy(scores, labels, ignored=None, weights=None, reduction="mean", smoothing=0):
    """Of scores [..., C] and labels [...]: the loss and its gradient."""
    z, y = scores.reshape(-1, scores.shape[-1]), labels.reshape(-1)
    valid = np.ones(y.shape, bool) if ignored is None else y != ignored
    target = np.where(valid, y, 0)
    weight = valid * (1 if weights is None else weights.astype(np.float64)[target])
    probability = np.exp(z - z.max(-1, keepdims=True))
    probability /= probability.sum(-1, keepdims=True)
    rows = np.arange(len(y))
    losses = -np.log(probability[rows, target]) * weight
    slope = probability.copy()
    slope[rows, target] -= 1
    slope *= weight[:, None]
    if smoothing:  # of each label so much goes to all classes alike
        classes = scores.shape[-1]
        each = np.ones(classes) if weights is None else weights.astype(np.float64)
        alike = -(np.log(probability) * each).mean(-1) * valid
        losses = (1 - smoothing) * losses + smoothing * alike
        uniform = (probability * each.sum() - each) / classes * valid[:, None]
        slope = (1 - smoothing) * slope + smoothing * uniform
    divisor = {"mean": weight.sum(), "sum": 1, "rows": len(y)}[reduction]
    return losses.sum() / divisor, (slope / divisor).reshape(scores.shape)


class Form:
    """nodes(z, y): ONNX nodes that end in `loss`."""

    def __init__(
        self,
        nodes,
        local,
        whole,
        sequence=(),
        constants=None,
        ignored=None,
        says=None,
        reduction=None,
        stored=False,
    ):
        self.nodes, self.local, self.whole, self.sequence = nodes, local, whole, sequence
        self.constants = constants or {}
        self.stored = stored  # as initializers, as exporters write buffers
        self.ignored = ignored
        self.says = says
        self.reduction = reduction


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs, [output], **attributes)


def entropy(reduction, output="loss", ignored=None, weights=False, labels="y", scores="z"):
    ignore = {} if ignored is None else {"ignore_index": ignored}
    return node(
        "SoftmaxCrossEntropyLoss",
        [scores, labels] + ["weights"] * weights,
        output,
        reduction=reduction,
        **ignore,
    )


def field(number, content):
    """Of a message: content with a length, below 2^14."""
    size = len(content)
    length = [size] if size < 128 else [size % 128 + 128, size // 128]
    return bytes([number * 8 + 2, *length]) + content


def smoothed(entropy, smoothing):
    """As torch's dynamo exporter writes it: the node's metadata (metadata_props, 9) alone tells."""
    call = (
        "%loss : [num_users=1] = call_function[target=torch.ops.aten.cross_entropy_loss.default]"
        f"(args = (%z, %y, None, 1, -100, {smoothing}), kwargs = {{}})"
    )
    told = field(1, b"pkg.torch.onnx.fx_node") + field(2, call.encode())
    entropy.MergeFromString(field(9, told))
    return [entropy]


def likelihood(reduction, ignored=None, weights=False):
    ignore = {} if ignored is None else {"ignore_index": ignored}
    inputs = ["log", "y"] + ["weights"] * weights
    return [
        node("LogSoftmax", ["z"], "log", axis=1),
        node("NegativeLogLikelihoodLoss", inputs, "loss", reduction=reduction, **ignore),
    ]


def own(reduction, **rest):
    return lambda z, y: cross_entropy(z, y, reduction=reduction, **rest)


def soft(reduction, weights=None, smoothing=0):
    """Of probabilities, those of TABLE's rows: torch divides by the rows, whatever the weights."""

    def both(z, y):
        classes = z.shape[-1]
        wanted = TABLE.astype(np.float64)[y] * (1 - smoothing) + smoothing / classes
        wanted = wanted * (1 if weights is None else weights.astype(np.float64))
        likely = z - np.log(np.exp(z).sum(-1, keepdims=True))
        divisor = len(z) if reduction == "mean" else 1
        slope = np.exp(likely) * wanted.sum(-1, keepdims=True) - wanted
        return -(wanted * likely).sum() / divisor, slope / divisor

    return both


def scaled(factor, local):
    def both(z, y):
        loss, slope = local(z, y)
        return factor * loss, factor * slope

    return both


def squares(mean, factor=1.0):
    def both(z, _):
        n = z.size if mean else 1
        return factor * (z**2).sum() / n, factor * 2 * z / n

    return both


def added(*parts):
    return lambda z, y: tuple(sum(each) for each in zip(*(part(z, y) for part in parts)))


def shifted(z, y):
    loss, inner = cross_entropy(z[:, :-1], y[:, 1:], ignored=IGNORED)
    slope = np.zeros_like(z)
    slope[:, :-1] = inner
    return loss, slope


half, four = np.array(0.5, np.float32), np.array(4, np.float32)
ENTROPY = "cross entropy, the {} over all valid labels of a step"
WEIGHTED = ENTROPY + ", weighted by class"
OUTPUT = "the graph's own, the {} over ranks and micro-batches"
# fmt: off
FORMS = {
    "mean": Form([entropy("mean")], own("mean"), True, says=ENTROPY, reduction="mean"),
    "mean-ignored": Form([entropy("mean", ignored=IGNORED)], own("mean", ignored=IGNORED), True,
                         ignored=3, says=ENTROPY, reduction="mean"),
    "sum": Form([entropy("sum")], own("sum"), True, says=ENTROPY, reduction="sum"),
    "sum-ignored": Form([entropy("sum", ignored=IGNORED)], own("sum", ignored=IGNORED), True,
                        ignored=3, says=ENTROPY, reduction="sum"),
    "likelihood-mean": Form(likelihood("mean", IGNORED), own("mean", ignored=IGNORED), True,
                            ignored=3, says=ENTROPY, reduction="mean"),
    "likelihood-sum": Form(likelihood("sum"), own("sum"), True, says=OUTPUT, reduction="sum"),
    "likelihood-weighted": Form(likelihood("mean", IGNORED, weights=True),
                                own("mean", ignored=IGNORED, weights=WEIGHTS), True,
                                constants={"weights": WEIGHTS}, ignored=3, says=WEIGHTED,
                                reduction="mean", stored=True),
    "weighted-sum": Form([entropy("sum", weights=True)], own("sum", weights=WEIGHTS), True,
                         constants={"weights": WEIGHTS}, says=WEIGHTED, reduction="sum"),
    "weighted-mean": Form([entropy("mean", weights=True)], own("mean", weights=WEIGHTS), True,
                          constants={"weights": WEIGHTS}, says=WEIGHTED, reduction="mean",
                          stored=True),
    "smoothed-mean": Form(smoothed(entropy("mean", ignored=IGNORED), 0.25),
                          own("mean", ignored=IGNORED, smoothing=0.25), True, ignored=3,
                          says=ENTROPY, reduction="mean"),
    "smoothed-sum": Form(smoothed(entropy("sum", ignored=IGNORED, weights=True), 0.125),
                         own("sum", ignored=IGNORED, weights=WEIGHTS, smoothing=0.125), True,
                         constants={"weights": WEIGHTS}, ignored=3, says=WEIGHTED, reduction="sum"),
    "soft-mean": Form([node("Gather", ["table", "y"], "p"), entropy("mean", labels="p")],
                      soft("mean"), False, constants={"table": TABLE}, says=OUTPUT,
                      reduction="mean"),
    "soft-weighted-sum": Form([node("Gather", ["table", "y"], "p"),
                               *smoothed(entropy("sum", labels="p", weights=True), 0.125)],
                              soft("sum", WEIGHTS, 0.125), True,
                              constants={"table": TABLE, "weights": WEIGHTS}, says=OUTPUT,
                              reduction="sum"),
    "none-then-mean": Form([entropy("none", "l"), node("ReduceMean", ["l"], "loss", keepdims=0)],
                           own("rows"), False, says=OUTPUT, reduction="mean"),
    "none-then-sum": Form([entropy("none", "l"), node("ReduceSum", ["l"], "loss", keepdims=0)],
                          own("sum"), False, says=OUTPUT, reduction="mean"),
    "half-of-a-sum": Form([entropy("sum", "s"), node("Mul", ["s", "half"], "loss")],
                          scaled(0.5, own("sum")), True, constants={"half": half}, says=ENTROPY,
                          reduction="sum"),
    "half-of-a-mean": Form([entropy("mean", "s"), node("Mul", ["half", "s"], "loss")],
                           scaled(0.5, own("mean")), True, constants={"half": half}, says=ENTROPY,
                           reduction="mean"),
    "sum-over-a-number": Form([entropy("sum", "s"), node("Div", ["s", "four"], "loss")],
                              scaled(0.25, own("sum")), False, constants={"four": four},
                              says=OUTPUT, reduction="mean"),
    "computed-labels": Form([node("Abs", ["y"], "a"), entropy("mean", labels="a", ignored=1)],
                            lambda z, y: cross_entropy(z, np.abs(y), ignored=1), "micro-batches",
                            says=OUTPUT, reduction="mean"),
    "mean-and-squares": Form([entropy("mean", "c"), node("Mul", ["z", "z"], "q"),
                              node("ReduceMean", ["q"], "m", keepdims=0),
                              node("Mul", ["m", "half"], "h"), node("Add", ["c", "h"], "loss")],
                             added(own("mean"), squares(True, 0.5)), False,
                             constants={"half": half}, says=OUTPUT, reduction="mean"),
    "squares": Form([node("Mul", ["z", "z"], "q"), node("ReduceMean", ["q"], "loss", keepdims=0)],
                    squares(True), False, says=OUTPUT, reduction="mean"),
    "sum-of-squares": Form([node("Mul", ["z", "z"], "q"),
                            node("ReduceSum", ["q"], "loss", keepdims=0)],
                           squares(False), False, says=OUTPUT, reduction="mean"),
    "shifted": Form([node("Slice", ["z", "zero", "last", "one"], "zs"),
                     node("Slice", ["y", "one", "end", "one"], "ys"),
                     node("Transpose", ["zs"], "zt", perm=[0, 2, 1]),
                     entropy("mean", scores="zt", labels="ys", ignored=IGNORED)],
                    shifted, True, sequence=(4,),
                    constants={"zero": np.array([0]), "one": np.array([1]), "last": np.array([-1]),
                               "end": np.array([2**31 - 1])},
                    ignored=7, says=ENTROPY, reduction="mean"),
}
# fmt: on
