"""Checks a report of shardc against the formulas of ZeRO (Rajbhandari et al., SC 2020, section 5)
and of hybrid sharding.

  check_zero_formulas.py REPORT.json

With P the elements of a unit (padding included), S slices of parameters, O slices of the optimizer,
a rank holds P/S parameters, P/O master weights (where they have another type) and states of it. A
step communicates, per unit:
  gathers of P for forward, and for backward unless the unit is kept; strategies that cut gradients
  reduce-scatter P over the ranks that cut parameters (opt: all ranks); hybrid strategies then
  all-reduce P/S over the replicas, hybrid_opt reduce-scatters it; none all-reduces P; where O > S
  the optimizer's result is gathered: P/S.
"""
import collections
import json
import sys

BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
# strategy -> which dims cut parameters, and which the optimizer
CUTS = {
    "full": ("all", "all"),
    "grad_op": ("all", "all"),
    "hybrid": ("shard", "shard"),
    "hybrid_grad_op": ("shard", "shard"),
    "hybrid_opt": ("shard", "all"),
    "opt": ("none", "all"),
    "none": ("none", "none"),
}


def main(path):
    report = json.load(open(path))
    sizes = {d["name"]: d["size"] for d in report["dims"]}
    ranks = 1
    for size in sizes.values():
        ranks *= size
    cut = {"all": ranks, "shard": sizes.get("shard", 1), "none": 1}
    strategy = report["strategy"]
    shards, slices = (cut[c] for c in CUTS[strategy])
    problems = []

    def expect(what, got, want):
        if got != want:
            problems.append(f"{what}: expected {want}, got {got}")

    expect("ranks", report["ranks"], ranks)
    expect("shards", report["shards"], shards)
    expect("optimizer_shards", report["optimizer_shards"], slices)
    words = report["meaning"]
    for count, name in ((shards, "parameters"), (slices, "optimizer state")):
        if count > 1 and f"{count} slices" not in words:
            problems.append(f"meaning: {words!r} does not say {count} slices of {name}")

    persistent = 0
    padding = elements = 0
    got = collections.Counter()
    for collective in report["collectives"]:
        got[
            collective["unit"],
            collective["kind"],
            collective["phase"],
            collective["ranks"],
            collective["bytes"],
        ] += 1
    used_backward = {
        c["unit"]
        for c in report["collectives"]
        if (c["kind"], c["phase"]) == ("all_gather", "backward")
    }
    want = collections.Counter()
    for unit in report["units"]:
        p = unit["elements"]
        dtype = BYTES[unit["dtype"]]
        gradient = BYTES[unit["gradient_dtype"]]
        master = BYTES[unit["master_dtype"]]
        padding += unit["padding"]
        elements += p
        name = unit["name"]
        mine = unit["per_rank"]
        expect(f"{name}: bytes gathered", unit["bytes"], p * dtype)
        expect(f"{name}: parameters", mine["parameters"], p * dtype // shards)
        if not unit["trained"]:
            expect(
                f"{name}: state of a frozen unit",
                (mine["master"], mine["optimizer"], mine["gradients"]),
                (0, 0, 0),
            )
        else:
            expect(
                f"{name}: master weights",
                mine["master"],
                p * master // slices if dtype != master else 0,
            )
            expect(f"{name}: optimizer state", mine["optimizer"], 2 * p * master // slices)
            expect(f"{name}: reduced gradient", mine["gradients"], p * gradient // slices)
        persistent += mine["parameters"] + mine["master"] + mine["optimizer"]
        if shards > 1:
            want[name, "all_gather", "forward", shards, p * dtype] += 1
            if name in used_backward:
                want[
                    name,
                    "all_gather",
                    "backward",
                    shards if unit["reshard"] == shards else unit["reshard"],
                    p * dtype,
                ] += 1
                if unit["reshard"] == 1:
                    problems.append(f"{name}: is kept after forward, but gathered for backward")
        if not unit["trained"]:
            continue
        if slices == 1:
            want[name, "all_reduce", "backward", ranks, p * gradient] += 1
            continue
        first = shards if shards > 1 else slices
        want[name, "reduce_scatter", "backward", first, p * gradient] += 1
        if strategy.startswith("hybrid"):
            kind = "reduce_scatter" if strategy == "hybrid_opt" else "all_reduce"
            want[name, kind, "backward", ranks // shards, p * gradient // shards] += 1
        if slices > shards:
            want[name, "all_gather", "optimizer", slices // shards, p * dtype // shards] += 1
    # Loss and norm are exact sums, once per dimension of the mesh: the norm only over those that
    # cut gradients.
    exact = 68 * 8
    for name, size in sizes.items():
        cuts_gradients = CUTS[strategy][1] == "all" or (
            CUTS[strategy][1] == "shard" and name == "shard"
        )
        want[None, "all_reduce", "optimizer", size, exact * (1 + cuts_gradients)] += 1
    for key in sorted(set(got) | set(want), key=str):
        expect("collectives of (unit, kind, phase, ranks, bytes) " + str(key), got[key], want[key])
    if report.get("memory"):
        pool = report["memory"]["pools"]["persistent"]
        if not persistent <= pool <= 1.05 * persistent + (8 << 20):
            problems.append(
                f"persistent pool: expected about {persistent} bytes of parameters, masters and"
                f" state, got {pool}"
            )
    if padding > 0.005 * elements:
        problems.append(
            f"padding: {padding} of {elements} elements are {100 * padding / elements:.2f} %, more"
            " than 0.5 %"
        )
    for problem in problems[:20]:
        print(problem)
    print(
        f"{strategy}: {len(report['units'])} units, {len(report['collectives'])} collectives,"
        f" {persistent} bytes kept per rank, padding {100 * padding / elements:.3f} %:"
        f" {len(problems)} wrong"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
