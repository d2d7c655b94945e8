// SPDX-License-Identifier: Apache-2.0
// Finds the filter, column by column and in parallel. A slot that only one key uses settles that key,
// which frees its other two slots.
#include "key_peeler.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "src/base/threads.h"

namespace pirx::database {
namespace {

/// What peeling one column needs.
struct Workspace {
  struct Slot {
    std::uint32_t keys = 0;   ///< how many unsettled keys use it
    std::uint32_t which = 0;  ///< XOR of their indices: the key itself when there is one
  };
  std::vector<Slot> slots;
  std::vector<std::uint32_t> alone;
};

struct Peeled {
  std::uint32_t key;
  std::uint32_t own;
};

/// Settles `keys` first to last into `order`; false when some cannot be.
bool peel(std::span<const HashedKey> keys, const FilterSpec& filter, std::span<Peeled> order,
          Workspace& work) {
  std::fill(work.slots.begin(), work.slots.end(), Workspace::Slot{});
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    for (const std::uint64_t row : rows_of(keys[i].hash.row, filter)) {
      ++work.slots[row].keys;
      work.slots[row].which ^= i;
    }
  }
  // Every slot is alone at most once, so nothing grows beyond what was reserved.
  work.alone.clear();
  for (std::uint32_t row = 0; row < work.slots.size(); ++row) {
    if (work.slots[row].keys == 1) work.alone.push_back(row);
  }
  std::size_t settled = 0;
  while (!work.alone.empty()) {
    const std::uint32_t own = work.alone.back();
    work.alone.pop_back();
    if (work.slots[own].keys == 0) continue;  // its key was settled through another slot
    const std::uint32_t key = work.slots[own].which;
    const auto rows = rows_of(keys[key].hash.row, filter);
    for (std::uint32_t j = 0; j < rows.size(); ++j) {
      Workspace::Slot& slot = work.slots[rows[j]];
      if (rows[j] == own) order[settled] = {key, j};
      slot.which ^= key;
      if (--slot.keys == 1) work.alone.push_back(static_cast<std::uint32_t>(rows[j]));
    }
    ++settled;
  }
  return settled == keys.size();
}

/// Measured (docs/protocols/keyword.md): segments pay from some thousands of keys on, and the more keys the
/// more of them.
std::uint64_t choose_segments(std::uint64_t keys) {
  if (keys < 8192) return 1;
  std::uint64_t segments = 24;
  for (std::uint64_t limit = 65536; keys >= limit; limit *= 8) segments *= 2;
  return segments;
}

}  // namespace

std::optional<KeyPlan> plan_keys(std::vector<HashedKey>& keys, std::uint64_t columns, const Digest& seed) {
  PIRX_CHECK(!keys.empty() && keys.size() <= kMaxKeys && columns != 0);
  // By hash within a column, so that the order of the input is forgotten.
  std::sort(keys.begin(), keys.end(), [](const HashedKey& a, const HashedKey& b) {
    return a.hash.column != b.hash.column ? a.hash.column < b.hash.column : a.hash.row < b.hash.row;
  });
  KeyPlan plan;
  plan.column_begin.assign(columns + 1, 0);
  for (const HashedKey& key : keys) ++plan.column_begin[scale_down(key.hash.column, columns) + 1];
  const std::uint64_t fullest = *std::max_element(plan.column_begin.begin(), plan.column_begin.end());
  std::partial_sum(plan.column_begin.begin(), plan.column_begin.end(), plan.column_begin.begin());

  plan.filter.seed = seed;
  plan.filter.segments = choose_segments(fullest);
  const std::uint64_t segments = plan.filter.segments + 2;
  const std::uint64_t shortest = div_up(fullest + fullest / 10, segments);
  const std::uint64_t longest = 4 * (fullest + segments) / segments;
  constexpr std::uint64_t kTweaks = 4;

  const int threads =
      static_cast<int>(std::min<std::uint64_t>(columns, static_cast<std::uint64_t>(thread_count())));
  std::vector<Workspace> workspaces(static_cast<std::size_t>(threads));
  std::vector<Peeled> order(keys.size());
  const auto column = [&plan](auto& all, std::size_t c) {
    const auto begin = plan.column_begin[c];
    return std::span(all).subspan(begin, plan.column_begin[c + 1] - begin);
  };
  for (std::uint64_t length = shortest; length <= longest;
       length += std::max<std::uint64_t>(shortest / 100, 1)) {
    plan.filter.segment_length = length;
    for (Workspace& work : workspaces) {
      work.slots.resize(segments * length);
      work.alone.reserve(segments * length);
    }
    for (plan.filter.tweak = 0; plan.filter.tweak < kTweaks; ++plan.filter.tweak) {
      std::atomic<bool> failed = false;
      parallel_for(threads, columns, [&](std::size_t c, std::size_t worker) {
        if (failed.load(std::memory_order_relaxed)) return;
        if (!peel(column(keys, c), plan.filter, column(order, c), workspaces[worker])) {
          failed.store(true, std::memory_order_relaxed);
        }
      });
      if (failed) continue;
      plan.steps.resize(keys.size());
      for (std::uint64_t c = 0; c < columns; ++c) {
        const std::uint64_t begin = plan.column_begin[c], end = plan.column_begin[c + 1];
        for (std::uint64_t i = begin; i < end; ++i) {
          const HashedKey& key = keys[begin + order[i].key];
          plan.steps[begin + (end - 1 - i)] = {key.hash.row, key.position, order[i].own};
        }
      }
      return plan;
    }
  }
  return std::nullopt;
}

}  // namespace pirx::database
