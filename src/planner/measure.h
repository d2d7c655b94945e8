// How this machine's rates are measured: a file for each protocol.
#pragma once

#include <functional>

#include "pirx/cpir/dj/keys.h"
#include "pirx/cpir/spiral/common.h"
#include "pirx/planner/rates.h"

namespace pirx::planner {

/// Median seconds of f() by this thread's processor time, of enough runs to fill about `seconds`: one at
/// least.
double cpu_seconds(const std::function<void()>& f, double seconds = 0.04);
/// The least seconds by the clock on the wall, for what runs on several threads: other programs only add to
/// it.
double wall_seconds(const std::function<void()>& f, double seconds = 0.04);

/// While it lives, parallel loops that do not say how many threads they want have one.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  [[maybe_unused]] int before_;
};

/// What a server does for a query of a tree, at one level and with tables of one window.
struct DjServerRates {
  double square, row, entry, product;
};
Result<DjServerRates> measure_dj_server(const cpir::dj::PublicKey& key, unsigned s, unsigned window);
double measure_dj_check(const cpir::dj::PublicKey& key);
/// The windows that stand for small tables, in a core's own cache, and for large ones.
inline constexpr unsigned kSmallDjWindow = 7, kLargeDjWindow = 11;
/// kDjZero, kDjBit, kDjOpen.
Result<double> measure_dj_client(const RateId& id, const cpir::dj::SecretKey& key);

/// What a server does for a query of quadratic residuosity, told apart.
struct QrServerRates {
  double entry, product, column;
};
Result<QrServerRates> measure_qr_server(unsigned modulus_bits, unsigned window);
Result<double> measure_qr_check(unsigned modulus_bits);
struct QrClientRates {
  double hide, tell;
};
Result<QrClientRates> measure_qr_client(unsigned modulus_bits, cpir::dj::KeyPolicy policy);

/// What spiral::server_seconds counts without the pass over the database: folds and all else, in its own
/// seconds.
struct SpiralModel {
  double expand, fold;
};
SpiralModel spiral_model(const cpir::spiral::Params& params);
/// The rates of these names.
struct SpiralRates {
  double expand, fold, column, scan, encode, query, decode;
};
Result<SpiralRates> measure_spiral();

/// kScan, kPrepare, kShare, kSeeds, kGather.
Result<double> measure_several_servers(const RateId& id);

}  // namespace pirx::planner
