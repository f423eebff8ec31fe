#!/usr/bin/env python3
"""A workload on PyTorch FSDP2 (gloo, CPU): what bench.py compares with.

Needs torch; starts its own ranks.

fully_shard on every block and on the root with PyTorch's defaults (the root stays gathered after
forward), clip_grad_norm_ (foreach), fused AdamW, cores / ranks threads a rank. Initial values and
batches are the files that bench.py writes and the trainer reads too.

  eager        as it comes
  tuned        blocks compiled, all-gathers asynchronous and two blocks ahead, tcmalloc
               where it is installed
  tuned-eager  the same, not compiled
  bf16         eager, parameters and products in bfloat16, gradients reduced in float32
  single       no FSDP: one process with the whole batch and all cores, tcmalloc where it is
               installed
  single-compiled  the same, the whole model compiled

With --save-every it saves model and optimizer with torch.distributed.checkpoint.async_save, waiting
for the save before, as PyTorch's recipe has it; what that takes is part of the step.

The last line is JSON: seconds, losses and gradient norms of all steps, PSS of all ranks and peak
RSS of each (MiB, after the last step with all ranks alive), seconds from the start of this process
to the end of the first step on the slowest rank.
"""
import argparse
import json
import os
import socket
import subprocess
import sys
import time

import numpy as np

KINDS = ("eager", "tuned", "tuned-eager", "bf16", "single", "single-compiled")
TCMALLOC = ("libtcmalloc_minimal.so.4", "libtcmalloc.so.4")
AHEAD = 2


def is_single(kind):
    return kind.startswith("single")


def wants_tcmalloc(kind):
    return kind.startswith(("tuned", "single"))


def seconds_of_process():
    """Since this process was started (proc(5): field 22 of stat, in ticks since boot)."""
    with open("/proc/self/stat") as file:
        started = int(file.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def mebibytes(path, key):
    with open(path) as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key + ":")) / 1024


class Safetensors:
    """Values by name, of which a rank reads its rows."""

    def __init__(self, path):
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            self.header = json.loads(file.read(length))
        self.bytes = np.memmap(path, np.uint8, "r", offset=8 + length)

    def __getitem__(self, name):
        entry = self.header[name]
        begin, end = entry["data_offsets"]
        return self.bytes[begin:end].view(np.float32).reshape(entry["shape"])


