"""Operators at their seams: 0, ties, infinities, NaN, and numbers at which a part overflows
that the whole does not.

Each case is an ONNX graph of a few nodes and the same in torch; `numbers.json` has what torch
computes, `make_numbers.py` made it.
"""
import math

from onnx import TensorProto, helper

INF, NAN = math.inf, math.nan
INT8 = TensorProto.INT8
# fmt: off
POINTS = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, 20.0, -20.0, 100.0, -100.0, 1000.0, -1000.0,
          1e20, -1e20, INF, -INF, NAN]
FINITE = [p for p in POINTS if math.isfinite(p)]
# Pairs (x, y): ties, and every way to divide or raise zeros.
PAIRS = [(0.0, 0.0), (1.0, 1.0), (-0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (2.0, 3.0),
         (-2.0, 3.0), (3.0, -2.0), (0.0, 2.0), (1e20, 1e20)]
POWERS = [(0.0, 0.0), (0.0, 1.0), (0.0, 2.0), (0.0, 0.5), (0.0, -1.0), (1.0, 0.0), (-2.0, 0.0),
          (-2.0, 2.0), (-2.0, 3.0), (-2.0, -1.0), (-2.0, 0.5), (4.0, 0.5), (2.0, 3.0),
          (10.0, -2.0), (INF, 0.0), (INF, 2.0)]
# Rows of a reduction: zeros, equal values, infinities, large and small ones.
ROWS = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [3.0, -4.0, 0.0], [2.0, 1.0, 2.0],
        [1000.0, 1000.0, -1000.0], [-1000.0, -1000.0, -1000.0], [1e15, 1.0, -1.0]]
# fmt: on
INFINITE_ROWS = ROWS + [[-INF, -INF, -INF], [-INF, 1.0, 2.0], [INF, 1.0, 2.0], [NAN, 1.0, 2.0]]


class Case:
    """nodes: (op, inputs, attributes) or with the name of the function in torch's FX graph; the
    last node's result is the case's.

    Inputs are "x", "y", "z" (parameters), earlier nodes by "#0", "#1", or constants
    (numbers, lists of integers).
    values: one list of points per parameter, POINTS for x where there is none. expected:
    {parameter: {position: value}} where torch's number is not the derivative.
    """

    def __init__(self, name, nodes, torch, *values, expected=None):
        self.name = name
        self.nodes = nodes
        self.torch = torch
        self.values = values or (POINTS,)
        self.expected = expected or {}

    def arrays(self):
        """Parameters by name, at least two dims each."""
        return {n: v if isinstance(v[0], list) else [v] for n, v in zip("xyz", self.values)}


def unary(op, torch, points=POINTS, expected=None, name=None, **attributes):
    return Case(name or op, [(op, ["x"], attributes)], torch, points, expected=expected)


def binary(op, torch, pairs=PAIRS, name=None, **attributes):
    return Case(
        name or op,
        [(op, ["x", "y"], attributes)],
        torch,
        [x for x, _ in pairs],
        [y for _, y in pairs],
    )


def rows(op, torch, values=ROWS, name=None, axes=True, **attributes):
    return Case(name or op, [(op, ["x", [-1]] if axes else ["x"], attributes)], torch, values)


def signals(op, torch, values, name=None, more=(), **attributes):
    """Rows as samples of one channel; `more`: vectors of that channel. torch has them as s."""
    shape = [len(values), 1, len(values[0])]
    nodes = [("Reshape", ["x", shape], {})]
    nodes += [("Reshape", [number, [1]], {}) for number in more]
    inputs = [f"#{i}" for i in range(len(nodes))]
    torch = f"(lambda s: {torch})(x.reshape({shape}))"
    return Case(name or op, [*nodes, (op, inputs, attributes)], torch, values)


def at(points, **wanted):
    """{position: value} from the points themselves."""
    return {points.index(float(p)): v for p, v in wanted.items()}


