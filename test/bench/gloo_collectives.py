#!/usr/bin/env python3
"""What gloo takes for the collectives of FSDP: beside comm-bench.

Needs torch; starts its own ranks.

The last line is JSON: median milliseconds of all-gather, reduce-scatter (into and out of one full
buffer of `bytes`) and all-reduce.
"""
import argparse
import json
import os
import statistics
import sys
import time

from fsdp2_peer import start_ranks

WARMUP = 5


def rank_main(args):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    elements = args.bytes // 4 // world * world
    full, part = torch.ones(elements), torch.ones(elements // world)
    kinds = {
        "all_gather": lambda: dist.all_gather_into_tensor(full, part),
        "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, full),
        "all_reduce": lambda: dist.all_reduce(full),
    }
    result = {"ranks": world, "bytes": elements * 4}
    for kind, collective in kinds.items():
        times = []
        for _ in range(WARMUP + args.repeats):
            full.fill_(1)
            dist.barrier()
            start = time.perf_counter()
            collective()
            times.append(time.perf_counter() - start)
        result[f"{kind}_ms"] = 1e3 * statistics.median(times[WARMUP:])
    if rank == 0:
        print(json.dumps(result), flush=True)
    dist.barrier()
    os._exit(0)  # gloo's threads now and then abort in an orderly shutdown


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--bytes", type=int, default=32_000_000)
    parser.add_argument("--repeats", type=int, default=30)
    args = parser.parse_args()
    return (
        rank_main(args)
        if "RANK" in os.environ
        else start_ranks(os.path.abspath(__file__), sys.argv[1:], args.ranks)
    )


if __name__ == "__main__":
    sys.exit(main())
