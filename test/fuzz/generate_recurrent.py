"""Generators: recurrent layers."""
import numpy as np

from builder import Unsuitable
from generate_products import of_shape
from generators import generates

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@generates("RNN", "GRU", "LSTM")
def recurrent(g, op):
    steps, batch, width, hidden = g.integer(1, 4), g.size(3), g.size(5), g.size(4)
    if g.main in ("f16", "bf16"):
        raise Unsuitable("a state is rounded after each step")
    direction = g.choose(None, "forward", "reverse", "bidirectional")
    d, gates = 2 if direction == "bidirectional" else 1, GATES[op]
    layout = g.choose(None, 0, 1) if g.program.opset >= 14 else None
    x = of_shape(g, [batch, steps, width] if layout else [steps, batch, width], g.main)
    state = [batch, d, hidden] if layout else [d, batch, hidden]
    inputs = [
        x,
        g.parameter([d, gates * hidden, width], g.main),
        g.parameter([d, gates * hidden, hidden], g.main),
        g.parameter([d, 2 * gates * hidden], g.main) if g.chance(0.7) else "",
        g.constant(g.numbers.integers(1, steps + 1, batch), "i32") if g.chance(0.2) else "",
        of_shape(g, state, g.main) if g.chance(0.4) else "",
    ]
    if op == "LSTM":
        inputs.append(of_shape(g, state, g.main) if g.chance(0.4) else "")
        inputs.append(g.parameter([d, 3 * hidden], g.main) if g.chance(0.2) else "")
    while inputs[-1] == "":
        inputs.pop()
    attributes = {"hidden_size": hidden, "direction": direction, "layout": layout}
    if op == "GRU":
        attributes["linear_before_reset"] = g.choose(None, 0, 1)
    if op == "LSTM":
        attributes["input_forget"] = g.choose(None, None, 0, 1)
    g.emit(op, inputs, outputs=3 if op == "LSTM" else 2, dtype=g.type(x), **attributes)
