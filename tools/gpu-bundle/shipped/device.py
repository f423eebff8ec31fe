"""What the driver of this machine says of its first GPU."""
import json
import os
import subprocess
import sys

# The glibc that the programs of the bundle are linked against.
GLIBC = (2, 36)


class Gpu:
    def __init__(self, facts):
        self.name = facts["name"]
        self.count = facts["count"]
        self.bytes = facts["bytes"]
        self.capability = facts["capability"]
        self.driver = facts["driver"]
        # The tests' own libraries, on a machine without a GPU.
        self.is_emulated = self.name == "Emulated GPU"

    def __str__(self):
        return (
            f"{self.name}, number 1 of {self.count}; {self.bytes / 1e9:.1f} GB, compute capability"
            f" {self.capability[0]}.{self.capability[1]}, driver of CUDA {self.driver // 1000}."
            f"{self.driver % 1000 // 10}"
        )


def ask():
    """In a process of its own, since a driver stays in one that it was loaded into."""
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        code = getattr(cuda, name)(*arguments)
        if code:
            raise OSError(f"{name} returns {code}")

    def number(name, *arguments):
        value = ctypes.c_int()
        call(name, ctypes.byref(value), *arguments)
        return value.value

    call("cuInit", 0)
    gpu = number("cuDeviceGet", 0)
    name, size = ctypes.create_string_buffer(128), ctypes.c_size_t()
    call("cuDeviceGetName", name, 128, gpu)
    call("cuDeviceTotalMem_v2", ctypes.byref(size), gpu)
    return {
        "name": name.value.decode(),
        "count": number("cuDeviceGetCount"),
        "bytes": size.value,
        # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
        "capability": [number("cuDeviceGetAttribute", which, gpu) for which in (75, 76)],
        "driver": number("cuDriverGetVersion"),
    }


def look():
    """(the GPU, None), or (None, why there is none to use)."""
    library, _, version = os.confstr("CS_GNU_LIBC_VERSION").partition(" ")
    if tuple(map(int, version.split("."))) < GLIBC:
        return None, f"{library} is {version} here; the bundle needs {GLIBC[0]}.{GLIBC[1]} or later"
    done = subprocess.run(
        [sys.executable, os.path.abspath(__file__)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        return None, f"no GPU to use: {lines[-1] if lines else 'exit %d' % done.returncode}"
    return Gpu(json.loads(done.stdout.decode())), None


if __name__ == "__main__":
    print(json.dumps(ask()))
