"""Parameters that are tied, and those that no node reads."""
from exporter_metadata import IDS, ParameterTest, X, call, constant, dynamo, placeholder, y
from onnx_writer import floats


class Tied(ParameterTest):
    def tied_head(self, order):
        kept = order[-1]
        nodes = [
            call(
                "Gather",
                [kept, "ids"],
                "embedding",
                "embed",
                "embedding.default",
                f"%{placeholder(kept)}",
                "%ids",
            ),
            call(
                "MatMul",
                ["embedding", "val_0"],
                "y",
                "head",
                "linear.default",
                "%embedding",
                f"%{placeholder(kept)}",
            ),
        ]
        table = [float(i % 7) for i in range(32)]
        turned = [table[j * 4 + i] for i in range(4) for j in range(8)]
        return dynamo(
            nodes,
            order,
            [(kept, floats(kept, [8, 4], table)), ("val_0", floats("val_0", [4, 8], turned))],
            [IDS],
            y(8),
            {"val_0": [kept]},
        )

    def test_a_tied_head_is_one_parameter_whichever_is_registered_first(self):
        for order in (["embed.weight", "head.weight"], ["head.weight", "embed.weight"]):
            trained, warnings = self.found(self.tied_head(order))
            self.assertEqual(list(trained), order[:1])
            self.assertEqual(trained[order[0]]["aliases"], order[1:])
            self.assertEqual(len(trained[order[0]]["bindings"]), 2)
            self.assertEqual(warnings, "")

    def test_a_table_that_no_module_runs_is_tied_to_those_that_do(self):
        listed = ["shared.weight", "encoder.embed.weight", "head.weight"]
        nodes = [
            call(
                "Gather",
                ["head.weight", "ids"],
                "embedding",
                "encoder.embed",
                "embedding.default",
                "%p_head_weight",
                "%ids",
            ),
            call(
                "Gemm",
                ["embedding", "head.weight"],
                "y",
                "head",
                "linear.default",
                "%embedding",
                "%p_head_weight",
                transB=1,
            ),
        ]
        trained, warnings = self.found(
            dynamo(nodes, listed, [constant("head.weight", [8, 4])], [IDS], y(8))
        )
        self.assertEqual(
            {n: p["aliases"] for n, p in trained.items()}, {"shared.weight": listed[1:]}
        )
        self.assertEqual(warnings, "")

    def test_a_bias_that_a_tied_head_shares_with_its_parent(self):
        listed = [
            "embed.weight",
            "cls.bias",
            "cls.dense.bias",
            "cls.decoder.weight",
            "cls.decoder.bias",
        ]
        nodes = [
            call(
                "Gather",
                ["cls.decoder.weight", "ids"],
                "embedding",
                "embed",
                "embedding.default",
                "%p_cls_decoder_weight",
                "%ids",
            ),
            call(
                "Add",
                ["embedding", "cls.dense.bias"],
                "add",
                "cls.dense",
                "add.Tensor",
                "%embedding",
                "%p_cls_dense_bias",
            ),
            call(
                "Gemm",
                ["add", "cls.decoder.weight", "cls.decoder.bias"],
                "y",
                "cls.decoder",
                "linear.default",
                "%add",
                "%p_cls_decoder_weight",
                "%p_cls_decoder_bias",
                transB=1,
            ),
        ]
        trained, warnings = self.found(
            dynamo(
                nodes,
                listed,
                [
                    constant(n, [8, 4] if "weight" in n else [8] if "decoder" in n else [4])
                    for n in ("cls.decoder.weight", "cls.decoder.bias", "cls.dense.bias")
                ],
                [IDS],
                y(8),
            )
        )
        self.assertEqual(
            {n: p["aliases"] for n, p in trained.items()},
            {
                "embed.weight": ["cls.decoder.weight"],
                "cls.bias": ["cls.decoder.bias"],
                "cls.dense.bias": [],
            },
        )
        self.assertEqual(warnings, "")

    def test_what_nothing_reads_is_not_called_removed(self):
        nodes = [call("Mul", ["x", "a.weight"], "y", "a", "mul.Tensor", "%x", "%p_a_weight")]
        _, warnings = self.found(
            dynamo(
                nodes,
                ["pooler.weight", "pooler.bias", "a.weight"],
                [constant("a.weight", [4])],
                [X],
                y(4),
            )
        )
        self.assertEqual(len(warnings.strip().splitlines()), 1)
        self.assertIn("no node reads the parameters 'pooler.weight', 'pooler.bias'", warnings)
