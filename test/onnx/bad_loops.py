"""What is refused of nodes with bodies, and of sequences; tests of bad_inputs_test.py."""
from onnx_writer import BOOL, FLOAT, INT64, Graph, graph, ints, model, node, tensor, value
from single_node import X, Y, single


def body(nodes, inputs, outputs):
    return Graph(graph(nodes, inputs, outputs))


I = value("i", INT64, [])
GO, GO_ON = value("go", BOOL, []), value("go_on", BOOL, [])
V, NEXT = value("v", FLOAT, []), value("next", FLOAT, [])
HAND_ON = node("Identity", ["go"], ["go_on"])
RELU = node("Relu", ["v"], ["next"])
FLAG = tensor("flag", BOOL, [], raw=b"\1")


class BadLoops:
    def test_branches(self):
        then = body([node("Relu", ["x"], ["t"])], [], [value("t", FLOAT, [])])
        otherwise = body([node("Tanh", ["x"], ["t"])], [], [value("t", FLOAT, [])])
        both = {"then_branch": then, "else_branch": otherwise}
        for flag, text in ((b"\1", r"nn\.relu"), (b"\0", r"nn\.tanh")):
            given = tensor("c", BOOL, [], raw=flag)
            self.accepted(single(node("If", ["c"], ["y"], **both), given), text)
        decides = node("If", ["c"], ["y"], **both)
        self.accepted(
            single(decides, inputs=[X, value("c", BOOL, [1])]),
            r"nn\.relu.*\n.*nn\.tanh(.*\n)*.*nn\.select",
        )
        other = body([node("Transpose", ["x"], ["t"])], [], [value("t", FLOAT, [])])
        sequence = body([node("SequenceConstruct", ["x"], ["t"])], [], [value("t", FLOAT, [])])
        for of, condition, text in (
            (
                both,
                value("c", BOOL, [2]),
                r"expects its condition to be one boolean, got bool \[2\]",
            ),
            (
                both,
                value("c", FLOAT, []),
                r"expects its condition to be one boolean, got float \[\]",
            ),
            (
                {"then_branch": then, "else_branch": other},
                value("c", BOOL, []),
                r"its output 0 would be float \[2, 4\] or float \[4, 2\], by data of the run",
            ),
            (
                {"then_branch": then, "else_branch": sequence},
                value("c", BOOL, []),
                "chooses by data of the run between what are no tensors",
            ),
        ):
            self.refused(single(node("If", ["c"], ["y"], **of), inputs=[X, condition]), text)
        for content, text in (
            (single(node("If", ["flag"], ["y"]), FLAG), "expects branches"),
            (single(node("If", [], ["y"], **both)), "expects one input"),
            (single(node("If", ["flag"], ["y", "z"], **both), FLAG), "as many outputs"),
        ):
            self.refused(content, text)

    def test_loops(self):
        own = body([HAND_ON, RELU], [I, GO, V], [GO_ON, NEXT])
        stacks = body([HAND_ON, RELU], [I, GO, V], [GO_ON, NEXT, NEXT])
        decision = [
            node("ReduceSum", ["v"], ["sum"], keepdims=0),
            node("Cast", ["sum"], ["go_on"], to=BOOL),
        ]
        decides = body([RELU, *decision], [I, GO, V], [GO_ON, NEXT])
        decides_and_stacks = body([RELU, *decision], [I, GO, V], [GO_ON, NEXT, NEXT])
        grow = node("Concat", ["v", "v"], ["next"], axis=0)
        decides_and_grows = body([grow, *decision], [I, GO, V], [GO_ON, NEXT])
        grows = body(
            [HAND_ON, grow],
            *([I, GO, V], [GO_ON, NEXT, NEXT]),
        )
        lacks = body([RELU], [I, GO, V], [GO_ON, NEXT])

        def loop(of, count=3, inputs=("count", "", "x"), outputs=("y",), **options):
            given = [ints("count", [count], [])]
            return single(node("Loop", list(inputs), list(outputs), body=of), *given, **options)

        self.accepted(loop(decides), r"nn\.and")
        self.accepted(loop(own), r"nn\.relu.*\n.*nn\.relu.*\n.*nn\.relu")
        for content, text in (
            (single(node("Loop", ["", "", "x"], ["y"])), "expects a body"),
            (loop(own, 5000), "has 5000 iterations; at most 4096"),
            (loop(own, inputs=("", "", "x")), "has more than 4096 iterations"),
            (
                loop(own, inputs=("count", "", "x", "x")),
                "expects a body of 4 inputs and at least 3",
            ),
            (loop(own, inputs=("count", "", "")), "expects a body of 2 inputs"),
            (loop(own, inputs=("count", "", "", "x")), "its input 2 is missing"),
            (loop(own, outputs=("y", "z")), "has 2 outputs, its body gives 1"),
            (
                loop(stacks, 0, outputs=("z", "y")),
                "no iterations, so that its output 1 has no shape",
            ),
            (
                loop(grows, outputs=("z", "y")),
                r"stacks tensors of the shapes \[4, 4\] and \[8, 4\]",
            ),
            (
                loop(decides, inputs=("", "", "x")),
                "whether it goes on behind iteration 1 depends on data of the run; give it a "
                "number of iterations that is known, the most that there may be",
            ),
            (
                loop(decides_and_stacks, outputs=("z", "y")),
                "stacks as many tensors as it has iterations, which depends on data of the run",
            ),
            (
                loop(decides_and_grows),
                r"what it carries would be float \[8, 4\] or float \[4, 4\], by data of the run",
            ),
            (loop(lacks), "its body does not define the output 'go_on'"),
            (
                loop(own, inputs=("n", "", "x")).replace(b"count", b"other"),
                "its input 'n' is not defined before it",
            ),
            (
                single(
                    node("Loop", ["n", "", "x"], ["y"], body=own), inputs=[X, value("n", INT64, [])]
                ),
                "expects its number of iterations to be one number known at compile time",
            ),
        ):
            self.refused(content, text)

    def test_loops_that_grow_without_bound(self):
        innermost = body([HAND_ON] + [RELU], [I, GO, V], [GO_ON, NEXT])
        for depth in range(3):
            names = [f"{name}{depth}" for name in ("i", "go", "v", "go_on", "next")]
            i, go, v, go_on, following = names
            nodes = [
                node("Identity", [go], [go_on]),
                node("Loop", ["count", "", v], [following], body=innermost),
            ]
            innermost = body(
                nodes,
                [value(i, INT64, []), value(go, BOOL, []), value(v, FLOAT, [])],
                [value(go_on, BOOL, []), value(following, FLOAT, [])],
            )
        self.refused(
            single(
                node("Loop", ["count", "", "x"], ["y"], body=innermost), ints("count", [4000], [])
            ),
            "and other loops have more than 131072 nodes in all iterations",
        )

    def test_scans(self):
        own = body([RELU], [V], [NEXT])

        def scan(of=own, inputs=("x",), scanned=1, version=20, **attributes):
            attributes = {"num_scan_inputs": scanned, **attributes}
            return single(node("Scan", list(inputs), ["y"], body=of, **attributes), version=version)

        self.accepted(scan(), r"nn\.relu")
        for content, text in (
            (scan(version=8), "supported from opset 9 on"),
            (scan(scanned=0), "expects num_scan_inputs to be 1 to 1, got 0"),
            (scan(scanned=2), "expects num_scan_inputs to be 1 to 1, got 2"),
            (scan(inputs=("x", "x")), "expects a body of 2 inputs and at least 1"),
            (scan(scan_input_axes=[2]), "axis 2"),
            (scan(scan_output_axes=[3]), "axis 3"),
        ):
            self.refused(content, text)

    def test_sequences(self):
        empty = node("SequenceEmpty", [], ["s"])
        one = node("SequenceConstruct", ["x"], ["s"])

        def after(*nodes):
            return model(graph(nodes, [X], [Y], [ints("p", [2], [])]))

        for content, text in (
            (after(empty, node("SequenceErase", ["s"], ["y"])), "a sequence that is not empty"),
            (
                after(one, node("SequenceErase", ["s", "p"], ["y"])),
                "no position 2 in a sequence of 1",
            ),
            (after(one, node("SequenceInsert", ["s", "x", "p"], ["y"])), "no position 2"),
            (after(node("SequenceInsert", ["x", "x"], ["y"])), "expects a sequence and a tensor"),
            (after(one, node("Relu", ["s"], ["y"])), "sequences are supported by"),
        ):
            self.refused(content, text)