# Attributes of what is made of other ops are float32; a norm has its epsilon as it was written.
SIXTH, EPSILON = float.fromhex("0x1.555556p-3"), float.fromhex("0x1.4f8b58p-17")
# fmt: off
CASES = [
    # -- functions of one number
    unary("Abs", "x.abs()"),
    unary("Ceil", "x.ceil()"),
    unary("Celu", "F.celu(x, 2.0)", alpha=2.0),
    unary("Celu", "F.celu(x, -1.0)", FINITE[:10], name="Celu.negative", alpha=-1.0),
    Case("Clip", [("Clip", ["x", -1.0, 3.0], {})], "x.clamp(-1, 3)", FINITE + [INF, -INF]),
    Case("Clip.below", [("Clip", ["x", 0.0], {})], "x.clamp(min=0)", FINITE + [INF, -INF]),
    Case("Clip.clamp", [("Max", ["x", 0.0], {}, "clamp.Tensor")], "x.clamp(min=0)",
         FINITE + [INF, -INF]),
    Case("Clip.clamp_max", [("Min", ["x", 3.0], {}, "clamp_max.default")], "x.clamp(max=3)",
         FINITE + [INF, -INF]),
    Case("Clip.hardtanh", [("Clip", ["x", -1.0, 1.0], {}, "hardtanh.default")], "F.hardtanh(x)"),
    Case("Clip.relu6", [("Clip", ["x", 0.0, 6.0], {}, "relu6.default")], "F.relu6(x)"),
    unary("Cos", "x.cos()", [0.0, -0.0, 1.0, -3.0, 100.0, INF, NAN]),
    unary("Cosh", "x.cosh()", [0.0, -0.0, 1e-10, 1.0, -3.0, INF, -INF, NAN]),
    unary("Elu", "F.elu(x, 2.0)", alpha=2.0),
    unary("Elu", "F.elu(x)", [0.0, -1e-10, 1e-10, -1.0], name="Elu.small"),
    unary("Erf", "x.erf()"),
    unary("Exp", "x.exp()"),
    unary("Floor", "x.floor()"),
    unary("Gelu", "F.gelu(x)", FINITE),
    # Far out torch's slope is 0 times infinity in float32.
    unary("Gelu", "F.gelu(x, approximate='tanh')", FINITE, name="Gelu.tanh", approximate="tanh",
          expected={"x": {FINITE.index(1e20): 1.0, FINITE.index(-1e20): 0.0}}),
    unary("HardSigmoid", "(SIXTH * x + 0.5).clamp(0, 1)", alpha=SIXTH, beta=0.5),
    unary("HardSwish", "F.hardswish(x)", [p for p in POINTS if p != -INF]),
    unary("LeakyRelu", "F.leaky_relu(x, 0.25)", alpha=0.25),
    unary("Log", "x.log()"),
    unary("Mish", "F.mish(x)"),
    unary("Neg", "-x"),
    unary("Reciprocal", "x.reciprocal()"),
    unary("Relu", "x.relu()"),
    unary("Shrink", "F.hardshrink(x, 3.0)", name="Shrink.hard", lambd=3.0, bias=0.0),
    unary("Shrink", "F.softshrink(x, 3.0)", name="Shrink.soft", lambd=3.0, bias=3.0),
    # ONNX has its numbers in float32.
    unary("Round", "x.round()", POINTS + [0.5, 1.5, 2.5, -0.5, -1.5, -0.25, 0.49999997, 8388609.0]),
    unary("Selu", "1.05070102214813232421875 * F.elu(x, 1.67326319217681884765625)"),
    unary("Sigmoid", "x.sigmoid()"),
    unary("Sign", "x.sign()"),
    unary("Sin", "x.sin()", [0.0, -0.0, 1.0, -3.0, 100.0, INF, NAN]),
    unary("Sinh", "x.sinh()", [0.0, -0.0, 1e-10, -1e-5, 1.0, -3.0, INF, -INF, NAN]),
    unary("Tan", "x.tan()", [0.0, -0.0, 1e-10, 1.0, -3.0, 100.0, INF, NAN]),
    unary("Softplus", "F.softplus(x)"),
    unary("Softsign", "F.softsign(x)"),
    unary("Sqrt", "x.sqrt()"),
    unary("Swish", "F.silu(x)"),
    unary("Swish", "x * (0.5 * x).sigmoid()", FINITE, name="Swish.half", alpha=0.5),
    unary("Tanh", "x.tanh()"),
    unary("ThresholdedRelu", "F.threshold(x, 1.0, 0.0)", alpha=1.0),
    # -- of two and more
    binary("Add", "x + y"),
    binary("Sub", "x - y"),
    binary("Mul", "x * y", PAIRS + [(0.0, INF), (INF, 1.0)]),
    binary("Div", "x / y", PAIRS + [(1.0, INF), (INF, INF)]),
    binary("Max", "torch.maximum(x, y)", PAIRS + [(INF, INF), (NAN, 1.0), (1.0, NAN)]),
    binary("Min", "torch.minimum(x, y)", PAIRS + [(-INF, -INF), (NAN, 1.0), (1.0, NAN)]),
    Case("Max.zero", [("Max", ["x", 0.0], {})], "torch.maximum(x, torch.zeros_like(x))", FINITE),
    Case("Max.three", [("Max", ["x", "y", "z"], {})], "torch.maximum(torch.maximum(x, y), z)",
         [0.0, 1.0, 2.0], [0.0, 1.0, 1.0], [0.0, 0.0, 2.0]),
    Case("Min.three", [("Min", ["x", "y", "z"], {})], "torch.minimum(torch.minimum(x, y), z)",
         [0.0, 1.0, 2.0], [0.0, 1.0, 3.0], [0.0, 4.0, 2.0]),
    Case("Mean", [("Mean", ["x", "y"], {})], "(x + y) / 2", [0.0, INF, 1.0], [0.0, 1.0, NAN]),
    Case("Sum", [("Sum", ["x", "y"], {})], "x + y", [0.0, INF, 1.0], [0.0, -INF, NAN]),
    binary("Mod", "torch.fmod(x, y)", [p for p in PAIRS if p[1] != 0 and p[0] < 1e9] + [(1.0, INF)],
           fmod=1),
    binary("Mod", "torch.remainder(x, y)", [p for p in PAIRS if p[1] != 0 and p[0] < 1e9]
           + [(1.0, INF), (-1.0, -INF)], name="Mod.floored"),
    binary("SwiGLU", "F.silu(x) * y", PAIRS + [(20.0, -3.0), (-1000.0, 1.0)]),
    binary("SwiGLU", "x * (0.5 * x).sigmoid() * y", name="SwiGLU.half", alpha=0.5),
    # -- quantized: ties, and both ends of what the integers hold
    Case("QuantizeLinear", [("Cast", [3.0], {"to": INT8}),
                            ("QuantizeLinear", ["x", 0.25, "#0"], {}),
                            ("DequantizeLinear", ["#1", 0.25, "#0"], {})],
         "torch.fake_quantize_per_tensor_affine(x, 0.25, 3, -128, 127)",
         [0.0, 0.125, 0.375, -0.125, 1.3, 31.0, 31.1, 31.125, 31.2, -32.75, -32.875, -33.0, 1e9]),
    Case("QuantizeLinear.bounded", [("Cast", [0.0], {"to": INT8}), ("Cast", [-64.0], {"to": INT8}),
                                    ("Cast", [63.0], {"to": INT8}),
                                    ("QuantizeLinear", ["x", 0.5, "#0"], {}),
                                    ("Clip", ["#3", "#1", "#2"], {}),
                                    ("DequantizeLinear", ["#4", 0.5, "#0"], {})],
         "torch.fake_quantize_per_tensor_affine(x, 0.5, 0, -64, 63)",
         [0.0, 0.25, 31.5, 31.7, 31.75, 32.0, -32.0, -32.3, 60.0, -70.0]),
    Case("QuantizeLinear.unsigned", [("QuantizeLinear", ["x", 0.5], {}),
                                     ("DequantizeLinear", ["#0", 0.5], {})],
         "torch.fake_quantize_per_tensor_affine(x, 0.5, 0, 0, 255)",
         [0.0, -0.25, -0.3, 0.75, 127.5, 127.7, 127.8, -3.0]),
    binary("Pow", "x ** y", POWERS),
    *(Case(f"Pow.{e}", [("Pow", ["x", e], {})], f"x ** {e}", FINITE[:1] + FINITE[2:13])
      for e in (0.0, 1.0, 2.0, 3.0, 0.5, -1.0, 2.5)),
    binary("PRelu", "F_prelu(x, y)", PAIRS + [(INF, 0.5), (-1.0, INF)]),
    Case("Where",
         [("Greater", ["x", 0.0], {}), ("Sqrt", ["y"], {}), ("Where", ["#0", "x", "#1"], {})],
         "torch.where(x > 0, x, y.sqrt())", [1.0, 0.0, -1.0, 1.0], [-1.0, 4.0, 0.0, 1e20]),
    # -- of rows
    rows("ReduceL1", "x.abs().sum(-1, keepdim=True)", INFINITE_ROWS[:-1]),
    rows("ReduceL2", "torch.linalg.vector_norm(x, dim=-1, keepdim=True)", INFINITE_ROWS),
    Case("ReduceL2.flat", [("ReduceL2", ["x"], {"keepdims": 0})], "torch.linalg.vector_norm(x)",
         [0.0, 0.0]),
    rows("ReduceLogSum", "x.sum(-1, keepdim=True).log()"),
    rows("ReduceLogSumExp", "torch.logsumexp(x, -1, keepdim=True)", INFINITE_ROWS),
    rows("ReduceMax", "x.amax(-1, keepdim=True)", INFINITE_ROWS),
    rows("ReduceMin", "x.amin(-1, keepdim=True)", INFINITE_ROWS),
    rows("ReduceMean", "x.mean(-1, keepdim=True)", INFINITE_ROWS),
    rows("ReduceProd", "x.prod(-1, keepdim=True)", ROWS),
    rows("ReduceSum", "x.sum(-1, keepdim=True)", INFINITE_ROWS),
    rows("ReduceSumSquare", "(x * x).sum(-1, keepdim=True)", INFINITE_ROWS),
    # Zeros stay zeros: a constant.
    rows("LpNormalization", "normalized(x, 2)", axes=False, p=2),
    rows("LpNormalization", "normalized(x, 1)", name="LpNormalization.1", axes=False, p=1),
    rows("Softmax", "torch.softmax(x, -1)", INFINITE_ROWS, axes=False),
    rows("LogSoftmax", "torch.log_softmax(x, -1)", INFINITE_ROWS, axes=False),
    Case("LayerNormalization", [("LayerNormalization", ["x", "y"], {})],
         "F.layer_norm(x, (3,), y[0], eps=1e-5)", ROWS[:-1], [1.0, 2.0, -1.0]),
    Case("RMSNormalization", [("RMSNormalization", ["x", "y"], {})],
         "F.rms_norm(x, (3,), y[0], eps=1e-5)", ROWS[:-1], [1.0, 2.0, -1.0]),
    # -- of windows: a pool's gradient goes to the first of the largest
    signals("MaxPool", "F.max_pool1d(s, 2, 1)", INFINITE_ROWS, kernel_shape=[2]),
    signals("MaxPool", "F.max_pool1d(s, 3, 2, 1)", INFINITE_ROWS, name="MaxPool.padded",
            kernel_shape=[3], strides=[2], pads=[1, 1]),
    signals("AveragePool", "F.avg_pool1d(s, 2, 1)", INFINITE_ROWS, kernel_shape=[2]),
    signals("AveragePool", "F.avg_pool1d(s, 3, 2, 1, count_include_pad=False)", ROWS,
            name="AveragePool.padded", kernel_shape=[3], strides=[2], pads=[1, 1]),
    signals("LpPool", "torch.linalg.vector_norm(s.unfold(2, 2, 1), dim=-1)", ROWS,
            kernel_shape=[2]),
    signals("LpPool", "s.unfold(2, 2, 1).abs().sum(-1)", ROWS, name="LpPool.1", kernel_shape=[2],
            p=1),
    signals("GlobalMaxPool", "s.amax(2, keepdim=True)", INFINITE_ROWS),
    signals("GlobalAveragePool", "s.mean(2, keepdim=True)", INFINITE_ROWS),
    signals("GlobalLpPool", "torch.linalg.vector_norm(s, dim=2, keepdim=True)", ROWS),
    signals("BatchNormalization", "(s - 0.5) / math.sqrt(4 + EPSILON) * 1.5 - 2", INFINITE_ROWS,
            more=(1.5, -2.0, 0.5, 4.0)),
    signals("InstanceNormalization",
            "(s - s.mean(2, True)) * ((s - s.mean(2, True)) ** 2).mean(2, True).add(1e-5)"
            ".rsqrt() * 1.5 - 2", ROWS[:-1], more=(1.5, -2.0)),
    signals("GroupNormalization",
            "(s - s.mean(2, True)) * ((s - s.mean(2, True)) ** 2).mean(2, True).add(1e-5)"
            ".rsqrt() * 1.5 - 2", ROWS[:-1], more=(1.5, -2.0), num_groups=1),
    signals("MeanVarianceNormalization",
            "(s - s.mean(2, True)) / (((s - s.mean(2, True)) ** 2).mean(2, True).sqrt() + 1e-9)",
            ROWS[2:-1], axes=[2]),
    signals("LRN", "s / (1 + 0.5 * s * s / 3) ** 0.75", ROWS[:-1], size=3, alpha=0.5, beta=0.75),
    # -- as exporters write what has no operator, and what is raised to one
    Case("norm.3",
         [("Abs", ["x"], {}, "linalg_vector_norm.default"),
          ("Pow", ["#0", 3.0], {}, "linalg_vector_norm.default"),
          ("ReduceSum", ["#1", [-1]], {}, "linalg_vector_norm.default"),
          ("Pow", ["#2", 1 / 3], {}, "linalg_vector_norm.default")],
         "torch.linalg.vector_norm(x, 3, dim=-1, keepdim=True)", ROWS[:3]),
    Case("normalize",
         [("ReduceL2", ["x", [-1]], {}), ("Clip", ["#0", 1e-12], {}), ("Div", ["x", "#1"], {})],
         "F.normalize(x, dim=-1)", ROWS[:4]),
    Case("log_sigmoid", [("Sigmoid", ["x"], {}), ("Log", ["#0"], {})], "F.logsigmoid(x)"),
    Case("log_sigmoid.complement",
         [("Sigmoid", ["x"], {}), ("Sub", [1.0, "#0"], {}), ("Log", ["#1"], {})],
         "F.logsigmoid(-x)"),
    Case("sigmoid",
         [("Neg", ["x"], {}), ("Exp", ["#0"], {}), ("Add", ["#1", 1.0], {}),
          ("Div", [1.0, "#2"], {})],
         "x.sigmoid()"),
    Case("silu", [("Sigmoid", ["x"], {}), ("Mul", ["x", "#0"], {})], "F.silu(x)"),
    Case("gelu",
         [("Div", ["x", math.sqrt(2)], {}), ("Erf", ["#0"], {}), ("Add", ["#1", 1.0], {}),
          ("Mul", ["x", "#2"], {}), ("Mul", ["#3", 0.5], {})],
         "F.gelu(x)", FINITE),
    Case("gelu.tanh",
         [("Pow", ["x", 3.0], {}), ("Mul", ["#0", 0.044715], {}), ("Add", ["x", "#1"], {}),
          ("Mul", ["#2", math.sqrt(2 / math.pi)], {}), ("Tanh", ["#3"], {}),
          ("Add", ["#4", 1.0], {}), ("Mul", ["x", 0.5], {}), ("Mul", ["#6", "#5"], {})],
         "F.gelu(x, approximate='tanh')", FINITE[:-2]),
    Case("softmax",
         [("Exp", ["x"], {}), ("ReduceSum", ["#0", [-1]], {}), ("Div", ["#0", "#1"], {}),
          ("Mul", ["#2", "y"], {})],
         "torch.softmax(x, -1) * y", ROWS, [1.0, 2.0, 3.0]),
    Case("log_softmax", [("Softmax", ["x"], {}), ("Log", ["#0"], {})], "torch.log_softmax(x, -1)",
         ROWS),
    Case("rms_norm",
         [("Mul", ["x", "x"], {}), ("ReduceMean", ["#0", [-1]], {}), ("Add", ["#1", 1e-5], {}),
          ("Sqrt", ["#2"], {}), ("Reciprocal", ["#3"], {}), ("Mul", ["x", "#4"], {}),
          ("Mul", ["#5", "y"], {})],
         "F.rms_norm(x, (3,), y[0], eps=1e-5)", ROWS[:-1], [1.0, 2.0, -1.0]),
    Case("mish", [("Softplus", ["x"], {}), ("Tanh", ["#0"], {}), ("Mul", ["x", "#1"], {})],
         "F.mish(x)"),
]
# fmt: on

