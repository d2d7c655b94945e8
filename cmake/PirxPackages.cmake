# SPDX-License-Identifier: Apache-2.0
# Debian packages by CPack, one for each part: scripts/package makes them. Debian names a library's package after its
# interface, so libpirx.so.1 is in libpirx1. What only packages hold is left out of `cmake --install`.
if(NOT PIRX_INSTALL OR NOT PROJECT_IS_TOP_LEVEL OR NOT TARGET pirx OR NOT TARGET pirx_c OR BUILD_SHARED_LIBS)
  return()
endif()
set(PIRX_PACKAGE_MAINTAINER "pirx maintainers <maintainers@pirx.invalid>" CACHE STRING "Who made the packages, with an address")

set(pirx_packages pirx pirx-server libpirx${PIRX_ABI} libpirx-dev pirx-doc python3-pirx)
if(TARGET pirx_ranks)
  list(APPEND pirx_packages pirx-ranks)
endif()
set(pirx_revision 0pirx1) # lower than that of a package which Debian itself would make
set(pirx_debian "${PROJECT_SOURCE_DIR}/packaging/debian")

# --- files of packages alone
macro(pirx_package_files package destination)
  install(FILES ${ARGN} DESTINATION "${destination}" COMPONENT ${package} EXCLUDE_FROM_ALL)
endmacro()
pirx_package_files(pirx-server lib/systemd/system "${pirx_debian}/pirx-server.service")
install(FILES "${pirx_debian}/pirx-server.sysusers" DESTINATION lib/sysusers.d RENAME pirx-server.conf COMPONENT pirx-server
        EXCLUDE_FROM_ALL)
pirx_package_files(pirx-server share/doc/pirx-server "${pirx_debian}/README.Debian")
pirx_package_files(pirx-server /etc/pirx "${pirx_debian}/server.json")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/python/pirx" DESTINATION lib/python3/dist-packages COMPONENT python3-pirx
        EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/packages/METADATA" CONTENT "Metadata-Version: 2.1
Name: pirx
Version: ${PROJECT_VERSION}
License: Apache-2.0
Requires-Python: >=3.9
")
pirx_package_files(python3-pirx "lib/python3/dist-packages/pirx-${PROJECT_VERSION}.dist-info"
                   "${PROJECT_BINARY_DIR}/packages/METADATA")

install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION share/doc/pirx-doc/manual COMPONENT pirx-doc EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
pirx_package_files(pirx-doc share/doc/pirx-doc/manual "${PROJECT_SOURCE_DIR}/README.md" "${PROJECT_SOURCE_DIR}/SECURITY.md"
                   "${PROJECT_SOURCE_DIR}/CONTRIBUTING.md" "${PROJECT_SOURCE_DIR}/CHANGELOG.md")

# The day of the last change of the changelog, where git knows it.
execute_process(COMMAND git -C "${PROJECT_SOURCE_DIR}" log -1 --format=%cD -- CHANGELOG.md OUTPUT_VARIABLE pirx_day
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT pirx_day)
  string(TIMESTAMP pirx_day "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/packages/changelog.Debian" CONTENT "pirx (${PROJECT_VERSION}-${pirx_revision}) unstable; urgency=medium

  * Release ${PROJECT_VERSION}. CHANGELOG.md in the package pirx-doc says what is new.

 -- ${PIRX_PACKAGE_MAINTAINER}  ${pirx_day}
")
execute_process(COMMAND gzip -9nkf "${PROJECT_BINARY_DIR}/packages/changelog.Debian")
foreach(package IN LISTS pirx_packages)
  pirx_package_files(${package} share/doc/${package} "${pirx_debian}/copyright"
                     "${PROJECT_BINARY_DIR}/packages/changelog.Debian.gz")
  if(EXISTS "${pirx_debian}/${package}/overrides")
    install(FILES "${pirx_debian}/${package}/overrides" DESTINATION share/lintian/overrides RENAME ${package}
            COMPONENT ${package} EXCLUDE_FROM_ALL)
  endif()
endforeach()

# --- what CPack is told. What depends on the version of the packages is in packaging/debian/cpack.cmake.
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ${pirx_packages})
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_SET_DESTDIR ON) # for /etc
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE "${pirx_revision}")
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${PIRX_PACKAGE_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PROJECT_CONFIG_FILE "${pirx_debian}/cpack.cmake")
set(CPACK_PIRX_DEBIAN "${pirx_debian}")
set(CPACK_PIRX_ABI ${PIRX_ABI})
include(CPack)

# All that packages and `cmake --install` need, without tests and benchmarks.
get_property(pirx_libraries GLOBAL PROPERTY PIRX_LIBRARIES)
list(TRANSFORM pirx_libraries PREPEND pirx_)
add_custom_target(pirx_installed DEPENDS pirx pirx_pages ${pirx_libraries})
if(TARGET pirx_ranks)
  add_dependencies(pirx_installed pirx_ranks)
endif()
