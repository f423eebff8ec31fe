"""The training step of each model, evaluated op by op in float64 without kernels or runtime, has
PyTorch's loss and gradients.

When parity fails and this passes, the fault lies behind the passes: in code generation
or in the runtime."""
import os
import re
import tempfile
import unittest

import numpy as np
from reference import BUILD, SHARDC, command, models, read_safetensors

SHARDC_OPT = os.path.join(BUILD, "bin", "shardc-opt")
NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.float32,
    "i64": np.int64,
    "i32": np.int32,
    "i1": np.bool_,
}
SYMBOL = r'@("[^"]*"|[\w.$-]+)'
TENSOR = r"tensor<((?:\d+x)*)(\w+)>"
LARGEST_ERROR = 1e-7  # of the tensor's largest; the graphs carry some constants in float32


def shape_of(dims):
    return [int(d) for d in dims.split("x") if d]


def literal(array, dims, element):
    """An MLIR attribute of the array's values."""
    array = np.ascontiguousarray(array, NUMPY[element])
    if element == "bf16":  # the upper half of a float32, rounded to nearest even
        bits = array.view(np.uint32)
        array = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    if element == "i1":  # booleans have no hexadecimal form that all versions read alike
        text = (
            np.array2string(array.astype(int), separator=",", threshold=array.size + 1)
            .replace("0", "false")
            .replace("1", "true")
        )
        return f"dense<{text}> : tensor<{dims}{element}>"
    return f'dense<"0x{array.tobytes().hex()}"> : tensor<{dims}{element}>'


class Parameters:
    """The model's values, from where nn.parameter says they are stored."""

    def __init__(self, model, ir):
        self.folder, self.attributes = model.folder, {}
        for name, dims, _, text in re.findall(rf"nn\.parameter {SYMBOL} : {TENSOR} \{{(.*)\}}", ir):
            # The bindings of other initializers have attributes of the same names.
            self.attributes[name] = (
                shape_of(dims),
                re.sub(r"bindings = \[\{.*?\}\](?=, file)", "", text),
            )

    def values(self, name):
        shape, text = self.attributes[name]
        find = lambda key: re.search(rf'\b{key} = "?([^",\s]*)', text).group(1)
        count = int(np.prod(shape))
        stored = np.fromfile(
            os.path.join(self.folder, find("file") or "model.onnx"),
            NUMPY[find("stored_type")],
            count,
            offset=int(find("offset")),
        )
        return (
            stored.reshape(shape[::-1]).T
            if re.search(r"\btransposed\b", text)
            else stored.reshape(shape)
        )


def labels_that_count(model, labels):
    """How many labels the loss is the mean of."""
    loss = model.recipe["loss"]
    if loss == "graph output":
        return labels.size
    settings = loss["cross_entropy"]
    return int(
        np.sum((labels[..., 1:] if settings["shift"] else labels) != settings["ignore_index"])
    )


def evaluate(model, precision="float64"):
    """(loss, gradients by name) of the first step."""
    data = {name: np.load(path)[: model.batch] for name, path in model.data().items()}
    words = [
        SHARDC,
        model.onnx,
        "--loss",
        model.loss(),
        "--precision",
        precision,
        "--compile-to",
        "train",
    ]
    for name, size in model.dims(1).items():
        words += ["--dim", f"{name}={size}"]
    ir = command(*words).stdout
    parameters = Parameters(model, ir)

    def argument(match):
        name, dims, element, attributes = match.groups()
        if 'nn.role = "loss_scale"' in attributes:
            values = np.array(1 / labels_that_count(model, data["labels"]))
        else:
            values = data[re.search(r'nn\.name = "([^"]*)"', attributes).group(1)]
        return f"{name}: tensor<{dims}{element}> {{test.values = {literal(values, dims, element)}}}"

    header, body = ir[ir.index("func.func @train") :].split("\n", 1)
    names = [name.strip('"') for name in re.findall(rf"nn\.gradient_of = {SYMBOL}", header)]
    arguments, results = header.split(") -> (")
    header = (
        re.sub(rf"(%arg\d+): {TENSOR} \{{([^}}]*)\}}", argument, arguments)
        + ") -> ("
        + re.sub(r" \{[^}]*\}", "", results)
    )
    if not results.endswith("{"):
        header += " {"
    body = re.sub(
        rf"nn\.get_parameter {SYMBOL} : {TENSOR}",
        lambda m: "nn.constant " + literal(parameters.values(m.group(1)), m.group(2), m.group(3)),
        body[: body.index("\n  }\n") + 5],
    )
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(header + "\n" + body)
        file.flush()
        out = command(
            SHARDC_OPT,
            file.name,
            "-test-nn-evaluate",
            "--mlir-print-elementsattrs-with-hex-if-larger=0",
        ).stdout
    constants = {}
    for name, text, dims, element in re.findall(
        r"(%\w+) = nn\.constant dense<([^>]*)>[^:]* : tensor<((?:\d+x)*)(f64|f32)>", out
    ):
        text = text.strip('"')
        values = (
            np.frombuffer(bytes.fromhex(text[2:]), NUMPY[element])
            if text.startswith("0x")
            else np.array(float(text))
        )
        constants[name] = np.broadcast_to(values, [int(np.prod(shape_of(dims)))]).reshape(
            shape_of(dims)
        )
    returned = [constants[name] for name in re.search(r"return (.*) :", out).group(1).split(", ")]
    return float(returned[0]), dict(zip(names, returned[1:]))


class ReferenceStep(unittest.TestCase):
    def check(self, model):
        loss, gradients = evaluate(model)
        self.assertLess(abs(loss / model.reference["loss_f64"][0] - 1), LARGEST_ERROR)
        expected = read_safetensors(os.path.join(model.folder, model.reference["grads_step0"]))
        self.assertEqual(set(gradients), set(expected))
        largest = max(np.abs(g).max() for g in expected.values())
        for name, gradient in expected.items():
            error = np.abs(gradients[name] - gradient).max() / max(
                np.abs(gradient).max(), 1e-2 * LARGEST_ERROR * largest
            )
            self.assertLess(error, LARGEST_ERROR, name)


for each in models().values():
    if each.name.startswith(("s0", "s1", "s2", "s4", "gpt2", "mlp")):
        setattr(
            ReferenceStep,
            "test_" + each.name.replace("-", "_"),
            lambda self, model=each: self.check(model),
        )

if __name__ == "__main__":
    unittest.main()
