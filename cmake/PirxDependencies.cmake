# SPDX-License-Identifier: Apache-2.0
# Every third-party package is found here and nowhere else. docs/dependencies.md gives the reason for each.

# --- core: all that src/base to itpir and cpir may use
if(NOT PIRX_WASM)
  find_package(Threads REQUIRED)
  find_package(OpenSSL 3.0 REQUIRED)
endif()
if(PIRX_WASM)
  # Two header-only packages, by links: /usr/include as a whole is for another machine.
  foreach(header tl/expected.hpp nlohmann/json.hpp)
    string(REGEX REPLACE "/.*" "" folder "${header}")
    find_path(PIRX_${folder}_FOLDER "${header}" PATHS /usr/include REQUIRED)
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
    file(CREATE_LINK "${PIRX_${folder}_FOLDER}/${folder}" "${PROJECT_BINARY_DIR}/packages/${folder}" SYMBOLIC)
  endforeach()
  include_directories(SYSTEM "${PROJECT_BINARY_DIR}/packages")
  add_library(tl::expected INTERFACE IMPORTED)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  set(nlohmann_json_FOUND TRUE)
elseif(PIRX_CLIENT_ONLY)
  find_package(GMP QUIET) # the protocols that compute with it are left out without it
  find_package(nlohmann_json 3.11 CONFIG REQUIRED)
else()
  find_package(GMP REQUIRED)
  find_package(NTL REQUIRED)
endif()
if(NOT PIRX_WASM)
  find_package(tl-expected CONFIG REQUIRED)
  find_package(nlohmann_json 3.11 CONFIG QUIET) # modules json and importers are left out without it
endif()

# --- importers: JSON lines, and what gzip and zstd packed
if(NOT PIRX_CLIENT_ONLY)
  find_package(simdjson 3.0 CONFIG QUIET)
  find_package(ZLIB QUIET)
  find_package(zstd 1.5 CONFIG QUIET)
endif()

# Modules link pirx::openmp, never OpenMP::OpenMP_CXX: with PIRX_OPENMP=OFF the pragmas are ignored and _OPENMP is
# undefined, so <omp.h> must sit behind `#ifdef _OPENMP`.
add_library(pirx_openmp INTERFACE)
add_library(pirx::openmp ALIAS pirx_openmp)
set_target_properties(pirx_openmp PROPERTIES EXPORT_NAME openmp)
if(PIRX_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  target_link_libraries(pirx_openmp INTERFACE OpenMP::OpenMP_CXX)
endif()

# --- shards. MPI's own C++ interface is not used. Without MPI the module refuses to work and says why.
set(PIRX_MPI_FOUND FALSE)
if(PIRX_MPI)
  set(MPI_CXX_SKIP_MPICXX TRUE)
  if(PIRX_MPI STREQUAL "AUTO")
    find_package(MPI QUIET COMPONENTS CXX)
  else()
    find_package(MPI REQUIRED COMPONENTS CXX)
  endif()
  set(PIRX_MPI_FOUND ${MPI_CXX_FOUND})
endif()

# --- http
if(PIRX_BUILD_NET AND PIRX_CLIENT_ONLY)
  find_package(CURL 7.88 QUIET)
  if(NOT CURL_FOUND OR NOT nlohmann_json_FOUND)
    message(STATUS "modules http and client are left out: libcurl 7.88 or nlohmann-json was not found")
    set(PIRX_BUILD_NET OFF)
  endif()
elseif(PIRX_BUILD_NET)
  find_package(Boost 1.74 REQUIRED)  # headers only: Beast and Asio
  find_package(CURL 7.88 REQUIRED)
  find_package(nlohmann_json 3.11 CONFIG REQUIRED)
endif()

# --- tools
if(PIRX_BUILD_TOOLS)
  find_package(CLI11 2.1 CONFIG REQUIRED)
endif()

# --- tests and benchmarks
if(PIRX_BUILD_TESTS)
  if(NOT PIRX_CLIENT_ONLY)
    find_package(GTest REQUIRED)
  endif()
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
endif()
if(PIRX_BUILD_BENCH)
  find_package(benchmark 1.7 CONFIG REQUIRED)
endif()
