// SPDX-License-Identifier: Apache-2.0
// Simulates clients and servers of every protocol in one thread, in virtual time: a network that loses,
// delays, reorders and repeats, servers that crash, come back with another epoch or a damaged file, and lie
// in every way of byzantine.h. The clients are the library's: a Retrieval, or a Fetcher over an `Ask` of
// ours. One number, the seed, decides everything, the coins included.
//
//     simulate [--seeds N] [--first K] [--verbose] [--planted coins|wishes|records|names]
//
// What must hold in every simulation:
//  - An answer that is proven is right, and whoever it says lied did, if no more servers lied than its proof
//    bound. So is an answer of honest replies alone. In the other direction, who lied within the bound in a
//    reply that was used is named.
//  - If enough honest servers answer in time, there is an answer, and it is right.
//  - No server gets a piece of a request twice, in this run of the program (coins).
//  - The number, order and lengths of requests are those of a second simulation in which other records are
//    wanted, with the same faults and, if there are several servers, the same coins.
//  - A reply that is not awaited is refused and changes nothing. Every retrieval ends.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <queue>
#include <unordered_set>

#include "byzantine.h"
#include "pirx/client/fetch.h"
#include "support/open_verified.h"

namespace {
std::mt19937_64 entropy;
}

/// The kernel's randomness, as the library asks for it: here the seed decides.
extern "C" int getentropy(void* buffer, std::size_t size) {
  auto* bytes = static_cast<unsigned char*>(buffer);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<unsigned char>(entropy());
  return 0;
}

namespace pirx::simulation {
namespace {

using Time = std::uint64_t;  // milliseconds
constexpr Time kDeadline = 10'000;

struct Arguments {
  std::uint64_t seeds = 1000, first = 1;
  bool verbose = false;
  std::string planted;
};
Arguments arguments;

/// Things that happen later, in the order of their times.
class Clock {
 public:
  Time now() const { return now_; }
  void after(Time delay, std::function<void()> what) {
    events_.push({now_ + delay, next_++, std::move(what)});
  }
  /// Lets the next thing happen. False: nothing will.
  bool step() {
    if (events_.empty()) return false;
    auto event = events_.top();
    events_.pop();
    now_ = event.at;
    event.what();
    return true;
  }

