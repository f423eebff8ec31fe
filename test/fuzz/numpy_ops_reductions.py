"""The written reference: products, reductions, norms, attention and losses."""
import numpy as np

from numpy_ops import is_float, op


@op("MatMul")
def mat_mul(call):
    return [np.matmul(call[0], call[1])]


@op("Gemm")
def gemm(call):
    a = call[0].T if call.attribute("transA", 0) else call[0]
    b = call[1].T if call.attribute("transB", 0) else call[1]
    result = call.real("alpha", 1) * (a @ b)
    return [result if call[2] is None else result + call.real("beta", 1) * call[2]]


@op("Einsum")
def einsum(call):
    return [np.asarray(np.einsum(call.attribute("equation").replace(" ", ""), *call.inputs))]


def reductions():
    def log_sum_exp(x, axes, keep):
        largest = np.max(x, axes, keepdims=True)
        total = np.log(np.sum(np.exp(x - largest), axes, keepdims=True)) + largest
        return total if keep else np.squeeze(total, axes)

    def total(x, axes, keep):
        return np.sum(x, axes, keepdims=keep, dtype=x.dtype)

    return {
        "ReduceL1": lambda x, a, k: total(np.abs(x), a, k),
        "ReduceL2": lambda x, a, k: np.sqrt(total(x * x, a, k)),
        "ReduceLogSum": lambda x, a, k: np.log(total(x, a, k)),
        "ReduceLogSumExp": log_sum_exp,
        "ReduceMax": lambda x, a, k: np.max(x, a, keepdims=k),
        "ReduceMin": lambda x, a, k: np.min(x, a, keepdims=k),
        "ReduceMean": lambda x, a, k: np.mean(x, a, keepdims=k),
        "ReduceProd": lambda x, a, k: np.prod(x, a, keepdims=k, dtype=x.dtype),
        "ReduceSum": total,
        "ReduceSumSquare": lambda x, a, k: total(x * x, a, k),
    }


REDUCTIONS = reductions()


@op(*REDUCTIONS)
def reduce(call):
    axes = call.ints(1) if call[1] is not None else call.attribute("axes", [])
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return [call[0]]
    axes = tuple(a % call[0].ndim for a in axes) if axes else tuple(range(call[0].ndim))
    return [
        np.asarray(REDUCTIONS[call.node.op](call[0], axes, bool(call.attribute("keepdims", 1))))
    ]


def log_softmax(x, axis=-1):
    shifted = x - np.max(x, axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))


@op("Softmax")
def softmax(call):
    if call[0].ndim == 0:
        return [np.ones_like(call[0])]
    return [np.exp(log_softmax(call[0], call.attribute("axis", -1)))]


@op("LogSoftmax")
def log_softmax_op(call):
    return [log_softmax(call[0], call.attribute("axis", -1))]


@op("LayerNormalization")
def layer_normalization(call):
    x, axis = call[0], call.attribute("axis", -1)
    axes = tuple(range(axis % x.ndim, x.ndim))
    mean = np.mean(x, axes, keepdims=True)
    variance = np.mean((x - mean) ** 2, axes, keepdims=True)
    result = (x - mean) / np.sqrt(variance + call.decimal("epsilon", 1e-5)) * call[1]
    # As a value of its own it is made of ops, which have the epsilon in the file's type.
    inverse = 1 / np.sqrt(variance + call.real("epsilon", 1e-5))
    return [result if call[2] is None else result + call[2], mean, inverse]


@op("RMSNormalization")
def rms_normalization(call):
    x, axis = call[0], call.attribute("axis", -1)
    axes = tuple(range(axis % x.ndim, x.ndim))
    return [
        x / np.sqrt(np.mean(x * x, axes, keepdims=True) + call.decimal("epsilon", 1e-5)) * call[1]
    ]


@op("LpNormalization")
def lp_normalization(call):
    x, axis = call[0], call.attribute("axis", -1)
    norm = (
        np.sum(np.abs(x), axis, keepdims=True)
        if call.attribute("p", 2) == 1
        else np.sqrt(np.sum(x * x, axis, keepdims=True))
    )
    return [x / np.where(norm == 0, call.wide(1), norm)]