def fill(model, path):
    """Sets the parameters' local rows (dimension 0 is cut into equal parts, the last ones
    shorter), and the buffers."""
    import torch

    values = Safetensors(path)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            value, local, begin = values["model." + name], parameter, 0
            if hasattr(parameter, "to_local"):
                local, mesh = parameter.to_local(), parameter.device_mesh
                rows = -(-len(value) // mesh.size())
                begin = min(rows * mesh.get_local_rank(), len(value))
            local.copy_(torch.from_numpy(np.array(value[begin : begin + len(local)])))
        model.fill_buffers()


def model_of(workload, kind, world, weights):
    import fsdp2_models
    import torch

    with torch.device("meta"):
        model = getattr(fsdp2_models, workload.model)(**workload.sizes)
    if not is_single(kind):
        shard(model, kind, world)
    elif kind == "single-compiled":
        model.compile()
    model.to_empty(device="cpu")
    fill(model, weights)
    return model


def shard(model, kind, world):
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    how = {"mesh": init_device_mesh("cpu", (world,))}
    if kind == "bf16":
        how["mp_policy"] = MixedPrecisionPolicy(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32
        )
    blocks = list(model.blocks)
    for block in blocks:
        if kind == "tuned":
            block.compile()
        fully_shard(block, **how)
    fully_shard(model, **how)
    if kind.startswith("tuned"):
        model._set_unshard_async_op(True)
        for i, block in enumerate(blocks):
            block.set_modules_to_forward_prefetch(blocks[i + 1 : i + 1 + AHEAD])
            block.set_modules_to_backward_prefetch(blocks[max(0, i - AHEAD) : i][::-1])


def save(model, optimizer, group, folder, step, before):
    """Begins to save, once the save before has ended; a future."""
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict

    if before:
        before.result()
    names, states = get_state_dict(model, optimizer)
    return dcp.async_save(
        {"model": names, "optim": states},
        checkpoint_id=os.path.join(folder, f"step-{step}"),
        process_group=group,
    )


def rank_main(args):
    import torch
    import torch.distributed as dist
    from workloads import BATCHES, LEARNING, WORKLOADS

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    dist.init_process_group("gloo")
    workload = WORKLOADS[args.workload]
    model = model_of(workload, args.kind, world, os.path.join(args.folder, "initial.safetensors"))
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(
        parameters,
        lr=LEARNING["lr"],
        betas=LEARNING["betas"],
        weight_decay=LEARNING["weight_decay"],
        fused=True,
    )
    data = [
        np.load(os.path.join(args.folder, f"{name}.npy"), mmap_mode="r")
        for name in ("input", "labels")
    ]
    own = workload.batch // world

    saving = None  # the save that is on its way
    # Its collectives run beside those of the step, which needs a group of its own.
    savers = dist.new_group(backend="gloo") if args.save_every else None
    mine = {"seconds": [], "losses": [], "grad_norms": []}
    for step in range(args.warmup + args.steps):
        start = time.perf_counter()
        begin = step % BATCHES * workload.batch + rank * own
        input, labels = (torch.from_numpy(np.array(values[begin : begin + own])) for values in data)
        loss = model(input, labels)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, LEARNING["clip"], foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if args.save_every and (step + 1) % args.save_every == 0:
            saving = save(model, optimizer, savers, args.save_to, step + 1, saving)
        mine["seconds"].append(time.perf_counter() - start)
        if step == 0:
            mine["first_step"] = (
                float(os.environ["BENCH_SECONDS"]) + time.time() - float(os.environ["BENCH_TIME"])
            )
        mine["losses"].append(loss.item())
        mine["grad_norms"].append(getattr(norm, "full_tensor", lambda: norm)().item())
    if saving:
        saving.result()
    dist.barrier()
    mine["pss_mib"] = mebibytes("/proc/self/smaps_rollup", "Pss")
    mine["peak_rss_mib"] = mebibytes("/proc/self/status", "VmHWM")
    everyone = [None] * world
    dist.all_gather_object(everyone, mine)
    if rank == 0:
        print(
            json.dumps(
                dict(
                    seconds=mine["seconds"],
                    losses=np.mean([each["losses"] for each in everyone], axis=0).tolist(),
                    grad_norms=mine["grad_norms"],
                    first_step=max(each["first_step"] for each in everyone),
                    pss_mib=sum(each["pss_mib"] for each in everyone),
                    peak_rss_mib=sum(each["peak_rss_mib"] for each in everyone),
                    torch=torch.__version__,
                )
            ),
            flush=True,
        )
    dist.barrier()
    os._exit(0)  # gloo's threads now and then abort in an orderly shutdown


def start_ranks(script, words, ranks, **environment):
    """`ranks` processes of a script, joined by the environment as torch.distributed reads it; the
    largest exit status."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    threads = str(max(1, os.cpu_count() // ranks))
    common = dict(
        os.environ,
        **environment,
        WORLD_SIZE=str(ranks),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        GLOO_SOCKET_IFNAME="lo",
        OMP_NUM_THREADS=threads,
        CUDA_VISIBLE_DEVICES="",
    )
    processes = [
        subprocess.Popen([sys.executable, script, *words], env=dict(common, RANK=str(rank)))
        for rank in range(ranks)
    ]
    try:
        while any(p.poll() is None for p in processes):
            if any(p.poll() for p in processes):  # the others would wait for this one
                break
            time.sleep(0.02)
    finally:
        for process in processes:
            process.kill()
    return max(abs(process.wait()) for process in processes)


def tcmalloc():
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    return next((name for name in TCMALLOC if f"\t{name} " in listed), None)


def main():
    seconds = seconds_of_process()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workload", required=True)
    parser.add_argument("--kind", choices=KINDS, default="eager")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument(
        "--folder", required=True, help="where initial.safetensors, input.npy and labels.npy are"
    )
    parser.add_argument("--warmup", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--save-every", type=int, help="steps")
    parser.add_argument("--save-to", help="folder")
    args = parser.parse_args()
    if "RANK" in os.environ:
        return rank_main(args)
    environment = {"BENCH_SECONDS": repr(seconds), "BENCH_TIME": repr(time.time())}
    if wants_tcmalloc(args.kind) and (library := tcmalloc()):
        environment["LD_PRELOAD"] = library
    ranks = 1 if is_single(args.kind) else args.ranks
    return start_ranks(os.path.abspath(__file__), sys.argv[1:], ranks, **environment)


if __name__ == "__main__":
    sys.exit(main())