 private:
  struct Event {
    Time at;
    std::uint64_t number;
    std::function<void()> what;
    bool operator<(const Event& other) const {
      return std::tie(at, number) > std::tie(other.at, other.number);
    }
  };
  std::priority_queue<Event> events_;
  Time now_ = 0;
  std::uint64_t next_ = 0;
};

/// Everything that goes wrong in a simulation, decided before it begins.
struct Script {
  std::uint64_t seed = 0;
  const World* world = nullptr;
  bool fetcher = false;
  unsigned retrievals = 1, wishes = 1;
  bool wait_for_all = false;
  unsigned loss = 0, repeats = 0;  // of 1000 messages
  Time longest_delay = 1;
  struct Server {
    Kind kind = Kind::kHonest;
    Time down_from = ~Time{0}, down_to = ~Time{0}, rolls_at = ~Time{0};
    Content after_crash = kOld;
  };
  std::vector<Server> servers;
  bool disk_is_damaged = false;
};

Script make_script(std::uint64_t seed, const World& world, std::mt19937_64& engine) {
  Script script;
  script.seed = seed;
  script.world = &world;
  const auto chance = [&](unsigned of_100) { return engine() % 100 < of_100; };
  const auto& setting = world.setting();
  script.fetcher = chance(50);
  script.retrievals = 1 + static_cast<unsigned>(engine() % 2);
  script.wishes = 1 + static_cast<unsigned>(engine() % 2);
  script.wait_for_all = setting.protocol->several && chance(30);
  if (chance(30)) script.loss = static_cast<unsigned>(engine() % 300);
  if (chance(30)) script.repeats = 300;
  script.longest_delay = chance(90) ? 1 + engine() % 500 : 8000;
  script.servers.resize(setting.servers);
  // Liars: none, within the bound, any number.
  const auto mode = engine() % 10;
  const unsigned redundant = setting.servers - setting.needed;
  unsigned liars = 0;
  if (mode >= 3)
    liars = mode < 7 ? static_cast<unsigned>(engine() % (redundant / 2 + 1))
                     : static_cast<unsigned>(engine() % (setting.servers + 1));
  if (!setting.protocol->several) liars = chance(50);
  const bool one_kind = chance(50);
  const auto some_kind = [&] {
    return static_cast<Kind>(1 + engine() % (static_cast<unsigned>(Kind::kCount) - 1));
  };
  const Kind kind = some_kind();
  for (; liars > 0; --liars) {
    script.servers[engine() % setting.servers].kind = one_kind ? kind : some_kind();
  }
  if (chance(20)) {
    for (auto& server : script.servers) {
      if (!chance(30)) continue;
      server.down_from = engine() % 3000;
      server.down_to = chance(80) ? server.down_from + engine() % 2000 : ~Time{0};
      server.after_crash = static_cast<Content>(engine() % kContents);
    }
  }
  if (chance(25)) {
    const Time published = engine() % 1500;
    for (auto& server : script.servers) {
      if (chance(85)) server.rolls_at = published + engine() % 700;
    }
  }
  script.disk_is_damaged = chance(1);
  return script;
}

/// A request on its way, as somebody at the servers' doors sees it.
struct Sighting {
  unsigned retrieval, wave;
  std::size_t server, bytes;
  friend bool operator==(const Sighting&, const Sighting&) = default;
};

/// What happened to a server's messages in one retrieval.
struct Conduct {
  bool trouble = false;      // one was lost, late, refused or wrong
  bool wrong = false;        // it sent a reply that is not the true one, while one was awaited
  bool to_be_named = false;  // and the retrieval took it, and enough to see it by
};

class Simulation {
 public:
  /// No ledger: the coins are those of an earlier simulation.
  Simulation(const Script& script, std::unordered_set<std::uint64_t>* ledger)
      : script_(script), world_(*script.world), ledger_(ledger), before_(script.servers.size()) {}

  void run(const std::vector<std::vector<std::uint64_t>>& wanted) {
    if (script_.fetcher) {
      fetch_all(wanted);
    } else {
      drive_all(wanted);
    }
  }
  const std::vector<Sighting>& seen() const { return seen_; }
  const std::string& violation() const { return violation_; }
  unsigned answers() const { return answers_; }

 private:
  using Deliver = std::function<void(std::size_t server, const Result<Bytes>& reply, bool wrong)>;

  void violated(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }
  void say(const std::string& what) const {
    if (arguments.verbose)
      std::printf("%8llu ms  %s\n", static_cast<unsigned long long>(clock_.now()), what.c_str());
  }
  bool is_down(std::size_t i, Time at) const {
    return at >= script_.servers[i].down_from && at < script_.servers[i].down_to;
  }
  Content content_at(std::size_t i, Time at) const {
    const auto& server = script_.servers[i];
    if (at >= server.down_to) return server.after_crash;
    return at >= server.rolls_at ? kNew : kOld;
  }

  /// Sends a wave. `deliver` is called for every reply that comes, and for errors.
  void send(unsigned retrieval, unsigned wave, Content content, std::vector<Bytes> requests,
            std::uint64_t odd_wish, const std::shared_ptr<std::vector<Conduct>>& conduct,
            const Deliver& deliver) {
    const auto shared = std::make_shared<const std::vector<Bytes>>(std::move(requests));
    for (std::size_t i = 0; i < shared->size(); ++i) {
      const auto& request = (*shared)[i];
      std::seed_seq sequence{script_.seed, std::uint64_t{retrieval}, std::uint64_t{wave}, std::uint64_t{i}};
      std::mt19937_64 engine(sequence);
      seen_.push_back({retrieval, wave, i, request.size() + (arguments.planted == "wishes" ? odd_wish : 0)});
      const bool lost = engine() % 1000 < script_.loss;
      enter(i, request);
      if (lost && arguments.planted == "coins") enter(i, request);  // a transport that tries again
      const Time up = 1 + engine() % script_.longest_delay, down = 1 + engine() % script_.longest_delay;
      const bool repeated = engine() % 1000 < script_.repeats;
      if (lost) {
        (*conduct)[i].trouble = true;
        continue;
      }
      clock_.after(
          up, [=, this]() mutable { arrive(i, content, shared, engine, down, repeated, conduct, deliver); });
    }
  }

