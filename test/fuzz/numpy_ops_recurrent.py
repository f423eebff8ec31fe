"""The written reference: recurrent layers."""
import numpy as np

from numpy_ops import op, sigmoid


def run(call, gates, step):
    """step(x W^T, input bias, state, R, state bias, direction) gives the next state."""
    layout = call.attribute("layout", 0)
    x = np.swapaxes(call[0], 0, 1) if layout else call[0]
    steps, batch = x.shape[:2]
    w, r = call[1], call[2]
    hidden = r.shape[2]
    direction = call.attribute("direction", "forward")
    outputs = np.zeros((steps, w.shape[0], batch, hidden), x.dtype)
    last = []
    for d in range(w.shape[0]):
        states = []
        for index in (5, 6):
            given = call[index]
            if given is None:
                states.append(np.zeros((batch, hidden), x.dtype))
            else:
                states.append(given[:, d] if layout else given[d])
        biases = (np.zeros(2 * gates * hidden, x.dtype) if call[3] is None else call[3][d]).reshape(
            2, -1
        )
        lengths = np.full(batch, steps) if call[4] is None else call[4]
        is_back = direction == "reverse" or d == 1
        for t in reversed(range(steps)) if is_back else range(steps):
            after = step(x[t] @ w[d].T, biases, states, r[d], d)
            there = (t < lengths)[:, None]
            outputs[t, d] = np.where(there, after[0], 0)
            states = [np.where(there, a, s) for a, s in zip(after, states)]
        last.append(states)
    results = [outputs, *(np.stack([s[i] for s in last]) for i in range(2))]
    if layout:
        results = [
            results[0].transpose(2, 0, 1, 3),
            *(r.transpose(1, 0, 2) for r in results[1:]),
        ]
    return results


@op("RNN")
def rnn(call):
    def step(x, biases, states, r, _):
        h = np.tanh(x + states[0] @ r.T + biases[0] + biases[1])
        return [h, h]

    return run(call, 1, step)[:2]


@op("GRU")
def gru(call):
    def step(x, biases, states, r, _):
        h = states[0]
        size = h.shape[1]
        xz, xr, xh = np.split(x + biases[0], 3, 1)
        rz, rr, rh = r[:size], r[size : 2 * size], r[2 * size :]
        bz, br, bh = np.split(biases[1], 3)
        z = sigmoid(xz + h @ rz.T + bz)
        reset = sigmoid(xr + h @ rr.T + br)
        if call.attribute("linear_before_reset", 0):
            new = np.tanh(xh + reset * (h @ rh.T + bh))
        else:
            new = np.tanh(xh + (reset * h) @ rh.T + bh)
        h = (1 - z) * new + z * h
        return [h, h]

    return run(call, 3, step)[:2]


@op("LSTM")
def lstm(call):
    def step(x, biases, states, r, d):
        h, c = states
        peepholes = np.zeros((3, h.shape[1]), x.dtype)
        if call[7] is not None:
            peepholes = call[7][d].reshape(3, -1)
        i, o, f, g = np.split(x + h @ r.T + biases[0] + biases[1], 4, 1)
        i = sigmoid(i + peepholes[0] * c)
        f = 1 - i if call.attribute("input_forget", 0) else sigmoid(f + peepholes[2] * c)
        c = f * c + i * np.tanh(g)
        return [sigmoid(o + peepholes[1] * c) * np.tanh(c), c]

    return run(call, 4, step)
