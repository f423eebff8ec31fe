"""The second reference, where there is torch: each ONNX operator as the torch function that a model
would call, in float64, so that autograd gives every element of the gradients, and torch's
convention decides where there is no derivative.

A Call is that of numpy_ops with tensors. This file has what maps elements to elements,
reductions and products."""
import numpy as np
import torch
import torch.nn.functional as F

from numpy_ops import OPS as WRITTEN

OPS = {}


def op(*names):
    def register(function):
        for name in names:
            assert name in WRITTEN, name
            OPS[name] = function
        return function

    return register


DTYPES = {
    "f32": torch.float64,
    "f64": torch.float64,
    "f16": torch.float64,
    "bf16": torch.float64,
    "i64": torch.int64,
    "i32": torch.int32,
    "i8": torch.int8,
    "u8": torch.uint8,
    "b1": torch.bool,
}


def tensor(values, dtype):
    values = np.asarray(values)
    return torch.from_numpy(
        np.array(values, np.float64) if DTYPES[dtype] is torch.float64 else np.array(values)
    ).to(DTYPES[dtype])


def convert(x, dtype):
    return x.to(DTYPES[dtype]) if dtype != "b1" else x != 0


def quotient(a, b):
    return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


for _name, _function in {
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "Add": torch.add,
    "And": torch.logical_and,
    "BitwiseAnd": torch.bitwise_and,
    "BitwiseNot": torch.bitwise_not,
    "BitwiseOr": torch.bitwise_or,
    "BitwiseXor": torch.bitwise_xor,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Div": quotient,
    "Equal": torch.eq,
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "Greater": torch.gt,
    "GreaterOrEqual": torch.ge,
    "Identity": lambda x: x,
    "IsNaN": torch.isnan,
    "Less": torch.lt,
    "LessOrEqual": torch.le,
    "Log": torch.log,
    "Mul": torch.mul,
    "Neg": torch.neg,
    "Not": torch.logical_not,
    "Optional": lambda x: x,
    "OptionalGetElement": lambda x: x,
    "Or": torch.logical_or,
    "Reciprocal": torch.reciprocal,
    "Round": torch.round,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Tan": torch.tan,
    "Sqrt": torch.sqrt,
    "Sub": torch.sub,
    "Where": torch.where,
    "Xor": torch.logical_xor,
    "Relu": F.relu,
    "Sigmoid": torch.sigmoid,
    "Softplus": lambda x: F.softplus(x, threshold=1e9),
    "Softsign": F.softsign,
    "Tanh": torch.tanh,
    "Mish": F.mish,
    "PRelu": lambda x, slope: torch.where(x > 0, x, x * slope),
    "HardSwish": F.hardswish,
}.items():
    OPS[_name] = lambda call, function=_function: [function(*call.inputs)]


@op("IsInf")
def is_inf(call):
    x = call[0]
    above, below = call.attribute("detect_positive", 1), call.attribute("detect_negative", 1)
    return [torch.isinf(x) & (((x > 0) & bool(above)) | ((x < 0) & bool(below)))]


@op("Max", "Min", "Sum", "Mean")
def variadic(call):
    combine = {"Max": torch.maximum, "Min": torch.minimum}.get(call.node.op, torch.add)
    result = call[0]
    for other in call.inputs[1:]:
        result = combine(result, other)
    return [result / len(call.inputs) if call.node.op == "Mean" else result]


@op("Mod")
def modulo(call):
    return [(torch.fmod if call.attribute("fmod", 0) else torch.remainder)(call[0], call[1])]


@op("Pow")
def power(call):
    base, exponent = call[0], call[1]
    if not base.is_floating_point() and exponent.is_floating_point():
        return [torch.pow(base.double(), exponent).trunc().to(base.dtype)]
    return [torch.pow(base, exponent.to(base.dtype))]


@op("Cast")
def cast(call):
    from program import OF_NUMBER

    return [convert(call[0], OF_NUMBER[call.attribute("to")])]


@op("CastLike")
def cast_like(call):
    return [call[0].to(call[1].dtype) if call[1].dtype is not torch.bool else call[0] != 0]


@op("Clip")
def clip(call):
    x = call[0]
    if call[1] is not None:
        x = (
            torch.maximum(x, call[1].reshape(()))
            if call[1].requires_grad
            else torch.clamp(x, min=call[1].item())
        )
    if call[2] is not None:
        x = (
            torch.minimum(x, call[2].reshape(()))
            if call[2].requires_grad
            else torch.clamp(x, max=call[2].item())
        )
    return [x]


@op("RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike")
def drawn(call):
    """Their mean: there is no spread, or what is made of them is known."""
    if "Normal" in call.node.op:
        mean = call.real("mean", 0)
    else:
        mean = (call.real("low", 0) + call.real("high", 1)) / 2
    shape = call[0].shape if call.node.op.endswith("Like") else call.attribute("shape")
    return [torch.full(tuple(shape), mean, dtype=torch.float64)]


@op("Bernoulli")
def bernoulli(call):
    return [call[0]]


@op("Dropout")
def dropout(call):
    return [F.dropout(call[0], training=False), torch.ones_like(call[0], dtype=torch.bool)]


@op("LeakyRelu")
def leaky_relu(call):
    return [F.leaky_relu(call[0], float(call.real("alpha", 0.01)))]


@op("Elu")
def elu(call):
    return [F.elu(call[0], float(call.real("alpha", 1)))]


