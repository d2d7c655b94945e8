// SPDX-License-Identifier: Apache-2.0
// What a server's plan may ask of a client.
#include "pirx/client/work.h"

#include <algorithm>
#include <cmath>

#include "pirx/base/cpu.h"
#include "pirx/protocol.h"

namespace pirx::client {
namespace {

using Milliseconds = std::chrono::milliseconds;

std::string show_bytes(double bytes) {
  const bool small = bytes < 10 << 20;
  return std::to_string(std::llround(std::ceil(bytes / (small ? 1 << 10 : 1 << 20)))) +
         (small ? " KiB" : " MiB");
}

double held_bytes(const Work& work, std::size_t queries) {
  return work.memory + static_cast<double>(queries) * work.row_bytes;
}

}  // namespace

Result<void> check_work(const Work& work, std::size_t queries, const WorkLimits& limits,
                        Milliseconds deadline) {
  const auto refuse = [](const std::string& asked, const std::string& most, const char* option) {
    return fail(ErrorCode::kResourceExhausted, "this plan asks the client for " + asked + ", more than " +
                                                   most + ": use another server, or raise " + option);
  };
  const auto seconds = [](double time) { return std::to_string(std::llround(std::ceil(time))) + " s"; };
  const auto bytes = static_cast<double>(limits.bytes), all = static_cast<double>(limits.memory);
  const double memory = held_bytes(work, queries);
  const double each = work.up + work.down + work.once_up + work.once_down;
  if (each > bytes) return refuse(show_bytes(each) + " of messages", show_bytes(bytes), "--max-bytes");
  // However little each of them takes: a server that is just in time with every reply makes them last.
  const double most = std::max(1.0, std::floor(bytes / (1 << 20)));
  if (work.query_messages > most) {
    return refuse(std::to_string(std::llround(work.query_messages)) + " messages a query",
                  std::to_string(std::llround(most)) + ", one for each MiB", "--max-bytes");
  }
  if (memory > all) return refuse(show_bytes(memory) + " of memory", show_bytes(all), "--max-memory");
  const auto in_seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  const double time = in_seconds(limits.time);
  const double paired = work.pair_seconds * static_cast<double>(queries);
  // Of a batch that is not full most is done once.
  const double own = work.seconds + work.once_seconds + paired;
  if (own > time) return refuse("about " + seconds(own) + " of work a query", seconds(time), "--max-work");
  const double least =
      std::max(work.seconds / machine_cores(), work.least_seconds + paired * static_cast<double>(queries));
  if (least > in_seconds(deadline)) {
    return refuse("about " + seconds(least) + (paired > 0 ? " for so many records at a time" : " a query"),
                  std::to_string(deadline.count()) + " ms", "--deadline");
  }
  return {};
}

Milliseconds usual_deadline(const Plan& plan) {
  return Milliseconds(plan.protocol().several ? 10'000 : 600'000);
}

std::size_t queries_of(const Plan& plan, std::size_t wishes) {
  return wishes * (plan.geometry().keyed() ? plan.work().key_queries : 1);
}

unsigned rounds_within(const Work& work, std::size_t queries, const WorkLimits& limits, unsigned rounds) {
  const double fit = static_cast<double>(limits.memory) / std::max(1.0, held_bytes(work, queries));
  return fit >= rounds ? rounds : std::max(1u, static_cast<unsigned>(fit));
}

}  // namespace pirx::client
