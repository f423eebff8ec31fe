"""Models of a few nodes with shapes that no reference model has, made with Debian's onnx; what
compiles and trains them."""
import os

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from reference import SHARDC, command

TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int64): TensorProto.INT64}
DEFAULT_RUN = ("--steps", 4, "--lr", 0.01, "--clip", 0.5, "--weight-decay", 0.1)


class Small:
    """One graph with a symbolic dim `batch`.

    batch: the global batch of a run that says nothing else; there are samples for two. run:
    what every run is told.
    """

    def __init__(self, folder, seed=1):
        self.folder, self.random = folder, np.random.default_rng(seed)
        self.nodes, self.parameters, self.inputs, self.values = [], {}, {}, {}
        self.onnx = os.path.join(folder, "model.onnx")
        self.batch, self.run = 48, DEFAULT_RUN

    # -- building ----------------------------------------------------------------------------------

    def input(self, name, shape, dtype=np.float32, high=None, batch=True):
        """A graph input of [batch, *shape] with random values; integers lie in [0, high)."""
        size = (2 * self.batch, *shape)
        self.values[name] = (
            self.random.integers(0, high, size)
            if high
            else self.random.standard_normal(size).astype(dtype)
        )
        self.inputs[name] = helper.make_tensor_value_info(
            name, TYPES[self.values[name].dtype], ["batch", *shape]
        )
        return name

    def parameter(self, name, *shape):
        fan = shape[0] if len(shape) > 1 else 4
        self.parameters[name] = np.asarray(
            self.random.standard_normal(shape) / np.sqrt(fan), np.float32
        )
        return name

    def node(self, kind, *inputs, output=None, **attributes):
        output = output or f"value.{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(
                kind, list(inputs), [output], name=f"node.{len(self.nodes)}", **attributes
            )
        )
        return output

    def linear(self, x, name, rows, columns, bias=True):
        y = self.node("MatMul", x, self.parameter(f"{name}.weight", rows, columns))
        return self.node("Add", y, self.parameter(f"{name}.bias", columns)) if bias else y

    def finish(self, loss, **outputs):
        """Writes the model and its data. `outputs`: shapes behind the batch, by name."""
        infos = [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", *shape])
            for n, shape in outputs.items()
        ]
        graph = helper.make_graph(
            self.nodes,
            "small",
            list(self.inputs.values()),
            infos,
            [numpy_helper.from_array(v, n) for n, v in self.parameters.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        with open(self.onnx, "wb") as file:
            file.write(model.SerializeToString())
        self.loss, self.data = loss, {}
        for name, values in self.values.items():
            self.data[name] = os.path.join(self.folder, f"{name}.npy")
            np.save(self.data[name], values)
        return self

    # -- running, as strategies.Run wants it -------------------------------------------------------

    def compile(self, trainer, mesh, precision, *flags, batch):
        ranks = int(np.prod([int(d) for d in str(mesh).split("x")]))
        return command(
            SHARDC,
            self.onnx,
            "--mesh",
            mesh,
            "--precision",
            precision,
            "--loss",
            self.loss,
            "--dim",
            f"batch={batch // ranks}",
            "-o",
            trainer,
            *flags,
        )

    def train(self, trainer, *flags, steps=None):
        data = [word for name, path in self.data.items() for word in ("--data", f"{name}={path}")]
        return command(trainer, *data, *self.run, *(("--steps", steps) if steps else ()), *flags)
