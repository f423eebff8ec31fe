#!/usr/bin/env python3
"""Compiles a graph without its weights, and says how much memory the compiler took.

    large_models.py MEGABYTES shardc ARGUMENT...

Ends with 1 where the compiler's peak was more than MEGABYTES, or where it failed. Sizes, not
seconds: those depend on the machine.
"""
import resource
import subprocess
import sys

limit, command = int(sys.argv[1]), sys.argv[2:]
subprocess.run(command, check=True)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
if peak > limit:
    sys.exit(f"the compiler took {peak:.0f} MiB, more than {limit}")
print(f"compiled within {limit} MiB")
