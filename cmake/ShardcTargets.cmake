# Helpers that keep the folders' CMakeLists short.

# shardc_proto_library(NAME FILE.proto IMPORT_DIR): messages of one .proto as a static library.
function(shardc_proto_library name proto import_dir)
  get_filename_component(stem ${proto} NAME_WE)
  file(RELATIVE_PATH relative ${import_dir} ${proto})
  get_filename_component(folder ${relative} DIRECTORY)
  set(out ${CMAKE_BINARY_DIR}/generated/${folder})
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
    COMMAND protobuf::protoc --proto_path=${import_dir} --cpp_out=${CMAKE_BINARY_DIR}/generated ${proto}
    DEPENDS ${proto} protobuf::protoc)
  add_library(${name} STATIC ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
  target_include_directories(${name} SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/generated ${Protobuf_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC ${SHARDC_PROTOBUF_STATIC} Threads::Threads)
  target_compile_options(${name} PRIVATE -w)
endfunction()

# What tests alone run is not optimized: that took more than half of the time to compile them, and saves less than it when they run once.
set(SHARDC_TEST_OPTIONS -O0)

# shardc_uses_mlir(NAME [DEPENDS targets...]): a target of code that uses MLIR, with the precompiled header that SHARDC_PRECOMPILED names in its
# folder.
function(shardc_uses_mlir name)
  cmake_parse_arguments(arg "" "" "DEPENDS" ${ARGN})
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  # -fPIC: an executable's -fPIE is not what the header was compiled with.
  target_compile_options(${name} PRIVATE -fno-exceptions -fPIC)
  target_precompile_headers(${name} REUSE_FROM ${SHARDC_PRECOMPILED})
endfunction()

# shardc_mlir_library(NAME sources... [LINK libs...] [DEPENDS targets...]): a static library of such code.
function(shardc_mlir_library name)
  cmake_parse_arguments(arg "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  shardc_uses_mlir(${name} DEPENDS ${arg_DEPENDS})
endfunction()