  void enter(std::size_t i, ByteSpan request) {
    if (ledger_ == nullptr) return;
    for (const auto piece : ledger_pieces(*world_.setting().protocol, i, request)) {
      if (!world_.is_public(piece) && !ledger_->insert(piece).second) {
        violated("server " + std::to_string(i) + " got the same coins twice");
      }
    }
  }

  /// A request is at its server.
  void arrive(std::size_t i, Content content, const std::shared_ptr<const std::vector<Bytes>>& requests,
              std::mt19937_64& engine, Time down, bool repeated,
              const std::shared_ptr<std::vector<Conduct>>& conduct, const Deliver& deliver) {
    auto& mine = (*conduct)[i];
    const auto& server = script_.servers[i];
    const auto fails = [&](Time delay, ErrorCode code, const char* why) {
      mine.trouble = true;
      say("server " + std::to_string(i) + ": " + why);
      clock_.after(delay, [=] { deliver(i, Result<Bytes>(tl::unexpected(Error(code, why))), false); });
    };
    if (is_down(i, clock_.now())) return fails(1, ErrorCode::kUnavailable, "is down");
    const ByteSpan request = (*requests)[i];
    // A liar has every database; an honest server the one of the moment.
    const bool lies = server.kind != Kind::kHonest;
    auto replies = world_.server(i, lies ? content : content_at(i, clock_.now())).answer({&request, 1});
    if (!replies.front()) {
      if (lies) violated("a request was refused: " + replies.front().error().to_string());
      return fails(down, replies.front().error().code(), "refuses honestly");
    }
    const Bytes honest = std::move(*replies.front());
    const Bytes before = std::exchange(before_[i], honest);
    Bytes reply = honest;
    switch (server.kind) {
      case Kind::kSilent:
        mine.trouble = true;
        return;
      case Kind::kRefuses: {
        constexpr ErrorCode kCodes[] = {ErrorCode::kInvalidArgument,   ErrorCode::kStaleEpoch,
                                        ErrorCode::kResourceExhausted, ErrorCode::kInternal,
                                        ErrorCode::kUnauthenticated,   ErrorCode::kDataLoss};
        return fails(down, kCodes[engine() % std::size(kCodes)], "refuses");
      }
      case Kind::kSlow:
        down += kDeadline;
        break;
      case Kind::kDrips:
        down = kDeadline - std::min(clock_.now() % kDeadline, kDeadline - 1) - 1 + engine() % 3;
        break;
      default:
        if (answers_wrongly(server.kind)) {
          reply =
              wrong_reply(server.kind, {world_, i, content, *requests, honest, before, script_.seed}, engine);
        }
    }
    const bool wrong = reply != honest;
    if (wrong || server.kind != Kind::kHonest) mine.trouble = true;
    const auto arrives = [=, this](const Bytes& bytes, bool is_wrong) {
      if (clock_.now() >= script_.servers[i].down_from &&
          clock_.now() - down < script_.servers[i].down_from) {
        (*conduct)[i].trouble = true;
        return deliver(i, Result<Bytes>(tl::unexpected(Error(ErrorCode::kUnavailable, "reset"))), false);
      }
      deliver(i, bytes, is_wrong);
    };
    const bool honest_first = server.kind == Kind::kDuplicates && engine() % 2 == 0;
    if (honest_first) clock_.after(down, [=] { arrives(honest, false); });
    clock_.after(down, [=] { arrives(reply, wrong); });
    if (repeated) clock_.after(down + 1 + engine() % 200, [=] { arrives(reply, wrong); });
  }

