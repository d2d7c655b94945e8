// How this machine's rates are measured: a file for each protocol.
#pragma once

#include <functional>

#include "pirx/cpir/dj/keys.h"
#include "pirx/planner/rates.h"

namespace pirx::planner {

/// Median seconds of f() by this thread's processor time, of enough runs to fill about `seconds`: one at
/// least.
double cpu_seconds(const std::function<void()>& f, double seconds = 0.04);
/// The same of single runs, each after this core's caches were filled with something else: for what a client
/// does once.
inline constexpr std::size_t kColdRuns = 15;
double cold_seconds(const std::function<void()>& f);
/// The same by the clock on the wall, for what runs on several threads.
double wall_seconds(const std::function<void()>& f, double seconds = 0.04);

/// While it lives, parallel loops that do not say how many threads they want have one.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// kDjProduct, kDjSquare, kDjEntry, kDjRow, kDjCheck.
Result<double> measure_dj_server(const RateId& id, const cpir::dj::PublicKey& key);
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

/// kScan, kPrepare, kShare, kSeeds, kGather.
Result<double> measure_several_servers(const RateId& id);

}  // namespace pirx::planner
