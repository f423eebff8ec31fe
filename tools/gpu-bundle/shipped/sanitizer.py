"""compute-sanitizer over two steps of small models."""
import glob
import os
import shutil

from bundle import Failed

TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck")
STEPS = 2
CODE_OF_FINDINGS = 86


def program():
    found = shutil.which("compute-sanitizer")
    folders = sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"))
    return found or next((path for path in folders if os.access(path, os.X_OK)), None)


def run(bundle, report):
    path = program()
    why = "there is no compute-sanitizer here: it comes with CUDA's toolkit" if not path else None
    if bundle.gpu.is_emulated:
        why = "the emulated GPU looks at every access itself"
    for each in bundle.runs("sanitizer"):
        for tool in TOOLS:
            name = f"sanitizer: {tool}, {each['model']} {each['precision']}"
            if why:
                report.skipped(name, why)
                continue
            words = [path, "--tool", tool, "--error-exitcode", str(CODE_OF_FINDINGS)]
            words += [bundle.trainer(each["trainer"])] + bundle.flags(each, STEPS)
            try:
                said = bundle.command(words)
            except Failed as error:
                report.failed(name, str(error))
                continue
            clean = "ERROR SUMMARY: 0 errors" in said or "(0 errors" in said
            clean = clean or "RACECHECK SUMMARY: 0 hazards" in said
            report.check(name, clean, "clean" if clean else said.strip().splitlines()[-1])
