"""The conformance suites, which hold for real libraries as for emulated ones."""
import json
import os

from bundle import Failed

# What ranks do together; there are as many as devices.
COLLECTIVES = ("StartAllGather", "StartReduceScatter", "StartAllReduce", "StartBarrier", "Wait")


def reasons(said):
    """{test: why it was skipped}: GoogleTest's files do not have it, its text does."""
    found = {}
    for part in said.split("[ RUN      ] ")[1:]:
        lines = part.splitlines()
        if any(line.startswith("[  SKIPPED ]") for line in lines):
            at = next((i for i, line in enumerate(lines) if line.endswith(": Skipped")), 0)
            found[lines[0].strip()] = lines[at + 1]
    return found


def gtest(bundle, report, part, program, only="*", environment=()):
    results = os.path.join(bundle.folder, f"{program}.json")
    words = [bundle.path("bin", program), f"--gtest_filter={only}"]
    said, problem = "", None
    try:
        # Failures of tests are in the file.
        said = bundle.command(words + [f"--gtest_output=json:{results}"], environment, good=(0, 1))
    except Failed as error:
        problem = str(error)
    if not os.path.exists(results):
        report.failed(f"{part}: {program}", problem or "it left no results")
        return
    with open(results) as file:
        found = json.load(file)
    why = reasons(said)
    for suite in found["testsuites"]:
        for test in suite["testsuite"]:
            name = f"{suite['name']}.{test['name']}"
            if "failures" in test:
                report.failed(f"{part}: {name}", " ".join(test["failures"][0]["failure"].split()))
            elif test["result"] == "SKIPPED":
                report.skipped(f"{part}: {name}", why.get(name, "it does not say why"))
            else:
                report.passed(f"{part}: {name}")
    if problem:
        report.failed(f"{part}: {program}", problem)
    elif not found["tests"]:
        report.failed(f"{part}: {program}", "it has no such tests")


def driver(bundle, report):
    gtest(bundle, report, "driver", "cuda-driver-tests")


def cublaslt(bundle, report):
    gtest(bundle, report, "cublaslt", "cublaslt-tests")


def nccl(bundle, report):
    gtest(bundle, report, "nccl", "nccl-tests")


def devices(bundle, report):
    gtest(bundle, report, "devices", "runtime-tests", "Devices/*/Cuda")


def one_rank(bundle, report):
    """NCCL with one rank, also where there are more GPUs."""
    alone = {"CUDA_VISIBLE_DEVICES": "0", "SHARDC_EMULATED_GPUS": "1"}
    tests = ":".join(f"Devices/{name}Conformance.*/Cuda" for name in COLLECTIVES)
    gtest(bundle, report, "one-rank", "runtime-tests", tests, alone)
    gtest(bundle, report, "one-rank", "nccl-tests", "NcclSuite.*:NcclProcessSuite.*", alone)
