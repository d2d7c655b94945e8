// SPDX-License-Identifier: Apache-2.0
// Retrievals of the C interface.
#include <atomic>

#include "objects.h"
#include "pirx/base/printable.h"

namespace pirx::c {
namespace {

std::atomic<std::uint64_t> next_id{1};

/// A retrieval, held for one call.
struct Held {
  std::shared_ptr<RetrievalObject> object;
  std::unique_lock<std::mutex> lock;
  RetrievalObject* operator->() const { return object.get(); }
};

Result<Held> hold(const pirx_retrieval* handle) {
  PIRX_ASSIGN(auto object, object_of<RetrievalObject>(handle));
  std::unique_lock lock(object->busy, std::try_to_lock);
  if (!lock) return invalid("another thread is in a call on this retrieval");
  return Held{std::move(object), std::move(lock)};
}

Result<Held> hold_running(const pirx_retrieval* handle) {
  PIRX_ASSIGN(auto held, hold(handle));
  if (held->retrieval == nullptr) return invalid("the retrieval has failed or is finished: free it");
  PIRX_TRY(held.object->client->check_process());
  return held;
}

/// The place in its round of a message whose reply is awaited.
Result<std::size_t> find_awaited(const RetrievalObject& object, std::uint64_t id) {
  const auto place = id - object.first_id;
  if (id < object.first_id || place >= object.handed_out || object.settled[place]) {
    return invalid("no reply to this message is awaited");
  }
  return static_cast<std::size_t>(place);
}

/// Keeps what a plan may ask of the client within the limits.
Result<void> limit(const Plan& plan, std::size_t wishes, LookUp& look_up) {
  auto work = plan.work();
  const bool several = plan.protocol().several;
  if (!several) work.row_bytes += work.up;  // all messages are kept until the object is freed
  const std::size_t queries = client::queries_of(plan, wishes);
  PIRX_TRY(client::check_work(work, queries, look_up.limits, std::chrono::hours(24)));
  if (several) {
    auto& rounds = look_up.retrieve.rounds;
    rounds = client::rounds_within(work, queries, look_up.limits, rounds.value_or(kUsualRounds));
  }
  return {};
}

template <class Wish>
Result<void> begin(const pirx_client* handle, std::span<const Wish> wishes, const pirx_options* options,
                   pirx_retrieval** retrieval) {
  PIRX_ASSIGN(auto client, object_of<const ClientObject>(handle));
  PIRX_TRY(check_not_null(retrieval));
  PIRX_TRY(client->check_process());
  PIRX_ASSIGN(auto look_up, read_options(options));
  PIRX_TRY(limit(*client->deployment.plan, wishes.size(), look_up));
  auto object = std::make_shared<RetrievalObject>();
  object->client = client;
  object->blame.resize(client->addresses.size());
  PIRX_ASSIGN(object->joined, client->join(look_up.retrieve.stop));
  const Plan& plan = *client->deployment.plan;
  if (plan.protocol().several) {
    object->deadline = look_up.deadline.value_or(client::usual_deadline(plan));
    look_up.retrieve.stop = [given = std::move(look_up.retrieve.stop), end = object->end] {
      return RetrievalObject::Clock::now() >= end->load() || (given && given());
    };
  }
  PIRX_ASSIGN(auto rng, Rng::from_os());
  PIRX_ASSIGN(object->retrieval, object->joined->retrieve(wishes, look_up.retrieve, std::move(rng)));
  give(std::move(object), retrieval);
  return {};
}

/// Does `work`, which decodes replies of several servers once there has been a round. All such work of a
/// retrieval together may take its deadline for each round; then `stop` says so, and the work ends.
template <class Work>
auto in_time(RetrievalObject& object, Work work) {
  const auto start = RetrievalObject::Clock::now();
  const bool decodes = object.deadline.count() > 0 && !object.rounds.empty();
  if (decodes) *object.end = start + object.deadline * object.rounds.size() - object.decoded;
  auto result = work();
  if (decodes) object.decoded += RetrievalObject::Clock::now() - start;
  *object.end = RetrievalObject::Clock::time_point::max();  // what else asks `stop` has time
  return result;
}

/// Adds what was wrong with each server's replies.
Error explain(const Error& error, const RetrievalObject& object) {
  std::string message = error.message();
  for (std::size_t i = 0; i < object.blame.size(); ++i) {
    if (!object.blame[i].empty())
      message += "\n  " + object.client->addresses[i].origin + ": " + object.blame[i];
  }
  return Error(error.code(), std::move(message));
}

}  // namespace

AnswerObject::AnswerObject(Answer result) : answer(std::move(result)), found(answer.records.size(), true) {
  for (const auto wish : answer.missing) found.at(wish) = false;
}

}  // namespace pirx::c

using namespace pirx::c;
using pirx::Result;

pirx_status pirx_retrieval_begin_positions(const pirx_client* client, const uint64_t* positions, size_t count,
                                           const pirx_options* options, pirx_retrieval** retrieval) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto wishes, read_positions(positions, count));
    return begin(client, wishes, options, retrieval);
  });
}

pirx_status pirx_retrieval_begin_keys(const pirx_client* client, const pirx_bytes* keys, size_t count,
                                      const pirx_options* options, pirx_retrieval** retrieval) {
  return guarded([&]() -> Result<void> {
    PIRX_ASSIGN(const auto wishes, read_keys(keys, count));
    return begin(client, wishes.expose(), options, retrieval);
  });
}

