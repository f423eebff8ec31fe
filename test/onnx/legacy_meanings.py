"""The legacy exporter, which merges equal values with its defaults."""
from exporter_metadata import ParameterTest, X, constant, y
from onnx_writer import floats, graph, model, node


class Legacy(ParameterTest):
    def legacy(self, first, second, biases):
        """Two Linears whose transposed weights the exporter merged; an Identity
        stands for the second."""
        nodes = [
            node("Identity", ["onnx::MatMul_9"], ["onnx::MatMul_10"], "Identity_1"),
            node("MatMul", ["x", "onnx::MatMul_9"], ["m"], f"/{first}/MatMul"),
            node("Add", [biases[0], "m"], ["a"], f"/{first}/Add"),
            node("MatMul", ["a", "onnx::MatMul_10"], ["n"], f"/{second}/MatMul"),
            node("Add", [biases[1], "n"], ["y"], f"/{second}/Add"),
        ]
        names = list(dict.fromkeys(biases))
        return model(
            graph(
                nodes,
                [X],
                [y(4)],
                [constant(n, [4], i)[1] for i, n in enumerate(names)]
                + [constant("onnx::MatMul_9", [4, 4])[1]],
            )
        )

    def test_a_layer_that_is_called_twice_is_one(self):
        trained, _ = self.found(self.legacy("a", "a_1", ["a.bias", "a.bias"]))
        self.assertEqual(sorted(trained), ["a.bias", "a.weight"])

    def test_layers_that_are_copies_are_two(self):
        trained, _ = self.found(
            self.legacy("layers.0", "layers.1", ["layers.0.bias", "layers.1.bias"])
        )
        self.assertEqual(
            sorted(trained),
            ["layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.weight"],
        )

    def test_names_that_the_exporter_made_up_are_said(self):
        # x @ (a * b) in the model itself: no module, no bias.
        nodes = [node("MatMul", ["x", "onnx::MatMul_9"], ["y"], "/MatMul")]
        trained, warnings = self.found(
            model(graph(nodes, [X], [y(4)], [constant("onnx::MatMul_9", [4, 4])[1]]))
        )
        self.assertEqual(list(trained), ["onnx::MatMul_9"])
        self.assertIn("names that the exporter made up: 'onnx::MatMul_9'", warnings)

    def test_matrices_of_other_modules_that_were_merged_are_refused(self):
        self.refused(
            self.legacy("query", "key", ["query.bias", "key.bias"]),
            "'query.weight'",
            "'key.weight'",
            "do_constant_folding=False",
        )

    def test_a_transposed_copy_that_another_module_reads_is_said(self):
        """A tied weight, or a buffer that starts as the weight: the file does not tell."""
        values = [i / 16 for i in range(16)]
        stored = [
            floats("a.weight", [4, 4], values),
            floats("onnx::MatMul_9", [4, 4], [values[i % 4 * 4 + i // 4] for i in range(16)]),
        ]
        nodes = [
            node("Gemm", ["x", "a.weight"], ["a"], "/a/Gemm", transB=1),
            node("MatMul", ["a", "onnx::MatMul_9"], ["y"], "/MatMul"),
        ]
        trained, warnings = self.found(model(graph(nodes, [X], [y(4)], stored)))
        self.assertEqual(list(trained), ["a.weight"])
        self.assertIn("several modules read each of 'a.weight' = 'onnx::MatMul_9'", warnings)

    def test_a_copy_that_nothing_names_is_refused(self):
        nodes = [
            node("Identity", ["onnx::MatMul_9"], ["onnx::MatMul_10"], "Identity_1"),
            node("MatMul", ["x", "onnx::MatMul_9"], ["m"], "/a/MatMul"),
            node("MatMul", ["m", "onnx::MatMul_10"], ["y"], "/MatMul"),
        ]
        self.refused(
            model(graph(nodes, [X], [y(4)], [constant("onnx::MatMul_9", [4, 4])[1]])),
            "'/MatMul'",
            "do_constant_folding=False",
        )
