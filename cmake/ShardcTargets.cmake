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

# shardc_mlir_library(NAME sources... [LINK libs...]): a static library of code that uses MLIR, with one precompiled header
# shared by all of them.
function(shardc_mlir_library name)
  cmake_parse_arguments(arg "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_precompile_headers(${name} REUSE_FROM shardc_precompiled)
endfunction()
