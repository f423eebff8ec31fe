"""The first inputs of the libFuzzer targets over the readers of files, made from small files of the
tests and written as their writers do."""
import io
import json
import os
import struct
import subprocess
import tempfile

import numpy as np

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
SHARDC = os.path.join(os.environ.get("SHARDC_BUILD", os.path.join(ROOT, "build")), "bin", "shardc")
MODELS = os.path.join(ROOT, "test", "models")
LARGEST_MODEL = 20000  # bytes: mutations of small inputs say more


def npy_seeds():
    arrays = [
        np.arange(12).reshape(3, 4),
        np.zeros((2, 3), np.float32),
        np.zeros((0, 5), np.float16),
        np.array([True]),
        np.asfortranarray(np.ones((2, 2))),
        np.zeros(3, ">i8"),
        np.zeros(2, [("a", "<f4")]),
        np.float64(1),
    ]
    for array in arrays:
        for version in ((1, 0), (2, 0), (3, 0)):
            file = io.BytesIO()
            np.lib.format.write_array(file, np.asarray(array), version=version)
            yield file.getvalue()


def safetensors(tensors, metadata=None):
    """A file of (name, dtype, shape, bytes)."""
    header, data = ({"__metadata__": metadata} if metadata else {}), b""
    for name, dtype, shape, content in tensors:
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors_seeds():
    yield safetensors([])
    yield safetensors(
        [("w", "F32", [2, 3], bytes(24)), ("b", "F16", [3], bytes(6)), ("s", "I64", [], bytes(8))],
        {"format": "pt"},
    )
    yield safetensors(
        [("empty", "BF16", [0, 4], b""), ("x", "F8_E4M3", [4], bytes(4)), ("u", "U8", [1], b"\1")]
    )


def store_seeds():
    """What torch's clients and the trainer's say to a store."""
    for name in ("torch-client.txt", "own-client.txt"):
        with open(os.path.join(ROOT, "test/runtime/store", name), encoding="utf-8") as file:
            said = [bytes.fromhex(line[2:]) for line in file if line.startswith("> ")]
        yield b"".join(said)
        for message in said[1:]:
            yield said[0] + message


def host_list_seeds():
    yield b"node[001-003,7],gpu[1-2]-ib"
    yield b"n[1-2]r[0-3]x,login"
    yield b"2(x3),1"


def small_models():
    """Random graphs as the graph fuzzer writes them: between them every operator, functions,
    branches, three exporters' names."""
    from generate import generate
    from write_onnx import Writer

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        for seed in range(200):
            case = generate(seed)
            Writer(case.program, case.habit, case.configuration.symbolic, case.seed, True).write(
                path
            )
            if os.path.getsize(path) <= LARGEST_MODEL:
                with open(path, "rb") as file:
                    yield file.read()


def onnx_seeds():
    from onnx import TensorProto, helper, numpy_helper

    yield from small_models()
    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), "w")
    # Larger than what a reader keeps in the message (4 KiB): raw, of 16 bits and of integers,
    # and in a typed field.
    large = [
        numpy_helper.from_array(np.ones((4, 640), np.float16), "half"),
        numpy_helper.from_array(np.arange(640), "table"),
        helper.make_tensor("typed", TensorProto.FLOAT, [1200], np.ones(1200)),
    ]
    external = TensorProto(
        name="e", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL
    )
    for key, value in (("location", "e.data"), ("offset", "0"), ("length", "8")):
        external.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])],
        [weight, external],
    )
    yield helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9
    ).SerializeToString()
    graph.initializer.extend(large)
    yield helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9
    ).SerializeToString()


def sections(trainer):
    """(kind, offset, length) of a trainer's container (runtime/Container.h)."""
    table, _, count, _ = struct.unpack("<QQII", trainer[-32:-8])
    return [
        struct.unpack("<I4xQQ8x", trainer[table + 32 * i : table + 32 * i + 32])
        for i in range(count)
    ]


