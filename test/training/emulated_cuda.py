"""Trainers for GPUs on emulated ones (test/emulated-cuda), where there are no others."""
import os
import shutil
import unittest
import unittest.mock

from reference import BUILD

LIBRARIES = os.path.join(BUILD, "emulated-cuda")


def has_libdevice():
    """Whether shardc finds CUDA's library of functions (codegen/gpu/GpuModel.cpp): the kernels of
    nearly all models call it."""
    roots = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    if ptxas := shutil.which("ptxas"):
        roots.append(os.path.dirname(os.path.dirname(os.path.realpath(ptxas))))
    place = os.path.join("nvvm", "libdevice", "libdevice.10.bc")
    return any(root and os.path.exists(os.path.join(root, place)) for root in roots)


WITHOUT_LIBDEVICE = "there is no libdevice, which comes with the CUDA toolkit"
needs_libdevice = unittest.skipUnless(has_libdevice(), WITHOUT_LIBDEVICE)


def environment(gpus=4, **settings):
    """What a process has in its environment to find `gpus` emulated GPUs. Kernels that were
    compiled for this machine are kept, for processes that come later. Skips a test where trainers
    for GPUs cannot be compiled."""
    if not has_libdevice():
        raise unittest.SkipTest(WITHOUT_LIBDEVICE)
    return {
        "LD_LIBRARY_PATH": LIBRARIES,
        "SHARDC_EMULATED_GPUS": str(gpus),
        "SHARDC_EMULATED_CUDA_CACHE": os.path.join(LIBRARIES, "cache"),
        **{f"SHARDC_EMULATED_{name}": str(value) for name, value in settings.items()},
    }


def emulated(gpus=4, **settings):
    """The same, for a while, of this process and of those that it starts."""
    return unittest.mock.patch.dict(os.environ, environment(gpus, **settings))
