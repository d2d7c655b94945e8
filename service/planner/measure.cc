// The clocks of the measurements, and the choice of the file that measures a rate.
#include "measure.h"

#include <time.h>

#include <algorithm>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "cpir/qr/column_products.h"
#include "grid.h"
#include "pirx/base/sha256.h"

namespace pirx::planner {
namespace {

namespace dj = cpir::dj;

constexpr unsigned kMostLogSize = 30, kMostDjWindow = 12;
constexpr std::size_t kMostRuns = 1001, kFewestRuns = 3;

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::vector<double> all_seconds(const std::function<void()>& f, double seconds, clockid_t clock) {
  // Short ones are timed several at a time.
  constexpr double kShortest = 2e-5;
  f();
  std::size_t together = 1;
  std::vector<double> times;
  const double start = now(CLOCK_MONOTONIC);
  for (;;) {
    const double begin = now(clock);
    for (std::size_t i = 0; i < together; ++i) f();
    const double took = now(clock) - begin;
    if (times.empty() && took < kShortest && together < (std::size_t{1} << 24)) {
      together *= 2;
      continue;
    }
    times.push_back(std::max(took, 1e-9) / static_cast<double>(together));
    const double spent = now(CLOCK_MONOTONIC) - start;
    if (times.size() >= kMostRuns) break;
    if (spent > seconds && (times.size() >= kFewestRuns || spent > 5 * seconds)) break;
  }
  return times;
}

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

tl::unexpected<Error> no_such_rate(const RateId& id) {
  return fail(ErrorCode::kInvalidArgument, "there is no rate " + id.name());
}

}  // namespace

double cpu_seconds(const std::function<void()>& f, double seconds) {
  return median(all_seconds(f, seconds, CLOCK_THREAD_CPUTIME_ID));
}
double wall_seconds(const std::function<void()>& f, double seconds) {
  const auto times = all_seconds(f, seconds, CLOCK_MONOTONIC);
  return *std::min_element(times.begin(), times.end());
}

#ifdef _OPENMP
OneThread::OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
OneThread::~OneThread() { omp_set_num_threads(before_); }
#else
OneThread::OneThread() : before_(1) {}
OneThread::~OneThread() = default;
#endif

/// Keys take seconds to make: one for each length.
struct Machine::Keys {
  std::map<unsigned, dj::SecretKey> by_bits;

