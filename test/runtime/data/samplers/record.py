"""Writes orders.txt beside it, with torch: the samples that each rank's DistributedSampler takes.
A line is: samples, ranks, seed, epoch, drop_last (0 or 1), rank, and the rank's samples."""
import os

from torch.utils.data import DistributedSampler

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "orders.txt")
CASES = (
    (8, 2, 0, 0),
    (8, 2, 0, 1),
    (7, 1, 3, 0),
    (23, 4, 42, 5),
    (3, 8, 1, 0),
    (130, 2, 2**32 - 1, 1),
    (50, 3, 2**33 + 5, 2),
)

with open(FILE, "w", encoding="utf-8") as file:
    for samples, ranks, seed, epoch in CASES:
        for drop in (False, True):
            for rank in range(ranks):
                sampler = DistributedSampler(
                    range(samples), ranks, rank, shuffle=True, seed=seed, drop_last=drop
                )
                sampler.set_epoch(epoch)
                numbers = (samples, ranks, seed, epoch, int(drop), rank, *sampler)
                file.write(" ".join(map(str, numbers)) + "\n")
