// SPDX-License-Identifier: Apache-2.0
#include "bucket_sources.h"

#include <algorithm>
#include <sstream>

#include "pirx/base/small_file.h"
#include "src/database/mapping.h"

namespace pirx::batchcodes {
namespace {

constexpr std::string_view kFirstLine = "pirx buckets and their databases 1";
constexpr std::size_t kMostLines = 100, kMostBytes = std::size_t{64} << 10;

std::optional<Digest> digest_from(const std::string& text) {
  const auto bytes = from_hex(text);
  Digest digest;
  if (!bytes || bytes->size() != digest.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), digest.begin());
  return digest;
}

}  // namespace

BucketSources BucketSources::read(const database::Database& plain) {
  BucketSources sources;
  sources.path_ = plain.mapping().path;
  sources.path_ += ".buckets";
  std::istringstream text(read_file(sources.path_, kMostBytes, "list of buckets").value_or(""));
  std::string line, buckets, identity;
  if (!std::getline(text, line) || line != kFirstLine) return sources;
  for (std::uint64_t epoch = 0; text >> buckets >> epoch >> identity;) {
    const auto of = digest_from(buckets), plain_identity = digest_from(identity);
    if (of && plain_identity) sources.lines_.push_back({*of, {*plain_identity, epoch}});
  }
  return sources;
}

std::optional<database::Version> BucketSources::of(const Digest& buckets) const {
  const auto line =
      std::find_if(lines_.begin(), lines_.end(), [&](const Line& one) { return one.buckets == buckets; });
  return line == lines_.end() ? std::nullopt : std::optional(line->plain);
}

void BucketSources::add(const Digest& buckets, const database::Version& plain) {
  lines_.push_back({buckets, plain});
  if (lines_.size() > kMostLines) lines_.erase(lines_.begin());
  std::string text = std::string(kFirstLine) + "\n";
  for (const auto& line : lines_) {
    text += to_hex(line.buckets) + " " + std::to_string(line.plain.epoch) + " " +
            to_hex(line.plain.identity) + "\n";
  }
  (void)replace_file(path_, text);
}

}  // namespace pirx::batchcodes
