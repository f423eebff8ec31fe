"""What a trainer asks of the libraries, beside what it asked of the emulated ones; and the memory
that the driver says is in use beside what the plan says."""
import os

from bundle import Failed, read_metrics

STEPS = 3  # enqueued, captured as a graph, and the graph alone
MOST_BEYOND_THE_PLAN = 1 << 30


def record(bundle, run):
    """(log, the summary of the run, the most bytes that were in use)."""
    log, metrics = (os.path.join(bundle.folder, f) for f in ("launches.log", "m.jsonl"))
    environment = {
        "SHARDC_LAUNCH_LOG": log,
        "LD_PRELOAD": bundle.path("bin", "launch-log.so"),
    }
    trainer = bundle.trainer(run["trainer"])
    bundle.command([trainer] + bundle.flags(run, STEPS) + ["--metrics", metrics], environment)
    with open(log) as file:
        lines = file.read().splitlines()
    with open(log + ".memory") as file:
        used = int(file.read())
    return lines, read_metrics(metrics)[1], used


def run(bundle, report):
    for each in bundle.runs("launches"):
        name = f"launches: {each['model']} {each['precision']}"
        try:
            got = record(bundle, each)[0]
        except (Failed, OSError, ValueError) as error:
            report.failed(name, str(error))
            continue
        with open(bundle.path(each["log"])) as file:
            want = file.read().splitlines()
        for number, (one, other) in enumerate(zip(got, want), 1):
            if one != other:
                report.failed(name, f"line {number} is '{one}', expected '{other}'")
                break
        else:
            detail = f"{len(got)} lines"
            if len(got) != len(want):
                detail += f", expected {len(want)}"
            report.check(name, len(got) == len(want) and bool(want), detail)


def memory(bundle, report):
    """All that is in use of the device counts: nobody else should use it meanwhile."""
    for each in bundle.runs("launches"):
        name = f"memory: {each['model']} {each['precision']}"
        try:
            _, summary, used = record(bundle, each)
        except (Failed, OSError, ValueError) as error:
            report.failed(name, str(error))
            continue
        pools = summary["memory"][0]["pools"].values()
        planned = sum(pool["planned_bytes"] for pool in pools)
        detail = (
            f"{used / 2**20:.1f} MiB in use, {planned / 2**20:.1f} planned;"
            f" {(used - planned) / 2**20:.1f} more, at most {MOST_BEYOND_THE_PLAN >> 20}"
        )
        report.check(name, 0 <= used - planned <= MOST_BEYOND_THE_PLAN, detail)
