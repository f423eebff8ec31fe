"""The second reference: recurrent layers, by torch's own cells where they are the same."""
import torch

from torch_ops import op


def run(call, gates, cell):
    layout = call.attribute("layout", 0)
    x = call[0].transpose(0, 1) if layout else call[0]
    steps, batch = x.shape[:2]
    directions, hidden = call[2].shape[0], call[2].shape[2]
    outputs, last = [], []
    for d in range(directions):
        states = []
        for index in (5, 6):
            given = call[index]
            if given is None:
                states.append(x.new_zeros(batch, hidden))
            else:
                states.append(given.select(1 if layout else 0, d))
        if call[3] is None:
            biases = x.new_zeros(2, gates * hidden)
        else:
            biases = call[3][d].reshape(2, -1)
        lengths = torch.full((batch,), steps) if call[4] is None else call[4]
        is_back = call.attribute("direction", "forward") == "reverse" or d == 1
        rows = [None] * steps
        for t in reversed(range(steps)) if is_back else range(steps):
            after = cell(x[t], states, call[1][d], call[2][d], biases, d)
            there = (t < lengths)[:, None]
            rows[t] = torch.where(there, after[0], torch.zeros_like(after[0]))
            states = [torch.where(there, a, s) for a, s in zip(after, states)]
        outputs.append(torch.stack(rows))
        last.append(states)
    results = [torch.stack(outputs, 1), *(torch.stack([s[i] for s in last]) for i in range(2))]
    if layout:
        results = [results[0].permute(2, 0, 1, 3), *(r.transpose(0, 1) for r in results[1:])]
    return results


@op("RNN")
def rnn(call):
    def cell(x, states, w, r, biases, _):
        h = torch.rnn_tanh_cell(x, states[0], w, r, biases[0], biases[1])
        return [h, h]

    return run(call, 1, cell)[:2]


@op("GRU")
def gru(call):
    def cell(x, states, w, r, biases, _):
        h = states[0]
        if call.attribute("linear_before_reset", 0):
            # torch's order of gates is r, z, n.
            def turned(m):
                z, reset, n = m.chunk(3)
                return torch.cat([reset, z, n])

            h = torch.gru_cell(x, h, turned(w), turned(r), turned(biases[0]), turned(biases[1]))
            return [h, h]
        xz, xr, xn = (x @ w.t() + biases[0]).chunk(3, 1)
        rz, rr, rn = r.chunk(3)
        bz, br, bn = biases[1].chunk(3)
        z, reset = torch.sigmoid(xz + h @ rz.t() + bz), torch.sigmoid(xr + h @ rr.t() + br)
        n = torch.tanh(xn + (reset * h) @ rn.t() + bn)
        h = (1 - z) * n + z * h
        return [h, h]

    return run(call, 3, cell)[:2]


@op("LSTM")
def lstm(call):
    def cell(x, states, w, r, biases, d):
        h, c = states
        if call[7] is None and not call.attribute("input_forget", 0):
            # torch's order of gates is i, f, g, o.
            def turned(m):
                i, o, f, g = m.chunk(4)
                return torch.cat([i, f, g, o])

            return list(
                torch.lstm_cell(
                    x, (h, c), turned(w), turned(r), turned(biases[0]), turned(biases[1])
                )
            )
        i, o, f, g = (x @ w.t() + h @ r.t() + biases[0] + biases[1]).chunk(4, 1)
        if call[7] is None:
            peepholes = h.new_zeros(3, h.shape[1])
        else:
            peepholes = call[7][d].reshape(3, -1)
        i = torch.sigmoid(i + peepholes[0] * c)
        f = 1 - i if call.attribute("input_forget", 0) else torch.sigmoid(f + peepholes[2] * c)
        c = f * c + i * torch.tanh(g)
        return [torch.sigmoid(o + peepholes[1] * c) * torch.tanh(c), c]

    return run(call, 4, cell)