  Result<const dj::SecretKey*> get(unsigned bits) {
    const auto found = by_bits.find(bits);
    if (found != by_bits.end()) return &found->second;
    PIRX_ASSIGN(auto key, dj::SecretKey::generate(bits, policy_of(bits)));
    return &by_bits.emplace(bits, std::move(key)).first->second;
  }
  static dj::KeyPolicy policy_of(unsigned bits) {
    return dj::check_modulus_bits(bits, dj::KeyPolicy::kSecure) ? dj::KeyPolicy::kSecure
                                                                : dj::KeyPolicy::kPaperReproduction;
  }
};

Machine::Machine(RateTable known) : known_(std::move(known)), keys_(std::make_unique<Keys>()) {}
Machine::~Machine() = default;

Result<double> Machine::seconds(const RateId& id) {
  if (known_.all().contains(id)) return known_.seconds(id);
  PIRX_ASSIGN(const double measured, measure(id));
  PIRX_TRY(known_.set(id, measured));
  return measured;
}

Result<double> Machine::measure(const RateId& id) {
  const unsigned k = id.of[0], s = id.of[1];
  const OneThread one;
  switch (id.quantity) {
    case Quantity::kDjCheck: {
      PIRX_ASSIGN(const auto* key, keys_->get(k));
      return measure_dj_check(key->public_key());
    }
    case Quantity::kDjProduct:
    case Quantity::kDjSquare:
    case Quantity::kDjEntry:
    case Quantity::kDjRow: {
      const bool windowed = id.quantity == Quantity::kDjProduct || id.quantity == Quantity::kDjEntry;
      const unsigned window = windowed ? id.of[2] : kSmallDjWindow;
      if (s < 1 || s > dj::kMaxLevels || window < 1 || window > kMostDjWindow) return no_such_rate(id);
      PIRX_ASSIGN(const auto* key, keys_->get(k));
      PIRX_ASSIGN(const auto rates, measure_dj_server(key->public_key(), s, window));
      PIRX_TRY(known_.set({Quantity::kDjProduct, {k, s, window}}, rates.product));
      PIRX_TRY(known_.set({Quantity::kDjEntry, {k, s, window}}, rates.entry));
      PIRX_TRY(known_.set({Quantity::kDjSquare, {k, s}}, rates.square));
      PIRX_TRY(known_.set({Quantity::kDjRow, {k, s}}, rates.row));
      return known_.seconds(id);
    }
    case Quantity::kDjZero:
    case Quantity::kDjBit:
    case Quantity::kDjOpen: {
      if (s < 1 || s > dj::kMaxLevels) return no_such_rate(id);
      PIRX_ASSIGN(const auto* key, keys_->get(k));
      return measure_dj_client(id, *key);
    }
    case Quantity::kQrEntry:
    case Quantity::kQrProduct:
    case Quantity::kQrColumn: {
      PIRX_TRY(dj::check_modulus_bits(k, Keys::policy_of(k)));
      const unsigned window = id.of[1];
      if (window < 1 || window > cpir::qr::kMaxWindow) return no_such_rate(id);
      PIRX_ASSIGN(const auto rates, measure_qr_server(k, window));
      PIRX_TRY(known_.set({Quantity::kQrEntry, {k, window}}, rates.entry));
      PIRX_TRY(known_.set({Quantity::kQrProduct, {k, window}}, rates.product));
      PIRX_TRY(known_.set({Quantity::kQrColumn, {k, window}}, rates.column));
      return known_.seconds(id);
    }
    case Quantity::kQrCheck:
      PIRX_TRY(dj::check_modulus_bits(k, Keys::policy_of(k)));
      return measure_qr_check(k);
    case Quantity::kQrHide:
    case Quantity::kQrTell: {
      PIRX_ASSIGN(const auto rates, measure_qr_client(k, Keys::policy_of(k)));
      PIRX_TRY(known_.set({Quantity::kQrHide, {k}}, rates.hide));
      PIRX_TRY(known_.set({Quantity::kQrTell, {k}}, rates.tell));
      return known_.seconds(id);
    }
    case Quantity::kSpiralExpand:
    case Quantity::kSpiralFold:
    case Quantity::kSpiralColumn:
    case Quantity::kSpiralScan:
    case Quantity::kSpiralEncode:
    case Quantity::kSpiralQuery:
    case Quantity::kSpiralDecode: {
      PIRX_ASSIGN(const auto rates, measure_spiral());
      PIRX_TRY(known_.set({Quantity::kSpiralExpand, {}}, rates.expand));
      PIRX_TRY(known_.set({Quantity::kSpiralFold, {}}, rates.fold));
      PIRX_TRY(known_.set({Quantity::kSpiralColumn, {}}, rates.column));
      PIRX_TRY(known_.set({Quantity::kSpiralScan, {}}, rates.scan));
      PIRX_TRY(known_.set({Quantity::kSpiralEncode, {}}, rates.encode));
      PIRX_TRY(known_.set({Quantity::kSpiralQuery, {}}, rates.query));
      PIRX_TRY(known_.set({Quantity::kSpiralDecode, {}}, rates.decode));
      return known_.seconds(id);
    }
    case Quantity::kScan:
    case Quantity::kPrepare:
      if (id.of[1] > kMostLogSize || id.of[2] < 1) return no_such_rate(id);
      return measure_several_servers(id);
    case Quantity::kShare:
    case Quantity::kSeeds:
    case Quantity::kGather:
      if (id.of[3] > kMostLogSize) return no_such_rate(id);
      return measure_several_servers(id);
    case Quantity::kHash: {
      if (id.of[0] > kMostLogSize) return no_such_rate(id);
      const Bytes bytes(std::size_t{1} << id.of[0]);
      std::byte all{0};
      const double seconds = cpu_seconds([&] { all |= sha256(bytes)[0]; });
      return seconds;
    }
  }
  return no_such_rate(id);
}

}  // namespace pirx::planner
