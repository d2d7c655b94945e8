#include "pirx/strassen/tuning.h"

#include <algorithm>
#include <mutex>

namespace pirx::strassen {
namespace {

constexpr std::string_view kNames[] = {"direct",          "fused",         "toom",
                                       "residues",        "kept_residues", "level_in_rows",
                                       "level_in_planes", "stored_level"};
static_assert(std::size(kNames) == std::size(kWays));

/// The most queries that a way may be chosen for: beyond, it would take memory for nothing.
constexpr std::size_t most_queries(Way way) {
  if (way == Way::kDirect) return 16;
  if (way == Way::kFused) return 256;
  return std::size_t{1} << 20;
}

const Threshold* find(const std::vector<Threshold>& all, const FieldTag& field, std::string_view kernel,
                      Way way) noexcept {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Threshold& t) {
    return t.way == way && t.field == field && t.kernel == kernel;
  });
  return found == all.end() ? nullptr : &*found;
}

std::mutex process_mutex;
std::shared_ptr<const Tuning> process;  // null: none was set

}  // namespace

std::string_view way_name(Way way) noexcept { return kNames[static_cast<std::size_t>(way)]; }

Result<Tuning> Tuning::create(std::vector<Threshold> thresholds) {
  Tuning tuning;
  for (Threshold& t : thresholds) {
    const auto line = [&] {
      return "the threshold " + std::string(way_name(t.way)) + " of " + t.field.name() + " on " + t.kernel;
    };
    if (find(tuning.thresholds_, t.field, t.kernel, t.way) != nullptr) {
      return fail(ErrorCode::kInvalidArgument, line() + " is there twice");
    }
    if (t.queries > most_queries(t.way)) {
      return fail(ErrorCode::kInvalidArgument, line() + " is " + std::to_string(t.queries) +
                                                   ", and at most " + std::to_string(most_queries(t.way)) +
                                                   " queries make sense");
    }
    tuning.thresholds_.push_back(std::move(t));
  }
  return tuning;
}

// One core of an Intel Xeon with AVX-512 (model 167); levels in rows at 16 and 64 MiB, q = 64 and 256; all
// others at 1 GiB as 32768 rows of 32 KiB, by bench/engine/engine_bench.
const Tuning& Tuning::shipped() {
  static const Tuning tuning = [] {
    Tuning made;
    made.thresholds_ = {
        {kTagGf2_8, "portable", Way::kLevelInRows, 16},
        {kTagGf2_16, "portable", Way::kLevelInRows, 16},
        {kTagGf2_8, "avx2", Way::kLevelInRows, 128},
        {kTagGf2_16, "avx2", Way::kLevelInRows, 64},

        {kTagGf2_8, "gfni512", Way::kDirect, 4},
        {kTagGf2_8, "gfni256", Way::kDirect, 4},
        {kTagGf2_8, "avx2", Way::kDirect, 4},
        {kTagGf2_16, "gfni512", Way::kDirect, 4},
        {kTagGf2_16, "gfni256", Way::kDirect, 4},
        {kTagGf2_16, "avx2", Way::kDirect, 2},

        {kTagGf2_8, "gfni512", Way::kFused, 64},
        {kTagGf2_8, "gfni256", Way::kFused, 64},
        {kTagGf2_8, "avx2", Way::kFused, 8},
        {kTagGf2_16, "gfni512", Way::kFused, 32},
        {kTagGf2_16, "gfni256", Way::kFused, 32},
        {kTagGf2_16, "avx2", Way::kFused, 8},

        // On planes a second level never paid and the first only over GF(2).
        {kTagGf2, "gfni512", Way::kLevelInPlanes, 512},

        {kTagGf2, "gfni512", Way::kStoredLevel, 256},
        {kTagGf2_8, "gfni512", Way::kStoredLevel, 128},
        {kTagGf2_16, "gfni512", Way::kStoredLevel, 128},

        {kTagW160, "amx", Way::kToom, 8},
        {kTagW160, "vnni", Way::kToom, 8},
        {kTagW160, "ifma", Way::kToom, 8},
    };
    return made;
  }();
  return tuning;
}

std::optional<std::size_t> Tuning::queries(const FieldTag& field, std::string_view kernel,
                                           Way way) const noexcept {
  if (const Threshold* own = find(thresholds_, field, kernel, way)) return own->queries;
  if (const Threshold* own = find(shipped().thresholds_, field, kernel, way)) return own->queries;
  return std::nullopt;
}

void set_process_tuning(Tuning tuning) {
  auto shared = std::make_shared<const Tuning>(std::move(tuning));
  const std::lock_guard lock(process_mutex);
  process = std::move(shared);
}

std::shared_ptr<const Tuning> process_tuning() {
  static const auto none = std::make_shared<const Tuning>();
  const std::lock_guard lock(process_mutex);
  return process != nullptr ? process : none;
}

}  // namespace pirx::strassen
