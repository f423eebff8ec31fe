#!/usr/bin/env python3
"""A model on PyTorch's FSDP2 with one GPU: what a trainer of the bundle is measured beside.

    torch_peer.py MODEL --batch B --sequence S [--compile] [--checkpoint] [--steps N]

Needs torch and transformers. fully_shard on every block and on the root, parameters in bfloat16,
gradients reduced in float32, fused AdamW; values are drawn at random. The last line is JSON: the
median of the steps behind the first five in seconds, and the most bytes that torch had reserved.
"""
import argparse
import json
import os
import statistics
import time

WARM = 5


def configuration(model, sequence):
    import transformers

    if model == "gpt2-124m":
        none = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
        return transformers.GPT2Config(n_positions=max(1024, sequence), use_cache=False, **none)
    if model == "s1-llama31-8b":
        return transformers.LlamaConfig(
            vocab_size=128256,
            hidden_size=4096,
            intermediate_size=14336,
            num_hidden_layers=32,
            num_attention_heads=32,
            num_key_value_heads=8,
            max_position_embeddings=131072,
            rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
            use_cache=False,
        )
    raise SystemExit(f"error: there is no '{model}' for torch")


def sharded(args):
    import torch
    import transformers
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(
            configuration(args.model, args.sequence), attn_implementation="sdpa"
        )
    if args.checkpoint:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    model.train()
    blocks = model.transformer.h if hasattr(model, "transformer") else model.model.layers
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in blocks:
        if args.compile:
            block.compile()
        fully_shard(block, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device="cuda")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.to_local().normal_(0, 0.02)
        for _, module in model.named_modules():
            if hasattr(module, "inv_freq"):
                sizes = torch.arange(0, 128, 2, device="cuda", dtype=torch.float32) / 128
                module.inv_freq.copy_(1 / 500000.0**sizes)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--sequence", type=int, required=True)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--checkpoint", action="store_true", help="blocks are computed again")
    args = parser.parse_args()

    import torch
    import torch.distributed as dist

    alone = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517", "RANK": "0", "WORLD_SIZE": "1"}
    for name, value in alone.items():
        os.environ.setdefault(name, value)
    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    model = sharded(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    draw = torch.Generator(device="cuda").manual_seed(1234)
    vocabulary = model.config.vocab_size
    seconds = []
    for _ in range(args.steps):
        ids = torch.randint(vocabulary, (args.batch, args.sequence), device="cuda", generator=draw)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    said = {
        "seconds": statistics.median(seconds[WARM:]),
        "bytes": torch.cuda.max_memory_reserved(),
        "loss": float(loss),
        "torch": torch.__version__,
    }
    print(json.dumps(said), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
