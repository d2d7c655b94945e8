// Where one way of multiplying becomes faster than another: measured on a machine, never derived. The engine
// ships a table (Tuning::shipped), and a process may bring the one of its own machine (`pirx bench --tune`).
// Whatever the table says, products are the same; only their time differs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pirx/base/field.h"

namespace pirx::strassen {

/// What a number of queries decides.
enum class Way : std::uint8_t {
  kDirect,         ///< planes, a matrix per plane: up to so many queries
  kFused,          ///< planes, sums in registers: up to so many queries
  kToom,           ///< rows, Toom-Cook: from so many queries on
  kResidues,       ///< rows, many small moduli: from so many queries on
  kKeptResidues,   ///< the same on a database prepared as residues
  kLevelInRows,    ///< rows: a level of Strassen while its blocks have so many queries
  kLevelInPlanes,  ///< planes, sums of D formed on the fly: the same
  kStoredLevel,    ///< planes, sums of D stored with the database: the same
};
inline constexpr Way kWays[] = {Way::kDirect,        Way::kFused,        Way::kToom,
                                Way::kResidues,      Way::kKeptResidues, Way::kLevelInRows,
                                Way::kLevelInPlanes, Way::kStoredLevel};
/// "direct", "fused", "toom", "residues", "kept_residues", "level_in_rows", "level_in_planes",
/// "stored_level".
std::string_view way_name(Way way) noexcept;

struct Threshold {
  FieldTag field;
  std::string kernel;  ///< Kernels::name
  Way way;
  std::size_t queries = 0;  ///< 0: never
  friend bool operator==(const Threshold&, const Threshold&) = default;
};

/// A table of thresholds. What it does not list the shipped table decides.
class Tuning {
 public:
  Tuning() = default;
  /// InvalidArgument when a way is listed twice for a field and kernel, or a number is beyond what that way
  /// can serve: the message names the line.
  static Result<Tuning> create(std::vector<Threshold> thresholds);
  /// What was measured for this release (docs/performance.md).
  static const Tuning& shipped();

  /// From this table, else from the shipped one, else nothing.
  std::optional<std::size_t> queries(const FieldTag& field, std::string_view kernel, Way way) const noexcept;
  const std::vector<Threshold>& thresholds() const noexcept { return thresholds_; }

 private:
  std::vector<Threshold> thresholds_;
};

/// The table of engines that are made from now on without one of their own. Thread-safe.
void set_process_tuning(Tuning tuning);
std::shared_ptr<const Tuning> process_tuning();

}  // namespace pirx::strassen
