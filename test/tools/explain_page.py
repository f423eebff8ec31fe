#!/usr/bin/env python3
"""Runs the commands that docs/explain.md quotes, and writes what they print below them.

    explain_page.py [docs/explain.md]

A quoted block begins with `    $ command`; all of a page's run in one folder, in their order, with
$M, $O and $D as the page says. Lines that are longer than the page's are broken, and go on further
in.
"""
import os
import subprocess
import sys
import tempfile
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PAGE = os.path.join(ROOT, "docs", "explain.md")
WIDTH = 96


def environment():
    build = os.environ.get("SHARDC_BUILD", os.path.join(ROOT, "build"))
    model = os.path.abspath(os.path.join(ROOT, "test", "models", "s2-llama-tiny-causal"))
    return {
        **os.environ,
        "PATH": os.path.join(build, "bin") + ":" + os.environ["PATH"],
        "M": os.path.join(model, "model.onnx"),
        "O": "--dim batch=2 --dim sequence=64 --mesh 2 --target cpu:x86-64-v3"
        " --loss cross-entropy:logits=logits,labels=labels,shift=1"
        " --threads-per-rank 1 --buffer rotary",
        "D": " ".join(f"--data {n}={model}/data/{n}.npy" for n in ("input_ids", "labels")),
    }


def broken(line):
    parts = textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=" " * (len(line) - len(line.lstrip()) + 6),
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    return parts or [""]


def written(page):
    """The page with what its commands print now."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        quoted = False
        for line in page.splitlines():
            if line.startswith("    $ "):
                command, quoted = line[6:], True
                ran = subprocess.run(
                    ["bash", "-c", command],
                    cwd=folder,
                    env=environment(),
                    capture_output=True,
                    text=True,
                )
                lines.append(line)
                for said in (ran.stdout + ran.stderr).splitlines():
                    lines += ["    " + part if part else "" for part in broken(said)]
            elif quoted and (line.startswith("    ") or not line):
                if not line:
                    quoted = False
                    lines.append(line)
            else:
                quoted = False
                lines.append(line)
    return "\n".join(lines) + "\n"


def main(path=PAGE):
    with open(path) as file:
        page = file.read()
    with open(path, "w") as file:
        file.write(written(page))


if __name__ == "__main__":
    main(*sys.argv[1:])