  /// Whether the answer to a retrieval is what it must be.
  void check(const Result<Answer>& result, Content content, const std::vector<std::uint64_t>& wanted,
             const std::vector<Conduct>& conduct) {
    const auto& setting = world_.setting();
    const auto count = [&](auto member) {
      return static_cast<unsigned>(std::count_if(conduct.begin(), conduct.end(), member));
    };
    const unsigned wrong = count([](const Conduct& c) { return c.wrong; });
    const unsigned good = count([](const Conduct& c) { return !c.trouble; });
    const auto liars =
        static_cast<unsigned>(std::count_if(script_.servers.begin(), script_.servers.end(),
                                            [](const auto& server) { return answers_wrongly(server.kind); }));
    const bool must_answer = good >= setting.needed + liars;
    const bool out_of_range = !setting.keyed && std::any_of(wanted.begin(), wanted.end(),
                                                            [&](auto i) { return i >= world_.records(); });
    if (!result) {
      say("no answer: " + result.error().to_string());
      if (must_answer && !(out_of_range && result.error().code() == ErrorCode::kOutOfRange)) {
        violated("no answer, though " + std::to_string(good) +
                 " servers were honest and in time: " + result.error().to_string());
      }
      return;
    }
    ++answers_;
    Answer answer = *result;
    if (arguments.planted == "records" && wrong > 0) answer.records[0].push_back(std::byte{0});
    if (arguments.planted == "names" && answer.certainty == Certainty::kProven) {
      answer.servers[0] = ServerStatus::kLied;
    }
    bool right = !out_of_range && answer.records.size() == wanted.size();
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; right && i < wanted.size(); ++i) {
      const bool there = wanted[i] < world_.records();
      right = answer.records[i] == (there ? world_.record(content, wanted[i]) : Bytes());
      if (!there) missing.push_back(i);
    }
    right = right && answer.missing == missing;
    say(std::string(right ? "right, " : "wrong, ") + std::string(certainty_name(answer.certainty)) +
        ", bound " + std::to_string(answer.proof_bound) + ", wrong replies " + std::to_string(wrong));
    if (!right && (wrong == 0 || must_answer)) violated("a wrong answer, though enough replies were honest");
    if (answer.certainty != Certainty::kProven || wrong > answer.proof_bound) return;
    if (!right) violated("proven and wrong");
    for (std::size_t i = 0; setting.protocol->several && i < conduct.size(); ++i) {
      const bool named = answer.servers[i] == ServerStatus::kLied;
      if (named && !conduct[i].wrong) violated("server " + std::to_string(i) + " is named and did not lie");
      if (!named && conduct[i].to_be_named) {
        violated("server " + std::to_string(i) + " lied within the bound and is not named");
      }
    }
  }

  // --- clients that drive Retrievals, all at the same time

  struct Driven {
    unsigned number = 0, waves = 0;
    std::vector<std::uint64_t> wanted;
    std::unique_ptr<Retrieval> retrieval;
    std::map<std::uint64_t, bool> awaited;           // by the message's number
    std::vector<std::map<std::size_t, bool>> taken;  // in each wave, by server: whether the reply was wrong
    std::shared_ptr<std::vector<Conduct>> conduct;
    bool ended = false;
  };

  void drive_all(const std::vector<std::vector<std::uint64_t>>& wanted) {
    const auto client = world_.join(kOld);
    require(client.has_value(), "no client");
    std::vector<std::unique_ptr<Driven>> all;
    for (unsigned i = 0; i < wanted.size(); ++i) {
      auto retrieval = world_.begin(**client, wanted[i], {.wait_for_all = script_.wait_for_all});
      require(retrieval.has_value(), "no retrieval");
      auto& one = *all.emplace_back(std::make_unique<Driven>());
      one.number = i;
      one.wanted = wanted[i];
      one.retrieval = std::move(*retrieval);
      one.conduct = std::make_shared<std::vector<Conduct>>(script_.servers.size());
      clock_.after(i * 50, [this, &one] { advance(one); });
    }
    while (clock_.step()) {
    }
    for (const auto& one : all) {
      if (!one->ended) violated("a retrieval does not end");
    }
  }

