# What `cmake --install` puts where, and the packages that `./dev package` builds. Both packages hold the same files; the archive holds
# the shared libraries as well (component `libraries`), which a .deb names as its dependencies.

include(GNUInstallDirs)
set(SHARDC_DOC_DIR ${CMAKE_INSTALL_DATADIR}/doc/shardc)

# The archive's own libraries. An RPATH, not a RUNPATH: it holds for what libraries need in turn.
set_target_properties(shardc shardc-opt shardc-lsp-server shardc-data PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
foreach(tool shardc shardc-opt shardc-lsp-server shardc-data)
  target_link_options(${tool} PRIVATE -Wl,--disable-new-dtags)
endforeach()
install(TARGETS shardc shardc-opt shardc-lsp-server shardc-check shardc-ckpt shardc-data RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Where findRuntime looks (codegen/emit/WriteTrainer.cpp).
install(PROGRAMS $<TARGET_FILE:shardc-runtime> DESTINATION lib/shardc RENAME trainer-runtime)

install(FILES LICENSE DESTINATION ${SHARDC_DOC_DIR} RENAME copyright)
install(FILES README.md DESTINATION ${SHARDC_DOC_DIR})
install(DIRECTORY docs DESTINATION ${SHARDC_DOC_DIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png")

# Licences of what is linked statically.
foreach(package libcli11-dev libgcc-s1 liblld-22 libmlir-22-dev llvm-22-dev zlib1g-dev libzstd-dev libonnx-dev libopenblas-pthread-dev libprotobuf-dev libtomlplusplus-dev
    libucx-dev libxsmm-dev libxxhash-dev libyaml-cpp-dev nlohmann-json3-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${SHARDC_DOC_DIR}/linked/${package})
endforeach()

configure_file(cmake/InstallLibraries.cmake.in ${CMAKE_BINARY_DIR}/InstallLibraries.cmake @ONLY)
install(SCRIPT ${CMAKE_BINARY_DIR}/InstallLibraries.cmake COMPONENT libraries EXCLUDE_FROM_ALL)

# The wheel for pip: the same files and the Python package beside them (tools/python).
add_custom_target(wheel
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/tools/python/make_wheel.py ${CMAKE_BINARY_DIR} -o ${CMAKE_BINARY_DIR}/packages
  DEPENDS shardc shardc-opt shardc-lsp-server shardc-check shardc-ckpt shardc-data shardc-runtime
  USES_TERMINAL VERBATIM)

# Packages are made of what ./dev has built; without this cpack would build all tests first.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CPACK_GENERATOR DEB TZST)
set(CPACK_PACKAGE_VENDOR "shardc")
set(CPACK_PACKAGE_CONTACT "shardc's maintainers <maintainers@shardc.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiler from ONNX models to sharded trainers")
set(CPACK_PACKAGE_DESCRIPTION "shardc turns a model exported as ONNX into one executable that trains it on a mesh of ranks, as PyTorch's FSDP
 does: decided at compile time, and without Python.")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME shardc-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/PackageOptions.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
