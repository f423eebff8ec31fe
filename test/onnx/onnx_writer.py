"""Writes small ONNX models, good and bad, without the onnx package: protobuf's wire format by
hand."""
import struct

FLOAT = 1
UINT8 = 2
INT8 = 3
INT32 = 6
INT64 = 7
STRING = 8
BOOL = 9
FLOAT16 = 10
DOUBLE = 11
BFLOAT16 = 16


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number, value):
    return varint(number << 3) + varint(value)


def message(number, payload):
    payload = payload.encode() if isinstance(payload, str) else payload
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def fixed32(number, value):
    return varint(number << 3 | 5) + struct.pack("<f", value)


def properties(number, entries):
    return b"".join(
        message(number, message(1, key) + message(2, value)) for key, value in entries.items()
    )


def tensor(name, dtype, dims, raw=None, floats=None, ints=None, external=None):
    """TensorProto; `external`: dictionary of location, offset, length."""
    out = b"".join(integer(1, dim) for dim in dims) + integer(2, dtype)
    if floats is not None:
        out += message(4, struct.pack(f"<{len(floats)}f", *floats))
    if ints is not None:
        out += message(7 if dtype == INT64 else 5, b"".join(varint(i) for i in ints))
    out += message(8, name)
    if raw is not None:
        out += message(9, raw)
    if external is not None:
        out += properties(13, {key: str(value) for key, value in external.items()}) + integer(14, 1)
    return out


def floats(name, dims, values):
    return tensor(name, FLOAT, dims, raw=struct.pack(f"<{len(values)}f", *values))


def ints(name, values, dims=None):
    return tensor(
        name,
        INT64,
        [len(values)] if dims is None else dims,
        raw=struct.pack(f"<{len(values)}q", *values),
    )


class Ref(str):
    """An attribute that a function takes from its call."""


class Graph(bytes):
    """An attribute that is a graph."""


def attribute(name, value):
    out = message(1, name)
    if isinstance(value, Ref):
        return out + message(21, value) + integer(20, 2)
    if isinstance(value, Graph):
        return out + message(6, bytes(value)) + integer(20, 5)
    if isinstance(value, bytes):  # a tensor
        return out + message(5, value) + integer(20, 4)
    if isinstance(value, str):
        return out + message(4, value) + integer(20, 3)
    if isinstance(value, float):
        return out + fixed32(2, value) + integer(20, 1)
    if isinstance(value, list):
        return out + b"".join(integer(8, i) for i in value) + integer(20, 7)
    return out + integer(3, value) + integer(20, 2)


def node(op, inputs, outputs, name="", domain="", metadata=None, **attributes):
    out = b"".join(message(1, i) for i in inputs) + b"".join(message(2, o) for o in outputs)
    out += message(3, name or op.lower()) + message(4, op)
    out += b"".join(message(5, attribute(k, v)) for k, v in attributes.items())
    return out + message(7, domain) + properties(9, metadata or {})


def value(name, dtype, dims, metadata=None):
    """ValueInfoProto; a dim is a number, a name, or None (unknown)."""
    shape = b""
    for dim in dims:
        shape += message(
            1, b"" if dim is None else message(2, dim) if isinstance(dim, str) else integer(1, dim)
        )
    return (
        message(1, name)
        + message(2, message(1, integer(1, dtype) + message(2, shape)))
        + properties(4, metadata or {})
    )


def graph(nodes, inputs, outputs, initializers=(), values=(), metadata=None):
    out = b"".join(message(1, n) for n in nodes) + message(2, "graph")
    out += b"".join(message(5, i) for i in initializers)
    out += b"".join(message(11, i) for i in inputs) + b"".join(message(12, o) for o in outputs)
    return out + b"".join(message(13, v) for v in values) + properties(16, metadata or {})


def opset(version, domain=""):
    return message(1, domain) + integer(2, version)


def function(domain, name, inputs, outputs, nodes, attributes=(), version=20, overload="", uses=()):
    out = (
        message(1, name)
        + b"".join(message(4, i) for i in inputs)
        + b"".join(message(5, o) for o in outputs)
    )
    out += b"".join(message(6, a) for a in attributes) + b"".join(message(7, n) for n in nodes)
    out += message(9, opset(version)) + b"".join(message(9, opset(1, d)) for d in uses)
    return out + message(10, domain) + (message(13, overload) if overload else b"")


def model(a_graph, version=20, ir=10, functions=(), domains=(), producer="test"):
    out = integer(1, ir) + message(2, producer) + message(7, a_graph) + message(8, opset(version))
    return (
        out
        + b"".join(message(8, opset(1, d)) for d in domains)
        + b"".join(message(25, f) for f in functions)
    )
