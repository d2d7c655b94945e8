# SPDX-License-Identifier: Apache-2.0
# The installed package: headers, libraries, the CMake package `pirx` with components, pkg-config files.
#
# Component core is the interface target pirx::core over the modules below it; every other library is a component of its own
# name. The lists of what a component needs, ours and third-party, are computed from what pirx_library() was given.

set(pirx_core_modules base gf2e fp strassen database)

get_property(pirx_libraries GLOBAL PROPERTY PIRX_LIBRARIES)

add_library(pirx_core INTERFACE)
add_library(pirx::core ALIAS pirx_core)
set_target_properties(pirx_core PROPERTIES EXPORT_NAME core)
foreach(name IN LISTS pirx_core_modules)
  if(name IN_LIST pirx_libraries)
    target_link_libraries(pirx_core INTERFACE pirx_${name})
  endif()
endforeach()

if(NOT PIRX_INSTALL)
  return()
endif()

# Component of a library of ours, without the pirx prefix.
function(pirx_component_of out name)
  if(name IN_LIST pirx_core_modules)
    set(name core)
  endif()
  set(${out} ${name} PARENT_SCOPE)
endfunction()

# find_package() name of a third-party target.
function(pirx_package_of out target)
  string(REGEX REPLACE "::.*$" "" package "${target}")
  if(target STREQUAL "tl::expected")
    set(package tl-expected)
  endif()
  set(${out} ${package} PARENT_SCOPE)
endfunction()

set(pirx_components core)
set(pirx_component_core_targets pirx_openmp pirx_core)
set(pirx_component_core_requires "")
set(pirx_component_core_packages "")
set(pirx_component_core_imported "")
if(PIRX_OPENMP)
  list(APPEND pirx_component_core_packages OpenMP)
  list(APPEND pirx_component_core_imported pirx::openmp)
endif()

foreach(name IN LISTS pirx_libraries)
  pirx_component_of(component ${name})
  list(APPEND pirx_components ${component})
  list(APPEND pirx_component_${component}_targets pirx_${name})
  list(APPEND pirx_component_${component}_names ${name})
  get_property(deps GLOBAL PROPERTY PIRX_DEPS_${name})
  foreach(dep IN LISTS deps)
    if(dep MATCHES "BUILD_INTERFACE" OR dep MATCHES "^pirx(::|_)openmp$")
      continue()
    elseif(dep MATCHES "^pirx(::|_)(.*)$")
      pirx_component_of(dep_component ${CMAKE_MATCH_2})
      if(NOT dep_component STREQUAL component)
        list(APPEND pirx_component_${component}_requires ${dep_component})
      endif()
    elseif(dep MATCHES "::")
      list(APPEND pirx_component_${component}_imported ${dep})
      pirx_package_of(package ${dep})
      list(APPEND pirx_component_${component}_packages ${package})
    endif()
  endforeach()
endforeach()
list(REMOVE_DUPLICATES pirx_components)

# What packages are made of (cmake/PirxPackages.cmake). `cmake --install` takes all parts.
if(TARGET pirx_c)
  get_target_property(PIRX_ABI pirx_c SOVERSION)
endif()
set(pirx_dev COMPONENT libpirx-dev)

set(pirx_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/pirx")
set(PIRX_CONFIG_COMPONENTS "")
foreach(component IN LISTS pirx_components)
  # In a static build libpirx.so holds all that it needs, and C programs need no C++ package.
  if(NOT component STREQUAL core AND (BUILD_SHARED_LIBS OR NOT component STREQUAL c))
    list(PREPEND pirx_component_${component}_requires core) # pirx::openmp lives there
  endif()
  list(REMOVE_DUPLICATES pirx_component_${component}_requires)
  list(REMOVE_DUPLICATES pirx_component_${component}_packages)
  string(APPEND PIRX_CONFIG_COMPONENTS "set(_pirx_${component}_requires ${pirx_component_${component}_requires})\n"
         "set(_pirx_${component}_packages ${pirx_component_${component}_packages})\n")
  install(
    TARGETS ${pirx_component_${component}_targets}
    EXPORT pirx-${component}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" ${pirx_dev}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT libpirx${PIRX_ABI} NAMELINK_${pirx_dev})
  install(
    EXPORT pirx-${component}
    FILE pirx-${component}-targets.cmake
    NAMESPACE pirx::
    DESTINATION "${pirx_cmake_dir}" ${pirx_dev})
endforeach()
set(PIRX_CONFIG_COMPONENTS "set(_pirx_components ${pirx_components})\n${PIRX_CONFIG_COMPONENTS}")

install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/pirx"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" ${pirx_dev}
  FILES_MATCHING
  PATTERN "*.h")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT licence)
if(TARGET pirx)
  # The page for browsers, where the target pirx_web made it.
  install(DIRECTORY "${PROJECT_BINARY_DIR}/web/" DESTINATION "${CMAKE_INSTALL_DATADIR}/pirx/web" COMPONENT pirx OPTIONAL
          FILES_MATCHING REGEX "/(index\\.html|(page|pirx)\\.[^/]*)$")
endif()

include(CMakePackageConfigHelpers)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/pirxConfig.cmake.in" "${PROJECT_BINARY_DIR}/pirxConfig.cmake"
                              INSTALL_DESTINATION "${pirx_cmake_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/pirxConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/pirxConfig.cmake" "${PROJECT_BINARY_DIR}/pirxConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindGMP.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindNTL.cmake"
  DESTINATION "${pirx_cmake_dir}" ${pirx_dev})

