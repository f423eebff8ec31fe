# What cpack reads once per kind of package: the archive holds the shared libraries too.
if(CPACK_GENERATOR STREQUAL "TZST")
  list(GET CPACK_INSTALL_CMAKE_PROJECTS 0 build)
  list(APPEND CPACK_INSTALL_CMAKE_PROJECTS ${build} shardc libraries /)
endif()