pirx_status pirx_retrieval_next(pirx_retrieval* retrieval, pirx_message* message) {
  return guarded([&]() -> Result<void> {
    PIRX_TRY(check_not_null(message));
    PIRX_ASSIGN(const auto held, hold_running(retrieval));
    auto& object = *held.object;
    const auto say = [&](pirx_action action) -> Result<void> {
      *message = {};
      message->action = action;
      return {};
    };
    if (object.handed_out == object.settled.size()) {
      if (object.retrieval->waiting()) return say(PIRX_RECEIVE);
      // Put back below: what fails here ends the retrieval.
      auto retrieval_now = std::move(object.retrieval);
      Result<std::vector<pirx::Message>> round;
      if (!object.done) round = in_time(object, [&] { return retrieval_now->outgoing(); });
      if (!round) return tl::unexpected(explain(round.error(), object));
      std::vector<bool> settled(round->size(), false);
      if (!round->empty()) object.rounds.push_back(std::move(*round));
      object.retrieval = std::move(retrieval_now);
      if (settled.empty()) {
        object.done = true;
        return say(PIRX_FINISH);
      }
      object.first_id = next_id.fetch_add(settled.size());
      object.handed_out = 0;
      object.settled = std::move(settled);
    }
    const auto place = object.handed_out++;
    const auto& given = object.rounds.back()[place];
    *message = {PIRX_SEND,
                object.first_id + place,
                given.server,
                object.client->addresses[given.server].origin.c_str(),
                object.client->query_paths[given.server].c_str(),
                reinterpret_cast<const std::uint8_t*>(given.bytes.data()),
                given.bytes.size(),
                given.reply_bytes};
    return {};
  });
}

pirx_status pirx_retrieval_waiting(const pirx_retrieval* retrieval, int* waiting) {
  return guarded([&]() -> Result<void> {
    PIRX_TRY(check_not_null(waiting));
    PIRX_ASSIGN(const auto held, hold(retrieval));
    *waiting = held->retrieval != nullptr && held->retrieval->waiting() ? 1 : 0;
    return {};
  });
}

pirx_status pirx_retrieval_receive(pirx_retrieval* retrieval, uint64_t id, const void* reply, size_t size) {
  return guarded([&]() -> Result<void> {
    if (size != 0) PIRX_TRY(check_not_null(reply));
    PIRX_ASSIGN(const auto held, hold_running(retrieval));
    auto& object = *held.object;
    PIRX_ASSIGN(const auto place, find_awaited(object, id));
    const auto& message = object.rounds.back()[place];
    object.settled[place] = true;
    Result<void> taken;
    if (size > message.reply_bytes) {
      const pirx::Error error(pirx::ErrorCode::kDataLoss, "the reply is longer than any valid one");
      PIRX_TRY(object.retrieval->lost(message.id, error));
      taken = tl::unexpected(error);
    } else {
      taken = object.retrieval->receive(message.id, {static_cast<const std::byte*>(reply), size});
    }
    if (!taken) object.blame[message.server] = taken.error().to_string();
    return taken;
  });
}

pirx_status pirx_retrieval_lost(pirx_retrieval* retrieval, uint64_t id, pirx_status why, const char* text) {
  return guarded([&]() -> Result<void> {
    if (why < PIRX_INVALID_ARGUMENT || why > PIRX_INTERNAL) {
      return pirx::invalid("this is no reason why there is no reply");
    }
    PIRX_ASSIGN(const auto held, hold_running(retrieval));
    auto& object = *held.object;
    PIRX_ASSIGN(const auto place, find_awaited(object, id));
    const auto& message = object.rounds.back()[place];
    const auto said = pirx::printable_ascii(text == nullptr ? "there is no reply" : text, 1000);
    const pirx::Error error(static_cast<pirx::ErrorCode>(why), said);
    object.settled[place] = true;
    object.blame[message.server] = error.to_string();
    return object.retrieval->lost(message.id, error);
  });
}

pirx_status pirx_retrieval_done(const pirx_retrieval* retrieval, int* done) {
  return guarded([&]() -> Result<void> {
    PIRX_TRY(check_not_null(done));
    PIRX_ASSIGN(const auto held, hold(retrieval));
    *done = held->retrieval != nullptr && held->done ? 1 : 0;
    return {};
  });
}

pirx_status pirx_retrieval_finish(pirx_retrieval* retrieval, pirx_answer** answer) {
  return guarded([&]() -> Result<void> {
    PIRX_TRY(check_not_null(answer));
    PIRX_ASSIGN(const auto held, hold_running(retrieval));
    auto& object = *held.object;
    if (!object.done) return pirx::invalid("too early: pirx_retrieval_next() has not said PIRX_FINISH");
    const auto ending = std::move(object.retrieval);
    auto found = in_time(object, [&] { return std::move(*ending).finish(); });
    if (!found) return tl::unexpected(explain(found.error(), object));
    give(std::make_shared<AnswerObject>(std::move(*found)), answer);
    return {};
  });
}

pirx_status pirx_retrieval_free(pirx_retrieval* retrieval) { return free_object<RetrievalObject>(retrieval); }
