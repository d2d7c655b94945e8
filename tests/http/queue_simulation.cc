// SPDX-License-Identifier: Apache-2.0
// The queues of a server and the thread that computes for them, in virtual time: databases whose passes take
// as long as they are said to, users who look records up now and then, others who ask for as much as they
// can, and crowds. Each scenario is drawn from its seed, and gives the same result each time. Ends with 1 if
// too few are answered in time.
//
//   queue_simulation [--scenarios N] [--seed S] [--worst K]     K of them are described
//   queue_simulation --only S                                   what happens in one of them
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <random>

#include "service/http/batcher.h"
#include "src/base/time_limit.h"

namespace pirx::http {
namespace {

using Clock = ComputeThread::Clock;
using Seconds = std::chrono::duration<double>;

PageBuffer pages_of(std::size_t queries) {
  PageBuffer pages;
  const auto text = std::to_string(queries);
  if (pages.grow(text.size())) std::copy(text.begin(), text.end(), reinterpret_cast<char*>(pages.data()));
  return pages;
}

/// Virtual time, and what happens in it. It lies before all of the machine's, so that a TimeLimit is over as
/// soon as it is asked.
class World {
 public:
  double now() const { return now_; }
  static Clock::time_point at(double seconds) {
    return kBegin + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  }
  void after(double seconds, std::function<void()> what) { events_.emplace(now_ + seconds, std::move(what)); }
  /// The clock begins anew; nothing is to happen yet.
  void restart() { now_ = 0; }
  /// Everything up to then happens.
  void advance(double until) {
    while (!events_.empty() && events_.begin()->first <= until) {
      const auto what = std::move(events_.begin()->second);
      now_ = std::max(now_, events_.begin()->first);
      events_.erase(events_.begin());
      what();
    }
    now_ = std::max(now_, until);
  }
  double next() const { return events_.empty() ? 1e9 : events_.begin()->first; }
  static double seconds_of(Clock::time_point time) { return Seconds(time - kBegin).count(); }

