#!/usr/bin/env python3
"""Shards the 12-layer Llama by every strategy and compares the collectives of a training step
with the table below.

    collective_counts.py SHARDC MODELS

U is the number of units (12 blocks and the root), T that of those that are trained: all, or all but
one block that is frozen. A unit has at most one collective of a kind. "last" is what runs in the
last micro-batch alone.
"""
import collections
import re
import subprocess
import sys

U = 13
BLOCK = "layers.3"
LOSS, BOTH = "loss", "loss norm"
# (collective of gradients, its group, whether it is in the last micro-batch by all means)
OVER_WORLD = [("reduce_scatter", "world", False)]
OVER_SHARD = ("reduce_scatter", "shard", False)
SUMMED = [OVER_SHARD, ("all_reduce_gradients", "replicate", True)]
SLICED = [OVER_SHARD, ("reduce_scatter", "replicate", True)]
WHOLE = [("all_reduce_gradients", "world", False)]
# (strategy, mesh): gathers in forward and in backward, and over whom; the collectives of gradients;
# the group that gathers updates; what the small all-reduces sum, by group, in order
# fmt: off
TABLE = {
    # The root is used last in forward: it is still there in backward.
    ("full", "8"): (U, U - 1, "world", OVER_WORLD, None, [("world", BOTH)]),
    ("full", "2x4"): (U, U - 1, "world", OVER_WORLD, None, [("shard", BOTH), ("replicate", BOTH)]),
    ("grad_op", "8"): (U, 0, "world", OVER_WORLD, None, [("world", BOTH)]),
    ("hybrid", "2x4"): (U, U - 1, "shard", SUMMED, None, [("shard", BOTH), ("replicate", LOSS)]),
    ("hybrid_grad_op", "2x4"): (U, 0, "shard", SUMMED, None,
                                [("shard", BOTH), ("replicate", LOSS)]),
    ("hybrid_opt", "2x4"): (U, U - 1, "shard", SLICED, "replicate",
                            [("shard", BOTH), ("replicate", BOTH)]),
    ("opt", "8"): (0, 0, None, OVER_WORLD, "world", [("world", BOTH)]),
    ("none", "8"): (0, 0, None, WHOLE, None, [("world", LOSS)]),
    ("none", "2x4"): (0, 0, None, WHOLE, None, [("shard", LOSS), ("replicate", LOSS)]),
}
# fmt: on

# --reshard-after-forward with full on 8 ranks: gathers in backward, their group,
# slices kept for them
RESHARD = {
    "default": (U - 1, "world", 0),
    "always": (U, "world", 0),
    "never": (0, None, 0),
    "2": (U, "reshard.2", U),
    "4": (U, "reshard.4", U),
}


def functions_of(shardc, models, strategy, mesh, accumulate, freeze, reshard="default"):
    command = [
        shardc,
        f"{models}/s2-llama-pretrain-12l/model.onnx",
        "--dim",
        "batch=2",
        "--dim",
        "sequence=64",
        "--init",
        "random",
        "--loss",
        "cross-entropy:logits=logits,labels=labels",
        "--units",
        "block",
        "--mesh",
        mesh,
        "--strategy",
        strategy,
        "--accumulate",
        accumulate,
        "--reshard-after-forward",
        reshard,
        "--compile-to=shard",
    ]
    if freeze:
        command += ["--freeze", BLOCK.replace(".", r"\.") + r"\."]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    functions = dict(
        re.findall(r"^  func\.func @(\w+)\((.*?)^  }$", text, re.DOTALL | re.MULTILINE)
    )
    return functions["train"], functions["eval"]


def counts_of(train):
    """Every collective as (name, phase, group, whether it is last), with its units."""
    found = collections.defaultdict(list)
    for name, rest in re.findall(
        r"fsdp\.(all_gather|reduce_scatter|all_reduce_gradients|all_gather_updates)_start (.*)",
        train,
    ):
        unit = re.match(r"@(\S+)", rest)[1]
        phase = re.match(r"@\S+ (forward|backward)", rest)
        group = re.search(r"over @([a-z0-9.]+)", rest)[1]
        found[name, phase and phase[1], group, " last " in rest].append(unit)
    return found


