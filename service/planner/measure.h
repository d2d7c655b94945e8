// Measures this machine's rates. Each protocol has a .cc file of its own.
#pragma once

#include <functional>

#include "pirx/cpir/dj/keys.h"
#include "pirx/cpir/spiral/common.h"
#include "pirx/planner/rates.h"

namespace pirx::planner {

/// The median seconds of f() by this thread's processor time. Runs f often enough to fill about `seconds`,
/// and at least once.
double cpu_seconds(const std::function<void()>& f, double seconds = 0.04);
/// The least seconds of f() by the wall clock, for work on several threads: other programs can only add to
/// it.
double wall_seconds(const std::function<void()>& f, double seconds = 0.04);

/// While an object lives, parallel loops that do not set a number of threads use one.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  [[maybe_unused]] int before_;
};

/// A server's work for a query of a tree, at one level and with tables of one window.
struct DjServerRates {
  double square, row, entry, product;
};
Result<DjServerRates> measure_dj_server(const cpir::dj::PublicKey& key, unsigned s, unsigned window);
double measure_dj_check(const cpir::dj::PublicKey& key);
/// The windows that stand for small tables, which fit a core's own cache, and for large ones.
inline constexpr unsigned kSmallDjWindow = 7, kLargeDjWindow = 11;
/// Measures kDjZero, kDjBit and kDjOpen.
Result<double> measure_dj_client(const RateId& id, const cpir::dj::SecretKey& key);

/// A server's work for a query of quadratic residuosity, step by step.
struct QrServerRates {
  double entry, product, column;
};
Result<QrServerRates> measure_qr_server(unsigned modulus_bits, unsigned window);
Result<double> measure_qr_check(unsigned modulus_bits);
struct QrClientRates {
  double hide, tell;
};
Result<QrClientRates> measure_qr_client(unsigned modulus_bits, cpir::dj::KeyPolicy policy);

/// What spiral::server_seconds counts besides the pass over the database: the folds, and the rest, in its own
/// seconds.
struct SpiralModel {
  double expand, fold;
};
SpiralModel spiral_model(const cpir::spiral::Params& params);
/// The rates with these names.
struct SpiralRates {
  double expand, fold, column, scan, encode, query, decode;
};
Result<SpiralRates> measure_spiral();

/// Measures kScan, kPrepare, kShare, kSeeds and kGather.
Result<double> measure_several_servers(const RateId& id);

}  // namespace pirx::planner