 private:
  static constexpr Clock::time_point kBegin{std::chrono::hours(-10'000)};
  double now_ = 0;
  std::multimap<double, std::function<void()>> events_;
};

/// A pass takes `base` seconds, and `each` for each query.
class Cost {
 public:
  double base, each;
  double of(std::size_t queries) const { return base + each * static_cast<double>(queries); }
};

/// A request is the number of its queries.
class SlowServer : public AnyServer {
 public:
  SlowServer(World& world, Cost cost) : world_(world), cost_(cost) {}
  ProtocolId protocol() const noexcept override { return ProtocolId::kGoldberg; }
  Bytes parameters() const override { return {}; }
  std::size_t max_request_bytes() const noexcept override { return 100; }
  std::size_t max_queries() const noexcept override { return 1 << 20; }
  std::size_t working_bytes(std::size_t) const noexcept override { return 0; }
  std::size_t pass_bytes() const noexcept override { return 1; }
  Result<std::size_t> admit(ByteSpan) const override { return 1; }
  Bytes sample_request(std::size_t queries) const override {
    const auto text = std::to_string(queries);
    const auto bytes = as_bytes(text);
    return Bytes(bytes.begin(), bytes.end());
  }
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const override {
    std::size_t queries = 0;
    for (const auto& request : requests)
      queries += std::strtoull(std::string(as_text(request)).c_str(), nullptr, 10);
    TimeLimit* const limit = TimeLimit::current();
    const double slower = (++passes_ == slow_pass ? 3 : 1) * (world_.now() < slow_until ? slowness : 1);
    const double begin = world_.now(),
                 end = begin + slower * cost_.of(queries) * std::exp(noise * normal_(coins_));
    const double stop = World::seconds_of(limit->end());
    if (at_pass) at_pass(begin, std::min(end, stop));
    world_.advance(std::min(end, stop));
    if (end > stop) limit->over();
    if (verbose) {
      std::printf("%8.2f database %zu: %zu requests, %zu queries, %.2f s%s\n", begin, number, requests.size(),
                  queries, world_.now() - begin, end > stop ? ", stopped" : "");
    }
    return std::vector<Result<Bytes>>(requests.size(), Bytes(1));
  }

  std::size_t number = 0;
  bool verbose = false;
  double slow_until = 0, slowness = 1;  ///< the machine is slow until then
  std::size_t slow_pass = 0;            ///< the number of one that takes three times as long
  double noise = 0;                     ///< of how long a pass takes: deviation of its logarithm
  std::function<void(double begin, double end)> at_pass;

 private:
  World& world_;
  const Cost cost_;
  mutable std::size_t passes_ = 0;
  mutable std::mt19937_64 coins_{1};
  mutable std::normal_distribution<> normal_;
};

double kDeadline = 10, kWarm = 30, kSeconds = 430;

struct Counts {
  int asked = 0, in_time = 0, refused = 0, late = 0;
};

/// Counts the answer to what is asked now, unless it is too early or too late to count.
std::function<void(bool, bool)> counting(const World& world, Counts& counts, double deadline = kDeadline) {
  const double begun = world.now();
  return [&world, &counts, begun, deadline](bool answered, bool at_once) {
    if (begun < kWarm || begun > kSeconds - 2 * kDeadline) return;
    ++counts.asked;
    const bool in_time = answered && world.now() - begun <= deadline;
    ++(in_time ? counts.in_time : at_once ? counts.refused : counts.late);
  };
}

struct Server {
  explicit Server(World& in) : compute([&in] { return World::at(in.now()); }), world(in) {}
  void add(Cost cost, double noise = 0, bool measured = true, std::size_t slow_pass = 0) {
    databases.push_back(std::make_shared<SlowServer>(world, cost));
    databases.back()->noise = noise;
    databases.back()->slow_pass = slow_pass;
    costs.push_back(cost);
    queues.push_back(std::make_unique<Batcher>(QueueOptions{}, LogSink{}, metrics, compute));
    if (measured) queues.back()->measure(*databases.back());
    world.restart();
  }
  /// `done` is called once, with whether there is an answer; false at once if it is refused.
  std::optional<Batcher::Ticket> ask(std::size_t database, std::size_t queries, const std::string& client,
                                     double deadline, std::function<void(bool answered, bool at_once)> done) {
    ByteLease lease(budget);
    const auto submitted =
        queues[database]->submit(databases[database], pages_of(queries), queries, std::move(lease),
                                 [this, done](const Result<Bytes>& reply, const ByteLease&) {
                                   const bool good = reply.has_value();
                                   world.after(0, [done, good] { done(good, false); });
                                 },
                                 {client, World::at(world.now() + deadline)});
    if (!submitted && databases[0]->verbose && client[0] == 'u')
      std::printf("  %s: %s\n", client.c_str(), submitted.error().message().c_str());
    if (submitted) return *submitted;
    world.after(0, [done] { done(false, true); });
    return std::nullopt;
  }
  /// A client has so many requests there all the time, from then on.
  void ask_always(double from, int count, std::size_t database, std::size_t queries,
                  const std::string& client) {
    auto& next = always.emplace_back();
    next = [this, &next, database, queries, client] {
      ask(database, queries, client, 60,
          [this, &next](bool good, bool) { world.after(good ? 0 : 0.1, [&next] { next(); }); });
    };
    for (int i = 0; i < count; ++i) world.after(from, [&next] { next(); });
  }
  /// Asks for one record there each 50 s, which is a reason for shorter passes of the others.
  void ask_now_and_then(double from, std::size_t database) {
    auto& next = always.emplace_back();
    next = [this, &next, database] {
      world.after(50, [&next] { next(); });
      ask(database, 1, "now and then", 60, [](bool, bool) {});
    };
    world.after(from, [&next] { next(); });
  }
  /// What the passes of all databases take.
  void learn() {
    for (std::size_t d = 0; d < queues.size(); ++d) {
      for (const std::size_t queries : {1, 3})
        world.after(1.1, [this, d, queries] { ask(d, queries, "", 60, [](bool, bool) {}); });
    }
  }
  void run(double until) {
    while (world.now() < until) {
      std::optional<Clock::time_point> next;
      if (compute.step(next)) continue;
      const double ready = next ? World::seconds_of(*next) : 1e9;
      world.advance(std::max(world.now() + 1e-6, std::min({until, ready, world.next()})));
    }
  }

  std::deque<std::function<void()>> always;
  ByteBudget budget{1 << 30};
  Metrics metrics;
  ComputeThread compute;
  World& world;
  std::vector<std::shared_ptr<SlowServer>> databases;
  std::vector<Cost> costs;
  std::vector<std::unique_ptr<Batcher>> queues;
};

/// Keeps some requests waiting at each of some databases.
struct Attacker {
  std::string name;
  std::vector<std::size_t> databases;
  std::vector<std::size_t> sizes;  ///< queries of a request, in turn
  std::size_t outstanding;
  double retry, deadline, on, off;
  bool roams = false;  ///< so many requests in all, each to the next database
  double cancels = 0;  ///< after so many seconds, if the request still waits; 0: never
};

/// Asks now and then.
struct User {
  std::string name;
  std::size_t database, queries;
  double every;
  Counts counts;
};

struct Scenario {
  std::vector<Cost> costs;
  std::vector<Attacker> attackers;
  std::vector<User> users;
  double noise = 0;
};

Scenario draw(std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(engine() % n); };
  const auto pick = [&](auto... of) {
    const double all[] = {static_cast<double>(of)...};
    return all[below(sizeof...(of))];
  };
  Scenario s;
  const auto count = static_cast<std::size_t>(pick(1, 2, 3, 4, 6, 8, 12, 24));
  const double base = pick(0.003, 0.03, 0.1, 0.3, 1), each = pick(0.001, 0.01, 0.1, 0.3, 0.7);
  const bool alike = below(2) == 0;
  for (std::size_t d = 0; d < count; ++d) {
    s.costs.push_back(alike || d == 0
                          ? Cost{base, each}
                          : Cost{pick(0.003, 0.03, 0.1, 0.3, 1), pick(0.001, 0.01, 0.1, 0.3, 0.7)});
  }
  const auto attackers = 1 + below(4);
  for (std::size_t a = 0; a < attackers; ++a) {
    Attacker attacker{
        "a" + std::to_string(a), {},  {}, static_cast<std::size_t>(pick(1, 2, 5, 20)), pick(0.1, 1, 3),
        pick(10, 30, 60),        1e9, 0};
    if (below(3) == 0) {
      attacker.on = pick(1, 5, 20);
      attacker.off = pick(1, 5, 20);
    }
    const auto share = below(3);  // one, some, all
    for (std::size_t d = 0; d < count; ++d) {
      if (share == 2 || (share == 1 && below(2) == 0)) attacker.databases.push_back(d);
    }
    if (attacker.databases.empty()) attacker.databases.push_back(below(count));
    attacker.roams = below(3) == 0;
    if (below(3) == 0) attacker.cancels = pick(0.1, 0.5, 2, 5);
    for (std::size_t i = 0, n = 1 + below(3); i < n; ++i)
      attacker.sizes.push_back(static_cast<std::size_t>(pick(1, 2, 3, 5, 10, 21, 50, 100, 256)));
    s.attackers.push_back(attacker);
  }
  const auto users = 1 + below(3);
  for (std::size_t u = 0; u < users; ++u) {
    User user{"u" + std::to_string(u), below(count), 1 + below(3), 0, {}};
    user.every =
        std::max(1.0, 2 * static_cast<double>(attackers + users) * s.costs[user.database].of(user.queries));
    user.every *= pick(1, 2, 5);
    s.users.push_back(user);
  }
  s.noise = pick(0, 0.03, 0.1);
  return s;
}

/// Whether users have half of their time left after what they have to wait for: a pass of three queries at
/// the slowest database, which is never stopped; as many queries as theirs of each client of their database,
/// in two passes.
bool feasible(const Scenario& s) {
  double longest = 0;
  for (const auto& cost : s.costs) longest = std::max(longest, cost.of(3));
  for (const auto& user : s.users) {
    std::size_t clients = s.users.size();
    for (const auto& a : s.attackers)
      clients += std::count(a.databases.begin(), a.databases.end(), user.database) > 0;
    const auto& cost = s.costs[user.database];
    if (user.every > 25) return false;
    if (longest + cost.base + cost.of(clients * user.queries) > 0.5 * kDeadline) return false;
  }
  return true;
}

void describe(const Scenario& s) {
  std::printf("  noise %g, databases:", s.noise);
  for (std::size_t d = 0; d < s.costs.size(); ++d)
    std::printf(" %zu:%g+%gq", d, s.costs[d].base, s.costs[d].each);
  std::printf("\n");
  for (const auto& a : s.attackers) {
    std::printf("  attacker %s: %zu at each of", a.name.c_str(), a.outstanding);
    for (const auto d : a.databases) std::printf(" %zu", d);
    std::printf(", queries");
    for (const auto q : a.sizes) std::printf(" %zu", q);
    std::printf(", retry %g, deadline %g, on %g off %g, roams %d, cancels after %g\n", a.retry, a.deadline,
                a.on, a.off, a.roams, a.cancels);
  }
  for (const auto& u : s.users) {
    std::printf(
        "  user %s: database %zu, %zu queries every %g s: asked %d, in time %d, refused %d, late %d\n",
        u.name.c_str(), u.database, u.queries, u.every, u.counts.asked, u.counts.in_time, u.counts.refused,
        u.counts.late);
  }
}

/// Lowest part of a user's requests that was answered in time.
double play(Scenario& s, bool verbose) {
  World world;
  Server server(world);
  for (const auto& cost : s.costs) server.add(cost, s.noise);
  for (std::size_t d = 0; d < server.databases.size(); ++d) {
    server.databases[d]->number = d;
    server.databases[d]->verbose = verbose;
  }
  std::deque<std::function<void(std::size_t)>> keep;
  for (const auto& a : s.attackers) {
    for (const auto first : a.databases) {
      if (a.roams && first != a.databases[0]) break;
      for (std::size_t k = 0; k < a.outstanding; ++k) {
        auto& again = keep.emplace_back();
        again = [&, first](std::size_t turn) {
          const double period = a.on + a.off, phase = std::fmod(world.now(), period);
          if (phase > a.on) {
            world.after(period - phase + 1e-6, [&again, turn] { again(turn); });
            return;
          }
          const auto d = a.roams ? a.databases[turn % a.databases.size()] : first;
          const auto ticket =
              server.ask(d, a.sizes[turn % a.sizes.size()], a.name, a.deadline, [&, turn](bool good, bool) {
                world.after(good ? 0.001 : a.retry, [&again, turn] { again(turn + 1); });
              });
          if (!ticket || a.cancels == 0) return;
          world.after(a.cancels, [&, d, ticket, turn] {
            if (server.queues[d]->cancel(*ticket)) again(turn + 1);
          });
        };
        world.after(0.001 * static_cast<double>(k), [&again, k] { again(k); });
      }
    }
  }
  for (auto& user : s.users) {
    auto& again = keep.emplace_back();
    again = [&](std::size_t turn) {
      world.after(user.every, [&again, turn] { again(turn + 1); });
      const auto count = counting(world, user.counts);
      server.ask(user.database, user.queries, user.name, kDeadline,
                 [&, count, begun = world.now()](bool answered, bool at_once) {
                   count(answered, at_once);
                   if (!verbose) return;
                   std::printf("%8.2f %s %s after %.2f s\n", begun, user.name.c_str(),
                               answered  ? "answered"
                               : at_once ? "refused"
                                         : "told so late",
                               world.now() - begun);
                 });
    };
    world.after(5 + 0.37 * user.every, [&again] { again(0); });
  }
  server.run(kSeconds);
  double least = 1;
  for (const auto& user : s.users) {
    if (user.counts.asked > 0)
      least = std::min(least, static_cast<double>(user.counts.in_time) / user.counts.asked);
  }
  for (auto& queue : server.queues) queue.reset();  // refuses what waits
  return least;
}

/// Ever new clients with a query each, that come by chance; or one that has so many users.
struct Crowd {
  double rate;  ///< clients a second
  Counts counts;
  double part(int count) const { return static_cast<double>(count) / counts.asked; }
};

/// A crowd at a database with passes of about that cost, `load` times as large as it can answer, beside a
/// crowd at another one that it can; or all of it one client, alone.
enum class Of { kMany, kManyBesideOthers, kOne };
bool crowds(Cost cost, double load, Of of, double noise) {
  const bool beside = of == Of::kManyBesideOthers;
  constexpr double kPass = 10.0 / 3;  // seconds; what passes of that length answer is the measure
  const double most = std::min(256.0, (kPass - cost.base) / cost.each),
               capacity = most / (cost.base + most * cost.each);
  World world;
  Server server(world);
  server.add(cost, noise);
  server.add({0.2, 0.005}, noise);
  std::mt19937_64 engine(1);
  std::deque<Crowd> all{{load * capacity, {}}};
  if (beside) all.push_back({20, {}});
  std::size_t clients = 0;
  std::deque<std::function<void()>> keep;
  for (std::size_t d = 0; d < all.size(); ++d) {
    Crowd& crowd = all[d];
    auto& again = keep.emplace_back();
    again = [&, d] {
      world.after(std::exponential_distribution<>(crowd.rate)(engine), [&again] { again(); });
      const auto client = of == Of::kOne ? "all" : std::to_string(++clients);
      server.ask(d, 1, client, kDeadline, counting(world, crowd.counts));
    };
    world.after(0, [&again] { again(); });
  }
  server.run(kSeconds);
  const auto& crowd = all[0];
  const double answered = crowd.rate * crowd.part(crowd.counts.in_time) / capacity,
               late = crowd.part(crowd.counts.late);
  const bool good = answered > std::min(load, beside ? 0.5 : 1.0) - 0.1 && late < (beside ? 0.15 : 0.01) &&
                    (!beside || all[1].part(all[1].counts.in_time) > 0.99);
  std::printf(
      "crowd of %.1f times what passes of %g s and %g s a query answer%s, noise %.2f: %.2f times that in "
      "time, %.3f late%s\n",
      load, cost.base, cost.each,
      beside           ? ", beside another"
      : of == Of::kOne ? ", of one client"
                       : "",
      noise, answered, late, good ? "" : "  TOO FEW");
  for (auto& queue : server.queues) queue.reset();  // refuses what waits
  return good;
}

/// Asks `server` for records of its first database, or of the first few in turn, now and then, and counts.
class LookUps {
 public:
  LookUps(World& world, Server& server, double every, std::size_t queries = 1, std::size_t users = 1,
          double deadline = kDeadline, double apart = 0.37, double counted_from = 0,
          std::size_t databases = 1)
      : world_(world),
        server_(server),
        every_(every),
        queries_(queries),
        deadline_(deadline),
        counted_from_(counted_from),
        databases_(databases) {
    for (std::size_t i = 0; i < users; ++i)
      world_.after(5 + apart * every * static_cast<double>(i), [this, i] { ask(i); });
  }
  /// Plays it to the end. False: too few were answered in time.
  bool get_through(const char* beside) {
    server_.run(kSeconds);
    for (auto& queue : server_.queues) queue.reset();  // refuses what waits
    std::printf("%s: %d of %d look-ups of another in time\n", beside, counts_.in_time, counts_.asked);
    return counts_.in_time > 0.95 * counts_.asked;
  }

