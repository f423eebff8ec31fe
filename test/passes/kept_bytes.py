"""What backward keeps of a model's forward pass, from its shapes.

    kept_bytes.py REPORT.json llama|gpt2 TOKENS [kv]

Counted by hand, in floats per token and block of width h: Llama keeps x, the rotated queries,
attention's result and the sum behind it (h each), keys and values (kv each), gate and up (f each);
GPT-2 keeps x, q, k and v (3 h), attention's result, the sum, and what gelu reads (4 h). Both keep
one log-sum-exp per head. Behind the blocks is the last norm's input with its statistics. Norms,
activations and products of two tensors are not kept.
"""
import json
import sys

report, model, tokens = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3])
layers, h, heads, kv, f, stats = {
    "llama": (12, 768, 12, 192, 3072, 1),
    "gpt2": (12, 768, 12, 768, 3072, 2),
}[model]
if model == "llama":
    block = 4 * h + 2 * kv + 2 * f
else:
    block = 6 * h + f
expected = 4 * tokens * (layers * (block + heads) + h + stats)
remat = report["remat"]
assert remat["kept_bytes"] == expected, (remat, expected)
assert remat["read_bytes"] > 1.3 * expected, (remat, expected)
assert remat["recomputed_flops"] < 0.01 * report["flops_per_step"], remat
print(f"{model}: keeps {expected} bytes")
