"""Parameters whose equal first values the dynamo exporter merged: told apart by the
calls, or refused."""
from exporter_metadata import IDS, ParameterTest, X, call, constant, dynamo, ones, y


class Merged(ParameterTest):
    def norm(self, value, weight, bias, output, own, scope, argument=None):
        return call(
            "LayerNormalization",
            [value, weight, bias],
            output,
            scope,
            "layer_norm.default",
            argument or f"%{value}",
            "[4]",
            f"%p_{own}_weight",
            f"%p_{own}_bias",
            "1e-05",
            "False",
        )

    def test_equal_norms_are_told_by_their_arguments(self):
        # The second norm reads a parameter, too: two arguments end in weight.
        listed = ["rel.weight", "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"]
        nodes = [
            self.norm("x", "norm1.weight", "norm1.bias", "layer_norm", "norm1", "norm1"),
            self.norm(
                "rel.weight",
                "norm1.weight",
                "norm1.bias",
                "layer_norm_1",
                "norm2",
                "norm2",
                "%p_rel_weight",
            ),
            call(
                "Add",
                ["layer_norm", "layer_norm_1"],
                "y",
                "",
                "add.Tensor",
                "%layer_norm",
                "%layer_norm_1",
            ),
        ]
        trained, warnings = self.found(
            dynamo(
                nodes,
                listed,
                [
                    constant("rel.weight", [1, 4]),
                    ones("norm1.weight", [4]),
                    constant("norm1.bias", [4], 0),
                ],
                [X],
                y(4),
            )
        )
        self.assertEqual(sorted(trained), sorted(listed))
        self.assertEqual(trained["norm2.weight"]["bindings"][0]["uses"], ["node_layer_norm_1:1"])
        self.assertEqual(warnings, "")

    def test_equal_operands_of_one_call_are_told_apart(self):
        nodes = [
            call("Add", ["a", "a"], "add", "", "add.Tensor", "%p_a", "%p_b"),
            call("Mul", ["x", "add"], "y", "", "mul.Tensor", "%x", "%add"),
        ]
        trained, _ = self.found(dynamo(nodes, ["a", "b"], [constant("a", [4])], [X], y(4)))
        self.assertEqual(
            {n: p["bindings"][0]["uses"] for n, p in trained.items()},
            {"a": ["node_add:0"], "b": ["node_add:1"]},
        )

    def test_operands_in_another_order_than_the_arguments(self):
        # addmm(bias, x, weight) as Gemm(x, weight, bias), both of another layer.
        nodes = [
            call(
                "Gemm",
                ["x", "l0.weight", "l0.bias"],
                "addmm",
                "l0",
                "addmm.default",
                "%p_l0_bias",
                "%x",
                "%p_l0_weight",
            ),
            call(
                "Gemm",
                ["addmm", "l0.weight", "l0.bias"],
                "y",
                "l1",
                "addmm.default",
                "%p_l1_bias",
                "%addmm",
                "%p_l1_weight",
            ),
        ]
        listed = ["l0.weight", "l0.bias", "l1.weight", "l1.bias"]
        trained, _ = self.found(
            dynamo(
                nodes, listed, [constant("l0.weight", [4, 4]), constant("l0.bias", [4])], [X], y(4)
            )
        )
        self.assertEqual(
            {n: p["bindings"][0]["uses"] for n, p in trained.items()},
            {
                "l0.weight": ["node_addmm:1"],
                "l0.bias": ["node_addmm:2"],
                "l1.weight": ["node_y:1"],
                "l1.bias": ["node_y:2"],
            },
        )

    def test_matrices_that_start_equal_are_two(self):
        nodes = [
            call(
                "Gemm",
                ["x", "query.weight"],
                "linear",
                "query",
                "linear.default",
                "%x",
                "%p_query_weight",
                transB=1,
            ),
            call(
                "Gemm",
                ["linear", "query.weight"],
                "y",
                "key",
                "linear.default",
                "%linear",
                "%p_key_weight",
                transB=1,
            ),
        ]
        trained, _ = self.found(
            dynamo(
                nodes, ["query.weight", "key.weight"], [constant("query.weight", [4, 4])], [X], y(4)
            )
        )
        self.assertEqual(
            {n: p["aliases"] for n, p in trained.items()}, {"query.weight": [], "key.weight": []}
        )

    def test_a_buffer_that_starts_as_a_parameter_is_no_parameter(self):
        # The average of a weight, as it is before the first step.
        def nodes(first, second):
            name = {"weight": "%p_weight", "average": "%b_average"}
            return [
                call(
                    "Gemm",
                    ["x", first],
                    "linear",
                    "a",
                    "linear.default",
                    "%x",
                    name[first],
                    transB=1,
                ),
                call(
                    "Gemm",
                    ["x", first],
                    "linear_1",
                    "b",
                    "linear.default",
                    "%x",
                    name[second],
                    transB=1,
                ),
                call("Add", ["linear", "linear_1"], "y", "", "add.Tensor", "%linear", "%linear_1"),
            ]

        for first, second, use in (
            ("weight", "average", "node_linear:1"),
            ("average", "weight", "node_linear_1:1"),
        ):
            content = dynamo(
                nodes(first, second),
                ["weight"],
                [constant(first, [4, 4])],
                [X],
                y(4),
                buffers=["average"],
            )
            trained, warnings = self.found(content)
            self.assertEqual(
                {n: p["bindings"][0]["uses"] for n, p in trained.items()}, {"weight": [use]}
            )
            self.assertEqual(warnings, "")

    def test_a_call_of_a_copy_names_a_buffer_alone(self):
        nodes = [
            call("Identity", ["w"], "clone", "a", "clone.default", "%p_w"),
            call("Mul", ["clone", "mask"], "mul", "a", "mul.Tensor", "%clone", "%b_mask"),
            call("Add", ["x", "mul"], "y", "", "add.Tensor", "%x", "%mul"),
        ]
        trained, _ = self.found(
            dynamo(
                nodes,
                ["w"],
                [constant("w", [4]), constant("mask", [4])],
                [X],
                y(4),
                buffers=["mask"],
            )
        )
        self.assertEqual(
            {n: p["bindings"][0]["uses"] for n, p in trained.items()},
            {"w": ["node_clone:0", "node_mul:0"]},
        )

    def test_merged_norms_are_refused(self):
        # Both norms of a parallel block have one input: the second node is gone, its
        # reader still names it.
        nodes = [
            self.norm("x", "norm1.weight", "norm1.bias", "layer_norm", "norm1", "norm1"),
            call("Tanh", ["layer_norm"], "tanh", "", "tanh.default", "%layer_norm"),
            call("Sin", ["layer_norm"], "sin", "", "sin.default", "%layer_norm_1"),
            call("Add", ["tanh", "sin"], "y", "", "add.Tensor", "%tanh", "%sin"),
        ]
        listed = ["norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"]
        self.refused(
            dynamo(
                nodes,
                listed,
                [ones("norm1.weight", [4]), constant("norm1.bias", [4], 0)],
                [X],
                y(4),
            ),
            "'layer_norm_1'",
            "'norm1.weight'",
            "'norm2.weight'",
            "optimize=False",
        )

    def test_merged_norms_are_no_names_of_a_tied_table(self):
        nodes = [
            call(
                "Gather",
                ["head.weight", "ids"],
                "embedding",
                "embed",
                "embedding.default",
                "%p_head_weight",
                "%ids",
            ),
            self.norm("embedding", "norm1.weight", "norm1.bias", "layer_norm", "norm1", "norm1"),
            call("Sin", ["layer_norm"], "sin", "", "sin.default", "%layer_norm_1"),
            call("Add", ["layer_norm", "sin"], "add", "", "add.Tensor", "%layer_norm", "%sin"),
            call(
                "Gemm",
                ["add", "head.weight"],
                "y",
                "head",
                "linear.default",
                "%add",
                "%p_head_weight",
                transB=1,
            ),
        ]
        listed = [
            "embed.weight",
            "norm1.weight",
            "norm1.bias",
            "norm2.weight",
            "norm2.bias",
            "head.weight",
        ]
        self.refused(
            dynamo(
                nodes,
                listed,
                [
                    constant("head.weight", [8, 4]),
                    ones("norm1.weight", [4]),
                    constant("norm1.bias", [4], 0),
                ],
                [IDS],
                y(8),
            ),
            "'layer_norm_1'",
            "'norm2.weight'",
        )

    def test_merged_nodes_without_parameters_are_no_matter(self):
        nodes = [
            call("Tanh", ["x"], "tanh", "", "tanh.default", "%x"),
            call("Sin", ["tanh"], "sin", "", "sin.default", "%tanh_1"),
            call("Mul", ["sin", "a.weight"], "y", "a", "mul.Tensor", "%sin", "%p_a_weight"),
        ]
        trained, warnings = self.found(
            dynamo(nodes, ["a.weight", "a.bias"], [constant("a.weight", [4])], [X], y(4))
        )
        self.assertEqual(list(trained), ["a.weight"])
        self.assertIn(
            "the exporter removed parameters from the graph, which are not trained: 'a.bias'; ",
            warnings,
        )