 private:
  void ask(std::size_t user) {
    world_.after(every_, [this, user] { ask(user); });
    auto& counts = world_.now() < counted_from_ ? before_ : counts_;
    server_.ask(database_++ % databases_, queries_, "user " + std::to_string(user), deadline_,
                counting(world_, counts, deadline_));
  }
  World& world_;
  Server& server_;
  const double every_;
  const std::size_t queries_;
  const double deadline_, counted_from_;
  const std::size_t databases_;
  std::size_t database_ = 0;
  Counts before_, counts_;
};

/// One address has large requests at the same database all the time; the user cannot wait for a whole pass of
/// these.
bool hurried() {
  World world;
  Server server(world);
  server.add({0.03, 0.1});
  server.learn();
  server.ask_always(1, 3, 0, 20, "always");
  LookUps user(world, server, 7.3, 1, 1, 3);
  return user.get_through("large requests at the same database, where three seconds are left");
}

/// Three addresses ask for one record of each of 24 databases of which only large passes are known, while an
/// early pass is computed, and are gone before it ends.
bool small_ones() {
  World world;
  Server server(world);
  server.add({0.03, 0.01});
  server.add({2, 0.1});
  for (std::size_t d = 2; d < 26; ++d) {
    server.add({0.5, 0.001});
    world.after(static_cast<double>(d), [&, d] { server.ask(d, 250, "large", 60, [](bool, bool) {}); });
  }
  server.databases[1]->at_pass = [&](double begin, double end) {
    for (std::size_t d = 2; d < 26; ++d) {
      world.after(0.02 * static_cast<double>(d), [&, d, left = end - begin - 0.02 * static_cast<double>(d)] {
        const auto ticket = server.ask(d, 1, "small " + std::to_string(d % 3), 60, [](bool, bool) {});
        if (ticket) world.after(left - 0.05, [&, d, ticket] { server.queues[d]->cancel(*ticket); });
      });
    }
  };
  server.ask_always(40, 2, 1, 3, "always");
  LookUps user(world, server, 7.3);
  return user.get_through("requests for one record where only large passes are known");
}

/// Two addresses with one request at a time, each to the next database: large ones, as long as none is
/// refused.
bool visitors() {
  World world;
  Server server(world);
  for (int d = 0; d < 24; ++d) server.add({0.01, 0.01});
  std::deque<std::function<void(std::size_t, std::size_t)>> visit(2);
  for (std::size_t a = 0; a < visit.size(); ++a) {
    visit[a] = [&, a](std::size_t database, std::size_t queries) {
      server.ask(
          database, queries, "visitor " + std::to_string(a), 60, [&, a, database, queries](bool good, bool) {
            const auto next =
                good ? std::min<std::size_t>(queries + 10, 256) : std::max<std::size_t>(queries / 2, 3);
            world.after(good ? 0.001 : 0.1, [&, a, database, next] { visit[a]((database + 1) % 24, next); });
          });
    };
    world.after(0.01, [&, a] { visit[a](12 * a, 3); });
  }
  LookUps user(world, server, 5.1);
  return user.get_through("visitors of all databases");
}

/// Four addresses take turns: one request is computed and one waits, each at another database. Whoever is
/// next also keeps a request at the user's database, until the one after it comes. It is never computed.
bool holders() {
  World world;
  Server server(world);
  server.add({0.03, 0.01});
  for (int d = 1; d < 5; ++d) server.add({0.05, 0.01});
  std::optional<Batcher::Ticket> held;
  std::size_t turn = 0;
  std::function<void()> next = [&] {
    const auto name = "holder " + std::to_string(turn % 4);
    const auto before = held;
    held = server.ask(0, 219, name, 60, [](bool, bool) {});
    if (before) server.queues[0]->cancel(*before);
    server.ask(1 + turn++ % 4, 20, name, 60,
               [&](bool good, bool) { world.after(good ? 0 : 0.05, [&] { next(); }); });
  };
  world.after(1, [&] { server.ask(0, 10, "holder 3", 60, [](bool, bool) {}); });
  for (int i = 0; i < 2; ++i) world.after(1.01, [&] { next(); });
  LookUps user(world, server, 12);
  return user.get_through("requests that are held and cancelled");
}

/// Four addresses ask each database that nobody has asked yet, many times.
bool strangers() {
  World world;
  Server server(world);
  for (int d = 0; d < 24; ++d) server.add({0.03, 0.1});
  for (int i = 0; i < 88; ++i) {
    world.after(20 + 0.001 * i, [&, i] {
      for (std::size_t d = 0; d < 24; ++d)
        server.ask(d, 3, "stranger " + std::to_string(i % 4), 60, [](bool, bool) {});
    });
  }
  LookUps user(world, server, 8);
  return user.get_through("databases that nobody has asked yet");
}

/// Four addresses ask a database each time that a request of theirs at another one is answered, which came
/// after a huge one that was cancelled.
bool pushers() {
  World world;
  Server server(world);
  for (int d = 0; d < 2; ++d) server.add({0.1, 0.1});
  server.add({0.003, 0.001});
  const std::function<void()> push = [&] {
    const auto huge = server.ask(1, 256, "pusher 0", 60, [](bool, bool) {});
    const auto small = server.ask(2, 1, "pusher 0", 60, [&](bool good, bool) {
      if (!good) return;
      for (int i = 0; i < 4; ++i) server.ask(0, 7, "pusher " + std::to_string(i), 60, [](bool, bool) {});
      world.after(0, [&] { push(); });
    });
    if (huge) server.queues[1]->cancel(*huge);
    if (!small) world.after(0.2, [&] { push(); });
  };
  server.learn();
  world.after(20, [&] { push(); });
  LookUps user(world, server, 2);
  return user.get_through("requests that came after others that were cancelled");
}

/// Whether a request of that client would be due.
bool is_due(const Server& server, const std::string& client) {
  return server.compute.next_tags(client).due <= server.compute.virtual_time();
}

/// Four addresses ask for three records of a slow database each, at the same moment: when all of them are
/// due.
bool together() {
  World world;
  Server server(world);
  server.add({0.001, 0.3});
  for (int d = 1; d < 5; ++d) server.add({1.2, 0.7});
  std::size_t waiting = 0;
  const std::function<void()> look = [&] {
    world.after(0.05, [&] { look(); });
    for (int i = 0; i < 4; ++i) {
      if (waiting > 0 || !is_due(server, "together " + std::to_string(i))) return;
    }
    for (std::size_t i = 0; i < 4; ++i, ++waiting)
      server.ask(1 + i, 3, "together " + std::to_string(i), 60, [&](bool, bool) { --waiting; });
  };
  world.after(1, [&] { look(); });
  LookUps user(world, server, 3.3);
  return user.get_through("requests of slow databases at the same moment");
}

/// One address has requests at another database all the time. Three ask for as much as a pass takes whenever
/// they are due.
bool whenever_due() {
  World world;
  Server server(world);
  server.add({0.6, 0.09});
  server.add({0.01, 0.77});
  server.learn();
  server.ask_always(5, 2, 1, 2, "always");
  const std::function<void()> look = [&] {
    world.after(0.02, [&] { look(); });
    for (int i = 0; i < 3; ++i) {
      const auto name = "due " + std::to_string(i);
      if (is_due(server, name)) server.ask(0, 18, name, 60, [](bool, bool) {});
    }
  };
  world.after(6, [&] { look(); });
  LookUps users(world, server, 14.32, 2, 5);
  return users.get_through("requests that are sent when they are due");
}

/// One address asks all the time. Three others wait behind each of its passes, at the same database or each
/// at two slow ones, and are gone before it ends.
bool gone_in_time(bool elsewhere) {
  World world;
  Server server(world);
  server.add(elsewhere ? Cost{1, 0.1} : Cost{0.1, 0.1});
  for (int d = 1; elsewhere && d < 7; ++d) server.add({1.5, 0.01});
  std::vector<std::pair<std::size_t, std::optional<Batcher::Ticket>>> held;
  server.databases[0]->at_pass = [&](double begin, double end) {
    world.after(0.001, [&] {
      for (std::size_t i = 0; i < (elsewhere ? 6 : 3); ++i) {
        const std::size_t database = elsewhere ? 1 + i : 0;
        held.emplace_back(database, server.ask(database, elsewhere ? 5 : 30, "gone " + std::to_string(i % 3),
                                               60, [](bool, bool) {}));
      }
    });
    world.after(end - begin - 0.001, [&] {
      for (auto& [database, ticket] : held) {
        if (ticket) server.queues[database]->cancel(*ticket);
      }
      held.clear();
    });
  };
  server.ask_always(1, 2, 0, elsewhere ? 2 : 25, "stays");
  server.learn();
  LookUps user(world, server, elsewhere ? 15.1 : 5.3, elsewhere ? 2 : 1);
  return user.get_through(elsewhere ? "requests elsewhere that are gone before they are computed"
                                    : "requests that are gone before they are computed");
}

/// From the start on, two addresses keep large requests at a fast database, whose passes are full.
bool from_the_start() {
  World world;
  Server server(world);
  server.add({0.03, 0.0105});
  for (const char* address : {"one", "two"}) server.ask_always(1, 4, 0, 80, address);
  LookUps users(world, server, 3, 2, 2);
  return users.get_through("large requests at a fast database from the start on");
}

/// One large request is the first at a slow database of which nothing is known, and is stopped; then four
/// addresses ask it for two records each all the time.
bool large_first() {
  World world;
  Server server(world);
  server.add({0.003, 0.1});
  server.add({1, 0.7}, 0.03, false);
  world.after(1, [&] { server.ask(1, 256, "0", 60, [](bool, bool) {}); });
  for (const char* address : {"0", "1", "2", "3"}) server.ask_always(1.5, 5, 1, 2, address);
  LookUps user(world, server, 4.1);
  return user.get_through("a slow database whose first pass was stopped");
}

/// After a slow time, two addresses ask every database for more than it computes. Users want six records.
bool slow_for_a_while() {
  World world;
  Server server(world);
  for (std::size_t d = 0; d < 24; ++d) {
    server.add(d == 0 ? Cost{0.03, 0.1} : Cost{0.3, 0.02});
    server.databases[d]->slow_until = 70;
    server.databases[d]->slowness = 15;
    for (const char* address : {"0", "1"}) server.ask_always(1, 1, d, 100'000, address);
  }
  LookUps user(world, server, 5.3, 6, 1, kDeadline, 0.37, 150);
  return user.get_through("after a slow time, requests that take too long");
}

/// After a slow time, one address asks for more than a database computes, and has a request at each of the
/// others for that moment. Users want ten records.
bool for_a_moment() {
  World world;
  Server server(world);
  server.add({1, 0.1});
  for (int d = 1; d < 25; ++d) server.add({0.5, 0.001});
  for (const auto& database : server.databases) {
    database->slow_until = 70;
    database->slowness = 2.3;
  }
  const std::function<void()> ask = [&] {
    world.after(2, [&] { ask(); });
    for (int i = 0; i < 4; ++i) server.ask(1, 1, "asks", 60, [](bool, bool) {});
    world.after(0.01, [&] {
      std::vector<std::pair<std::size_t, std::optional<Batcher::Ticket>>> held;
      for (std::size_t d = 0; d < 25; ++d) {
        if (d != 1) held.emplace_back(d, server.ask(d, 1, "asks", 60, [](bool, bool) {}));
      }
      server.ask(0, 1000, "asks", 60, [](bool, bool) {});
      for (const auto& [d, ticket] : held) {
        if (ticket) server.queues[d]->cancel(*ticket);
      }
    });
  };
  world.after(71, [&] { ask(); });
  LookUps user(world, server, 20, 10, 1, kDeadline, 0.37, 160);
  return user.get_through("after a slow time, requests elsewhere for the moment of one that takes too long");
}

/// A crowd at one of many databases, where one address asks each for more than it computes, or for one record
/// of each of the others all the time.
bool crowd_beside_many(bool too_much) {
  World world;
  Server server(world);
  for (std::size_t d = 0; d < 24; ++d) {
    server.add({0.3, 0.003});
    if (too_much) {
      server.ask_always(1, 1, d, 100'000, "asks");
    } else if (d > 0) {
      server.ask_always(1, 1, d, 1, "asks");
    }
  }
  LookUps users(world, server, 0.7, 1, 100, kDeadline, 0.01);
  return users.get_through(too_much ? "a crowd, and requests that take too long at many databases"
                                    : "a crowd, and look-ups of one record at many databases");
}

/// A crowd of ever new clients that takes four fifths of the time. One address asks each other database for
/// more than it computes, which is tried now and then.
bool refused_elsewhere() {
  World world;
  Server server(world);
  for (std::size_t d = 0; d < 8; ++d) {
    server.add({0.3, 0.02});
    if (d > 0) server.ask_always(1, 1, d, 100'000, "asks");
  }
  Counts before, counts;
  std::mt19937_64 engine(1);
  std::size_t clients = 0;
  const std::function<void()> ask = [&] {
    world.after(std::exponential_distribution<>(35)(engine), [&] { ask(); });
    server.ask(0, 1, std::to_string(++clients), kDeadline,
               counting(world, world.now() < 100 ? before : counts));
  };
  world.after(1, [&] { ask(); });
  server.run(kSeconds);
  for (auto& queue : server.queues) queue.reset();  // refuses what waits
  std::printf("a crowd, and requests that take too long at the other databases: %d of %d in time\n",
              counts.in_time, counts.asked);
  return counts.in_time > 0.95 * counts.asked;
}

/// The machine is slow for four minutes. The user wants six records.
bool slow_for_minutes() {
  World world;
  Server server(world);
  server.add({0.03, 0.1});
  server.databases[0]->slow_until = 240;
  server.databases[0]->slowness = 6;
  LookUps user(world, server, 5.3, 6, 1, kDeadline, 0.37, 300);
  return user.get_through("after a slow time, nothing");
}

/// Four addresses keep look-ups of three records at each of many databases. Users want twelve, at each in
/// turn, when the machine is fast again. They take a little less than they always may.
bool slow_everywhere() {
  World world;
  Server server(world);
  for (std::size_t d = 0; d < 24; ++d) {
    server.add({0.03, 0.1});
    server.databases[d]->slow_until = 200;
    server.databases[d]->slowness = 2;
    for (const char* address : {"0", "1", "2", "3"}) server.ask_always(1, 1, d, 3, address);
  }
  LookUps users(world, server, 21.6, 12, 4, kDeadline, 0.25, 230, 24);
  return users.get_through("after a slow time, look-ups at each of many databases");
}

/// One address keeps two look-ups of one record at each of many databases. Users want six.
bool at_each() {
  World world;
  Server server(world);
  for (std::size_t d = 0; d < 24; ++d) {
    server.add({0.03, 0.1});
    server.ask_always(1, 2, d, 1, "always");
  }
  LookUps user(world, server, 4, 6);
  return user.get_through("look-ups of one record at each of many databases");
}

/// Four addresses fill passes of another database. Users ask so often that what each alone would take is more
/// than half of a share; what they take together is little.
bool returning() {
  World world;
  Server server(world);
  for (std::size_t d = 0; d < 2; ++d) server.add({1.5, 0.003});
  for (int i = 0; i < 4; ++i) server.ask_always(1, 5, 1, 256, "address " + std::to_string(i));
  LookUps users(world, server, 6, 1, 20, kDeadline, 0.05);
  return users.get_through("users who come again, and full passes elsewhere");
}

/// One address asks an idle database for more than it computes at once, again and again; three others ask for
/// as much as a pass takes whenever they are due. Users can wait for five seconds.
bool huge() {
  World world;
  Server server(world);
  server.add({0.03, 0.1});
  std::size_t waiting = 0;
  const std::function<void()> look = [&] {
    world.after(0.05, [&] { look(); });
    if (waiting == 0) {
      for (int i = 0; i < 4; ++i) {
        ++waiting;
        server.ask(0, 250, "huge", 60, [&](bool, bool) { --waiting; });
      }
    }
    for (int i = 0; i < 3; ++i) {
      const auto name = "due " + std::to_string(i);
      if (is_due(server, name)) server.ask(0, 23, name, 60, [](bool, bool) {});
    }
  };
  world.after(1, [&] { look(); });
  LookUps users(world, server, 18, 1, 3, 5);
  return users.get_through("requests that take too long");
}

/// Four addresses ask each database all the time for about as much as a pass may have, so that it is refused
/// and tried now and then. Users take a little less than they always may.
bool about_as_much() {
  World world;
  Server server(world);
  for (std::size_t d = 0; d < 3; ++d) {
    server.add({0.003, 0.1});
    for (const char* address : {"0", "1", "2", "3"}) server.ask_always(1, 5, d, 24, address);
  }
  LookUps users(world, server, 3.83, 3, 2, kDeadline, 0.37, 60);
  return users.get_through("requests of about as much as a pass may have");
}

/// Four addresses ask many slow databases at once for more than they compute.
bool huge_together() {
  World world;
  Server server(world);
  server.add({0.3, 0.1});
  for (int d = 1; d < 9; ++d) server.add({1, 0.7});
  const std::function<void()> ask = [&] {
    world.after(12, [&] { ask(); });
    for (std::size_t d = 1; d < 9; ++d) server.ask(d, 100, std::to_string(d % 4), 60, [](bool, bool) {});
  };
  world.after(61, [&] { ask(); });
  LookUps user(world, server, 4.1);
  return user.get_through("requests that take too long at many databases");
}

/// One address asks a slow database for half as many records each time, so that what large passes take is
/// forgotten; another one asks for a record of another database now and then.
bool walked_down() {
  World world;
  Server server(world);
  server.add({2, 0.01});
  server.add({0.003, 0.001});
  world.after(1, [&] { server.ask(0, 100, "honest", 60, [](bool, bool) {}); });
  std::function<void(std::size_t)> shrink = [&](std::size_t queries) {
    server.ask(0, queries, "walks", 60, [&, queries](bool, bool) {
      if (queries > 1) world.after(0.1, [&, queries] { shrink((queries + 1) / 2); });
    });
  };
  world.after(20, [&] { shrink(50); });
  server.ask_now_and_then(20, 1);
  LookUps users(world, server, 24.5, 3, 8, kDeadline, 0.02);
  return users.get_through("passes that one address has made small");
}

/// Ever new clients ask a slow database for so many records each, which together take hardly longer; one
/// address asks for one of another database now and then. Where it is cold, nothing is known of it but a
/// first pass of three queries, which read from a disk, and one of one.
bool slow_crowd(Cost cost, double rate, std::size_t queries, bool cold) {
  World world;
  Server server(world);
  server.add(cost, 0, !cold, cold ? 1 : 0);
  server.add({0.003, 0.001});
  Crowd crowd{rate, {}};
  std::mt19937_64 engine(1);
  std::size_t clients = 0;
  const std::function<void()> ask = [&] {
    world.after(std::exponential_distribution<>(rate)(engine), [&] { ask(); });
    server.ask(0, queries, std::to_string(++clients), kDeadline, counting(world, crowd.counts));
  };
  world.after(cold ? 15 : 0, [&] { ask(); });
  server.ask_now_and_then(1, 1);
  const auto once = [&](double when, std::size_t many) {
    world.after(when, [&, many] { server.ask(0, many, "elsewhere", 60, [](bool, bool) {}); });
  };
  if (cold) {
    once(0, 3);
    once(8, 1);
  } else {
    for (const std::size_t many : {4u, 200u}) once(0.5, many);  // the second is refused
  }
  server.run(kSeconds);
  for (auto& queue : server.queues) queue.reset();  // refuses what waits
  std::printf("a crowd at a %sdatabase of %g s and %g s a query, %zu each: %d of %d in time\n",
              cold ? "cold " : "", cost.base, cost.each, queries, crowd.counts.in_time, crowd.counts.asked);
  return crowd.counts.in_time > (cold ? 0.8 : 0.95) * crowd.counts.asked;
}

/// A second before the user asks, as it does each minute, four addresses ask for three records each of slow
/// databases of their own.
bool beforehand() {
  World world;
  Server server(world);
  server.add({0.1, 0.7});
  for (std::size_t d = 1; d < 5; ++d) server.add({0.1, 0.76});
  server.learn();
  const std::function<void()> ask = [&] {
    world.after(30, [&] { ask(); });
    for (std::size_t d = 1; d < 5; ++d) server.ask(d, 3, std::to_string(d), 60, [](bool, bool) {});
  };
  world.after(34, [&] { ask(); });
  LookUps user(world, server, 30, 2);
  return user.get_through("longer requests a second before");
}

int simulate(std::uint64_t seed, int scenarios, std::size_t worst) {
  std::multimap<double, std::uint64_t> results;
  long asked = 0, in_time = 0, refused = 0, late = 0;
  for (int n = 0; n < scenarios; ++seed) {
    auto scenario = draw(seed);
    if (!feasible(scenario)) continue;
    ++n;
    results.emplace(play(scenario, false), seed);
    for (const auto& user : scenario.users) {
      asked += user.counts.asked;
      in_time += user.counts.in_time;
      refused += user.counts.refused;
      late += user.counts.late;
    }
  }
  for (const auto& [least, of] : results) {
    if (worst-- == 0) break;
    auto scenario = draw(of);
    play(scenario, false);
    std::printf("seed %" PRIu64 ": %.2f\n", of, least);
    describe(scenario);
  }
  const auto part = [&](long count) { return static_cast<double>(count) / static_cast<double>(asked); };
  std::printf(
      "%d scenarios, %ld look-ups: %.4f in time, %.4f refused at once, %.4f late; least of a user: %.2f\n",
      scenarios, asked, part(in_time), part(refused), part(late), results.begin()->first);
  bool good = part(in_time) > 0.9995 && results.begin()->first > 0.9;
  for (const auto attack :
       {visitors,     holders,           strangers,        pushers,         together,   whenever_due,
        hurried,      small_ones,        from_the_start,   walked_down,     beforehand, slow_for_a_while,
        for_a_moment, refused_elsewhere, slow_for_minutes, slow_everywhere, at_each,    returning,
        huge,         about_as_much,     huge_together,    large_first})
    good &= attack();
  for (const bool elsewhere : {false, true}) good &= gone_in_time(elsewhere);
  for (const bool too_much : {false, true}) good &= crowd_beside_many(too_much);
  for (const std::size_t queries : {1u, 2u, 3u}) {
    for (const double base : {1.0, 2.2}) {
      for (const bool cold : {false, true})
        good &= slow_crowd({base, 0.02}, 6.0 / static_cast<double>(queries), queries, cold);
    }
  }
  good &= slow_crowd({5, 0.01}, 0.4, 1, false);
  if (scenarios < 60) return good ? 0 : 1;  // the crowds take as long as so many
  for (const Cost cost : {Cost{0.5, 0.02}, Cost{0.01, 0.1}, Cost{0.05, 0.7}}) {
    for (const Of of : {Of::kMany, Of::kManyBesideOthers, Of::kOne}) {
      for (const double load : {0.4, 0.9, 2.0}) {
        for (const double noise : {0.0, 0.05}) good &= crowds(cost, load, of, noise);
      }
    }
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace pirx::http

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  int scenarios = 100;
  std::size_t worst = 3;
  for (int i = 1; i + 1 < argc; i += 2) {
    const auto value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0) seed = value;
    if (std::strcmp(argv[i], "--scenarios") == 0) scenarios = static_cast<int>(value);
    if (std::strcmp(argv[i], "--worst") == 0) worst = value;
    if (std::strcmp(argv[i], "--only") == 0) {
      auto scenario = pirx::http::draw(value);
      pirx::http::play(scenario, true);
      pirx::http::describe(scenario);
      return 0;
    }
  }
  return pirx::http::simulate(seed, scenarios, worst);
}