# Operators that are more than one op, at numbers of which bfloat16 and float16 have every digit,
# and in between which they would lose them all: squares, exponentials and slopes are smaller or
# larger than those types hold, though the result is not.
NARROW_POINTS = [2.0**-13, 2.0**-9, 0.125, 0.75, 2.5, 7.0, 9.0, 12.0, 30.0, 240.0, 30720.0]
NARROW_POINTS += [-p for p in NARROW_POINTS]
# fmt: off
NARROW_ROWS = [[2.0 ** -13, 2.0 ** -12, -(2.0 ** -13)], [2.0 ** -10, 3 * 2.0 ** -10, 0.0],
               [0.25, -0.5, 0.125], [3.0, -4.0, 1.5], [96.0, 200.0, -96.0],
               [3072.0, 2048.0, 1024.0], [20480.0, 1.0, 2.0], [0.0, 0.0, 0.0]]
# fmt: on
# fmt: off
NARROW_CASES = [
    unary("Celu", "F.celu(x, 2.0)", NARROW_POINTS, name="narrow.Celu", alpha=2.0),
    unary("Elu", "F.elu(x, 2.0)", NARROW_POINTS, name="narrow.Elu", alpha=2.0),
    unary("HardSigmoid", "(SIXTH * x + 0.5).clamp(0, 1)", NARROW_POINTS, name="narrow.HardSigmoid",
          alpha=SIXTH, beta=0.5),
    unary("HardSwish", "F.hardswish(x)", NARROW_POINTS, name="narrow.HardSwish"),
    unary("Mish", "F.mish(x)", NARROW_POINTS, name="narrow.Mish"),
    unary("Selu", "1.05070102214813232421875 * F.elu(x, 1.67326319217681884765625)", NARROW_POINTS,
          name="narrow.Selu"),
    unary("Softsign", "F.softsign(x)", NARROW_POINTS, name="narrow.Softsign"),
    unary("Swish", "x * (0.5 * x).sigmoid()", NARROW_POINTS, name="narrow.Swish", alpha=0.5),
    binary("SwiGLU", "F.silu(x) * y", [(1.5, -3.0), (-0.75, 40.0), (9.0, 0.0625), (-6.0, 7.0)],
           name="narrow.SwiGLU"),
    Case("narrow.QuantizeLinear", [("Cast", [3.0], {"to": INT8}),
                                   ("QuantizeLinear", ["x", 0.0625, "#0"], {}),
                                   ("DequantizeLinear", ["#1", 0.0625, "#0"], {})],
         "torch.fake_quantize_per_tensor_affine(x, 0.0625, 3, -128, 127)",
         [0.0, 1.296875, -2.171875, 7.6875, 7.84375, -9.0]),
    Case("narrow.Mean", [("Mean", ["x", "y"], {})], "(x + y) / 2", [40960.0, 256.0, 3.0],
         [61440.0, 1.0, -2.984375]),
    Case("narrow.Sum", [("Sum", ["x", "y", "z"], {})], "x + y + z", [40960.0, 256.0, 3.0],
         [61440.0, 1.0, 0.001953125], [-61440.0, 1.0, -3.0]),
    rows("ReduceL1", "x.abs().sum(-1, keepdim=True)", NARROW_ROWS, name="narrow.ReduceL1"),
    rows("ReduceL2", "torch.linalg.vector_norm(x, dim=-1, keepdim=True)", NARROW_ROWS,
         name="narrow.ReduceL2"),
    rows("ReduceLogSum", "x.sum(-1, keepdim=True).log()",
         [[2.0 ** -13, 2.0 ** -12, 2.0 ** -13], [40960.0, 30720.0, 20480.0]],
         name="narrow.ReduceLogSum"),
    rows("ReduceLogSumExp", "torch.logsumexp(x, -1, keepdim=True)", NARROW_ROWS,
         name="narrow.ReduceLogSumExp"),
    rows("ReduceSumSquare", "(x * x).sum(-1, keepdim=True)", NARROW_ROWS[1:5],
         name="narrow.ReduceSumSquare"),
    # The product of all is more or less than float16 holds, those of all but one are not.
    rows("ReduceProd", "x.prod(-1, keepdim=True)",
         [[64.0, 256.0, 0.5], [30.0, -3.0, 200.0], [2.0 ** -9, 2.0 ** -8, 2.0 ** -10],
          [160.0, 0.0, 96.0]], name="narrow.ReduceProd"),
    Case("narrow.ReduceProd.bounded",
         [("ReduceProd", ["x", [-1]], {}), ("Min", ["#0", 1.0], {})],
         "x.prod(-1, keepdim=True).clamp(max=1.0)", [[300.0, 3.0, 200.0], [0.5, 0.25, 1.0]]),
    # A norm that ONNX has no operator for: cubes are beyond float16 from 41 on.
    Case("narrow.norm.3",
         [("Abs", ["x"], {}, "linalg_vector_norm.default"),
          ("Pow", ["#0", 3.0], {}, "linalg_vector_norm.default"),
          ("ReduceSum", ["#1", [-1]], {}, "linalg_vector_norm.default"),
          ("Pow", ["#2", 1 / 3], {}, "linalg_vector_norm.default")],
         "torch.linalg.vector_norm(x, 3, dim=-1, keepdim=True)", NARROW_ROWS),
    signals("AveragePool", "F.avg_pool1d(s, 2, 1)", NARROW_ROWS + [[40960.0, 61440.0, 3.0]],
            name="narrow.AveragePool", kernel_shape=[2]),
    signals("LpPool", "torch.linalg.vector_norm(s.unfold(2, 2, 1), dim=-1)", NARROW_ROWS,
            name="narrow.LpPool", kernel_shape=[2]),
    signals("BatchNormalization", "(s - 0.5) / math.sqrt(4 + EPSILON) * 1.5 - 2", NARROW_ROWS,
            name="narrow.BatchNormalization", more=(1.5, -2.0, 0.5, 4.0)),
    signals("LRN", "s / (1 + 0.5 * s * s / 3) ** 0.75", NARROW_ROWS, name="narrow.LRN", size=3,
            alpha=0.5, beta=0.75),
    rows("LpNormalization", "normalized(x, 2)", NARROW_ROWS, name="narrow.LpNormalization",
         axes=False, p=2),
    rows("LpNormalization", "normalized(x, 1)", NARROW_ROWS, name="narrow.LpNormalization.1",
         axes=False, p=1),
    rows("LogSoftmax", "torch.log_softmax(x, -1)",
         [[7.0, -7.0, -5.0], [12.0, 0.0, 1.0], [0.25, -0.5, 0.125]], name="narrow.LogSoftmax",
         axes=False),
]
# fmt: on