def heads_first(x, heads):
    """[B, S, H D] as [B, H, S, D]."""
    return x if x.ndim == 4 else x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(0, 2, 1, 3)


def heads_back(x, like):
    return x if like.ndim == 4 else x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


@op("Attention")
def attention(call):
    q = heads_first(call[0], call.attribute("q_num_heads"))
    k, v = (heads_first(call[i], call.attribute("kv_num_heads")) for i in (1, 2))
    earlier = 0 if call[4] is None else call[4].shape[2]
    if earlier:
        k, v = np.concatenate([call[4], k], 2), np.concatenate([call[5], v], 2)
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
    scale = (
        call.real("scale", 0)
        if call.attribute("scale") is not None
        else 1 / np.sqrt(call.wide(q.shape[-1]))
    )
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * scale
    if softcap := call.real("softcap", 0):
        scores = softcap * np.tanh(scores / softcap)
    infinity = call.wide("-inf")
    if call[3] is not None:
        scores = scores + call[3] if is_float(call[3]) else np.where(call[3], scores, infinity)
    if call.attribute("is_causal", 0):
        scores = np.where(np.tri(*scores.shape[-2:], earlier, dtype=np.bool_), scores, infinity)
    # How far a key is behind a query's own.
    behind = np.arange(scores.shape[-1]) - np.arange(scores.shape[-2])[:, None] - earlier
    left, right = (call.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    far = ((left >= 0) & (behind < -left)) | ((right >= 0) & (behind > right))
    scores = np.where(far, infinity, scores)
    # A query that sees no key gets 0.
    blind = np.all(scores == infinity, -1, keepdims=True)
    weights = np.where(blind, call.wide(0), np.exp(log_softmax(np.where(blind, 0, scores))))
    return [heads_back(np.matmul(weights, v), call[0])]


@op("RotaryEmbedding")
def rotary_embedding(call):
    x = heads_first(call[0], call.attribute("num_heads")).transpose(0, 2, 1, 3)  # [B, S, H, D]
    turned = call.attribute("rotary_embedding_dim", 0) or x.shape[-1]
    cosine, sine = (t if call[3] is None else t[call[3]] for t in (call[1], call[2]))
    cosine, sine = cosine[:, :, None], sine[:, :, None]
    if call.attribute("interleaved", 0):
        first, second = x[..., 0:turned:2], x[..., 1:turned:2]
    else:
        first, second = x[..., : turned // 2], x[..., turned // 2 : turned]
    real, imaginary = cosine * first - sine * second, sine * first + cosine * second
    if call.attribute("interleaved", 0):
        result = np.stack([real, imaginary], -1).reshape(x.shape[:-1] + (turned,))
    else:
        result = np.concatenate([real, imaginary], -1)
    return [
        heads_back(np.concatenate([result, x[..., turned:]], -1).transpose(0, 2, 1, 3), call[0])
    ]


def likelihood(call, log_probabilities):
    labels, weights, ignore = call[1].astype(np.int64), call[2], call.attribute("ignore_index")
    valid = np.ones(labels.shape, np.bool_) if ignore is None else labels != ignore
    safe = np.where(valid, labels, 0)
    picked = np.take_along_axis(np.moveaxis(log_probabilities, 1, -1), safe[..., None], -1)[..., 0]
    weight = valid.astype(call.wide) * (1 if weights is None else weights[safe])
    losses, reduction = -picked * weight, call.attribute("reduction", "mean")
    return (
        losses
        if reduction == "none"
        else np.asarray(np.sum(losses) / (np.sum(weight) if reduction == "mean" else 1))
    )


@op("NegativeLogLikelihoodLoss")
def negative_log_likelihood_loss(call):
    return [likelihood(call, call[0])]


@op("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy_loss(call):
    logs = log_softmax(call[0], 1)
    return [likelihood(call, logs), logs]
