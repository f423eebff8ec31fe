"""What exporters computed ahead of the run: functions of parameters are refused, transposes and
views are taken apart."""
from exporter_metadata import ParameterTest, X, call, constant, dynamo, y
from onnx_writer import FLOAT, value


class Folded(ParameterTest):
    def folded(self, name, sources, dims=(4,), initializer_dims=None):
        nodes = [call("Mul", ["x", name], "y", "layers.0", "mul.Tensor", "%x", f"%{name}")]
        return dynamo(nodes, ["scale", "other"], [constant(name, dims)], [X], y(4), {name: sources})

    def test_a_function_of_a_parameter_is_refused_with_both_names(self):
        for name in ("exp", "sigmoid", "tanh_1", "neg", "mul_2", "abs_1", "softmax", "softplus_3"):
            with self.subTest(name):
                self.refused(self.folded(name, ["scale"]), f"'{name}'", "'scale'", "optimize=False")

    def test_a_chain_is_refused_where_one_link_computes(self):
        self.refused(self.folded("view", ["exp", "scale", "val_3"]), "'view'", "'scale'", "(exp)")
        self.refused(
            self.folded("add_3", ["scale", "scalar_tensor_default", "val_5"]), "'add_3'", "'scale'"
        )

    def test_several_parameters_are_refused(self):
        self.refused(self.folded("view", ["other", "scale"]), "parameters 'other', 'scale'")

    def test_a_view_is_the_parameter_in_the_exporters_shape(self):
        trained, warnings = self.found(self.folded("view_1", ["scale", "val_3", "val_4"]))
        self.assertEqual(list(trained), ["scale"])
        self.assertIn("'scale' is stored in the shape that the exporter's view left", warnings)

    def test_slopes_that_the_lowering_reshaped_are_a_vector(self):
        """torch.nn.PReLU's weight has one dim, whatever its activations have."""
        nodes = [
            call(
                "PRelu",
                ["x", "val_1"],
                "y",
                "layers.0",
                "prelu.default",
                "%x",
                "%p_layers_0_weight",
            )
        ]
        trained, warnings = self.found(
            dynamo(
                nodes,
                ["layers.0.weight"],
                [constant("val_1", [1, 4])],
                [X],
                y(4),
                {"val_1": ["layers.0.weight", "val_0"]},
            )
        )
        self.assertEqual(trained["layers.0.weight"]["dims"], [4])
        self.assertEqual(warnings, "")

    def test_a_transposition_is_the_parameter_as_pytorch_has_it(self):
        for dims in ([4, 3], [4, 4]):
            nodes = [
                call(
                    "MatMul", ["x", "permute"], "y", "layers.0", "matmul.default", "%x", "%permute"
                )
            ]
            trained, warnings = self.found(
                dynamo(
                    nodes, ["w"], [constant("permute", dims)], [X], y(dims[1]), {"permute": ["w"]}
                )
            )
            self.assertEqual(
                trained["w"]["bindings"],
                [{"initializer": "permute", "transposed": True, "uses": ["node_y:1"]}],
            )
            self.assertEqual(warnings, "")

    def test_two_transpositions_are_none(self):
        nodes = [
            call(
                "MatMul", ["x", "transpose"], "y", "layers.0", "matmul.default", "%x", "%transpose"
            )
        ]
        trained, _ = self.found(
            dynamo(
                nodes,
                ["w"],
                [constant("transpose", [4, 3])],
                [X],
                y(3),
                {"transpose": ["clone", "t", "w"]},
            )
        )
        self.assertFalse(trained["w"]["bindings"][0]["transposed"])

    def test_a_permutation_of_three_dims_is_refused(self):
        nodes = [call("Mul", ["x", "permute"], "y", "layers.0", "mul.Tensor", "%x", "%permute")]
        self.refused(
            dynamo(
                nodes,
                ["w"],
                [constant("permute", [1, 1, 4])],
                [X],
                value("y", FLOAT, [1, "batch", 4]),
                {"permute": ["w"]},
            ),
            "'permute'",
            "'w'",
        )

    def test_a_parameter_times_alpha_inside_of_a_call_is_refused(self):
        nodes = [call("Add", ["x", "val_2"], "y", "layers.0", "add.Tensor", "%x", "%p_scale")]
        self.refused(
            dynamo(
                nodes, ["scale"], [constant("val_2", [4])], [X], y(4), {"val_2": ["scale", "val_1"]}
            ),
            "'val_2'",
            "'scale'",
        )

    def test_an_equal_fold_of_another_parameter_is_refused(self):
        nodes = [
            call("MatMul", ["x", "permute"], "h", "layers.0", "matmul.default", "%x", "%permute"),
            call("MatMul", ["h", "permute"], "y", "layers.1", "matmul.default", "%h", "%permute_1"),
        ]
        self.refused(
            dynamo(nodes, ["a", "b"], [constant("permute", [4, 4])], [X], y(4), {"permute": ["a"]}),
            "'permute'",
            "optimize=False",
        )

    def test_a_fold_beside_another_parameter(self):
        nodes = [
            call(
                "Gemm",
                ["x", "t", "outer"],
                "y",
                "layers.0",
                "linear.default",
                "%x",
                "%t",
                "%p_outer",
                transB=1,
            )
        ]
        trained, _ = self.found(
            dynamo(
                nodes,
                ["w", "outer"],
                [constant("t", [4, 4]), constant("outer", [4])],
                [X],
                y(4),
                {"t": ["w"]},
            )
        )
        self.assertEqual(
            {n: p["bindings"][0]["uses"] for n, p in trained.items()},
            {"w": ["node_y:1"], "outer": ["node_y:2"]},
        )
        # As a product and a sum: the product's operand has a name that the exporter made up.
        nodes = [
            call(
                "MatMul",
                ["x", "val_3"],
                "val_4",
                "layers.0",
                "linear.default",
                "%x",
                "%t",
                "%p_outer",
                result="linear",
            ),
            call(
                "Add",
                ["val_4", "outer"],
                "y",
                "layers.0",
                "linear.default",
                "%x",
                "%t",
                "%p_outer",
                result="linear",
            ),
        ]
        trained, _ = self.found(
            dynamo(
                nodes,
                ["w", "outer"],
                [constant("val_3", [4, 4]), constant("outer", [4])],
                [X],
                y(4),
                {"val_3": ["t", "w"]},
            )
        )
        self.assertEqual(
            {n: p["bindings"] for n, p in trained.items()},
            {
                "w": [{"initializer": "val_3", "transposed": False, "uses": ["node_val_4:1"]}],
                "outer": [{"initializer": "outer", "transposed": False, "uses": ["node_y:1"]}],
            },
        )

    def test_a_batch_norm_in_the_layer_before_it_is_refused(self):
        listed = ["net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias"]
        norm = [
            "%linear",
            "%p_net_1_weight",
            "%p_net_1_bias",
            "%b_net_1_running_mean",
            "%b_net_1_running_var",
            "True",
            "0.1",
            "1e-05",
        ]
        nodes = [
            call(
                "Gemm",
                ["x", "net.0.weight", "net.0.bias"],
                "getitem",
                "net.1",
                "_native_batch_norm_legit_functional.default",
                *norm,
                result="_native_batch_norm_legit_functional",
                transB=1,
            ),
            call("Mul", ["getitem", "last"], "y", "", "mul.Tensor", "%getitem", "%p_last"),
        ]
        self.refused(
            dynamo(
                nodes,
                listed + ["last"],
                [
                    constant("net.0.weight", [4, 4]),
                    constant("net.0.bias", [4]),
                    constant("last", [4]),
                ],
                [X],
                y(4),
                rewritten=["net.0.weight", "net.0.bias"],
            ),
            "'net.0.weight'",
            "'net.1.weight'",
            "batch_norm",
        )
