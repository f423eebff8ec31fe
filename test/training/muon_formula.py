"""Muon in numpy, in float64: torch.optim.Muon's formula, written from
https://docs.pytorch.org/docs/stable/generated/torch.optim.Muon.html and
https://kellerjordan.github.io/posts/muon/; and AdamW for what is no matrix."""
import numpy as np


def newton_schulz(matrix, steps=5):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / max(np.sqrt((x * x).sum()), 1e-7)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


class Muon:
    def __init__(self, momentum=0.95, nesterov=True, ns_steps=5, adjust_lr_fn="original"):
        self.momentum, self.nesterov, self.steps = momentum, nesterov, ns_steps
        self.adjust, self.buffer = adjust_lr_fn, 0.0

    def step(self, p, g, rate, decay):
        self.buffer = self.momentum * self.buffer + (1 - self.momentum) * g
        way = (1 - self.momentum) * g + self.momentum * self.buffer
        way = newton_schulz(way if self.nesterov else self.buffer, self.steps)
        rows, columns = p.shape
        if self.adjust == "match_rms_adamw":
            scale = 0.2 * np.sqrt(max(rows, columns))
        else:
            scale = np.sqrt(max(1, rows / columns))
        return p * (1 - rate * decay) - rate * scale * way


class AdamW:
    def __init__(self, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.betas, self.epsilon = (beta1, beta2), epsilon
        self.m = self.v = 0.0
        self.t = 0

    def step(self, p, g, rate, decay):
        (b1, b2), self.t = self.betas, self.t + 1
        self.m, self.v = b1 * self.m + (1 - b1) * g, b2 * self.v + (1 - b2) * g * g
        p = p * (1 - rate * decay)
        root = np.sqrt(self.v / (1 - b2**self.t)) + self.epsilon
        return p - rate * self.m / (1 - b1**self.t) / root
