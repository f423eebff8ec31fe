#!/usr/bin/env python3
"""Generates docs/generated: one page for each dialect, one for the passes of each folder.

    docs/generate.py            writes them (./dev docs)
    docs/generate.py --check    says which are stale, and ends with 1 if any is
"""
import os
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
TBLGEN = "/usr/lib/llvm-22/bin/mlir-tblgen"
INCLUDES = ["-I", ROOT, "-I", "/usr/lib/llvm-22/include"]
PAGES = {
    "nn.md": ("frontend/nn/NNOps.td", "-gen-dialect-doc", "-dialect=nn"),
    "fsdp.md": ("passes/fsdp/FSDP.td", "-gen-dialect-doc", "-dialect=fsdp"),
    "step.md": ("codegen/step/StepOps.td", "-gen-dialect-doc", "-dialect=step"),
    "onnx-passes.md": ("frontend/onnx/Passes.td", "-gen-pass-doc"),
    "passes.md": ("passes/Passes.td", "-gen-pass-doc"),
    "codegen-passes.md": ("codegen/Passes.td", "-gen-pass-doc"),
}


def page(source, *flags):
    process = subprocess.run(
        [TBLGEN, *flags, *INCLUDES, source], cwd=ROOT, capture_output=True, text=True
    )
    if process.returncode:
        sys.exit(f"docs/generate.py: error: {source}: {process.stderr.strip()}")
    return "\n".join(line.rstrip() for line in process.stdout.splitlines()).strip() + "\n"


def stale():
    """{path: text} of the pages whose file is not what would be generated."""
    pages = {
        os.path.join(ROOT, "docs", "generated", name): page(*what) for name, what in PAGES.items()
    }
    return {
        path: text
        for path, text in pages.items()
        if not os.path.exists(path) or open(path).read() != text
    }


def main():
    pages = stale()
    if "--check" in sys.argv[1:]:
        for path in pages:
            print(f"{os.path.relpath(path, ROOT)} is stale; run ./dev docs")
        return 1 if pages else 0
    os.makedirs(os.path.join(ROOT, "docs", "generated"), exist_ok=True)
    for path, text in pages.items():
        with open(path, "w") as file:
            file.write(text)
        print(f"wrote {os.path.relpath(path, ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
