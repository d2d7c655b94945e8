// SPDX-License-Identifier: Apache-2.0
// The parts of Reader and Writer that need not be inline.
#include "pirx/base/wire.h"

namespace pirx {

void Writer::put_bytes(ByteSpan bytes) {
  if (!bytes.empty()) std::memcpy(extend(bytes.size()).data(), bytes.data(), bytes.size());
}

MutableByteSpan Writer::extend(std::size_t count) {
  const auto at = bytes_.size();
  bytes_.resize(at + count);
  return MutableByteSpan(bytes_).subspan(at);
}

Result<ByteSpan> Reader::get_bytes(std::uint64_t count) {
  if (bytes_.size() < count) return too_short(count);
  const auto head = bytes_.first(static_cast<std::size_t>(count));
  bytes_ = bytes_.subspan(head.size());
  return head;
}

Result<void> Reader::expect_end() const {
  if (bytes_.empty()) return {};
  return fail(ErrorCode::kDataLoss, what_ + " has " + std::to_string(bytes_.size()) + " bytes too many");
}

tl::unexpected<Error> Reader::too_short(std::uint64_t wanted) const {
  return fail(ErrorCode::kDataLoss, what_ + " is truncated: " + std::to_string(wanted) +
                                        " more bytes were expected, " + std::to_string(bytes_.size()) +
                                        " are left");
}

}  // namespace pirx
