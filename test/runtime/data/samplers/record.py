"""Writes orders.txt and hashes.txt beside it, with torch: the samples that each rank's
DistributedSampler takes. A line of orders.txt is: samples, ranks, seed, epoch, drop_last (0 or 1),
rank, and the rank's samples. One of hashes.txt ends with a hash in their place, of the samples of
all ranks, one rank behind the other: FNV-1a's steps on whole numbers in place of bytes."""
import os

from torch.utils.data import DistributedSampler

FOLDER = os.path.dirname(os.path.abspath(__file__))
CASES = (
    (8, 2, 0, 0),
    (8, 2, 0, 1),
    (7, 1, 3, 0),
    (23, 4, 42, 5),
    (3, 8, 1, 0),
    (130, 2, 2**32 - 1, 1),
    (50, 3, 2**33 + 5, 2),
)
SIZES = (1, 2, 3, 5, 8, 9, 63, 64, 625, 1000, 4097, 100003)
SEED = 11


def orders(samples, ranks, seed, epoch, drop):
    """A rank behind the other."""
    for rank in range(ranks):
        sampler = DistributedSampler(
            range(samples), ranks, rank, shuffle=True, seed=seed, drop_last=drop
        )
        sampler.set_epoch(epoch)
        yield list(sampler)


def hash_of(numbers):
    value = 0xCBF29CE484222325
    for number in numbers:
        value = (value ^ number) * 0x100000001B3 % 2**64
    return value


with open(os.path.join(FOLDER, "orders.txt"), "w", encoding="utf-8") as file:
    for case in CASES:
        for drop in (False, True):
            for rank, taken in enumerate(orders(*case, drop)):
                file.write(" ".join(map(str, (*case, int(drop), rank, *taken))) + "\n")

with open(os.path.join(FOLDER, "hashes.txt"), "w", encoding="utf-8") as file:
    for size in SIZES:
        for ranks in range(1, 9):
            for epoch in range(3):
                for drop in (False, True):
                    case = (size, ranks, SEED, epoch)
                    value = hash_of(n for taken in orders(*case, drop) for n in taken)
                    file.write(" ".join(map(str, (*case, int(drop), value))) + "\n")
