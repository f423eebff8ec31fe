"""The written reference: each ONNX operator as numpy, from the operator's specification
(https://onnx.ai/onnx/operators). Floats are computed in one wide type whatever their ONNX type is,
as --precision float64 does; integers in their own type.

An entry takes a Call and returns the node's outputs as a list. This file has the registry and what
maps elements to elements."""
import numpy as np

OPS = {}


def op(*names):
    def register(function):
        for name in names:
            OPS[name] = function
        return function

    return register


class Call:
    """One node's arguments: its input arrays (None where left out), attributes, opset and
    the wide float type."""

    def __init__(self, node, inputs, opset, wide):
        self.node, self.inputs, self.opset, self.wide = node, inputs, opset, wide

    def __getitem__(self, index):
        return self.inputs[index] if index < len(self.inputs) else None

    def attribute(self, name, otherwise=None):
        return self.node.attributes.get(name, otherwise)

    def real(self, name, otherwise):
        """Float attributes are stored as float32, their defaults too."""
        return self.wide(np.float32(self.node.attributes.get(name, otherwise)))

    def decimal(self, name, otherwise=0.0):
        """Of settings that PyTorch has as Python's numbers, an epsilon: what was written."""
        return float(str(np.float32(self.node.attributes.get(name, otherwise))))

    def ints(self, index):
        return [int(i) for i in np.asarray(self[index]).ravel()]


def is_float(array):
    return array.dtype.kind == "f"


def convert(array, dtype, wide):
    """Cast: floats to integers by truncation, anything to bool by comparison with zero."""
    from program import FLOATS, TYPES

    if dtype in FLOATS:
        return array.astype(wide)
    if dtype == "b1":
        return array != 0
    if is_float(array):
        return np.trunc(array).astype(np.int64).astype(TYPES[dtype][1])
    return array.astype(TYPES[dtype][1])


def erf(x):
    """2 / sqrt(pi) e^(-x^2) sum of 2^n x^(2n+1) / (2n+1)!!, whose terms have one sign."""
    bounded = np.clip(x, -7, 7)
    term, total, n = bounded, bounded, 0
    while n < 400 and np.max(np.abs(term), initial=0) > 1e-24:
        n += 1
        term = term * 2 * bounded * bounded / (2 * n + 1)
        total = total + term
    return 2 / np.sqrt(np.arccos(x.dtype.type(-1))) * np.exp(-bounded * bounded) * total


def sigmoid(x):
    return np.where(
        x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))
    )


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def quotient(a, b):
    """Integers are divided towards zero."""
    if is_float(a):
        return a / b
    wide = np.abs(a.astype(np.int64)) // np.abs(b.astype(np.int64))
    return (np.sign(a.astype(np.int64)) * np.sign(b.astype(np.int64)) * wide).astype(a.dtype)


def simple(name, function):
    OPS[name] = lambda call: [np.asarray(function(*call.inputs))]


for _name, _function in {
    "Abs": np.abs,
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Add": np.add,
    "And": np.logical_and,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseNot": np.bitwise_not,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Ceil": np.ceil,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Div": quotient,
    "Equal": np.equal,
    "Erf": erf,
    "Exp": np.exp,
    "Floor": np.floor,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Identity": lambda x: x,
    "IsNaN": np.isnan,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Log": np.log,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Optional": lambda x: x,
    "OptionalGetElement": lambda x: x,
    "Or": np.logical_or,
    "Reciprocal": lambda x: 1 / x,
    "Round": np.rint,
    "Sign": np.sign,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Tan": np.tan,
    "Sqrt": np.sqrt,
    "Sub": np.subtract,
    "Where": np.where,
    "Xor": np.logical_xor,
    "Relu": lambda x: np.maximum(x, 0),
    "Sigmoid": sigmoid,
    "Softplus": softplus,
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Tanh": np.tanh,
    "Mish": lambda x: x * np.tanh(softplus(x)),
    "PRelu": lambda x, slope: np.where(x > 0, x, x * slope),
    "HardSwish": lambda x: x * np.clip(x / 6 + x.dtype.type(0.5), 0, 1),
}.items():
    simple(_name, _function)


@op("IsInf")
def is_inf(call):
    x = call[0]
    above, below = call.attribute("detect_positive", 1), call.attribute("detect_negative", 1)
    return [np.isinf(x) & (((x > 0) & bool(above)) | ((x < 0) & bool(below)))]


