#!/usr/bin/env python3
"""Tests shardc's trainers on the GPU of this machine, and measures them.

    python3 run.py                    all parts
    python3 run.py parity speed       some of them; each takes less than 10 minutes
    python3 run.py --list

Needs NVIDIA's driver, cuBLASLt and NCCL (where LD_LIBRARY_PATH or $VIRTUAL_ENV has them), takes
cuDNN for attention where that is, and needs nothing else: no compiler, no network, no package of
Python's. A line for each check, and at the end "N passed, N failed, N skipped"; the exit code is 0
where none has failed.
"""
import argparse
import sys
import tempfile
import time

import device
import launches
import parity
import peer
import sanitizer
import speed
import suites
from bundle import Bundle, Report, contents

PARTS = {
    "driver": suites.driver,
    "cublaslt": suites.cublaslt,
    "nccl": suites.nccl,
    "devices": suites.devices,
    "one-rank": suites.one_rank,
    "parity": parity.run,
    "launches": launches.run,
    "memory": launches.memory,
    "sanitizer": sanitizer.run,
    "speed": speed.run,
    "torch": peer.run,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="default: all")
    parser.add_argument("--list", action="store_true", help="name the parts")
    parser.add_argument("--models", help="names of models, with commas between: no others")
    parser.add_argument(
        "--seconds", type=float, default=600, help="of each part, at most [%(default)s]"
    )
    args = parser.parse_args()
    if args.list:
        print("\n".join(PARTS))
        return 0
    unknown = [part for part in args.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part '{unknown[0]}'; the parts are {', '.join(PARTS)}")
    names = {run["model"] for part in contents().values() for run in part}
    for name in args.models.split(",") if args.models else ():
        if name not in names:
            parser.error(f"there is no model '{name}'; there are {', '.join(sorted(names))}")
    report = Report()
    gpu, problem = device.look()
    print(f"device: {gpu or problem}", flush=True)
    for part in args.parts or PARTS:
        if not gpu:
            report.failed(part, problem)
            continue
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            bundle = Bundle(gpu, folder, start + args.seconds, args.models)
            PARTS[part](bundle, report)
        print(f"{part}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"{report.passes} passed, {report.fails} failed, {report.skips} skipped")
    return 1 if report.fails else 0


if __name__ == "__main__":
    sys.exit(main())
