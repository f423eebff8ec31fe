# Headers that are parsed once for many files. Those still include what they use: a precompiled header only spares the compiler the
# same work in each.

# shardc_precompiled(NAME HEADER [DEPENDS targets...] [LINK libs...] [OPTIONS flags...])
function(shardc_precompiled name header)
  cmake_parse_arguments(arg "" "" "DEPENDS;LINK;OPTIONS" ${ARGN})
  set(source ${CMAKE_BINARY_DIR}/precompiled/${name}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(${name} OBJECT ${source})
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled/${header})
  # Without times in it the header is the same in every build, so that ccache knows what was compiled with it.
  target_compile_options(${name} PRIVATE ${arg_OPTIONS} "SHELL:-Xclang -fno-pch-timestamp")
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

shardc_precompiled(shardc_mlir_precompiled Mlir.h OPTIONS -fno-exceptions DEPENDS shardc_nn_tablegen)
shardc_precompiled(shardc_codegen_precompiled Codegen.h OPTIONS -fno-exceptions
  DEPENDS shardc_nn_tablegen shardc_fsdp_tablegen shardc_step_tablegen)
shardc_precompiled(shardc_runtime_precompiled Runtime.h LINK shardc_plan)
shardc_precompiled(shardc_runtime_tests_precompiled RuntimeTests.h OPTIONS ${SHARDC_TEST_OPTIONS} LINK shardc_plan GTest::gtest)
shardc_precompiled(shardc_number_tests_precompiled RuntimeTests.h LINK shardc_plan GTest::gtest)
