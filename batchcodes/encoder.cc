// SPDX-License-Identifier: Apache-2.0
// Instantiates Encoder for the shipped fields.
#include "batchcodes/encoder_impl.h"

namespace pirx::batchcodes {

template class Encoder<gf2e::Gf2_8>;
template class Encoder<gf2e::Gf2_16>;
template class Encoder<fp::W160>;
template class Encoder<fp::W48>;
template class Encoder<fp::PrimeField>;

}  // namespace pirx::batchcodes
