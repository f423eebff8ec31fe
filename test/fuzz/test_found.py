"""Small programs that were wrong once, judged as the fuzzer judges: each by what it was found
with, in a few lines."""
import tempfile
import unittest
from unittest import mock

import numpy as np

from configuration import Configuration
from evaluate import Written
from generate import Case
from judge import Judge
from program import Input, Loss, Node, Program, rounded
from write_onnx import Writer

NUMBERS = np.random.default_rng(7)


def normal(*shape):
    return NUMBERS.standard_normal(shape)


def case(
    nodes,
    parameters,
    data,
    constants=None,
    dtype="f32",
    opset=23,
    types=None,
    habit="plain",
    precision="float64",
    how="node",
):
    """A program whose loss is the last node's only result, with a fixed batch of 2 on one rank."""
    program = Program(
        opset,
        2,
        nodes,
        {k: Input(dtype, rounded(v, dtype)) for k, v in data.items()},
        {k: (dtype, rounded(v, dtype)) for k, v in parameters.items()},
        {
            k: (("i64" if np.asarray(v).dtype.kind == "i" else dtype), np.asarray(v))
            for k, v in (constants or {}).items()
        },
    )
    program.how = {k: how for k in program.constants}
    program.types = {
        k: t for k, (t, _) in (*program.parameters.items(), *program.constants.items())
    }
    program.types.update({k: v.dtype for k, v in program.inputs.items()})
    program.types.update({o: dtype for n in nodes for o in n.outputs} | (types or {}))
    program.loss = Loss("output", nodes[-1].outputs[0])
    program.shapes = {
        k: np.shape(v)
        for k, v in Written(program, 1, np.float64).values[0].items()
        if not isinstance(v, list)
    }
    return Case(0, program, Configuration(symbolic=False, precision=precision), habit)


