#!/usr/bin/env python3
"""Writes a Llama-style graph of any depth as the dynamo exporter decomposes it.

Its weights are described but not there.

    make_llama.py --layers 48 -o model.onnx

For measuring how compile time grows with depth. Input input_ids [batch, sequence], output logits.
"""
import argparse

from onnx import TensorProto, helper


class Writer:
    def __init__(self):
        self.nodes, self.initializers, self.count, self.offset = [], [], 0, 0

    def weight(self, name, *dims):
        tensor = TensorProto(
            name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL
        )
        length = 4
        for d in dims:
            length *= d
        for key, value in (
            ("location", "model.onnx.data"),
            ("offset", self.offset),
            ("length", length),
        ):
            entry = tensor.external_data.add()
            entry.key, entry.value = key, str(value)
        self.offset += length
        self.initializers.append(tensor)
        return name

    def constant(self, name, dtype, dims, values):
        self.initializers.append(helper.make_tensor(name, dtype, dims, values))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"v{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, list(inputs), names, name=f"node_{self.count}", **attributes)
        )
        return names[0] if outputs == 1 else names


def build(layers, dim, ffn, heads, kv_heads, vocab, sequence):
    w, head_dim = Writer(), dim // heads
    two = w.constant("two", TensorProto.FLOAT, [], [2.0])
    eps = w.constant("eps", TensorProto.FLOAT, [], [1e-5])
    last = w.constant("last", TensorProto.INT64, [1], [-1])
    axis2 = w.constant("axis2", TensorProto.INT64, [1], [2])
    scale = w.constant("scale", TensorProto.FLOAT, [], [head_dim**-0.25])
    q_shape = w.constant("q_shape", TensorProto.INT64, [4], [0, 0, heads, head_dim])
    kv_shape = w.constant("kv_shape", TensorProto.INT64, [4], [0, 0, kv_heads, head_dim])
    grouped = w.constant("grouped", TensorProto.INT64, [5], [1, 1, heads // kv_heads, 1, 1])
    all_heads = w.constant("all_heads", TensorProto.INT64, [4], [0, heads, -1, head_dim])
    flat = w.constant("flat", TensorProto.INT64, [3], [0, 0, dim])
    low = w.op(
        "ConstantOfShape",
        w.constant("ss", TensorProto.INT64, [2], [sequence, sequence]),
        value=helper.make_tensor("v", TensorProto.FLOAT, [1], [-1e30]),
    )
    mask = w.op("Trilu", low, w.constant("one", TensorProto.INT64, [], [1]), upper=1)
    cos = w.weight("rotary.cos", sequence, head_dim)
    sin = w.weight("rotary.sin", sequence, head_dim)

    def norm(x, name):
        mean = w.op("ReduceMean", w.op("Pow", x, two), last, keepdims=1)
        return w.op(
            "Mul",
            w.op("Mul", x, w.op("Reciprocal", w.op("Sqrt", w.op("Add", mean, eps)))),
            w.weight(name, dim),
        )

    def linear(x, name, rows, columns):
        return w.op("MatMul", x, w.op("Transpose", w.weight(name, rows, columns), perm=[1, 0]))

    def heads_of(x, shape):
        return w.op("Transpose", w.op("Reshape", x, shape), perm=[0, 2, 1, 3])

    def rotate(x):
        lo, hi = w.op("Split", x, outputs=2, axis=3, num_outputs=2)
        return w.op(
            "Add",
            w.op("Mul", x, cos),
            w.op("Mul", w.op("Concat", w.op("Neg", hi), lo, axis=-1), sin),
        )

    def repeat(x):
        return w.op("Reshape", w.op("Expand", w.op("Unsqueeze", x, axis2), grouped), all_heads)

    x = w.op("Gather", w.weight("embed.weight", vocab, dim), "input_ids")
    for i in range(layers):
        p = f"layers.{i}."
        h = norm(x, p + "norm_1.weight")
        q = rotate(heads_of(linear(h, p + "q.weight", dim, dim), q_shape))
        k = repeat(rotate(heads_of(linear(h, p + "k.weight", kv_heads * head_dim, dim), kv_shape)))
        v = repeat(heads_of(linear(h, p + "v.weight", kv_heads * head_dim, dim), kv_shape))
        scores = w.op(
            "MatMul",
            w.op("Mul", q, scale),
            w.op("Mul", w.op("Transpose", k, perm=[0, 1, 3, 2]), scale),
        )
        a = w.op("MatMul", w.op("Softmax", w.op("Add", scores, mask), axis=-1), v)
        a = w.op("Reshape", w.op("Transpose", a, perm=[0, 2, 1, 3]), flat)
        x = w.op("Add", x, linear(a, p + "o.weight", dim, dim))
        h = norm(x, p + "norm_2.weight")
        gate = linear(h, p + "gate.weight", ffn, dim)
        h = w.op(
            "Mul", w.op("Mul", gate, w.op("Sigmoid", gate)), linear(h, p + "up.weight", ffn, dim)
        )
        x = w.op("Add", x, linear(h, p + "down.weight", dim, ffn))
    linear(norm(x, "norm.weight"), "head.weight", vocab, dim)
    w.nodes[-1].output[0] = "logits"
    graph = helper.make_graph(
        w.nodes,
        "llama",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", sequence])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", sequence, vocab])],
        w.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--ffn", type=int, default=3072)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--kv-heads", type=int, default=3)
    parser.add_argument("--vocab", type=int, default=50000)
    parser.add_argument("--sequence", type=int, default=512)
    parser.add_argument("-o", "--output", required=True)
    a = parser.parse_args()
    with open(a.output, "wb") as file:
        file.write(
            build(
                a.layers, a.dim, a.ffn, a.heads, a.kv_heads, a.vocab, a.sequence
            ).SerializeToString()
        )


if __name__ == "__main__":
    main()
