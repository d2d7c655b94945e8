# SPDX-License-Identifier: Apache-2.0
# Finds NTL and defines NTL::NTL (which brings GMP::GMP and threads). Installed with pirx: its package configuration needs it.
find_path(NTL_INCLUDE_DIR NAMES NTL/ZZ.h)
find_library(NTL_LIBRARY NAMES ntl)
mark_as_advanced(NTL_INCLUDE_DIR NTL_LIBRARY)

if(NTL_INCLUDE_DIR AND EXISTS "${NTL_INCLUDE_DIR}/NTL/version.h")
  file(STRINGS "${NTL_INCLUDE_DIR}/NTL/version.h" ntl_version_line REGEX "#define[ \t]+NTL_VERSION[ \t]+\"")
  string(REGEX REPLACE ".*\"([0-9.]+)\".*" "\\1" NTL_VERSION "${ntl_version_line}")
  unset(ntl_version_line)
endif()

find_package(GMP QUIET)
find_package(Threads QUIET)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  NTL
  REQUIRED_VARS NTL_LIBRARY NTL_INCLUDE_DIR GMP_FOUND
  VERSION_VAR NTL_VERSION)

if(NTL_FOUND AND NOT TARGET NTL::NTL)
  add_library(NTL::NTL UNKNOWN IMPORTED)
  set_target_properties(NTL::NTL PROPERTIES IMPORTED_LOCATION "${NTL_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                              "${NTL_INCLUDE_DIR}")
  target_link_libraries(NTL::NTL INTERFACE GMP::GMP Threads::Threads)
endif()
