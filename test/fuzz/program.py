"""The graph that a fuzzer's case is: nodes in order, values with their types, parameters, inputs
and constants. Everything else (ONNX bytes, expected numbers, a smaller case) is made from this, so
that nothing depends on reading a file back."""
import dataclasses

import numpy as np

# Name here: (TensorProto.DataType, numpy type of the stored bytes). bfloat16 has none of its own:
# the upper half of a float32.
TYPES = {
    "f32": (1, np.float32),
    "f64": (11, np.float64),
    "f16": (10, np.float16),
    "bf16": (16, None),
    "i64": (7, np.int64),
    "i32": (6, np.int32),
    "i8": (3, np.int8),
    "u8": (2, np.uint8),
    "b1": (9, np.bool_),
}
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("i64", "i32", "i8", "u8")
OF_NUMBER = {number: name for name, (number, _) in TYPES.items()}


def rounded(values, dtype):
    """The values that a tensor of the type can hold, as float64 or in the integer's numpy type."""
    values = np.asarray(values)
    if dtype == "bf16":
        bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
        bits = bits + (0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
        return bits.astype(np.uint32).view(np.float32).astype(np.float64).reshape(values.shape)
    stored = values.astype(TYPES[dtype][1])
    return stored.astype(np.float64) if dtype in FLOATS else stored


# Operators whose results are known whatever their input is. Of numbers that are drawn the events
# are, since the generator makes sure ones alone.
OF_SHAPES = ("Shape", "Size", "SequenceLength", "EyeLike", "RandomUniformLike")
# Known values are computed while compiling, in the file's types. These are right after one
# rounding, or need none.
ROUND_ONCE = set(
    """
    Abs Add And Bernoulli Cast CastLike Ceil Clip Concat ConcatFromSequence Constant ConstantOfShape
    DepthToSpace Div Dropout Equal Expand EyeLike Flatten Floor Gather GatherElements GatherND
    Greater GreaterOrEqual Identity IsNaN Less LessOrEqual Max Min Mul Neg NonZero Not OneHot Or Pad
    RandomNormal RandomUniform RandomUniformLike Range Reciprocal ReduceMax ReduceMin Relu Reshape
    Round SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert Shape Sign Size
    Slice SpaceToDepth Split SplitToSequence Sqrt Squeeze Sub Tile Transpose Trilu Unsqueeze Where
    Xor
    """.split()
)


def folds_inexactly(op, types):
    return op not in ROUND_ONCE and any(t in FLOATS and t != "f64" for t in types)


def stored_bytes(values, dtype):
    if dtype == "bf16":
        return (
            (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16)
            .astype(np.uint16)
            .tobytes()
        )
    return np.ascontiguousarray(values, TYPES[dtype][1]).tobytes()


@dataclasses.dataclass
class Node:
    op: str
    inputs: list  # names; "" is an optional input left out
    outputs: list
    # Values: int, float, str, [int], [float], or (dtype, array) for a tensor.
    attributes: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Input:
    """A graph input: values of all samples of a step, [samples, ...]; `symbols`: names
    for dims, by axis."""

    dtype: str
    values: np.ndarray
    symbols: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Loss:
    """What the trainer minimises. kind: output, mse or cross_entropy; value: the graph's output;
    target: the input of labels or targets, which the graph does not have, with all its samples."""

    kind: str
    value: str
    target: str = ""
    labels: np.ndarray = None
    ignore: int = -100
    shift: int = 0


@dataclasses.dataclass
class Program:
    opset: int
    batch: int  # of one rank and micro-batch
    nodes: list = dataclasses.field(default_factory=list)
    inputs: dict = dataclasses.field(default_factory=dict)  # name: Input
    parameters: dict = dataclasses.field(default_factory=dict)  # name: (dtype, float64 array)
    # name: (dtype, array); how: "node", or "initializer"
    constants: dict = dataclasses.field(default_factory=dict)
    how: dict = dataclasses.field(default_factory=dict)
    types: dict = dataclasses.field(default_factory=dict)  # value: dtype
    shapes: dict = dataclasses.field(default_factory=dict)  # value: shape
    extra_outputs: list = dataclasses.field(default_factory=list)
    loss: Loss = None
    # The compiler takes constants of a pattern (1 / sqrt 2, 0.044715, the scale of attention) for
    # what a float32 in the file was rounded from, and those of a definition (HardSwish's 1/6, one
    # over the number of labels) are of the file's type.
    takes_constants: bool = False

    def producer(self):
        return {output: node for node in self.nodes for output in node.outputs if output}

    def needed(self, targets, numbers=False):
        """Names that the targets are computed from, themselves included; numbers: along what
        gradients flow through, no shapes, integers or comparisons."""
        made, seen, stack = self.producer(), set(), list(targets)
        while stack:
            name = stack.pop()
            if name and name not in seen:
                seen.add(name)
                if name in made and not (
                    numbers and (made[name].op in OF_SHAPES or self.types[name] not in FLOATS)
                ):
                    # Of CastLike's second input the type alone is.
                    stack.extend(
                        made[name].inputs[:1]
                        if numbers and made[name].op == "CastLike"
                        else made[name].inputs
                    )
        return seen

    def known(self):
        """Names that the compiler works out: constants, parameters that no gradient reaches, what
        is made of them, and shapes."""
        result = set(self.constants) | (set(self.parameters) - set(self.trained()))
        for node in self.nodes:
            # Of CastLike's second input the type alone is known.
            inputs = node.inputs[:1] if node.op == "CastLike" else node.inputs
            if node.op in OF_SHAPES or all(not i or i in result for i in inputs):
                result.update(o for o in node.outputs if o)
        return result

    def folds_inexactly(self):
        """Whether a known float is the result of more than one rounding, which then is the
        compiler's own affair."""
        known = self.known()
        return any(
            folds_inexactly(n.op, [self.types.get(i) for i in (*n.inputs, *n.outputs)])
            for n in self.nodes
            if n.outputs[0] in known
        )

    def may_fold(self):
        """Whether what is known depends on the compiler: what is rounded more than once, or made of
        a parameter that no gradient reaches."""
        return self.folds_inexactly() or set(self.parameters) != set(self.trained())

    def pruned(self):
        """The program without what neither the loss nor an extra output needs."""
        kept = self.needed([self.loss.value, *self.extra_outputs])
        result = dataclasses.replace(
            self, nodes=[n for n in self.nodes if any(o in kept for o in n.outputs)]
        )
        result.inputs = {k: v for k, v in self.inputs.items() if k in kept}
        result.parameters = {k: v for k, v in self.parameters.items() if k in kept}
        result.constants = {k: v for k, v in self.constants.items() if k in kept}
        return result

    def trained(self):
        """Parameters that the loss can depend on."""
        kept = self.needed([self.loss.value], numbers=True)
        return [name for name in self.parameters if name in kept]

    def text(self):
        lines = [
            f"opset {self.opset}, batch {self.batch}, loss {self.loss.kind} of {self.loss.value}"
        ]
        lines += [f"  input {k}: {v.dtype} {list(v.values.shape)}" for k, v in self.inputs.items()]
        lines += [f"  parameter {k}: {t} {list(v.shape)}" for k, (t, v) in self.parameters.items()]
        lines += [
            f"  constant {k} ({self.how.get(k)}):"
            f" {t} {list(v.shape)} {np.array2string(v.ravel()[:8], precision=4)}"
            for k, (t, v) in self.constants.items()
        ]
        for node in self.nodes:
            attributes = ", ".join(f"{k}={v}" for k, v in node.attributes.items())
            results = ", ".join(
                f"{o}: {self.types.get(o)} {list(self.shapes.get(o, ()))}" for o in node.outputs
            )
            lines.append(f"  {results} = {node.op}({', '.join(node.inputs)}) {attributes}")
        return "\n".join(lines)