class Found(unittest.TestCase):
    def good(self, *arguments, dressed=False, **more):
        with tempfile.TemporaryDirectory(prefix="shardc-fuzz-") as folder:
            self.assertIsNone(
                describe(Judge(directions=4).judge(case(*arguments, **more), folder, dressed))
            )

    def test_mean_over_the_sequence_behind_attention(self):
        """The gradient of attention's result is one row, repeated: no matrix of the GEMM
        library."""
        for axes in ([1], [0, 1, 2]):
            with self.subTest(axes=axes):
                self.good(
                    [
                        Node("MatMul", ["x", "l.w"], ["b"]),
                        Node(
                            "Attention",
                            ["b", "b", "x"],
                            ["c"],
                            {"q_num_heads": 2, "kv_num_heads": 2},
                        ),
                        Node("ReduceMean", ["c", "axes"], ["d"]),
                        Node("Mul", ["d", "l.v"], ["e"]),
                        Node("ReduceSum", ["e"], ["f"], {"keepdims": 0}),
                    ],
                    {"l.w": normal(8, 8), "l.v": normal(8)},
                    {"x": normal(2, 3, 8)},
                    {"axes": np.array(axes)},
                )

    def test_attention_of_one_learned_query_at_all_positions(self):
        self.good(
            [
                Node("MatMul", ["x", "l.w"], ["b"]),
                Node("Expand", ["l.q", "shape"], ["q"]),
                Node("Attention", ["q", "b", "b"], ["c"], {"q_num_heads": 2, "kv_num_heads": 2}),
                Node("Mul", ["c", "c"], ["d"]),
                Node("ReduceSum", ["d"], ["f"], {"keepdims": 0}),
            ],
            {"l.w": normal(8, 8), "l.q": normal(8)},
            {"x": normal(2, 3, 8)},
            {"shape": np.array([2, 3, 8])},
        )

    def test_attention_of_a_reversed_sequence(self):
        self.good(
            [
                Node("MatMul", ["x", "l.w"], ["b"]),
                Node("Slice", ["b", "start", "end", "axis", "step"], ["q"]),
                Node("Attention", ["q", "b", "q"], ["c"], {"q_num_heads": 2, "kv_num_heads": 2}),
                Node("Mul", ["c", "c"], ["d"]),
                Node("ReduceSum", ["d"], ["f"], {"keepdims": 0}),
            ],
            {"l.w": normal(8, 8)},
            {"x": normal(2, 3, 8)},
            {
                "start": np.array([-1]),
                "end": np.array([-9]),
                "axis": np.array([1]),
                "step": np.array([-1]),
            },
        )

    def test_heads_of_one_element(self):
        self.good(
            [
                Node("MatMul", ["x", "l.w"], ["b"]),
                Node(
                    "Attention",
                    ["b", "b", "b"],
                    ["c"],
                    {"q_num_heads": 2, "kv_num_heads": 2, "is_causal": 1},
                ),
                Node("ReduceMean", ["c"], ["f"], {"keepdims": 0}),
            ],
            {"l.w": normal(3, 2)},
            {"x": normal(2, 3, 3)},
        )

    def test_norms_and_attention_in_files_of_16_bits(self):
        for dtype in ("f16", "bf16"):
            for precision in ("float64", "float32"):
                with self.subTest(dtype=dtype, precision=precision):
                    self.good(
                        [
                            Node("LayerNormalization", ["x", "n.a"], ["b"]),
                            Node("RMSNormalization", ["b", "n.b"], ["c"]),
                            Node(
                                "Attention",
                                ["c", "c", "c"],
                                ["d"],
                                {"q_num_heads": 2, "kv_num_heads": 2},
                            ),
                            Node("Mul", ["d", "n.b"], ["e"]),
                            Node("ReduceMean", ["e"], ["f"], {"keepdims": 0}),
                        ],
                        {"n.a": normal(4), "n.b": normal(4)},
                        {"x": normal(2, 3, 4)},
                        dtype=dtype,
                        precision=precision,
                    )

    def test_statistics_of_a_norm_have_gradients(self):
        self.good(
            [
                Node("Mul", ["x", "l.w"], ["a"]),
                Node(
                    "LayerNormalization", ["a", "l.g"], ["b", "mean", "inverse"], {"epsilon": 0.5}
                ),
                Node("Mul", ["mean", "inverse"], ["c"]),
                Node("Add", ["c", "b"], ["d"]),
                Node("Mul", ["d", "d"], ["e"]),
                Node("ReduceSum", ["e"], ["f"], {"keepdims": 0}),
            ],
            {"l.w": normal(4), "l.g": normal(4)},
            {"x": normal(2, 3, 4)},
        )

    def test_a_row_of_a_mask_that_hides_every_key_by_a_number(self):
        """Softmax of -10000 + scores is the softmax of the scores; beside the lowest float32 no
        digit of these is left. The weights of a row sum to 1."""
        for hidden, precision in (
            (-1e4, "float64"),
            (-1e4, "float32"),
            (-1e9, "float32"),
            (float(np.finfo(np.float32).min), "float32"),
        ):
            with self.subTest(hidden=hidden, precision=precision):
                self.check_hidden_row(hidden, precision)

    def check_hidden_row(self, hidden, precision):
        mask = np.array([[hidden, hidden, hidden], [0, hidden, hidden], [0, 0, hidden]])
        # Beside the lowest number differences see no slope of the scores: they have no parameter.
        trained = {"l.w": normal(4, 4)} if hidden > -1e9 else {}
        query = (
            [Node("MatMul", ["x", "l.w"], ["q"])] if trained else [Node("Mul", ["x", "x"], ["q"])]
        )
        self.good(
            [
                *query,
                Node("Transpose", ["x"], ["k"], {"perm": [0, 1, 3, 2]}),
                Node("MatMul", ["q", "k"], ["s"]),
                Node("Add", ["s", "mask"], ["m"]),
                Node("Softmax", ["m"], ["p"], {"axis": -1}),
                Node("Add", ["x", "l.v"], ["v"]),
                Node("MatMul", ["p", "v"], ["a"]),
                Node("ReduceMean", ["a"], ["f"], {"keepdims": 0}),
            ],
            {**trained, "l.v": normal(4)},
            {"x": normal(2, 2, 3, 4)},
            {"mask": mask},
            precision=precision,
        )

    def test_a_sum_of_integers_that_is_cast_in_16_bits(self):
        """It has no float type to be narrowed from."""
        for precision in ("bf16", "float16", "float32"):
            with self.subTest(precision=precision):
                self.good(
                    [
                        Node("Cast", ["x"], ["i"], {"to": 7}),
                        Node("ReduceSum", ["i", "axis"], ["n"]),
                        Node("Cast", ["n"], ["m"], {"to": 1}),
                        Node("Mul", ["m", "l.w"], ["a"]),
                        Node("ReduceMean", ["a"], ["f"], {"keepdims": 0}),
                    ],
                    {"l.w": normal(4)},
                    {"x": np.arange(24).reshape(2, 3, 4) % 5},
                    {"axis": np.array([1])},
                    types={"i": "i64", "n": "i64"},
                    precision=precision,
                )

    def test_a_parameter_that_a_tensor_is_padded_with(self):
        self.good(
            [
                Node("Mul", ["x", "l.w"], ["a"]),
                Node("Pad", ["a", "pads", "l.v"], ["b"], {"mode": "constant"}),
                Node("Mul", ["b", "b"], ["c"]),
                Node("ReduceSum", ["c"], ["f"], {"keepdims": 0}),
            ],
            {"l.w": normal(4), "l.v": normal()},
            {"x": normal(2, 4)},
            {"pads": np.array([0, 1, 0, 2])},
            dressed=True,
        )

    def test_windows_of_same_pads_that_are_larger_than_the_input(self):
        """ceil_mode cuts no kernel for which auto_pad makes room."""
        for mode in ("SAME_LOWER", "SAME_UPPER"):
            pool = {"kernel_shape": [3, 2], "strides": [3, 1], "auto_pad": mode}
            pool |= {"ceil_mode": 1, "count_include_pad": 1}
            with self.subTest(mode=mode):
                self.good(
                    [
                        Node("Mul", ["x", "l.w"], ["a"]),
                        Node("AveragePool", ["a"], ["b"], pool),
                        Node("Mul", ["b", "b"], ["c"]),
                        Node("ReduceSum", ["c"], ["f"], {"keepdims": 0}),
                    ],
                    {"l.w": normal(4)},
                    {"x": normal(2, 3, 2, 4)},
                )

    def test_large_tensors_of_16_bits_and_of_integers_in_the_file(self):
        """What is larger than 4 KiB is left out of the message that protobuf reads."""
        for dtype in ("f16", "bf16", "f64", "f32"):
            with self.subTest(dtype=dtype):
                self.good(
                    [
                        Node("MatMul", ["x", "l.w"], ["a"]),
                        Node("Gather", ["a", "table"], ["b"], {"axis": 1}),
                        Node("Mul", ["b", "scale"], ["c"]),
                        Node("ReduceMean", ["c"], ["f"], {"keepdims": 0}),
                    ],
                    {"l.w": normal(48, 48)},
                    {"x": normal(2, 48)},
                    {"table": np.arange(2400) % 48, "scale": rounded(normal(2400), dtype)},
                    dtype=dtype,
                    how="initializer",
                )

    def test_parameters_that_a_branch_reads(self):
        """Nodes of the branch of an If that is taken are nodes of the graph."""
        nodes = [
            Node("MatMul", ["x", "l.weight"], ["a"]),
            Node("Add", ["a", "l.bias"], ["b"]),
            Node("Mul", ["b", "b"], ["c"]),
            Node("ReduceMean", ["c"], ["f"], {"keepdims": 0}),
        ]
        for habit in ("plain", "dynamo", "legacy"):
            with self.subTest(habit=habit), mock.patch.object(
                Writer, "wrap", lambda self, lines: self.branch(0, nodes[:3], lines, 1) + lines[3:]
            ):
                self.good(
                    nodes,
                    {"l.weight": normal(4, 5), "l.bias": normal(5)},
                    {"x": normal(2, 4)},
                    habit=habit,
                    dressed=True,
                )


def describe(finding):
    return finding and f"{finding}\n{finding.detail[-600:]}"


if __name__ == "__main__":
    unittest.main()
