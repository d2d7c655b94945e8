// SPDX-License-Identifier: Apache-2.0
// Marks on secret memory, for a tool that follows them: memcheck (valgrind) or MemorySanitizer. Both call a
// marked byte "undefined" or "uninitialised", and report every branch and every address that depends on one.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>

namespace pirx::checkmem {

/// The tool that follows marks in this process: "memcheck", "MemorySanitizer", or nothing.
const char* tool() noexcept;

/// Marks memory as secret, takes the marks off, and tells whether there is one. `show` is how a test says
/// that something may be known to everybody, such as a finished request.
void hide(const void* data, std::size_t size) noexcept;
void show(const void* data, std::size_t size) noexcept;
bool hidden(const void* data, std::size_t size) noexcept;

/// Whether the tool reports something while `run` runs. MemorySanitizer cannot count: with it, the process
/// ends if nothing is reported.
bool reported(const std::function<void()>& run);

// The same for the elements of a container, or for one value.
template <class T>
concept Elements = requires(const T& values) {
  values.data();
  values.size();
};
template <class T>
std::size_t bytes_in(const T& values) noexcept {
  if constexpr (Elements<T>) {
    return values.size() * sizeof(*values.data());
  } else {
    static_assert(std::is_trivially_copyable_v<T>);
    return sizeof values;
  }
}
template <class T>
const void* start_of(const T& values) noexcept {
  if constexpr (Elements<T>) {
    return values.data();
  } else {
    return &values;
  }
}
template <class T>
void hide(const T& values) noexcept {
  hide(start_of(values), bytes_in(values));
}
template <class T>
void show(const T& values) noexcept {
  show(start_of(values), bytes_in(values));
}
template <class T>
bool hidden(const T& values) noexcept {
  return hidden(start_of(values), bytes_in(values));
}

}  // namespace pirx::checkmem
