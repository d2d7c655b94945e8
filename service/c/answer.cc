// SPDX-License-Identifier: Apache-2.0
// Answers of the C interface.
#include <algorithm>

#include "objects.h"

using namespace pirx::c;
using pirx::Result;

namespace {

// The numbers of both interfaces are the same.
static_assert(PIRX_PROVEN == static_cast<int>(pirx::Certainty::kProven));
static_assert(PIRX_UNVERIFIED == static_cast<int>(pirx::Certainty::kUnverified));
static_assert(PIRX_SERVER_LIED == static_cast<int>(pirx::ServerStatus::kLied));
static_assert(PIRX_SERVER_STALE == static_cast<int>(pirx::ServerStatus::kStaleEpoch));
static_assert(PIRX_INVALID_ARGUMENT == static_cast<int>(pirx::ErrorCode::kInvalidArgument));
static_assert(PIRX_INTERNAL == static_cast<int>(pirx::ErrorCode::kInternal));
static_assert(PIRX_MAX_WISHES == pirx::kMaxWishes);

}  // namespace

pirx_status pirx_answer_records(const pirx_answer* answer, size_t* count) {
  return tell<AnswerObject>(answer, count, [](const auto& object) { return object.answer.records.size(); });
}

pirx_status pirx_answer_record(const pirx_answer* answer, size_t index, pirx_record* record) {
  return tell<AnswerObject>(answer, record, [&](const auto& object) -> Result<pirx_record> {
    const auto& records = object.answer.records;
    if (index >= records.size()) {
      return pirx::fail(pirx::ErrorCode::kOutOfRange,
                        "the answer has " + std::to_string(records.size()) + " records");
    }
    const auto& bytes = records[index];
    return pirx_record{bytes.empty() ? nullptr : reinterpret_cast<const std::uint8_t*>(bytes.data()),
                       bytes.size(), object.found[index] ? 1 : 0,
                       static_cast<pirx_certainty>(object.answer.certainty)};
  });
}

pirx_status pirx_answer_summary(const pirx_answer* answer, pirx_summary* summary) {
  return tell<AnswerObject>(answer, summary, [](const auto& object) {
    const auto& found = object.answer;
    return pirx_summary{static_cast<pirx_certainty>(found.certainty), found.responders, found.proof_bound,
                        found.rounds};
  });
}

pirx_status pirx_answer_server(const pirx_answer* answer, size_t server, pirx_server_status* status) {
  return tell<AnswerObject>(answer, status, [&](const auto& object) -> Result<pirx_server_status> {
    const auto& servers = object.answer.servers;
    if (server >= servers.size()) {
      return pirx::fail(pirx::ErrorCode::kOutOfRange,
                        "there are " + std::to_string(servers.size()) + " servers");
    }
    return static_cast<pirx_server_status>(servers[server]);
  });
}

pirx_status pirx_answer_liars(const pirx_answer* answer, size_t* servers, size_t capacity, size_t* count) {
  bool fits = true;
  const auto status = guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto object, object_of<const AnswerObject>(answer));
    PIRX_TRY(check_not_null(count));
    if (capacity != 0) PIRX_TRY(check_not_null(servers));
    std::vector<std::size_t> liars;
    for (std::size_t i = 0; i < object->answer.servers.size(); ++i) {
      if (object->answer.servers[i] == pirx::ServerStatus::kLied) liars.push_back(i);
    }
    *count = liars.size();
    fits = liars.size() <= capacity;
    if (fits) std::copy(liars.begin(), liars.end(), servers);
    return {};
  });
  return fits ? status : report(PIRX_BUFFER_TOO_SMALL, "more servers lied than there is room for");
}

pirx_status pirx_answer_free(pirx_answer* answer) { return free_object<AnswerObject>(answer); }
