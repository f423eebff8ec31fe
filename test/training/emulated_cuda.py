"""Trainers for GPUs on emulated ones (test/emulated-cuda), where there are no others."""
import os
import unittest.mock

from reference import BUILD

LIBRARIES = os.path.join(BUILD, "emulated-cuda")


def environment(gpus=4, assembles=False, **settings):
    """What a process has in its environment to find `gpus` emulated GPUs. Kernels that were
    compiled for this machine are kept, for processes that come later. Races in shared memory, which
    take long to look for, are what the kernels' own tests and the mutants are for; elsewhere
    SHARDC_EMULATED_SHARED_CHECKS=1 asks for them. Emulated GPUs run PTX: what is compiled for them
    meanwhile is assembled for others only where `assembles` says so."""
    shared = os.environ.get("SHARDC_EMULATED_SHARED_CHECKS", 0)
    settings = {"SHARED_CHECKS": shared, **settings}
    return {
        **({} if assembles else {"CUDA_HOME": ""}),
        "LD_LIBRARY_PATH": LIBRARIES,
        "SHARDC_EMULATED_GPUS": str(gpus),
        "SHARDC_EMULATED_CUDA_CACHE": os.path.join(LIBRARIES, "cache"),
        **{f"SHARDC_EMULATED_{name}": str(value) for name, value in settings.items()},
    }


def emulated(gpus=4, assembles=False, **settings):
    """The same, for a while, of this process and of those that it starts."""
    return unittest.mock.patch.dict(os.environ, environment(gpus, assembles, **settings))
