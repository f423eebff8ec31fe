"""What PyTorch's exporter writes that ONNX does not allow, taken as PyTorch meant it."""
from exporter_metadata import ParameterTest, X, call, constant, dynamo
from onnx_writer import FLOAT, ints, node, value


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