  void advance(Driven& one) {
    auto wave = one.retrieval->outgoing();
    one.awaited.clear();
    if (!wave || wave->empty()) {
      one.ended = true;
      find_who_must_be_named(one);
      check(wave ? std::move(*one.retrieval).finish() : Result<Answer>(tl::unexpected(wave.error())), kOld,
            one.wanted, *one.conduct);
      return;
    }
    one.taken.emplace_back();
    if (one.waves > 40) return violated("more than 40 waves");
    const auto messages = std::make_shared<std::vector<Message>>(std::move(*wave));
    std::vector<Bytes> requests;
    for (const auto& message : *messages) {
      one.awaited[message.id.number] = true;
      requests.push_back(message.bytes);
    }
    send(one.number, one.waves++, kOld, std::move(requests), one.wanted[0] % 2, one.conduct,
         [this, &one, messages](std::size_t i, const Result<Bytes>& reply, bool wrong) {
           receive(one, (*messages)[i].id, i, reply, wrong);
         });
    clock_.after(kDeadline, [this, &one, messages] {
      for (const auto& message : *messages) {
        if (!one.awaited.contains(message.id.number)) continue;
        (*one.conduct)[message.server].trouble = true;
        receive(one, message.id, message.server,
                Result<Bytes>(tl::unexpected(Error(ErrorCode::kUnavailable, "late"))), false);
      }
    });
  }

  /// Who lied in a wave in which enough servers replied that lied in none.
  void find_who_must_be_named(Driven& one) {
    const auto lied = [&one](std::size_t server) {
      return std::any_of(one.taken.begin(), one.taken.end(), [&](const auto& wave) {
        const auto reply = wave.find(server);
        return reply != wave.end() && reply->second;
      });
    };
    for (const auto& wave : one.taken) {
      const auto honest =
          std::count_if(wave.begin(), wave.end(), [&](const auto& reply) { return !lied(reply.first); });
      if (honest < world_.setting().needed) continue;
      for (const auto& [server, wrong] : wave) (*one.conduct)[server].to_be_named |= wrong;
    }
  }

  void receive(Driven& one, MessageId id, std::size_t i, const Result<Bytes>& reply, bool wrong) {
    const bool expected = one.awaited.erase(id.number) > 0;
    if (expected && wrong) (*one.conduct)[i].wrong = true;
    const auto taken = reply ? one.retrieval->receive(id, *reply) : one.retrieval->lost(id, reply.error());
    if (!expected) {
      if (taken || taken.error().code() != ErrorCode::kInvalidArgument) violated("a stray reply was taken");
      return;
    }
    if (!reply && !taken) violated("a loss was not taken");
    if (reply && taken) one.taken.back()[i] = wrong;
    if (reply && !wrong && !taken) violated("an honest reply was refused: " + taken.error().to_string());
    if (!one.retrieval->waiting()) advance(one);
  }

  // --- the library's own loop over a transport, one retrieval after the other