def expected(strategy, mesh, accumulate, freeze):
    forward, backward, gather, reductions, updates, _ = TABLE[strategy, mesh]
    trained = U - freeze
    table = {}
    if forward:
        table["all_gather", "forward", gather, False] = forward
    if backward:
        table["all_gather", "backward", gather, False] = backward
    for name, group, in_last in reductions:
        table[name, None, group, in_last or accumulate == "unsharded"] = trained
    if updates:
        table["all_gather_updates", None, updates, False] = trained
    return table


def small_sums(function):
    sums = re.findall(
        r"fsdp\.all_reduce_start (\w+)\((.*?)\) over @(\w+) \{norms = array<i1: (.*?)>\}", function
    )
    return [
        (group, BOTH if norms == "false, true" else LOSS if norms == "false" else norms)
        for _, _, group, norms in sums
    ]


def problems(shardc, models, strategy, mesh, accumulate, freeze):
    train, evaluation = functions_of(shardc, models, strategy, mesh, accumulate, freeze)
    found = counts_of(train)
    result = []

    def expect(what, got, wanted):
        if got != wanted:
            result.append(f"{what}: expected {wanted}, got {got}")

    expect(
        "collectives",
        {key: len(units) for key, units in found.items()},
        expected(strategy, mesh, accumulate, freeze),
    )
    for key, units in found.items():
        expect(f"units of {key}", len(set(units)), len(units))
        if key[0] != "all_gather":
            expect(
                f"frozen units of {key}",
                [unit for unit in units if freeze and unit.startswith(BLOCK + ".")],
                [],
            )
    trained = U - freeze
    expect("small all-reduces of @train", small_sums(train), TABLE[strategy, mesh][5])
    expect(
        "small all-reduces of @eval",
        small_sums(evaluation),
        [(group, LOSS) for group, _ in TABLE[strategy, mesh][5]],
    )
    expect("optimizer steps", train.count("fsdp.optimizer_step "), trained)
    # Reductions that every micro-batch has add it up themselves; the rest is the loss.
    in_reductions = trained if accumulate == "sharded" else 0
    expect("reductions over micro-batches", train.count(" accumulated : "), in_reductions)
    expect(
        "sums over micro-batches, with the loss",
        train.count("fsdp.accumulate "),
        trained + 1 - in_reductions,
    )
    expect(
        "releases",
        train.count("fsdp.release "),
        TABLE[strategy, mesh][0] + TABLE[strategy, mesh][1],
    )
    expect(
        "units that lie on every rank",
        train.count("fsdp.resident "),
        0 if TABLE[strategy, mesh][0] else U,
    )
    return result


def reshard_problems(shardc, models, reshard):
    train, evaluation = functions_of(shardc, models, "full", "8", "sharded", 0, reshard)
    backward, group, kept = RESHARD[reshard]
    gathers = re.findall(r"fsdp\.all_gather_start @(\S+) backward over @(\S+)( from )?", train)
    got = (
        len(gathers),
        sorted({over for _, over, _ in gathers}),
        sum(bool(kept) for *_, kept in gathers),
        train.count("fsdp.keep "),
        train.count(" forward over @world"),
        evaluation.count("fsdp.keep "),
    )
    wanted = (backward, [group] if group else [], kept, kept, U, 0)
    return [] if got == wanted else [f"expected {wanted}, got {got}"]


def main():
    shardc, models = sys.argv[1:]
    bad = 0
    for strategy, mesh in TABLE:
        for accumulate in ("sharded", "unsharded"):
            for freeze in (0, 1):
                for problem in problems(shardc, models, strategy, mesh, accumulate, freeze):
                    print(f"{strategy} on {mesh}, {accumulate}, {freeze} frozen: {problem}")
                    bad = 1
    for reshard in RESHARD:
        for problem in reshard_problems(shardc, models, reshard):
            print(f"reshard {reshard}: {problem}")
            bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
