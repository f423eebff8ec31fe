# OpenBLAS has a table of kernels for each of 20 processors, 1 to 1.5 MB apiece: those of all of BLAS and LAPACK, in four types. A trainer
# chooses among six processors and multiplies real matrices (runtime/cpu/products/Gemm.cpp). Under the other processors' names stands Nehalem's
# table, and under the names of kernels that no such product calls stands shardcOpenBlasLeftOut: what they name is not linked.
set(SHARDC_OPENBLAS_CORES NEHALEM SANDYBRIDGE HASWELL ZEN SKYLAKEX COOPERLAKE)
# Of vectors as well: later versions multiply a matrix and a vector by these.
set(SHARDC_OPENBLAS_KERNELS "^[sd](gemm|gemv|scal|copy|axpy|dot)")

find_program(SHARDC_LLVM_NM NAMES llvm-nm-22 llvm-nm PATHS /usr/lib/llvm-22/bin REQUIRED)
execute_process(
  COMMAND ${SHARDC_LLVM_NM} --undefined-only --format=just-symbols --quiet ${SHARDC_OPENBLAS_STATIC}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
list(REMOVE_DUPLICATES symbols)

set(aliases)
foreach(symbol IN LISTS symbols)
  if(symbol MATCHES "^gotoblas_([A-Z].*)$")
    if(NOT CMAKE_MATCH_1 IN_LIST SHARDC_OPENBLAS_CORES)
      string(APPEND aliases "--defsym=${symbol}=gotoblas_NEHALEM\n")
    endif()
  elseif(symbol MATCHES "^(.+)_([A-Z][A-Z0-9]+)$" AND CMAKE_MATCH_2 IN_LIST SHARDC_OPENBLAS_CORES
         AND NOT symbol MATCHES "${SHARDC_OPENBLAS_KERNELS}")
    string(APPEND aliases "--defsym=${symbol}=shardcOpenBlasLeftOut\n")
  endif()
endforeach()
set(SHARDC_OPENBLAS_ALIASES ${CMAKE_BINARY_DIR}/openblas-aliases.rsp)
file(CONFIGURE OUTPUT ${SHARDC_OPENBLAS_ALIASES} CONTENT "@aliases@" @ONLY)

add_library(shardc_openblas INTERFACE)
target_link_libraries(shardc_openblas INTERFACE ${SHARDC_OPENBLAS_STATIC})
target_link_options(shardc_openblas INTERFACE "-Wl,@${SHARDC_OPENBLAS_ALIASES}")
set_property(TARGET shardc_openblas PROPERTY INTERFACE_LINK_DEPENDS ${SHARDC_OPENBLAS_ALIASES})
