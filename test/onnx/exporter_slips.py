"""What PyTorch's exporter writes that ONNX does not allow, taken as PyTorch meant it."""
from exporter_metadata import ParameterTest, X, call, constant, dynamo
from onnx_writer import FLOAT, INT64, floats, ints, node, value


class Slips(ParameterTest):
    def imported(self, content):
        code, module, errors = self.run_import(content)
        self.assertEqual(code, 0, errors)
        return module

    def squeezed(self, target):
        nodes = [
            call("Mul", ["x", "scale"], "m", "layers.0", "mul.Tensor", "%x", "%scale"),
            call("Squeeze", ["m", "axis"], "y", "", target, "%m", "1"),
        ]
        given = [constant("scale", (4,)), ("axis", ints("axis", [1]))]
        return dynamo(nodes, ["scale"], given, [X], value("y", FLOAT, ["batch", 4]))

    def test_a_squeeze_leaves_a_dim_that_is_not_1(self):
        module = self.imported(self.squeezed("squeeze.dim"))
        self.assertIn('tensor<2x4xf32> {nn.name = "y"}', module)
        self.refused(self.squeezed("reshape.default"), "expects dim 1 to be 1, got 4")

    def entropy(self, smoothing):
        told = ["%x", "%labels", "None", "1", "-100", smoothing]
        nodes = [
            call("Mul", ["x", "scale"], "m", "layers.0", "mul.Tensor", "%x", "%scale"),
            call(
                "SoftmaxCrossEntropyLoss",
                ["m", "labels"],
                "loss",
                "",
                "cross_entropy_loss.default",
                *told,
            ),
        ]
        labels = value("labels", INT64, ["batch"])
        output = value("loss", FLOAT, [])
        return dynamo(nodes, ["scale"], [constant("scale", (4,))], [X, labels], output)

    def test_label_smoothing_is_that_of_the_call(self):
        self.assertIn("smoothing = 2.500000e-01", self.imported(self.entropy("0.25")))
        self.assertNotIn("smoothing", self.imported(self.entropy("0.0")))
        for wrong in ("1.5", "%smoothing", "nan"):
            self.refused(
                self.entropy(wrong),
                "expects the label_smoothing of its metadata to be a number from 0 to 1, got"
                f" '{wrong}'",
            )

    def test_a_range_of_floats_and_integers(self):
        nodes = [
            node("Range", ["one", "five", "step"], ["r"]),
            call("Mul", ["x", "scale"], "m", "layers.0", "mul.Tensor", "%x", "%scale"),
            call("Add", ["m", "r"], "y", "", "add.Tensor", "%m", "%r"),
        ]
        given = [
            constant("scale", (4,)),
            ("one", floats("one", [], [1.0])),
            ("five", ints("five", [5], [])),
            ("step", ints("step", [1], [])),
        ]
        module = self.imported(
            dynamo(nodes, ["scale"], given, [X], value("y", FLOAT, ["batch", 4]))
        )
        self.assertIn("[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]", module)

    def test_a_parameter_that_is_named_like_an_op(self):
        nodes = [call("Neg", ["t"], "t", "", "neg.default", "%t", result="t")]
        nodes += [call("Mul", ["x", "t"], "y", "", "mul.Tensor", "%x", "%t")]
        self.refused(
            dynamo(nodes, ["t"], [constant("t", (4,))], [X], value("y", FLOAT, ["batch", 4])),
            "its output 't' is defined twice: it is a parameter, too; give that another name",
        )

    def pooled(self, *told):
        image = value("x", FLOAT, ["batch", 2, 4, 4])
        target = "avg_pool2d.default"
        nodes = [
            call("Mul", ["x", "scale"], "m", "layers.0", "mul.Tensor", "%x", "%scale"),
            call("AveragePool", ["m"], "y", "", target, *told, kernel_shape=[4, 4]),
        ]
        given = [constant("scale", (4,))]
        return dynamo(nodes, ["scale"], given, [image], value("y", FLOAT, ["batch", 2, 1, 1]))

    def test_what_a_pool_divides_by(self):
        told = ["%m", "[4, 4]", "[]", "[0, 0]", "False", "True"]
        self.assertIn("dense<5.000000e+00>", self.imported(self.pooled(*told, "5")))
        self.assertIn("nn.reduce_mean", self.imported(self.pooled(*told, "None")))
        self.refused(self.pooled(*told, "0"), "made from a pool with the divisor_override 0")

    def convolved(self, bias):
        """bias: what the zeros [4, 2] go through."""
        image = value("x", FLOAT, ["batch", 2, 3, 3, 3])
        nodes = [
            node("ConstantOfShape", ["shape"], ["zeros"]),
            node(bias, ["zeros"], ["b"]),
            call("Conv", ["x", "w", "b"], "y", "layers.0", "conv3d.default", "%x", "%p_w", "None"),
        ]
        given = [constant("w", (4, 2, 3, 3, 3)), ("shape", ints("shape", [4, 2]))]
        return dynamo(nodes, ["w"], given, [image], value("y", FLOAT, ["batch", 4, 1, 1, 1]))

    def test_zeros_of_another_shape_are_no_bias(self):
        self.assertNotIn("nn.add", self.imported(self.convolved("Identity")))
        self.refused(self.convolved("Exp"), "expects B to have the shape [4], got [4, 2]")
