#!/usr/bin/env python3
"""The same workload on PyTorch FSDP2 (eager, gloo, CPU): what bench.py compares with. Needs torch.

fully_shard per block and on the root as PyTorch does by default (the root stays gathered after forward), clip_grad_norm_ 1.0, fused
AdamW. Starts its own ranks, cores / ranks threads each. The last line is JSON: median step, memory (PSS of all ranks, MiB), seconds
from the start to the end of the first step.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np


def build(name):
    import torch
    import torch.nn.functional as F
    from torch import nn

    class LlamaBlock(nn.Module):
        def __init__(self, dim, ffn, heads, kv_heads):
            super().__init__()
            self.head_dim = dim // heads
            self.norm_1, self.norm_2 = nn.RMSNorm(dim, eps=1e-5), nn.RMSNorm(dim, eps=1e-5)
            self.q, self.o = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
            self.k, self.v = (nn.Linear(dim, kv_heads * self.head_dim, bias=False) for _ in range(2))
            self.gate, self.up = (nn.Linear(dim, ffn, bias=False) for _ in range(2))
            self.down = nn.Linear(ffn, dim, bias=False)

        def forward(self, x, cos, sin):
            h = self.norm_1(x)
            q, k, v = (p(h).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for p in (self.q, self.k, self.v))
            rotate = lambda t: t * cos + torch.cat((-t.chunk(2, -1)[1], t.chunk(2, -1)[0]), -1) * sin
            groups = q.shape[1] // k.shape[1]
            k, v = rotate(k).repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
            a = F.scaled_dot_product_attention(rotate(q), k, v, is_causal=True)
            x = x + self.o(a.transpose(1, 2).flatten(2))
            h = self.norm_2(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    class Llama(nn.Module):
        def __init__(self, vocab=8192, dim=256, ffn=1024, heads=4, kv_heads=2, layers=4, sequence=128):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim)
            self.blocks = nn.ModuleList(LlamaBlock(dim, ffn, heads, kv_heads) for _ in range(layers))
            self.norm, self.head = nn.RMSNorm(dim, eps=1e-5), nn.Linear(dim, vocab, bias=False)
            half = dim // heads
            angle = torch.outer(torch.arange(sequence), 10000.0 ** (-torch.arange(0, half, 2) / half)).repeat(1, 2)
            self.cos, self.sin = angle.cos(), angle.sin()

        def forward(self, ids, labels):
            x = self.embed(ids)
            for block in self.blocks:
                x = block(x, self.cos, self.sin)
            return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())

    class EncoderBlock(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads = heads
            self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.fc, self.fc_proj = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
            self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

        def forward(self, x):
            q, k, v = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            x = self.norm_1(x + self.proj(a))
            return self.norm_2(x + self.fc_proj(F.gelu(self.fc(x))))

    class Encoder(nn.Module):
        def __init__(self, dim=512, heads=8, layers=4, classes=10):
            super().__init__()
            self.blocks = nn.ModuleList(EncoderBlock(dim, heads) for _ in range(layers))
            self.head = nn.Linear(dim, classes)

        def forward(self, x, labels):
            for block in self.blocks:
                x = block(x)
            return F.cross_entropy(self.head(x.mean(1)), labels)

    return {"W3": Llama, "W4": Encoder}[name]()


def rank_main(args):
    import torch
    import torch.distributed as dist
    from torch.distributed.fsdp import fully_shard

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(max(1, os.cpu_count() // world))
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = build(args.workload)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    data = [np.load(os.path.join(args.folder, f"{n}.npy"), mmap_mode="r") for n in ("input", "labels")]
    batch = len(data[0]) // 4
    seconds, first = [], None
    for step in range(args.warmup + args.steps):
        start = time.perf_counter()
        begin = step % 4 * batch + rank * batch // world
        x, y = (torch.from_numpy(np.array(d[begin:begin + batch // world])) for d in data)
        model(x, y).backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds.append(time.perf_counter() - start)
        first = first or time.time()
    with open("/proc/self/smaps_rollup") as file:
        pss = next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024
    everyone = [None] * world
    dist.all_gather_object(everyone, (pss, first))
    if rank == 0:
        print(json.dumps({"step": statistics.median(seconds[args.warmup:]), "memory": sum(p for p, _ in everyone),
                          "first": max(f for _, f in everyone) - float(os.environ["BENCH_START"])}), flush=True)
    dist.barrier()
    os._exit(0)  # gloo's threads now and then abort in an orderly shutdown


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", required=True, choices=["W3", "W4"])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--folder", required=True, help="where input.npy and labels.npy are: four global batches")
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--steps", type=int, default=25)
    args = parser.parse_args()
    if "RANK" in os.environ:
        return rank_main(args)
    threads = str(max(1, os.cpu_count() // args.ranks))
    common = dict(os.environ, WORLD_SIZE=str(args.ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT="29571", OMP_NUM_THREADS=threads,
                  BENCH_START=str(time.time()))
    ranks = [subprocess.Popen([sys.executable, __file__, *sys.argv[1:]], env=dict(common, RANK=str(r))) for r in range(args.ranks)]
    sys.exit(max(p.wait() for p in ranks))


if __name__ == "__main__":
    main()
