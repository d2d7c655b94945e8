# SPDX-License-Identifier: Apache-2.0
# Read by CPack when it makes packages: what each one is, and what it needs. CPACK_PACKAGE_VERSION may be another one than
# the project's, for tests of upgrades.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(library libpirx${CPACK_PIRX_ABI})
set(same "(= ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")

# pirx_describe(<package> <section> <line> <text> [DEPENDS ...] [SUGGESTS ...] [ALL])
function(pirx_describe package section line text)
  cmake_parse_arguments(PARSE_ARGV 4 arg "ALL" "DEPENDS;SUGGESTS;RECOMMENDS" "")
  string(TOUPPER "${package}" name)
  set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_COMPONENT_${name}_DESCRIPTION "${line}\n${text}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${name}_DESCRIPTION "${line}\n${text}" PARENT_SCOPE)
  foreach(kind DEPENDS SUGGESTS RECOMMENDS)
    if(arg_${kind})
      set(CPACK_DEBIAN_${name}_PACKAGE_${kind} "${arg_${kind}}" PARENT_SCOPE)
    endif()
  endforeach()
  if(arg_ALL)
    set(CPACK_DEBIAN_${name}_PACKAGE_ARCHITECTURE all PARENT_SCOPE)
  else()
    set(CPACK_DEBIAN_${name}_PACKAGE_SHLIBDEPS ON PARENT_SCOPE)
  endif()
  file(GLOB scripts "${CPACK_PIRX_DEBIAN}/${package}/*")
  list(FILTER scripts EXCLUDE REGEX "/overrides$")
  if(scripts)
    set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA "${scripts}" PARENT_SCOPE)
  endif()
endfunction()

set(what "With private information retrieval a client fetches records of a database, by
position or by key, from servers that learn nothing about which ones.")
pirx_describe(pirx utils "private look-ups: command line"
              "${what}\nThis package has the program pirx: it builds and serves databases, and looks\nrecords up."
              SUGGESTS "pirx-server, pirx-doc")
pirx_describe(pirx-server net "private look-ups: server as a system service"
              "${what}\nThis package has the service pirx-server, with a user of its own and few\nrights."
              DEPENDS "pirx ${same}, systemd | systemd-standalone-sysusers | systemd-sysusers" SUGGESTS pirx-doc ALL)
pirx_describe(${library} libs "private look-ups: library for C"
              "${what}\nThis package has the library for programs in C and other languages.")
pirx_describe(libpirx-dev libdevel "private look-ups: development files"
              "${what}\nThis package has the C header, the C++ headers and static libraries, and what\nCMake and pkg-config need to find them."
              DEPENDS "${library} ${same}, libgmp-dev, libntl-dev, libssl-dev, libexpected-dev, libcurl4-openssl-dev, nlohmann-json3-dev, libsimdjson-dev, zlib1g-dev, libzstd-dev"
              SUGGESTS "pirx-doc, libopenmpi-dev")
pirx_describe(pirx-doc doc "private look-ups: documentation"
              "${what}\nThis package has the manual: protocols, operation of servers, formats of files\nand messages." ALL)
pirx_describe(python3-pirx python "private look-ups: Python package"
              "${what}\nThis package has the Python module pirx."
              DEPENDS "python3:any (>= 3.11), ${library} ${same}" RECOMMENDS "pirx ${same}" SUGGESTS "python3-numpy, python3-pandas, pirx-doc" ALL)
pirx_describe(pirx-ranks utils "private look-ups: one server out of several machines"
              "${what}\nThis package has the program pirx-ranks, which spreads a server over processes\nthat mpirun starts."
              DEPENDS "openmpi-bin")

# What other packages are to depend on if they link the library.
file(WRITE "${CPACK_PACKAGE_DIRECTORY}/shlibs"
     "libpirx ${CPACK_PIRX_ABI} ${library} (>= ${CPACK_PACKAGE_VERSION})\n")
string(TOUPPER ${library} name)
list(APPEND CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA "${CPACK_PACKAGE_DIRECTORY}/shlibs")