def weight(position):
    """What a case's result is multiplied by in the loss, by position: not all alike, or a softmax
    would have no gradient."""
    return 1.0 + position % 3


# Where this table has nothing to say: comparisons, booleans, moves, and what has three results.
WITHOUT_SEAMS = {
    "And",
    "Or",
    "Xor",
    "Not",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "IsInf",
    "IsNaN",
    "Cast",
    "CastLike",
    "Identity",
    "Dropout",
    "DynamicQuantizeLinear",
}


def fx_node(function):
    """A node's metadata_props entry as the dynamo exporter writes it; Debian's onnx
    has no such field."""

    def field(number, payload):
        length, size = b"", len(payload)
        while size >= 0x80:
            length += bytes([size & 0x7F | 0x80])
            size >>= 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + payload

    text = (
        f"%a : [num_users=1] = call_function[target=torch.ops.aten.{function}](args = (%x,), kwargs"
        " = {})"
    )
    return field(9, field(1, b"pkg.torch.onnx.fx_node") + field(2, text.encode()))


def build(case, number):
    """(nodes, name of the result) of a case, of floats of the type `number`; its operands are
    CASE.x and so on."""
    nodes = []

    def operand(value):
        if isinstance(value, str):
            return f"{case.name}.{value.lstrip('#')}"
        name = f"{case.name}.constant.{len(nodes)}.{value}"
        tensor = (
            helper.make_tensor(name, TensorProto.INT64, [len(value)], value)
            if isinstance(value, list)
            else helper.make_tensor(name, number, [], [value])
        )
        nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    for index, (op, inputs, attributes, *function) in enumerate(case.nodes):
        node = helper.make_node(
            op,
            [operand(i) for i in inputs],
            [f"{case.name}.{index}"],
            name=f"{case.name}.{op}.{index}",
            **attributes,
        )
        if function:
            node.MergeFromString(fx_node(function[0]))
        nodes.append(node)
    return nodes, nodes[-1].output[0]