def plan_seeds():
    """Plans of small models on one and two ranks, without what names this machine."""
    with tempfile.TemporaryDirectory() as folder:
        for model, flags in (
            ("mlp-tiny-loss", ["--dim", "batch=2"]),
            ("mlp-tiny-loss", ["--dim", "batch=2", "--mesh", "2", "--optimizer", "sgd"]),
            (
                "gpt2-tiny",
                [
                    "--dim",
                    "batch=1",
                    "--dim",
                    "sequence=8",
                    "--mesh",
                    "2",
                    "--loss",
                    "cross-entropy:logits=logits,labels=labels,shift=1",
                    "--threads-per-rank",
                    "1",
                ],
            ),
        ):
            trainer = os.path.join(folder, "t")
            subprocess.run(
                [SHARDC, os.path.join(MODELS, model, "model.onnx"), *flags, "-q", "-o", trainer],
                check=True,
            )
            with open(trainer, "rb") as file:
                whole = file.read()
            yield next(
                whole[offset : offset + length]
                for kind, offset, length in sections(whole)
                if kind == 1
            )


def container_seeds():
    """Checksums are the target's business: it makes them right."""
    for contents in (
        [(5, b"R" * 40), (1, b"\x08\x01"), (2, b"ELF")],
        [(1, b"\x08\x01\x1a\x01m"), (3, b"\x3a\x00"), (4, b"w" * 64)],
        [],
    ):
        file, table = b"", b""
        for kind, content in contents:
            table += struct.pack("<IIQQQ", kind, 0, len(file), len(content), 0)
            file += content
        for padding in (b"", b"\0"):
            yield file + padding + table + struct.pack(
                "<QQII", len(file) + len(padding), 0, len(contents), 2
            ) + b"SHARDC\n\x1a"


def external_data_seeds():
    for path in (
        "f",
        "a/f",
        "a/b/f",
        "./a//f",
        "in",
        "out",
        "up/secret",
        "../secret",
        "loop",
        "a/whole/secret",
        "a/b/again/f",
        "/etc/passwd",
        "",
        "a",
        "f\0x",
    ):
        yield path.encode()


def recorded(*names):
    """Files of the tests."""
    for name in names:
        with open(os.path.join(ROOT, "test", *name.split("/")), "rb") as file:
            yield file.read()


def llmc_seeds():
    for magic, version, dtype in ((20240520, 1, np.uint16), (20240801, 7, np.uint32)):
        header = np.zeros(256, np.int32)
        header[:3] = magic, version, 10
        yield header.tobytes() + np.arange(10, dtype=dtype).tobytes()


ARROW = "runtime/data/arrow/"


def arrow_seeds():
    """Without what the target puts before them; a file's length is even there, a stream's odd."""
    for whole in recorded(
        ARROW + "samples/data-00000-of-00002.arrow",
        ARROW + "rows/data-00000-of-00001.arrow",
        ARROW + "masks/data-00000-of-00002.arrow",
        ARROW + "large.arrow",
        ARROW + "nulls.arrow",
        ARROW + "dictionary.arrow",
    ):
        whole = whole.replace(b"input_ids", b"ids\0\0\0\0\0\0").replace(
            b"\x09\0\0\0ids", b"\3\0\0\0ids"
        )
        is_file = whole.startswith(b"ARROW1")
        rest = whole[8:] if is_file else whole[4:]
        yield rest + b"\0" * (len(rest) % 2 if is_file else 1 - len(rest) % 2)


def samples_seeds():
    yield from npy_seeds()
    yield from safetensors_seeds()
    yield safetensors([("ids", "I64", [3, 4], bytes(96)), ("x", "F32", [3], bytes(12))])
    yield from llmc_seeds()
    yield from recorded(ARROW + "large.arrow", ARROW + "samples/data-00000-of-00002.arrow")
    yield b"PAR1 and more"


