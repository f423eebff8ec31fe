"""Makes expanded-nodes.tar.xz: operators of other domains, in the form of ONNX's own operator tests
(a model, its inputs and its outputs each). Outputs of com.microsoft are onnxruntime's, those of
ai.onnx.preview.training onnx's reference evaluator's. expanded-nodes.test runs them.

    expanded_nodes.py ARCHIVE       (needs onnx and onnxruntime)"""
import io
import sys
import tarfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

MICROSOFT, TRAINING = "com.microsoft", "ai.onnx.preview.training"
numbers = np.random.default_rng(18)


def floats(*shape, scale=1.0):
    return (numbers.standard_normal(shape) * scale).astype(np.float32)


def cases():
    x, y = floats(2, 5, 12), floats(2, 5, 12)
    scale, shift, bias = floats(12), floats(12), floats(12)
    yield "gelu", MICROSOFT, "Gelu", [x], 1, {}
    yield "fast_gelu", MICROSOFT, "FastGelu", [x], 1, {}
    yield "fast_gelu_bias", MICROSOFT, "FastGelu", [x, bias], 1, {}
    yield "bias_gelu", MICROSOFT, "BiasGelu", [x, bias], 1, {}
    yield "quick_gelu", MICROSOFT, "QuickGelu", [x], 1, {"alpha": 1.5}
    left, right = floats(2, 3, 4, 5), floats(2, 3, 5, 6)
    turned = [np.ascontiguousarray(a.swapaxes(-1, -2)) for a in (left, right)]
    yield "matmul", MICROSOFT, "FusedMatMul", [left, right], 1, {"alpha": 0.25}
    yield "matmul_turned", MICROSOFT, "FusedMatMul", turned, 1, {
        "alpha": 0.5,
        "transA": 1,
        "transB": 1,
    }
    norm = "SkipLayerNormalization"
    yield "skip_norm", MICROSOFT, norm, [x, y, scale], 1, {}
    yield "skip_norm_all", MICROSOFT, norm, [x, y, scale, shift, bias], (0, 3), {"epsilon": 1e-5}
    norm = "SkipSimplifiedLayerNormalization"
    yield "skip_rms", MICROSOFT, norm, [x, y, scale], 1, {"epsilon": 1e-6}
    yield "skip_rms_all", MICROSOFT, norm, [x, y, scale, bias], (0, 3), {"epsilon": 1e-5}
    yield "rms", "", "SimplifiedLayerNormalization", [x, scale], 1, {"axis": -1, "epsilon": 1e-5}
    yield from attention()
    yield from embeddings()
    yield from optimizers()
    yield from masks()
    yield from activated()
    # A mode that only opsets 11 and 12 have.
    scales, none = np.array([1, 1, 2, 1.5], np.float32), np.zeros(0, np.float32)
    yield "resize_tf", "", "Resize", [floats(1, 2, 5, 6), none, scales], 1, {
        "coordinate_transformation_mode": "tf_half_pixel_for_nn",
        "nearest_mode": "floor",
    }


def attention():
    query, key, value = floats(2, 5, 12), floats(2, 7, 12), floats(2, 7, 12)
    op, heads = "MultiHeadAttention", {"num_heads": 3}
    seen = np.array([[1, 1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 1, 1]], np.int32)
    yield "attention", MICROSOFT, op, [query, key, value], 1, heads
    yield "attention_bias", MICROSOFT, op, [query, key, value, floats(36)], 1, heads
    yield "attention_mask", MICROSOFT, op, [query, key, value, None, seen], 1, heads
    added = floats(2, 3, 5, 7)
    yield "attention_added", MICROSOFT, op, [query, key, value, None, None, added], 1, {
        **heads,
        "scale": 0.3,
    }
    same = [floats(2, 5, 12) for _ in range(3)]
    yield "attention_causal", MICROSOFT, op, same, 1, {**heads, "unidirectional": 1}
    past = [floats(2, 3, 4, 4), floats(2, 3, 4, 4)]
    yield "attention_past", MICROSOFT, op, [*same, None, None, None, *past], 3, heads
    crossed = [query, floats(2, 3, 7, 4), floats(2, 3, 7, 4)]
    yield "attention_crossed", MICROSOFT, op, crossed, 1, heads
    packed = [query, floats(12, 36, scale=0.3), floats(36)]
    yield "attention_packed", MICROSOFT, "Attention", packed, 1, heads
    mask = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], np.int32)
    yield "attention_packed_mask", MICROSOFT, "Attention", [*packed, mask], 1, heads
    yield "attention_packed_causal", MICROSOFT, "Attention", packed, 1, {
        **heads,
        "unidirectional": 1,
    }
    places = np.array([[0, 1, 2, 3, 4], [2, 3, 4, 5, 6]])
    angles = floats(9, 2)
    tables = [np.cos(angles), np.sin(angles)]
    for interleaved in (0, 1):
        yield f"rotary_{interleaved}", MICROSOFT, "RotaryEmbedding", [query, places, *tables], 1, {
            "interleaved": interleaved
        }


def embeddings():
    ids, kinds = numbers.integers(0, 11, (2, 5)), numbers.integers(0, 2, (2, 5))
    tables = [floats(11, 12), floats(6, 12), floats(2, 12)]
    rest = [floats(12), floats(12)]
    op = "EmbedLayerNormalization"
    given = [ids.astype(np.int32), kinds.astype(np.int32), *tables, *rest]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    yield "embed_norm", MICROSOFT, op, [*given, mask], 3, {"epsilon": 1e-5}
    alone = [given[0], None, tables[0], tables[1], None, *rest]
    yield "embed_norm_alone", MICROSOFT, op, alone, 2, {"epsilon": 1e-5}