@op("Max", "Min", "Sum", "Mean")
def variadic(call):
    combine = {"Max": np.maximum, "Min": np.minimum}.get(call.node.op, np.add)
    result = call[0]
    for other in call.inputs[1:]:
        result = combine(result, other)
    return [result / len(call.inputs) if call.node.op == "Mean" else result]


@op("Mod")
def modulo(call):
    return [(np.fmod if call.attribute("fmod", 0) else np.mod)(call[0], call[1])]


@op("Pow")
def power(call):
    base, exponent = call[0], call[1]
    if is_float(base):
        return [np.power(base, exponent.astype(base.dtype))]
    if is_float(exponent):
        return [np.trunc(np.power(base.astype(call.wide), exponent)).astype(base.dtype)]
    return [np.power(base, exponent.astype(base.dtype))]


@op("Cast")
def cast(call):
    from program import OF_NUMBER

    return [convert(call[0], OF_NUMBER[call.attribute("to")], call.wide)]


@op("CastLike")
def cast_like(call):
    kind = {
        "float": "f32",
        "longdouble": "f32",
        "bool": "b1",
        "int64": "i64",
        "int32": "i32",
        "int8": "i8",
        "uint8": "u8",
    }
    name = call[1].dtype.name
    return [convert(call[0], kind.get(name, "f32"), call.wide)]


@op("Clip")
def clip(call):
    result = call[0]
    if call[1] is not None:
        result = np.maximum(result, call[1].reshape(()))
    if call[2] is not None:
        result = np.minimum(result, call[2].reshape(()))
    return [result]


@op("Dropout")
def dropout(call):
    return [call[0], np.ones(call[0].shape, np.bool_)]


@op("RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike")
def drawn(call):
    """Their mean: there is no spread, or what is made of them is known."""
    if "Normal" in call.node.op:
        mean = call.real("mean", 0)
    else:
        mean = (call.real("low", 0) + call.real("high", 1)) / 2
    shape = call[0].shape if call.node.op.endswith("Like") else call.attribute("shape")
    return [np.full(shape, mean, np.float64)]


@op("Bernoulli")
def bernoulli(call):
    return [call[0]]


@op("LeakyRelu")
def leaky_relu(call):
    return [np.where(call[0] >= 0, call[0], call.real("alpha", 0.01) * call[0])]


@op("Elu")
def elu(call):
    return [
        np.where(call[0] > 0, call[0], call.real("alpha", 1) * np.expm1(np.minimum(call[0], 0)))
    ]


@op("Selu")
def selu(call):
    alpha = call.real("alpha", 1.67326319217681884765625)
    gamma = call.real("gamma", 1.05070102214813232421875)
    return [gamma * np.where(call[0] > 0, call[0], alpha * np.expm1(np.minimum(call[0], 0)))]


@op("Celu")
def celu(call):
    alpha = call.real("alpha", 1)
    return [
        np.maximum(call[0], 0) + np.minimum(alpha * np.expm1(np.minimum(call[0] / alpha, 0)), 0)
    ]


@op("Gelu")
def gelu(call):
    x = call[0]
    if call.attribute("approximate", "none") == "tanh":
        pi = np.arccos(call.wide(-1))
        return [x / 2 * (1 + np.tanh(np.sqrt(2 / pi) * (x + call.wide("0.044715") * x * x * x)))]
    return [x / 2 * (1 + erf(x / np.sqrt(call.wide(2))))]


@op("HardSigmoid")
def hard_sigmoid(call):
    return [np.clip(call.real("alpha", 0.2) * call[0] + call.real("beta", 0.5), 0, 1)]


@op("Swish")
def swish(call):
    return [call[0] * sigmoid(call.real("alpha", 1) * call[0])]


@op("SwiGLU")
def swiglu(call):
    return [call[0] * sigmoid(call.real("alpha", 1) * call[0]) * call[1]]


@op("Shrink")
def shrink(call):
    lambd, bias = call.real("lambd", 0.5), call.real("bias", 0)
    outside = np.where(call[0] < 0, call[0] + bias, call[0] - bias)
    return [np.where((call[0] >= -lambd) & (call[0] <= lambd), call.wide(0), outside)]


@op("ThresholdedRelu")
def thresholded_relu(call):
    return [np.where(call[0] > call.real("alpha", 1), call[0], call.wide(0))]
