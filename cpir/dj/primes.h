// SPDX-License-Identifier: Apache-2.0
// Lets a caller end what OpenSSL does with primes: finding some takes seconds, and testing one a good part of
// that.
#pragma once

#include <openssl/bn.h>

#include <memory>

#include "pirx/base/result.h"
#include "pirx/base/stop.h"

namespace pirx::cpir::dj {

/// Asked by OpenSSL between candidates, and between the rounds of their tests.
class PrimeStop {
 public:
  explicit PrimeStop(const Stop& stop) : stop_(stop) {}
  /// 0 ends OpenSSL's work.
  int go_on() {
    stopped_ = stopped_ || (stop_ && stop_());
    return stopped_ ? 0 : 1;
  }
  /// BN_check_prime(), which gives -1 when it was ended, too.
  int check_prime(const BIGNUM* number, BN_CTX* context) {
    const std::unique_ptr<BN_GENCB, decltype([](BN_GENCB* callback) { BN_GENCB_free(callback); })> callback(
        BN_GENCB_new());
    if (!callback) return -1;
    BN_GENCB_set(
        callback.get(),
        [](int, int, BN_GENCB* self) { return static_cast<PrimeStop*>(BN_GENCB_get_arg(self))->go_on(); },
        this);
    return BN_check_prime(number, context, callback.get());
  }
  /// Why OpenSSL gave nothing: Unavailable if it was ended, and `otherwise` if it was not.
  tl::unexpected<Error> why(ErrorCode otherwise, std::string_view message) const {
    if (stopped_)
      return fail(ErrorCode::kUnavailable, "the deadline passed while the client's keys were made");
    return fail(otherwise, std::string(message));
  }

 private:
  const Stop& stop_;
  bool stopped_ = false;
};

}  // namespace pirx::cpir::dj