def optimizers():
    rate = np.array(0.1, np.float32)
    lists = [floats(3), floats(2, 2)]
    gradients = [floats(3), floats(2, 2)]
    means = [floats(3), floats(2, 2)]
    squares = [np.abs(floats(3)), np.abs(floats(2, 2))]
    for steps in (0, 3):
        start = [rate, np.array(steps), *lists, *gradients]
        yield f"adagrad_{steps}", TRAINING, "Adagrad", [*start, *squares], 4, {
            "decay_factor": 0.1,
            "epsilon": 1e-5,
            "norm_coefficient": 0.01,
        }
        yield f"adam_{steps}", TRAINING, "Adam", [*start, *means, *squares], 6, {
            "alpha": 0.95,
            "beta": 0.85,
            "epsilon": 1e-2,
            "norm_coefficient": 0.01,
            "norm_coefficient_post": 0.02,
        }
        for mode in ("standard", "nesterov"):
            yield f"momentum_{mode}_{steps}", TRAINING, "Momentum", [*start, *means], 4, {
                "alpha": 0.95,
                "beta": 0.1,
                "mode": mode,
                "norm_coefficient": 0.01,
            }


def is_known(op, i):
    """Whether an input is in the file."""
    return op == "Resize" and i > 0


def model_of(domain, op, inputs, outputs, attributes):
    """outputs: how many, or which."""
    kept = range(outputs) if isinstance(outputs, int) else outputs
    names = [f"y{i}" if i in kept else "" for i in range(max(kept) + 1)]
    given = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    node = helper.make_node(op, given, names, domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        op,
        [
            helper.make_tensor_value_info(
                f"x{i}", helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for i, array in enumerate(inputs)
            if array is not None and not is_known(op, i)
        ],
        [
            helper.make_tensor_value_info(
                n,
                (
                    TensorProto.INT32
                    if (op, n) == ("EmbedLayerNormalization", "y1")
                    else TensorProto.FLOAT
                ),
                None,
            )
            for n in names
            if n
        ],
        [numpy_helper.from_array(a, f"x{i}") for i, a in enumerate(inputs) if is_known(op, i)],
    )
    imports = [helper.make_opsetid("", 11 if op == "Resize" else 17)]
    if domain:
        imports.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def masks():
    """Masks of other forms: how many keys are seen, and which for each query."""
    heads = {"num_heads": 3}
    packed = [floats(2, 5, 12), floats(12, 36, scale=0.3), floats(36)]
    count = np.array([3, 5], np.int32)
    pairs = (numbers.random((2, 5, 5)) < 0.6).astype(np.int32)
    yield "attention_packed_count", MICROSOFT, "Attention", [*packed, count], 1, heads
    yield "attention_packed_pairs", MICROSOFT, "Attention", [*packed, pairs], 1, heads
    apart = [floats(2, 5, 12), floats(2, 7, 12), floats(2, 7, 12), None]
    op, count = "MultiHeadAttention", np.array([4, 7], np.int32)
    pairs = (numbers.random((2, 5, 7)) < 0.6).astype(np.int32)
    yield "attention_count", MICROSOFT, op, [*apart, count], 1, heads
    yield "attention_pairs", MICROSOFT, op, [*apart, pairs], 1, heads
    wide = [packed[0], floats(12, 48, scale=0.3), floats(48)]
    yield "attention_packed_sizes", MICROSOFT, "Attention", wide, 1, {
        **heads,
        "qkv_hidden_sizes": [12, 12, 24],
    }


def activated():
    x, weight, bias = floats(4, 6), floats(5, 6), floats(5)
    for name, settings in (
        ("Relu", {}),
        ("LeakyRelu", {"activation_alpha": 0.2}),
        ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.6}),
    ):
        yield f"gemm_{name}", MICROSOFT, "FusedGemm", [x, weight, bias], 1, {
            "activation": name,
            "transB": 1,
            "alpha": 0.5,
            **settings,
        }
    image, kernel, added = floats(2, 4, 7, 6), floats(6, 2, 3, 3), floats(2, 6, 4, 3)
    for name, settings, more in (
        ("Relu", {}, []),
        ("Tanh", {}, [added]),
        ("LeakyRelu", {"activation_params": [0.1]}, []),
        ("Clip", {"activation_params": [-0.5, 1.5]}, []),
    ):
        yield f"conv_{name}", MICROSOFT, "FusedConv", [image, kernel, floats(6), *more], 1, {
            "activation": name,
            "group": 2,
            "strides": [2, 2],
            "pads": [1, 1, 1, 1],
            **settings,
        }


def main(path):
    with tarfile.open(path, "w:xz") as archive:

        def add(name, content):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))

        for name, domain, op, inputs, outputs, attributes in cases():
            model = model_of(domain, op, inputs, outputs, attributes)
            feeds = {
                f"x{i}": array
                for i, array in enumerate(inputs)
                if array is not None and not is_known(op, i)
            }
            if domain == TRAINING:
                results = ReferenceEvaluator(model).run(None, feeds)
            else:
                session = onnxruntime.InferenceSession(
                    model.SerializeToString(), providers=["CPUExecutionProvider"]
                )
                results = session.run(None, feeds)
            add(f"expanded/{name}/model.onnx", model.SerializeToString())
            for kind, arrays in (("input", feeds.values()), ("output", results)):
                for i, array in enumerate(arrays):
                    tensor = numpy_helper.from_array(np.asarray(array))
                    add(
                        f"expanded/{name}/test_data_set_0/{kind}_{i}.pb",
                        tensor.SerializeToString(),
                    )


if __name__ == "__main__":
    main(sys.argv[1])