  void fetch_all(const std::vector<std::vector<std::uint64_t>>& wanted) {
    unsigned number = 0, waves = 0;
    std::uint64_t odd_wish = 0;
    std::shared_ptr<std::vector<Conduct>> conduct;
    auto content = kOld;
    const auto ask = [&](const std::vector<Bytes>& requests, const http::CallOptions& options,
                         const http::HttpTransport::OnSettled& on_settled) {
      std::vector<http::CallOutcome> outcomes(requests.size(),
                                              {tl::unexpected(Error(ErrorCode::kUnavailable, "late"))});
      const auto settled = std::make_shared<std::vector<bool>>(requests.size(), false);
      const auto over = std::make_shared<bool>(false);
      const auto mine = conduct;
      send(number, waves++, content, requests, odd_wish, mine,
           [&, settled, over, mine](std::size_t i, const Result<Bytes>& reply, bool wrong) {
             if (*over || (*settled)[i]) return;
             (*settled)[i] = true;
             if (reply && reply->size() > options.max_reply_bytes) {
               outcomes[i].reply = tl::unexpected(Error(ErrorCode::kDataLoss, "too long"));
             } else {
               outcomes[i].reply = reply;
               if (wrong) (*mine)[i].wrong = true;
             }
             if (on_settled(i, outcomes[i])) *over = true;
           });
      const auto end = clock_.now() + static_cast<Time>(options.announced->count());
      clock_.after(end - clock_.now(), [over] { *over = true; });
      while (!*over && clock_.step()) {
        if (std::all_of(settled->begin(), settled->end(), [](bool one) { return one; })) *over = true;
      }
      *over = true;
      if (clock_.now() > end) violated("a wave did not end at its deadline");
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (!(*settled)[i] && clock_.now() >= end) (*mine)[i].trouble = true;
      }
      return outcomes;
    };
    auto fetcher = client::Fetcher::create(world_.deployment(kOld), world_.client_options(), ask);
    require(fetcher.has_value(), fetcher ? "" : fetcher.error().to_string());
    client::FetchOptions options;
    options.deadline = std::chrono::milliseconds(kDeadline);
    options.wait_for_all = script_.wait_for_all;
    options.renew = [&](const client::Deployment&) -> Result<client::Deployment> {
      for (std::size_t i = 0; i < script_.servers.size(); ++i) {
        if (content_at(i, clock_.now()) == kNew) content = kNew;
      }
      say("renews: epoch " + std::to_string(content + 1));
      return world_.deployment(content);
    };
    for (const auto& wishes : wanted) {
      conduct = std::make_shared<std::vector<Conduct>>(script_.servers.size());
      odd_wish = wishes[0] % 2;
      Result<client::FetchReport> report = tl::unexpected(Error(ErrorCode::kInternal, ""));
      if (world_.setting().keyed) {
        std::vector<std::string> keys;
        for (const auto i : wishes) keys.push_back(world_.key(i));
        report = fetcher->fetch_keys(keys, options);
      } else {
        report = fetcher->fetch(wishes, options);
      }
      const auto answer =
          report ? Result<Answer>(report->answer) : Result<Answer>(tl::unexpected(report.error()));
      check(answer, world_.content_of(fetcher->deployment().plan->version()), wishes, *conduct);
      ++number;
      waves = 0;
    }
  }

  const Script& script_;
  const World& world_;
  std::unordered_set<std::uint64_t>* ledger_;
  Clock clock_;
  std::vector<Bytes> before_;  // each server's last true reply
  std::vector<Sighting> seen_;
  std::string violation_;
  unsigned answers_ = 0;
};

/// A server that comes back finds its file damaged: it must not serve what was not built.
std::string restart_on_damaged_disk(const World& world, std::mt19937_64& engine) {
  const testing::TemporaryFolder folder{testing::TemporaryFolder::kMemory};
  Bytes file = world.file();
  if (engine() % 4 == 0) {
    file.resize(engine() % file.size());
  } else {
    file[engine() % file.size()] ^= std::byte{1} << (engine() % 8);
  }
  testing::write_file(folder / "db", file);
  return testing::open_verified(folder / "db") ? "a damaged database was opened" : "";
}

/// Simulations so far, and what came of them.
struct Tally {
  std::uint64_t runs = 0, answers = 0, retrievals = 0, requests = 0;
};

