# lit's configuration: how the compiler's tests run. `./dev test` and `ninja check-lit` use it.
import os

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
llvm_config.with_system_environment(["HOME", "TMPDIR"])
llvm_config.with_environment("PATH", os.path.join(config.shardc_build_dir, "bin"), append_path=True)
llvm_config.add_tool_substitutions(
    ["shardc-opt", "FileCheck", "not", "count", "split-file"],
    [os.path.join(config.shardc_build_dir, "bin"), config.llvm_tools_dir],
)

# Models and operator tests that are too large for the repository run where they lie beside the checkout.
shared = os.path.join(config.test_source_root, "..", "..", "shared")
if os.path.isdir(os.path.join(shared, "models")):
    config.available_features.add("shared-models")
    config.substitutions.append(("%shared", os.path.abspath(shared)))
