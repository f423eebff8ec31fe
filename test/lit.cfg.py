# lit's configuration: how the compiler's tests run. `./dev test` and `ninja check-lit` use it.
import os
import shutil

import lit.formats
from lit.llvm import llvm_config

config.name = "shardc"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.shardc_build_dir, "test")
config.excludes = ["models", "training", "runtime"]

config.substitutions.append(("%models", os.path.join(config.test_source_root, "models")))
config.substitutions.append(("%python", config.python))
llvm_config.with_system_environment(["HOME", "TMPDIR", "SHARDC_KERNEL_CACHE"])
llvm_config.with_environment("PATH", os.path.join(config.shardc_build_dir, "bin"), append_path=True)
llvm_config.add_tool_substitutions(
    ["shardc-opt", "shardc-lsp-server", "FileCheck", "not", "count", "split-file"],
    [os.path.join(config.shardc_build_dir, "bin"), config.llvm_tools_dir],
)

# The assembler of CUDA's toolkit, where shardc looks for it.
roots = [
    os.environ.get("CUDA_HOME"),
    os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("ptxas") or "/"))),
    "/usr/local/cuda",
]
if any(root and os.path.exists(os.path.join(root, "bin", "ptxas")) for root in roots):
    config.available_features.add("ptxas")
llvm_config.with_system_environment(["CUDA_HOME"])

# Models and operator tests that are too large for the repository run where they lie
# beside the checkout.
shared = os.path.join(config.test_source_root, "..", "..", "shared")
if os.path.isdir(os.path.join(shared, "models")):
    config.available_features.add("shared-models")
    config.substitutions.append(("%shared", os.path.abspath(shared)))
