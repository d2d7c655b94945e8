# SPDX-License-Identifier: Apache-2.0
# What a module, a test, a benchmark and a program are in pirx.
#
#   pirx_library(<name> [SHARED] [SOURCES a.cc ...] [SERVER_SOURCES b.cc ...] [PUBLIC_DEPS ...] [PRIVATE_DEPS ...])
#       Target pirx_<name>, alias pirx::<name>. Without sources an INTERFACE library (all deps are then public). Installed and
#       exported, unless it is of a folder that no library may touch (tools, tests, bench). Static libraries are
#       position-independent and hide their symbols, so that a shared library may be made of them. SHARED: a shared library in
#       every build, for programs in C, which must not see what is private to it. SERVER_SOURCES are what PIRX_CLIENT_ONLY
#       leaves out: server halves, and what only they and the planner need.
#   pirx_executable(<name> SOURCES a.cc ... [DEPS ...] [OUTPUT_NAME <file>] [INSTALL])
#       Target <name>.
#   pirx_test(<name> SOURCES a_test.cc ... LABEL short|medium|long [DEPS ...] [ARGS ...] [TIMEOUT s] [ALONE|MAIN_OWN])
#       One ctest. Sees the repository root, tests/ and every DEPS' public headers. With PIRX_UNITY the tests of a folder with
#       the same label are one program, FOLDER_LABEL_tests (those that pirx_once names are another one), compiled several
#       files at a time, which takes less than half as long; a ctest runs the tests of its files. Otherwise, and if it is
#       ALONE or has its own main, a test is a program of its name.
#   pirx_script_test(<name> COMMAND ... LABEL short|medium|long [TIMEOUT s])
#       One ctest that runs a command in the repository root, with the label `script`, too. $<TARGET_FILE:x> in it makes
#       tests_<label> build x.
#   pirx_bench(<name> SOURCES a.cc ... [DEPS ...] [ARGS ...] [SPOILED] [PLAIN])
#       A Google Benchmark binary and a smoke run of it as ctest bench_<name>, label medium. ARGS are for the smoke run only.
#       SPOILED: ctest bench_<name>_spoiled makes every answer wrong and wants errors instead of times (bench/measure.h).
#       PLAIN: not a Google Benchmark binary, as it counts and takes no times.
#
# What depends on a module that is not part of this build is left out; a pirx:: target that no module makes is an error.

set(pirx_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wnon-virtual-dtor
    -Woverloaded-virtual
    -Wold-style-cast
    -Wcast-qual
    -Wformat=2
    -Wimplicit-fallthrough
    -Wvla)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND pirx_warnings -Wduplicated-cond -Wlogical-op)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # False alarms of gcc 12: _mm512_undefined*() inside the intrinsics (GCC bug 105593) and std::string's operator+ (105651),
  # and the comparison of two vectors of bytes once its length is unknown.
  list(APPEND pirx_warnings -Wno-uninitialized -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overread)
endif()
if(PIRX_WERROR)
  list(APPEND pirx_warnings -Werror)
endif()
if(NOT PIRX_OPENMP)
  list(APPEND pirx_warnings -Wno-unknown-pragmas)
endif()

# Definitions that change what a header means, so they are part of a library's interface.
set(pirx_definitions "")
if(PIRX_VERIFY)
  list(APPEND pirx_definitions PIRX_VERIFY=1)
endif()
if(PIRX_PORTABLE_ONLY)
  list(APPEND pirx_definitions PIRX_PORTABLE_ONLY=1)
endif()

