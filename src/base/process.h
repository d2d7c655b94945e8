// SPDX-License-Identifier: Apache-2.0
// Tells a forked child from its parent.
#pragma once

#include <cstdint>

namespace pirx {

/// A number that this process has and no other: drawn at random when first asked for, and again in a child,
/// however it was forked and whatever its process id. What must not be used on both sides of a fork keeps
/// the number it was made under. Never zero; costs one load. Thread-safe.
std::uint64_t process_token() noexcept;

}  // namespace pirx
