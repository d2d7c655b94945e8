// SPDX-License-Identifier: Apache-2.0
// Checks questions, asks all protocols for offers, and gives the advice.
#include <algorithm>
#include <cstdio>
#include <limits>

#include "pirx/base/buffer.h"
#include "pirx/planner/planner.h"
#include "pirx/protocol.h"

namespace pirx::planner {
namespace {

constexpr double kMostBandwidth = 1e15, kMostSeconds = 3600;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 56;
constexpr int kMostCores = 4096;
constexpr std::uint64_t kMostQueries = 1'000'000'000'000;

Result<void> check_bandwidth(double bits, const char* direction) {
  if (bits > 0 && bits <= kMostBandwidth) return {};  // and no NaN
  return invalid(std::string("the bandwidth ") + direction +
                 " must be above zero and at most 10^15 bits a second");
}

std::string three_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string in_words(double seconds) {
  if (seconds < 1e-3) return three_digits(1e6 * seconds) + " us";
  if (seconds < 1) return three_digits(1e3 * seconds) + " ms";
  return three_digits(seconds) + " s";
}

std::string bits_in_words(double bits) {
  if (bits < 1e6) return three_digits(bits / 1e3) + " kbit/s";
  if (bits < 1e9) return three_digits(bits / 1e6) + " Mbit/s";
  return three_digits(bits / 1e9) + " Gbit/s";
}

/// What the offers come to, for people.
std::string advise(const Plan& plan) {
  const auto& question = plan.question;
  if (plan.offers.empty()) return "No scheme fits the question.";
  const auto& best = plan.offers.front();
  const double best_time = total_seconds(best, question, question.link);
  const std::string each = question.queries > 1 ? " a query" : "";
  if (best.whole) {
    std::string text = "Download the database (pirx serve --protocol " + best.protocol +
                       "): over this link that takes " + in_words(best_time) + each +
                       " and tells the server nothing at all.";
    if (plan.offers.size() == 1) return text + " No private scheme fits the question.";
    const auto& next = plan.offers[1];
    text += " The fastest private query, " + next.protocol +
            (next.settings.empty() ? "" : " (" + next.settings + ")") + ", takes " +
            in_words(total_seconds(next, question, question.link)) + ".";
    const auto below = crossover(plan, next, question.queries);
    if (below) {
      text += " It pays below " + bits_in_words(*below) + ".";
    } else {
      text += " It pays on no link: its messages are longer than the download's.";
    }
    return text;
  }
  std::string text = "Use " + best.protocol + (best.settings.empty() ? "" : " (" + best.settings + ")") +
                     ": " + in_words(best_time) + each;
  if (const auto* download = plan.download()) {
    text += ", " + three_digits(total_seconds(*download, question, question.link) / best_time) +
            " times faster than a download";
    if (question.queries > 1) text += " shared by " + std::to_string(question.queries) + " queries";
  }
  text += ".";
  if (best.threshold > 0) {
    text += " It hides the record as long as no more than " + std::to_string(best.threshold) + " of " +
            std::to_string(best.servers) + " servers talk to each other.";
    const auto alone = std::find_if(plan.offers.begin(), plan.offers.end(),
                                    [](const Offer& offer) { return offer.servers == 1 && !offer.whole; });
    if (alone != plan.offers.end()) {
      text += " With a single server, " + alone->protocol +
              (alone->settings.empty() ? "" : " (" + alone->settings + ")") + " takes " +
              in_words(total_seconds(*alone, question, question.link)) + ".";
    }
  }
  return text;
}

}  // namespace

Result<void> check(const Question& question) {
  if (question.records == 0) return invalid("there are no records: give how many the database has");
  if (question.record_bytes == 0) return invalid("records have no bytes: give how long they are");
  const auto bytes = checked_mul(question.records, question.record_bytes);
  if (!bytes || *bytes > kMostBytes) {
    return invalid("the records take more than 2^56 bytes: give fewer or shorter ones");
  }
  if (question.geometry && (question.geometry->records() != question.records ||
                            question.geometry->record_bytes() != question.record_bytes)) {
    return invalid("the database has other records than the question: take both from it");
  }
  PIRX_TRY(check_bandwidth(question.link.down, "down"));
  PIRX_TRY(check_bandwidth(question.link.up, "up"));
  if (!(question.link.round_trip >= 0 && question.link.round_trip <= kMostSeconds)) {
    return invalid("the round trip must be from 0 to 3600 seconds");
  }
  for (const int cores : {question.server_cores, question.client_cores}) {
    if (cores < 1 || cores > kMostCores) {
      return invalid("a machine has from 1 to " + std::to_string(kMostCores) + " cores, not " +
                     std::to_string(cores));
    }
  }
  if (question.servers < 1 || question.servers > kMaxServers) {
    return invalid("there are from 1 to " + std::to_string(kMaxServers) + " servers, not " +
                   std::to_string(question.servers));
  }
  if (question.collusion < 1) return invalid("a server knows what it sees itself: collusion is at least 1");
  if (question.servers > 1 && question.collusion >= question.servers) {
    return invalid("if all " + std::to_string(question.servers) +
                   " servers may talk to each other, they are one: give --servers 1");
  }
  if (question.queries < 1 || question.queries > kMostQueries) {
    return invalid("a version of the database answers from 1 to 10^12 queries, not " +
                   std::to_string(question.queries));
  }
  const unsigned bits = question.modulus_bits;
  if (question.reproduction ? bits != 1024 : bits != 2048 && bits != 3072 && bits != 4096) {
    return invalid("keys of " + std::to_string(bits) +
                   " bits are not made: give 2048, 3072 or 4096, and 1024 only to reproduce the papers");
  }
  return {};
}

const Offer* Plan::download() const noexcept {
  const auto at = std::find_if(offers.begin(), offers.end(), [](const Offer& offer) { return offer.whole; });
  return at == offers.end() ? nullptr : &*at;
}

std::optional<double> crossover(const Plan& plan, const Offer& offer, std::uint64_t queries) {
  constexpr double kAlways = std::numeric_limits<double>::infinity();
  const Offer* const download = plan.download();
  if (download == nullptr) return kAlways;
  const auto& question = plan.question;
  const auto q = static_cast<double>(queries);
  const double ratio = question.link.up / question.link.down;
  // A byte up takes as long as 1 / ratio bytes down.
  const auto bytes = [&](const Offer& of) {
    return static_cast<double>(of.bytes_once) + static_cast<double>(of.bytes_once_up) / ratio +
           q * (static_cast<double>(of.bytes_down) + static_cast<double>(of.bytes_up) / ratio);
  };
  const auto other_seconds = [&](const Offer& of) {
    const double round_trips =
        static_cast<double>(of.round_trips_once) + q * static_cast<double>(of.round_trips);
    return round_trips * question.link.round_trip + of.prepare_seconds +
           q * (of.server_seconds + of.client_seconds + (question.ahead ? 0 : of.ahead_seconds));
  };
  const double bits = 8 * (bytes(*download) - bytes(offer));
  if (bits <= 0) return std::nullopt;
  const double seconds = other_seconds(offer) - other_seconds(*download);
  return seconds > 0 ? bits / seconds : kAlways;
}

Result<Plan> make_plan(const Question& question, Rates& rates) {
  PIRX_TRY(check(question));
  Plan plan{question, {}, {}, {}};
  for (const Protocol* protocol : protocols()) {
    for (const Scheme& scheme : protocol->schemes) {
      auto offer = scheme.offer(question, rates);
      if (offer) {
        offer->protocol = protocol->name;
        plan.offers.push_back(std::move(*offer));
      } else if (offer.error().code() == ErrorCode::kInvalidArgument) {
        plan.left_out.emplace_back(scheme.name, offer.error().message());
      } else {
        return tl::unexpected(std::move(offer).error());
      }
    }
  }
  std::sort(plan.offers.begin(), plan.offers.end(), [&](const Offer& a, const Offer& b) {
    return total_seconds(a, question, question.link) < total_seconds(b, question, question.link);
  });
  plan.advice = advise(plan);
  return plan;
}

}  // namespace pirx::planner
