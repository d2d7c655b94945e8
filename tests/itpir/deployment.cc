// SPDX-License-Identifier: Apache-2.0
// Deployments, and the decoder over tiny fields, that several tests use.
#include "deployment.h"

namespace pirx::itpir::goldberg {

template class GoldbergCollector<pirx::testing::TinyGf4>;
template class GoldbergCollector<pirx::testing::TinyPrime<7>>;
template class GoldbergCollector<pirx::testing::TinyPrime<97>>;

}  // namespace pirx::itpir::goldberg

namespace pirx::itpir::goldberg::testing {

template class Deployment<gf2e::Gf2_8>;
template class Deployment<gf2e::Gf2_16>;
template class Deployment<fp::W160>;
template class Deployment<fp::W48>;
template class Deployment<fp::PrimeField>;
template class Deployment<pirx::testing::TinyGf4>;
template class Deployment<pirx::testing::TinyPrime<7>>;
template class Deployment<pirx::testing::TinyPrime<97>>;

}  // namespace pirx::itpir::goldberg::testing
