# SPDX-License-Identifier: Apache-2.0
# Toolchain for a client in WebAssembly: clang 19 with Debian's wasi-libc and libc++, which has neither exceptions nor threads.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_AR ar)
set(CMAKE_RANLIB true)
# Mutexes for that libc++; a `throw` ends the program, and no table of exceptions is kept.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${CMAKE_CURRENT_LIST_DIR}/wasm -fignore-exceptions -msimd128 -mbulk-memory")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
