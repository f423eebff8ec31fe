"""What is drawn: the masks of dropout, and numbers, from their definitions (docs/randomness.md), in
numpy."""
import numpy as np

MASK32 = (1 << 32) - 1


def threefry2x32(key, counter):
    """Threefry-2x32 with 20 rounds (Salmon et al., SC 2011): two arrays of words."""
    rotations = (13, 15, 26, 6, 17, 29, 16, 24)
    keys = [np.uint32(key[0]), np.uint32(key[1])]
    keys.append(keys[0] ^ keys[1] ^ np.uint32(0x1BD11BDA))
    with np.errstate(over="ignore"):
        x0 = np.asarray(counter[0], np.uint32) + keys[0]
        x1 = np.asarray(counter[1], np.uint32) + keys[1]
        for i in range(20):
            x0 = x0 + x1
            bits = rotations[i % 8]
            x1 = (x1 << np.uint32(bits) | x1 >> np.uint32(32 - bits)) ^ x0
            if i % 4 == 3:
                step = i // 4 + 1
                x0 = x0 + keys[step % 3]
                x1 = x1 + keys[(step + 1) % 3] + np.uint32(step)
    return x0, x1


def philox4x32(counter, key):
    """Philox 4x32-10, of the same paper."""
    counter, key = list(counter), list(key)
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [
            (second >> 32) ^ counter[1] ^ key[0],
            second & MASK32,
            (first >> 32) ^ counter[3] ^ key[1],
            first & MASK32,
        ]
        key = [(key[0] + 0x9E3779B9) & MASK32, (key[1] + 0xBB67AE85) & MASK32]
    return counter


def site_key(seed, step, site):
    """Of a step, which counts from 0, and a site."""
    counter = [step & MASK32, step >> 32, site, int.from_bytes(b"drop", "big")]
    return philox4x32(counter, [seed & MASK32, seed >> 32])[:2]


def masks(seed, step, site, rate, samples, shape, axis=0):
    """What `samples` samples of this shape are multiplied by, sample by sample along `axis`;
    samples None: one mask for all."""
    count = int(np.prod(shape))
    numbers = np.arange(count, dtype=np.uint64).astype(np.uint32)
    threshold = min(round(rate * 2**32) - 2**31, 2**31 - 1)
    scale = 1 / (1 - rate) if rate < 1 else 0.0

    def mask(sample):
        word, _ = threefry2x32(site_key(seed, step, site), (numbers, np.uint32(sample)))
        return np.where(word.view(np.int32) >= threshold, scale, 0.0).reshape(shape)

    if samples is None:
        return mask(0)
    return np.stack([mask(sample) for sample in samples], axis)


def attention_factors(key, rate, rows, keys, sample, first_row=0):
    """What the probabilities of these rows of one sample are multiplied with: keys are drawn for
    four at a time."""
    number = np.arange(keys, dtype=np.uint32)
    draws = number // np.uint32(32) * np.uint32(8) + number % np.uint32(8)
    part = number % 32 // 8
    threshold = min(round(rate * 2**32) - 2**31, 2**31 - 1) >> 16
    scale = 1 / (1 - rate) if rate < 1 else 0.0
    factors = np.empty((rows, keys))
    for row in range(rows):
        of_row = (key[0], (key[1] + first_row + row) & MASK32)
        first, second = threefry2x32(of_row, (draws, np.uint32(sample)))
        word = np.where(part < 2, first, second)
        drawn = np.where(part % 2, word >> 16, word & 0xFFFF).astype(np.uint16).view(np.int16)
        factors[row] = np.where(drawn >= threshold, scale, 0.0)
    return factors


def attention_masks(seed, step, site, rate, samples, shape):
    """What the probabilities [heads, queries, keys] of each sample are multiplied with; samples
    None: of all alike, [batch, heads, queries, keys]."""
    key, (*outer, keys) = site_key(seed, step, site), shape
    rows = int(np.prod(outer))
    if samples is None:
        return attention_factors(key, rate, rows, keys, 0).reshape(shape)
    return np.stack(
        [attention_factors(key, rate, rows, keys, sample).reshape(shape) for sample in samples]
    )


EVALUATION = (1 << 64) - 1  # the step of every evaluation


def numbers(seed, step, site, samples, shape, axis=0, normal=False):
    """What is drawn for `samples` samples of this shape, one by one along `axis`; samples None: for
    all the same."""
    count = int(np.prod(shape))
    elements = np.arange(count, dtype=np.uint64).astype(np.uint32)

    def drawn(sample):
        words = threefry2x32(site_key(seed, step, site), (elements, np.uint32(sample)))
        first, second = ((word >> np.uint32(8)) / 2.0**24 for word in words)
        if normal:
            first = np.sqrt(-2 * np.log(first + 2.0**-24)) * np.cos(2 * np.pi * second)
        return first.reshape(shape)

    if samples is None:
        return drawn(0)
    return np.stack([drawn(sample) for sample in samples], axis)