# --- pkg-config: pirx.pc is core and every protocol with all they need, pirx-http.pc is http on top. pirx-c.pc is the C
# interface alone.

# Our names a component pulls in, those that others need first.
function(pirx_closure out)
  set(todo ${ARGN})
  set(done "")
  while(todo)
    list(POP_FRONT todo component)
    if(NOT component IN_LIST done)
      list(APPEND done ${component})
      list(APPEND todo ${pirx_component_${component}_requires})
    endif()
  endwhile()
  set(${out} ${done} PARENT_SCOPE)
endfunction()

# -l flags of components in link order (users before what they use), then those of their packages.
function(pirx_pc_libs out_ours out_others)
  set(ours "")
  set(targets "")
  foreach(name IN LISTS pirx_libraries)
    pirx_component_of(component ${name})
    get_target_property(type pirx_${name} TYPE)
    if(component IN_LIST ARGN AND NOT type STREQUAL "INTERFACE_LIBRARY")
      list(PREPEND ours -lpirx_${name})
    endif()
  endforeach()
  foreach(component IN LISTS ARGN)
    list(APPEND targets ${pirx_component_${component}_imported})
  endforeach()
  set(others "")
  foreach(pair CURL::libcurl=-lcurl OpenSSL::SSL=-lssl,-lcrypto OpenSSL::Crypto=-lcrypto
               NTL::NTL=-lntl,-lgmp GMP::GMP=-lgmp Threads::Threads=-pthread "pirx::openmp=${OpenMP_CXX_FLAGS}")
    string(REGEX MATCH "^([^=]*)=(.*)$" matched "${pair}")
    if(CMAKE_MATCH_1 IN_LIST targets)
      string(REPLACE "," ";" flags "${CMAKE_MATCH_2}")
      list(APPEND others ${flags})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES others)
  list(JOIN ours " " ours)
  list(JOIN others " " others)
  set(${out_ours} "${ours}" PARENT_SCOPE)
  set(${out_others} "${others}" PARENT_SCOPE)
endfunction()

# Relative to the .pc file, so that the tree may be moved.
file(RELATIVE_PATH PIRX_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}/.")

list(TRANSFORM pirx_definitions PREPEND "-D" OUTPUT_VARIABLE PIRX_PC_CFLAGS)
if(PIRX_OPENMP)
  list(APPEND PIRX_PC_CFLAGS ${OpenMP_CXX_FLAGS})
endif()
list(PREPEND PIRX_PC_CFLAGS -std=c++20)
list(JOIN PIRX_PC_CFLAGS " " PIRX_PC_CFLAGS)

function(pirx_pc name description requires components without)
  pirx_closure(components ${components})
  list(REMOVE_ITEM components ${without})
  pirx_pc_libs(ours others ${components})
  set(PIRX_PC_NAME ${name})
  set(PIRX_PC_DESCRIPTION "${description}")
  set(PIRX_PC_REQUIRES "${requires}")
  if(BUILD_SHARED_LIBS)
    set(PIRX_PC_LIBS "${ours}")
    set(PIRX_PC_LIBS_PRIVATE "${others}")
  else()
    set(PIRX_PC_LIBS "${ours} ${others}")
    set(PIRX_PC_LIBS_PRIVATE "")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/pirx.pc.in" "${PROJECT_BINARY_DIR}/${name}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" ${pirx_dev})
endfunction()

set(pirx_pc_components core)
if(table IN_LIST pirx_components)
  list(APPEND pirx_pc_components table)
endif()
pirx_pc(pirx "Private information retrieval: fields, engine, database, protocols" "" "${pirx_pc_components}" "")
if(http IN_LIST pirx_components)
  pirx_closure(pirx_pc_base ${pirx_pc_components})
  pirx_pc(pirx-http "Private information retrieval: HTTP transport and server" "pirx = ${PROJECT_VERSION}" http
          "${pirx_pc_base}")
endif()
if(client IN_LIST pirx_components)
  pirx_closure(pirx_pc_base ${pirx_pc_components} http)
  pirx_pc(pirx-client "Private information retrieval: look-ups from running servers" "pirx-http = ${PROJECT_VERSION}" client
          "${pirx_pc_base}")
endif()
if(c IN_LIST pirx_components)
  set(PIRX_PC_NAME pirx-c)
  set(PIRX_PC_DESCRIPTION "Private information retrieval: look-ups from C")
  set(PIRX_PC_REQUIRES "")
  set(PIRX_PC_LIBS -lpirx)
  set(PIRX_PC_LIBS_PRIVATE "")
  set(PIRX_PC_CFLAGS "")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/pirx.pc.in" "${PROJECT_BINARY_DIR}/pirx-c.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/pirx-c.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" ${pirx_dev})
endif()

# --- the counterpart: removes what the last `cmake --install` of this build wrote
if(PROJECT_IS_TOP_LEVEL)
  install(CODE "# the manifest lacks it
set(root \"\$ENV{DESTDIR}\")
if(root)
  get_filename_component(root \"\${root}\" ABSOLUTE)
endif()
file(WRITE \"${PROJECT_BINARY_DIR}/install_destdir.txt\" \"\${root}\")")
  add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" -P "${PROJECT_SOURCE_DIR}/cmake/PirxUninstall.cmake" USES_TERMINAL
                    WORKING_DIRECTORY "${PROJECT_BINARY_DIR}" VERBATIM)
endif()
