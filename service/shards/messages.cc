// SPDX-License-Identifier: Apache-2.0
// The checks by which ranks agree before anything is served.
#include "messages.h"

#include <unistd.h>

#include <algorithm>

#include "pirx/base/wire.h"

namespace pirx::shards {

Digest digest_of(const Product& whole, Split split, int ranks, ByteSpan parameters, ByteSpan content) {
  Writer writer;
  constexpr std::string_view kProgram = "pirx " PIRX_VERSION;
  writer.put_bytes(std::as_bytes(std::span(kProgram)));
  whole.field.encode(writer);
  for (const std::uint64_t number :
       {std::uint64_t{whole.rows}, std::uint64_t{whole.words}, std::uint64_t{whole.elem_bits},
        std::uint64_t{whole.sum_bytes}, static_cast<std::uint64_t>(split), static_cast<std::uint64_t>(ranks),
        std::uint64_t{parameters.size()}}) {
    writer.put(number);
  }
  writer.put_bytes(parameters);
  writer.put_bytes(content);
  return sha256(std::move(writer).take());
}

Hello make_hello(const Digest& same, const Part& part) {
  Hello hello;
  hello.same = same;
  hello.part = part;
  hello.process = static_cast<std::uint64_t>(getpid());
  if (gethostname(hello.host.data(), hello.host.size() - 1) != 0) hello.host = {'?'};
  return hello;
}

std::string rank_name(int rank, const Hello& hello) {
  const auto* end = std::find(hello.host.begin(), hello.host.end() - 1, '\0');
  return "rank " + std::to_string(rank) + " (process " + std::to_string(hello.process) + " on " +
         std::string(hello.host.begin(), end) + ")";
}

Result<void> check_hello(const Hello& hello, const Digest& same, const Part& part, int rank) {
  if (hello.magic != Hello::kMagic || hello.size != sizeof(Hello)) {
    return invalid("rank " + std::to_string(rank) +
                   " runs another program or another kind of machine: install the same pirx everywhere");
  }
  if (hello.same != same) {
    return invalid(rank_name(rank, hello) +
                   " would serve something else than rank 0: give every rank the same options, the same pirx "
                   "and the same database in the same epoch ('pirx db info' on each machine)");
  }
  if (hello.part != part) {
    return invalid(rank_name(rank, hello) + " holds another part of the database than it should");
  }
  return {};
}

}  // namespace pirx::shards