@op("Selu")
def selu(call):
    alpha = float(call.real("alpha", 1.67326319217681884765625))
    gamma = float(call.real("gamma", 1.05070102214813232421875))
    return [gamma * F.elu(call[0], alpha)]


@op("Celu")
def celu(call):
    return [F.celu(call[0], float(call.real("alpha", 1)))]


@op("Gelu")
def gelu(call):
    return [F.gelu(call[0], approximate=call.attribute("approximate", "none"))]


@op("HardSigmoid")
def hard_sigmoid(call):
    return [
        torch.clamp(float(call.real("alpha", 0.2)) * call[0] + float(call.real("beta", 0.5)), 0, 1)
    ]


@op("Swish")
def swish(call):
    alpha = float(call.real("alpha", 1))
    return [F.silu(call[0]) if alpha == 1 else call[0] * torch.sigmoid(alpha * call[0])]


@op("SwiGLU")
def swiglu(call):
    return [swish(call)[0] * call[1]]


@op("Shrink")
def shrink(call):
    x, lambd, bias = call[0], float(call.real("lambd", 0.5)), float(call.real("bias", 0))
    outside = torch.where(x < 0, x + bias, x - bias)
    return [torch.where((x >= -lambd) & (x <= lambd), torch.zeros_like(x), outside)]


@op("ThresholdedRelu")
def thresholded_relu(call):
    return [F.threshold(call[0], float(call.real("alpha", 1)), 0.0)]


# -- products and reductions -----------------------------------------------------------------------


@op("MatMul")
def mat_mul(call):
    return [torch.matmul(call[0], call[1])]


@op("Einsum")
def einsum(call):
    return [torch.einsum(call.attribute("equation").replace(" ", ""), *call.inputs)]


@op("Gemm")
def gemm(call):
    a = call[0].t() if call.attribute("transA", 0) else call[0]
    b = call[1].t() if call.attribute("transB", 0) else call[1]
    result = float(call.real("alpha", 1)) * torch.mm(a, b)
    return [result if call[2] is None else result + float(call.real("beta", 1)) * call[2]]


def product(x, axes, keep):
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, keepdim=keep, dtype=x.dtype)
    return x


REDUCTIONS = {
    "ReduceL1": lambda x, a, k: torch.sum(torch.abs(x), a, keepdim=k, dtype=x.dtype),
    "ReduceL2": lambda x, a, k: torch.linalg.vector_norm(x, 2, a, keepdim=k),
    "ReduceLogSum": lambda x, a, k: torch.log(torch.sum(x, a, keepdim=k)),
    "ReduceLogSumExp": lambda x, a, k: torch.logsumexp(x, a, keepdim=k),
    "ReduceMax": lambda x, a, k: torch.amax(x, a, keepdim=k),
    "ReduceMin": lambda x, a, k: torch.amin(x, a, keepdim=k),
    "ReduceMean": lambda x, a, k: torch.mean(x, a, keepdim=k),
    "ReduceProd": product,
    "ReduceSum": lambda x, a, k: torch.sum(x, a, keepdim=k, dtype=x.dtype),
    "ReduceSumSquare": lambda x, a, k: torch.sum(x * x, a, keepdim=k, dtype=x.dtype),
}


@op(*REDUCTIONS)
def reduce(call):
    axes = call.ints(1) if call[1] is not None else call.attribute("axes", [])
    if not axes and call.attribute("noop_with_empty_axes", 0):
        return [call[0]]
    axes = tuple(a % call[0].ndim for a in axes) if axes else tuple(range(call[0].ndim))
    if not axes:  # of a scalar
        return [REDUCTIONS[call.node.op](call[0].reshape(1), (0,), False)]
    return [REDUCTIONS[call.node.op](call[0], axes, bool(call.attribute("keepdims", 1)))]


@op("Softmax")
def softmax(call):
    return [F.softmax(call[0], call.attribute("axis", -1))]


@op("LogSoftmax")
def log_softmax(call):
    return [F.log_softmax(call[0], call.attribute("axis", -1))]


@op("LayerNormalization")
def layer_normalization(call):
    x, axis = call[0], call.attribute("axis", -1)
    shape, axes = x.shape[axis % x.ndim :], tuple(range(axis % x.ndim, x.ndim))
    scale, bias = (
        None if v is None else v.broadcast_to(shape) if v.ndim <= len(shape) else v.reshape(shape)
        for v in (call[1], call[2])
    )
    mean = x.mean(axes, keepdim=True)
    # Not F.layer_norm, of whose steps rounding could show nothing.
    centred = x - mean
    variance = (centred * centred).mean(axes, keepdim=True)
    result = centred * torch.rsqrt(variance + call.decimal("epsilon", 1e-5)) * scale
    inverse = torch.rsqrt(variance + float(call.real("epsilon", 1e-5)))
    return [result if bias is None else result + bias, mean, inverse]


@op("RMSNormalization")
def rms_normalization(call):
    x, axis = call[0], call.attribute("axis", -1)
    axes = tuple(range(axis % x.ndim, x.ndim))
    return [
        x * torch.rsqrt((x * x).mean(axes, keepdim=True) + call.decimal("epsilon", 1e-5)) * call[1]
    ]


@op("LpNormalization")
def lp_normalization(call):
    norm = torch.linalg.vector_norm(
        call[0], call.attribute("p", 2), call.attribute("axis", -1), keepdim=True
    )
    # Of zeros it is the constant 0 (docs/seams.md).
    return [
        torch.where(
            norm == 0,
            torch.zeros_like(call[0]),
            call[0] / torch.where(norm == 0, torch.ones_like(norm), norm),
        )
    ]
