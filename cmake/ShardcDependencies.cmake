# Every library that shardc takes from Debian, in one place. docs/decisions/ says why each was chosen.

# MLIR's version file accepts only the same major.minor.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
set(MLIR_LINK_MLIR_DYLIB ON)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(Protobuf REQUIRED)
find_package(Threads REQUIRED)
find_package(GTest REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(mimalloc REQUIRED)

# The trainer ships as one file, so what it uses is linked statically.
find_library(SHARDC_PROTOBUF_STATIC libprotobuf.a REQUIRED)
find_library(SHARDC_OPENBLAS_STATIC libopenblas.a REQUIRED)
include(ShardcOpenBlas)
find_library(SHARDC_XSMM_STATIC libxsmm.a REQUIRED)
# Stands in for the BLAS that libxsmm falls back to, which shardc never lets it.
find_library(SHARDC_XSMM_NOBLAS_STATIC libxsmmnoblas.a REQUIRED)
find_path(SHARDC_OPENBLAS_INCLUDE cblas.h REQUIRED PATH_SUFFIXES x86_64-linux-gnu openblas)
find_library(SHARDC_ZLIB_STATIC libz.a REQUIRED)
find_library(SHARDC_YAML_STATIC libyaml-cpp.a REQUIRED)
find_path(SHARDC_YAML_INCLUDE yaml-cpp/parser.h REQUIRED)
# UCX has parts that register themselves in constructors, which a linker would leave out of static libraries
# (/usr/lib/x86_64-linux-gnu/pkgconfig/ucx.pc). Without ucs_init it crashes at its start.
find_library(SHARDC_UCP_STATIC libucp.a REQUIRED)
find_library(SHARDC_UCT_STATIC libuct.a REQUIRED)
find_library(SHARDC_UCS_STATIC libucs.a REQUIRED)
find_library(SHARDC_UCM_STATIC libucm.a REQUIRED)
find_path(SHARDC_UCX_INCLUDE ucp/api/ucp.h REQUIRED)
add_library(shardc_ucx INTERFACE)
target_include_directories(shardc_ucx SYSTEM INTERFACE ${SHARDC_UCX_INCLUDE})
target_link_libraries(shardc_ucx INTERFACE
  ${SHARDC_UCP_STATIC} ${SHARDC_UCT_STATIC} ${SHARDC_UCS_STATIC} ${SHARDC_UCM_STATIC} rt ${CMAKE_DL_LIBS} m)
target_link_options(shardc_ucx INTERFACE
  -Wl,--undefined=ucp_global_init -Wl,--undefined=uct_init -Wl,--undefined=ucs_init)
# Headers alone: a trainer opens the MPI library that is there (runtime/comm/mpi).
find_path(SHARDC_OPENMPI_INCLUDE mpi.h REQUIRED NO_DEFAULT_PATH
  PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/openmpi/include /usr/lib/openmpi/include)
find_path(SHARDC_MPICH_INCLUDE mpi.h REQUIRED NO_DEFAULT_PATH
  PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/mpich /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/mpich/include)
find_path(SHARDC_TOML_INCLUDE toml++/toml.h REQUIRED)
find_path(SHARDC_ONNX_PROTO_DIR onnx/onnx.proto REQUIRED)

# lld in process: links the kernels into a shared object.
find_library(SHARDC_LLD_ELF lldELF REQUIRED PATHS /usr/lib/llvm-22/lib)
find_library(SHARDC_LLD_COMMON lldCommon REQUIRED PATHS /usr/lib/llvm-22/lib)

# CUDA's toolkit, of which nothing is needed to build. What its parts add is said where they are not (on stderr: ./dev build shows no more).
find_program(SHARDC_PTXAS ptxas PATHS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
find_path(SHARDC_CUDA_INCLUDE cublasLt.h PATHS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
if(NOT SHARDC_PTXAS)
  message(NOTICE "no ptxas: trainers for GPUs have PTX alone, and tests assemble no kernels")
endif()
if(NOT SHARDC_CUDA_INCLUDE)
  message(NOTICE "no CUDA headers: runtime/cuda/api is not held against NVIDIA's")
endif()

find_program(SHARDC_CCACHE ccache)
if(SHARDC_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${SHARDC_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SHARDC_CCACHE})
endif()

option(SHARDC_SANITIZE "build with AddressSanitizer and UBSan" OFF)
if(SHARDC_SANITIZE)
  # fuzzer-no-link: what libFuzzer's targets count as covered; costs others next to nothing.
  add_compile_options(-O1 -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
option(SHARDC_FUZZ "build libFuzzer's targets for the most inputs a second: assertions and UBSan that traps, without AddressSanitizer" OFF)
if(SHARDC_FUZZ)
  # An input that one of these ends is run again under the preset sanitize, which says why.
  add_compile_options(-O2 -gline-tables-only -fsanitize=undefined,fuzzer-no-link -fsanitize-trap=undefined -fno-sanitize=vptr,function
    -D_GLIBCXX_ASSERTIONS)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# The build ID is part of the keys of kernels that are kept (codegen/kernels/KernelCache.h).
add_link_options(-fuse-ld=lld-22 -Wl,--build-id)
add_compile_options(-Wall -Wextra -Wno-unused-parameter -fdiagnostics-color=auto)