class Simulator {
 public:
  Simulator() : settings_(settings()), worlds_(settings_.size()) {
    // Every setting is simulated at least 400 times less often than the cheapest one.
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      const auto seconds = world(i).seconds();
      weights_.push_back(std::max(1u, static_cast<unsigned>(std::min(400.0, 0.4 / seconds))));
      all_ += weights_.back();
    }
  }

  /// The violation, or an empty text.
  std::string run(std::uint64_t seed) {
    std::seed_seq sequence{seed & 0xffffffffu, seed >> 32};
    std::mt19937_64 engine(sequence);
    auto at = engine() % all_;
    std::size_t which = 0;
    for (; at >= weights_[which]; ++which) at -= weights_[which];
    const World& here = world(which);
    ++by_setting_[here.setting().name()];
    const Script script = make_script(seed, here, engine);
    if (arguments.verbose) describe(script);
    if (script.disk_is_damaged) {
      const auto violation = restart_on_damaged_disk(here, engine);
      if (!violation.empty()) return here.setting().name() + ": " + violation;
    }
    std::vector<Sighting> seen;
    for (unsigned twin = 0; twin < 2; ++twin) {
      // The server of a twin with the same keys would hold them already.
      entropy.seed(here.setting().protocol->several || twin == 0 ? seed : ~seed);
      std::vector<std::vector<std::uint64_t>> wanted(script.retrievals);
      for (auto& one : wanted) {
        for (unsigned i = 0; i < script.wishes; ++i)
          one.push_back(engine() % (here.records() + here.records() / 8));
      }
      Simulation simulation(script, twin == 0 ? &ledger_ : nullptr);
      simulation.run(wanted);
      tally.answers += simulation.answers();
      tally.retrievals += script.retrievals;
      tally.requests += simulation.seen().size();
      if (!simulation.violation().empty()) return here.setting().name() + ": " + simulation.violation();
      if (twin == 1 && simulation.seen() != seen) {
        return here.setting().name() + ": the servers see other requests if other records are wanted";
      }
      seen = simulation.seen();
    }
    ++tally.runs;
    return {};
  }
  const std::map<std::string, std::uint64_t>& by_setting() const { return by_setting_; }
  Tally tally;

 private:
  static void describe(const Script& script) {
    std::printf("%s, %s, %u retrievals of %u, loss %u, delay %llu\n", script.world->setting().name().c_str(),
                script.fetcher ? "fetcher" : "retrieval", script.retrievals, script.wishes, script.loss,
                static_cast<unsigned long long>(script.longest_delay));
    for (std::size_t i = 0; i < script.servers.size(); ++i) {
      const auto& server = script.servers[i];
      std::printf("  server %zu: kind %u, down %lld to %lld, then %u; next epoch at %lld\n", i,
                  static_cast<unsigned>(server.kind), static_cast<long long>(server.down_from),
                  static_cast<long long>(server.down_to), static_cast<unsigned>(server.after_crash),
                  static_cast<long long>(server.rolls_at));
    }
  }
  const World& world(std::size_t i) {
    if (worlds_[i] == nullptr) {
      entropy.seed(i + 1'000'003);
      worlds_[i] = std::make_unique<World>(settings_[i]);
    }
    return *worlds_[i];
  }
  std::vector<Setting> settings_;
  std::vector<std::unique_ptr<World>> worlds_;
  std::vector<unsigned> weights_;
  std::uint64_t all_ = 0;
  std::unordered_set<std::uint64_t> ledger_;
  std::map<std::string, std::uint64_t> by_setting_;
};

int simulate(int count, char** texts) {
  for (int i = 1; i < count; ++i) {
    const std::string name = texts[i];
    if (name == "--verbose") {
      arguments.verbose = true;
      continue;
    }
    require(i + 1 < count, "what follows " + name + "?");
    const std::string value = texts[++i];
    if (name == "--seeds") arguments.seeds = std::stoull(value);
    if (name == "--first") arguments.first = std::stoull(value);
    if (name == "--planted") arguments.planted = value;
  }
  Simulator simulator;
  for (auto seed = arguments.first; seed < arguments.first + arguments.seeds; ++seed) {
    const auto violation = simulator.run(seed);
    if (violation.empty()) continue;
    std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), violation.c_str());
    std::printf("again: %s --seeds 1 --first %llu --verbose\n", texts[0],
                static_cast<unsigned long long>(seed));
    return arguments.planted.empty() ? 1 : 0;
  }
  const auto& tally = simulator.tally;
  std::printf("%llu seeds from %llu: no violation; %llu retrievals, %llu answers, %llu requests\n",
              static_cast<unsigned long long>(tally.runs), static_cast<unsigned long long>(arguments.first),
              static_cast<unsigned long long>(tally.retrievals),
              static_cast<unsigned long long>(tally.answers),
              static_cast<unsigned long long>(tally.requests));
  for (const auto& [name, runs] : simulator.by_setting()) {
    std::printf("  %8llu  %s\n", static_cast<unsigned long long>(runs), name.c_str());
  }
  if (!arguments.planted.empty()) std::printf("the planted fault was not found\n");
  return arguments.planted.empty() ? 0 : 1;
}

}  // namespace
}  // namespace pirx::simulation

int main(int count, char** texts) { return pirx::simulation::simulate(count, texts); }