if(PIRX_SANITIZE)
  add_compile_options("-fsanitize=${PIRX_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options("-fsanitize=${PIRX_SANITIZE}")
  if(PIRX_SANITIZE MATCHES "address,undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # AddressSanitizer reports null pointers, too, and gcc compiles a quarter faster without these checks.
    add_compile_options(-fno-sanitize=null)
  endif()
  if(PIRX_SANITIZE STREQUAL "memory")
    # For tests/constant_time: passing a secret on is no use of it, the stack is not marked, reveal() may branch, and a report
    # does not hide the next one.
    add_compile_options(-fno-sanitize-memory-param-retval "SHELL:-mllvm -msan-poison-stack=0" -fsanitize-recover=memory
                        "-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/tests/constant_time/msan_ignore.txt")
  endif()
  if(PIRX_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The fences of Asio's and NTL's reference counts, which gcc says it cannot instrument.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(PIRX_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(PIRX_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()

# Timeouts end what hangs; they leave room for a busy machine and are no measure of speed. Slow builds get longer ones.
set(pirx_timeout_factor 1)
if(PIRX_SANITIZE)
  set(pirx_timeout_factor 10)
elseif(PIRX_VERIFY OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  set(pirx_timeout_factor 5)
endif()
set(pirx_timeout_short 120)
set(pirx_timeout_medium 300)
set(pirx_timeout_long 1800)

# Waiting threads sleep: tests share the cores with each other.
set(pirx_test_environment PIRX_SOURCE_DIR=${PROJECT_SOURCE_DIR} OMP_WAIT_POLICY=passive
                          ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1
                          UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1)

set_property(GLOBAL PROPERTY PIRX_LIBRARIES "")
set_property(GLOBAL PROPERTY PIRX_LEFT_OUT "")

function(pirx_target_defaults target)
  # Names of files in messages are relative to the repository, so that the folder of a build leaves no trace in what it makes.
  target_compile_options(${target} PRIVATE ${pirx_warnings} "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}")
  target_compile_definitions(${target} PRIVATE ${pirx_definitions})
endfunction()

# Replaces OpenMP by the switchable target.
function(pirx_map_deps out)
  list(TRANSFORM ARGN REPLACE "^(OpenMP::OpenMP_CXX|pirx_openmp)$" "pirx::openmp")
  set(${out} "${ARGN}" PARENT_SCOPE)
endfunction()

# True when every pirx:: target in the list exists. A module whose folder is not part of this build (an option is off, or it
# has no CMakeLists.txt) takes what depends on it with it; any other missing target is a mistake.
function(pirx_have_deps out what)
  set(${out} TRUE PARENT_SCOPE)
  get_property(left_out GLOBAL PROPERTY PIRX_LEFT_OUT)
  foreach(dep IN LISTS ARGN)
    if(NOT dep MATCHES "^pirx(::|_)" OR TARGET ${dep})
      continue()
    endif()
    string(REGEX REPLACE "^pirx(::|_)" "" module "${dep}")
    if(NOT module IN_LIST left_out)
      message(FATAL_ERROR "${what} depends on ${dep}, which does not exist (or is of a later module)")
    endif()
    message(STATUS "${what} is left out: it needs ${dep}")
    set(${out} FALSE PARENT_SCOPE)
  endforeach()
endfunction()

function(pirx_check_label what label)
  if(NOT label MATCHES "^(short|medium|long)$")
    message(FATAL_ERROR "${what}: LABEL must be short, medium or long, not '${label}'")
  endif()
endfunction()

# Tests that say nothing new under sanitizers or with other instruction sets: statistics, distributions over fields of a few
# elements, planted faults, virtual time, tests of what scripts print. They have the label `once`. Of the others CI runs those of
# what reads files and the bytes of strangers with sanitizers, which `tests_sanitized` builds; scripts/nightly runs all.
set(pirx_sanitized base protocol database http)
set(pirx_once "_privacy_|_statistics_|selective_failure|simulation_finds_|inspire_noise")
string(APPEND pirx_once "|queue_simulation|^(mutants|pages|reproduce|sbom)_test$")

# "_once" for those, else nothing.
function(pirx_is_once out name)
  set(${out} "" PARENT_SCOPE)
  if(name MATCHES "${pirx_once}")
    set(${out} "_once" PARENT_SCOPE)
  endif()
endfunction()

# The folder of what is added here, below tests/: itpir, cpir/spiral.
function(pirx_test_folder out)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX REPLACE "^tests/" "" folder "${folder}")
  set(${out} "${folder}" PARENT_SCOPE)
endfunction()

function(pirx_add_ctest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SCRIPT" "LABEL;TIMEOUT" "COMMAND")
  pirx_check_label(${name} "${arg_LABEL}")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${pirx_timeout_${arg_LABEL}})
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${pirx_timeout_factor}")
  string(REGEX MATCHALL "\\$<TARGET_FILE:[^>]+>" programs "${arg_COMMAND}")
  list(TRANSFORM programs REPLACE "^.*:([^>]+)>$" "\\1")
  get_property(left_out GLOBAL PROPERTY PIRX_LEFT_OUT)
  foreach(program IN LISTS programs)
    if(NOT TARGET ${program} AND pirx IN_LIST left_out)
      message(STATUS "test ${name} is left out: it runs ${program}")
      return()
    endif()
  endforeach()

  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  # tests_short, tests_medium and tests_long build what the tests of that label run.
  list(GET arg_COMMAND 0 program)
  if(TARGET ${program})
    list(APPEND programs ${program})
  endif()
  set(build_by tests_${arg_LABEL})
  pirx_is_once(once ${name})
  pirx_test_folder(folder)
  string(REGEX REPLACE "/.*" "" folder "${folder}")
  if(arg_LABEL STREQUAL "short" AND NOT once AND NOT arg_SCRIPT AND folder IN_LIST pirx_sanitized)
    list(APPEND build_by tests_sanitized)
  endif()
  foreach(target IN LISTS build_by)
    if(NOT TARGET ${target})
      add_custom_target(${target})
    endif()
    if(programs)
      add_dependencies(${target} ${programs})
    endif()
  endforeach()
  # The folder of a test is a label, too: ctest -L itpir.
  string(REPLACE "_" ";" once "${once}")
  if(arg_SCRIPT)
    string(APPEND once ";script")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL};${folder}${once}" TIMEOUT "${timeout}" ENVIRONMENT
                                                                                            "${pirx_test_environment}")
endfunction()

# Compiles files of a target together, so many at a time (0: all), except kernels, each of which is for an instruction set of
# its own. With AddressSanitizer gcc takes seven times as long to compile these; clang's build of scripts/matrix has them.
function(pirx_unite target batch)
  list(FILTER ARGN INCLUDE REGEX "kernels/")
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(PIRX_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc takes a .cc that is included for a header. It is a twentieth faster if it frees memory only from a gigabyte on.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage "SHELL:--param ggc-min-heapsize=1000000")
  else()
    # clang counts names of the other files as hidden.
    set_target_properties(${target} PROPERTIES UNITY_BUILD_CODE_BEFORE_INCLUDE "#pragma clang diagnostic ignored \"-Wshadow\"")
  endif()
endfunction()

function(pirx_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED" "" "SOURCES;SERVER_SOURCES;PUBLIC_DEPS;PRIVATE_DEPS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "pirx_library(${name}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT PIRX_CLIENT_ONLY)
    list(APPEND arg_SOURCES ${arg_SERVER_SOURCES})
  endif()
  set(target pirx_${name})
  pirx_map_deps(public_deps ${arg_PUBLIC_DEPS})
  pirx_map_deps(private_deps ${arg_PRIVATE_DEPS})
  pirx_have_deps(have_deps "module ${name}" ${public_deps} ${private_deps})
  if(NOT have_deps)
    set_property(GLOBAL APPEND PROPERTY PIRX_LEFT_OUT ${name})
    return()
  endif()
  # A header-only library used in private is no business of who links us.
  list(TRANSFORM private_deps REPLACE "^(Boost::headers|Boost::boost|tl::expected|nlohmann_json::nlohmann_json|CLI11::CLI11)$"
                                      "$<BUILD_INTERFACE:\\1>")

  if(arg_SOURCES)
    set(type "")
    set(scope PUBLIC)
    set(contract_scope PUBLIC)
    if(arg_SHARED)
      set(type SHARED)
      set(contract_scope PRIVATE)
    endif()
    add_library(${target} ${type} ${arg_SOURCES})
    if(PIRX_UNITY)
      pirx_unite(${target} 0 ${arg_SOURCES})
    endif()
    pirx_target_defaults(${target})
    target_link_libraries(${target} PUBLIC ${public_deps} PRIVATE ${private_deps})
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION
                                                                          ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    if(NOT BUILD_SHARED_LIBS AND NOT PIRX_WASM)
      set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                                 VISIBILITY_INLINES_HIDDEN ON)
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
    set(contract_scope INTERFACE)
    target_link_libraries(${target} INTERFACE ${public_deps} ${private_deps})
  endif()
  add_library(pirx::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${contract_scope} cxx_std_20)
  target_compile_definitions(${target} ${contract_scope} ${pirx_definitions})
  target_include_directories(${target} ${scope} "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                       "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  if(folder MATCHES "^(tools|tests|bench|examples)/")
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY PIRX_LIBRARIES ${name})
  if(arg_SHARED AND NOT BUILD_SHARED_LIBS)
    set(private_deps "") # they are inside
  endif()
  set_property(GLOBAL PROPERTY PIRX_DEPS_${name} ${public_deps} ${private_deps})
endfunction()

function(pirx_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSTALL" "OUTPUT_NAME" "SOURCES;DEPS")
  pirx_map_deps(deps ${arg_DEPS})
  pirx_have_deps(have_deps "program ${name}" ${deps})
  if(NOT have_deps)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  pirx_target_defaults(${name})
  target_link_libraries(${name} PRIVATE ${deps})
  if(arg_OUTPUT_NAME)
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ${arg_OUTPUT_NAME})
  endif()
  if(arg_INSTALL AND PIRX_INSTALL)
    get_target_property(program ${name} OUTPUT_NAME)
    if(NOT program)
      set(program ${name})
    endif()
    install(TARGETS ${name} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT ${program})
  endif()
endfunction()

# What a release optimises lightly: code that waits for people, files and networks, or runs for moments. -O3 would buy nothing
# there and take longer to compile. Where gcc looks for undefined behaviour, it compiles such code a quarter faster without the
# check of alignment, which is for kernels and files in memory.
function(pirx_light target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(PIRX_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fno-sanitize=alignment)
  endif()
endfunction()

# With PIRX_PCH a test is compiled with the headers of GoogleTest and the standard library read once, by
# pirx_test_headers of tests/support. OpenMP's flag is then every test's: a precompiled header suits the flags it was made with.
function(pirx_use_test_headers target)
  if(TARGET pirx_test_headers)
    target_precompile_headers(${target} REUSE_FROM pirx_test_headers)
    target_link_libraries(${target} PRIVATE pirx::openmp)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess) # for ccache
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # More false alarms about the moves of a std::string, where its header is precompiled.
      target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
    endif()
  endif()
endfunction()

function(pirx_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE;MAIN_OWN" "LABEL;TIMEOUT" "SOURCES;DEPS;ARGS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "pirx_test(${name}): SOURCES missing or unknown arguments '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  pirx_map_deps(deps ${arg_DEPS})
  pirx_have_deps(have_deps "test ${name}" ${deps})
  if(NOT have_deps)
    return()
  endif()
  set(program ${name})
  set(main GTest::gtest_main)
  if(arg_MAIN_OWN)
    set(main "")
  elseif(PIRX_UNITY AND NOT arg_ALONE)
    pirx_test_folder(folder)
    pirx_is_once(once ${name})
    string(REPLACE "/" "_" program "${folder}_${arg_LABEL}${once}_tests")
    set(main pirx_united_main)
    if(arg_ARGS)
      message(FATAL_ERROR "pirx_test(${name}): with ARGS it must be ALONE")
    endif()
    set(arg_ARGS ${arg_SOURCES})
    list(FILTER arg_ARGS INCLUDE REGEX "_test\\.cc$")
  endif()
  if(TARGET ${program})
    target_sources(${program} PRIVATE ${arg_SOURCES})
  else()
    add_executable(${program} ${arg_SOURCES})
    pirx_target_defaults(${program})
    target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/tests")
    pirx_light(${program})
    pirx_use_test_headers(${program})
    if(main STREQUAL "pirx_united_main")
      pirx_unite(${program} 8)
    endif()
  endif()
  target_link_libraries(${program} PRIVATE ${deps} ${main} GTest::gtest Threads::Threads)
  pirx_add_ctest(${name} LABEL "${arg_LABEL}" TIMEOUT "${arg_TIMEOUT}" COMMAND ${program} ${arg_ARGS})
endfunction()

function(pirx_script_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "COMMAND")
  pirx_add_ctest(${name} SCRIPT LABEL "${arg_LABEL}" TIMEOUT "${arg_TIMEOUT}" COMMAND ${arg_COMMAND})
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  endif()
endfunction()

function(pirx_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PLAIN;SPOILED" "TIMEOUT" "SOURCES;DEPS;ARGS")
  pirx_map_deps(deps ${arg_DEPS})
  pirx_have_deps(have_deps "benchmark ${name}" ${deps})
  if(NOT have_deps)
    return()
  endif()
  add_executable(${name} ${arg_SOURCES})
  pirx_target_defaults(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/bench")
  target_link_libraries(${name} PRIVATE ${deps} benchmark::benchmark Threads::Threads)
  set(smoke "")
  if(NOT arg_PLAIN)
    set(smoke --benchmark_min_time=0.001)
  endif()
  pirx_add_ctest(bench_${name} LABEL medium TIMEOUT "${arg_TIMEOUT}" COMMAND ${name} ${smoke} ${arg_ARGS})
  if(arg_SPOILED)
    pirx_script_test(bench_${name}_spoiled LABEL medium
      COMMAND ${Python3_EXECUTABLE} tests/bench/spoiled_test.py $<TARGET_FILE:${name}> ${smoke} ${arg_ARGS})
  endif()
endfunction()