def megatron_seeds():
    for code, width in ((8, 2), (5, 8), (1, 1), (4, 4)):
        tokens = 64 // width
        sizes = np.array([tokens // 2, tokens // 4, tokens - tokens // 2 - tokens // 4], np.int32)
        begins = ((np.cumsum(sizes) - sizes) * width).astype(np.int64)
        for documents in ([0, 1, 3], [0, 3], [0, 0, 2, 3, 3], []):
            yield (
                b"MMIDIDX\0\0"
                + struct.pack("<QBQQ", 1, code, len(sizes), len(documents))
                + sizes.tobytes()
                + begins.tobytes()
                + np.array(documents, np.int64).tobytes()
            )


def manifest_seeds():
    (whole,) = recorded("training/dcp/shardc/manifest.json")
    yield whole
    body = whole[: whole.rindex(b',\n "xxh3"')]
    more = (
        b',\n "mlflow_run": "a",\n "sampler": "torch",\n "last_batch": "pad",\n "best": {"metric":'
    )
    more += (
        b' "eval_loss", "value": 1e-3, "step": 2, "evaluations_since": 1},\n "evaluated_step": 3'
    )
    for text in (body, body + more, body[: body.index(b',\n "files"')]):
        yield text + b" " * (len(text) % 2)


def shards_seeds():
    def file(*tensors):
        offsets = {name: {"saved_offsets": begin} for name, _, begin in tensors}
        metadata = {"format": "pt", "DCP_VERSION": "1.0", "DCP_SHARDING_INFO": json.dumps(offsets)}
        entries = [(n, "F32", s, bytes(4 * int(np.prod(s)))) for n, s, _ in tensors]
        return safetensors(entries, metadata)

    pairs = [
        (file(("w", [2, 3], [0, 0])), file(("w", [1, 3], [2, 0]), ("b", [2], [0]))),
        (file(("s", [], []), ("w", [1], [1])), file(("w", [1], [0]))),
        (file(("w", [0, 3], [0, 0])), file()),
        tuple(list(safetensors_seeds())[1:3]),
    ]
    for first, second in pairs:
        yield struct.pack("<H", len(first)) + first + second


def config_seeds():
    toml = b'lr = 1e-3\ndata = ["a=b", {x = "y", pad = 0}]\n[compile]\nmesh = "2x2" # ranks\n'
    toml += (
        b'a.b = \'c\'\n[[group]]\nmatch = """x"""\nn = [0x1F, -inf, true, 1979-05-27T07:32:00Z]\n'
    )
    yaml = b"lr: 1e-3\ndata:\n  - a=b\n  - {x: y, pad: 0}\ncompile:\n  mesh: '2x2' # ranks\n"
    yaml += (
        b"text: |\n  two\n  lines\nempty:\ntruth: True\n? key\n: &a !!str 3\nother: *a\n---\nb: c\n"
    )
    text = b'{"lr": 1e-3, "data": ["a=b", {"x": "y", "pad": 0}], "compile": {"mesh": "2x2\\u0041"}}'
    yield from (b"\0" + toml, b"\1" + yaml, b"\1" + yaml[: yaml.index(b"? key")], b"\2" + text)
    yield from (b"\0[" * 20, b"\1" + b"- " * 20, b"\2" + b"[{" * 20, b"\1\xff\xfea\0:\0 \0b\0")


# The longest input that a target is given, and its first ones. Longer ones are another run's
# business (--longest): an input of the usual size says as much in a fraction of the time.
TARGETS = {
    "npy": (300, npy_seeds),
    "store": (600, store_seeds),
    "host-list": (100, host_list_seeds),
    "safetensors": (400, safetensors_seeds),
    "onnx-index": (2000, onnx_seeds),
    "container": (600, container_seeds),
    "external-data": (64, external_data_seeds),
    "plan": (6000, plan_seeds),
    "samples": (3200, samples_seeds),
    "arrow": (3600, arrow_seeds),
    "megatron": (250, megatron_seeds),
    "manifest": (2100, manifest_seeds),
    "shards": (600, shards_seeds),
    "config": (300, config_seeds),
    "onnx-file": (4000, onnx_seeds),
    "onnx-model": (6000, onnx_seeds),
}
