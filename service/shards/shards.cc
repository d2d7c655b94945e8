// SPDX-License-Identifier: Apache-2.0
// Computes one product on all ranks. Rank 0 gives orders, scatters queries and gathers sums. Every step has a
// deadline. If one is missed, no other pass is begun.
#include "pirx/shards/shards.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "messages.h"
#include "mpi_calls.h"
#include "src/base/time_limit.h"

namespace pirx::shards {
namespace {

using matrix::ConstView;
using matrix::Matrix;
using matrix::View;
using Clock = std::chrono::steady_clock;

/// The least speed of a network. A rank whose messages take longer counts as lost.
constexpr double kSlowestBytesPerSecond = 50e6;

/// A matrix of `rows` x `cols` bytes inside `kept`, which grows if it is too small and stays for the next
/// pass.
Result<View<std::byte>> reserve(Matrix<std::byte>& kept, std::size_t rows, std::size_t cols) {
  if (kept.rows() < rows || kept.cols() != cols) {
    kept = {};
    PIRX_ASSIGN(kept, Matrix<std::byte>::create(rows, cols));
  }
  return kept.view().window(0, 0, rows, cols);
}

Error at_rank(int rank, std::uint32_t code) {
  const bool memory = code == static_cast<std::uint32_t>(ErrorCode::kResourceExhausted);
  if (code == static_cast<std::uint32_t>(ErrorCode::kDataLoss)) {
    return {ErrorCode::kInternal, "the database is damaged at rank " + std::to_string(rank) +
                                      " (its log says where): use another server"};
  }
  return {memory ? ErrorCode::kResourceExhausted : ErrorCode::kInternal,
          "rank " + std::to_string(rank) +
              (memory ? " has no memory for these queries: try again later" : " could not compute its part")};
}

}  // namespace

class Shards::Impl {
 public:
  Impl(const World& world, Options options, MPI_Comm comm, RowSum sum)
      : world_(world), options_(std::move(options)), comm_(comm), sum_(std::move(sum)) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    if (keeper_.joinable()) keeper_.join();
    if (left_) MPI_Comm_free(&comm_);
  }

  Result<Product> spread(const Product& whole, const std::function<Result<Product>(const Part&)>& prepare) {
    constexpr std::size_t kMost = std::numeric_limits<int>::max();  // MPI counts with int
    if (local_) {
      return invalid("the ranks hold one database in one epoch: start all of them again for another");
    }
    if (whole.rows > kMost || whole.words > kMost) {
      return invalid("shards have at most 2^31 - 1 rows and words in a row");
    }
    whole_ = whole;
    split_ = choose_split(options_.split, whole);
    part_ = part_of(whole_, split_, world_.ranks(), world_.rank());
    PIRX_ASSIGN(local_, prepare(part_));
    Product product = whole;
    product.workspace_bytes = local_->workspace_bytes;
    // The sums that arrive, and what MPI keeps while it adds them up.
    product.bytes_per_query = 2 * sums_bytes();
    product.multiply = [this](ConstView<std::byte> Q, View<std::byte> R) { return multiply(Q, R); };
    product.add = local_->add;
    return product;
  }

  Result<void> agree(const AnyServer& server, ByteSpan content) {
    PIRX_CHECK(local_ && !agreed_);
    const Digest same = digest_of(whole_, split_, world_.ranks(), server.parameters(), content);
    const Hello mine = make_hello(same, part_);
    if (world_.rank() != 0) {
      MPI_Request request = MPI_REQUEST_NULL;
      PIRX_TRY(
          check_mpi(MPI_Isend(&mine, sizeof mine, MPI_BYTE, 0, kTagHello, comm_, &request), "say hello"));
      PIRX_TRY(wait_all({&request, 1}, [] { return Result<void>(); }));
      agreed_ = true;
      return {};
    }
    hellos_.assign(static_cast<std::size_t>(world_.ranks()), mine);
    std::vector<MPI_Request> requests(hellos_.size(), MPI_REQUEST_NULL);
    for (int rank = 1; rank < world_.ranks(); ++rank) {
      const auto i = static_cast<std::size_t>(rank);
      PIRX_TRY(check_mpi(
          MPI_Irecv(&hellos_[i], sizeof(Hello), MPI_BYTE, rank, kTagHello, comm_, &requests[i]), "listen"));
    }
    auto next_note = Clock::now() + std::chrono::seconds(10);
    const auto say = [&]() -> Result<void> {
      if (Clock::now() >= next_note) {
        next_note += std::chrono::seconds(10);
        note("waiting for rank " + std::to_string(first_open(requests)) + " to read its part");
      }
      return {};
    };
    PIRX_TRY(wait_all(requests, say, kWhileWorking));
    for (int rank = 1; rank < world_.ranks(); ++rank) {
      const Part part = part_of(whole_, split_, world_.ranks(), rank);
      PIRX_TRY(check_hello(hellos_[static_cast<std::size_t>(rank)], same, part, rank));
    }
    for (int rank = 0; rank < world_.ranks(); ++rank) {
      const auto& hello = hellos_[static_cast<std::size_t>(rank)];
      const auto& p = hello.part;
      note(rank_name(rank, hello) + " holds rows " + std::to_string(p.first_row) + "+" +
           std::to_string(p.rows) + ", words " + std::to_string(p.first_word) + "+" +
           std::to_string(p.words) + " of each");
    }
    agreed_ = true;
    if (options_.ping.count() > 0) keeper_ = std::thread([this] { keep(); });
    return {};
  }

  Result<void> work(const std::function<bool()>& give_up, const std::function<bool()>& sound) {
    PIRX_CHECK(world_.rank() != 0 && agreed_);
    const auto go_on = [&give_up]() -> Result<void> {
      if (give_up && give_up()) return fail(ErrorCode::kUnavailable, "told to end before rank 0 has left");
      return {};
    };
    View<std::byte> Q, R;
    while (true) {
      PIRX_ASSIGN(const Order order, next_order(go_on));
      Report report{.number = order.number};
      switch (order.kind) {
        case Order::Kind::kPrepare: {
          const auto queries = reserve(queries_, order.queries, elems_bytes());
          const auto sums = reserve(sums_, order.queries, sums_bytes());
          if (queries && sums) {
            Q = *queries;
            R = *sums;
          } else {
            report.code = static_cast<std::uint32_t>(ErrorCode::kResourceExhausted);
          }
          PIRX_TRY(send_report(report, go_on));
          break;
        }
        case Order::Kind::kGo:
          PIRX_TRY(receive_queries(Q, go_on));
          if (const auto done = multiply_in(order.seconds, Q, R); !done) {
            report.code = static_cast<std::uint32_t>(done.error().code());
          } else if (sound && !sound()) {
            report.code = static_cast<std::uint32_t>(ErrorCode::kDataLoss);
          }
          PIRX_TRY(send_report(report, go_on));
          break;
        case Order::Kind::kGather:
          PIRX_TRY(send_sums(R, go_on));
          break;
        case Order::Kind::kPing:
          PIRX_TRY(send_report(report, go_on));
          break;
        case Order::Kind::kStop:
          PIRX_TRY(send_report(report, go_on));
          left_ = true;
          return {};
        default:
          return fail(ErrorCode::kInternal, "rank 0 gave an order that is none");
      }
    }
  }

  Result<void> leave() {
    PIRX_CHECK(world_.rank() == 0);
    const std::lock_guard lock(mutex_);
    if (left_) return {};
    if (!agreed_ || lost_) return fail(ErrorCode::kUnavailable, "not all ranks are there any more");
    stopping_ = true;
    PIRX_TRY(call(Order::Kind::kStop, 0));
    left_ = true;
    return {};
  }

  std::optional<Error> lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
  }
  std::uint64_t passes() const {
    const std::lock_guard lock(mutex_);
    return passes_;
  }

 private:
  std::size_t parts() const noexcept { return static_cast<std::size_t>(world_.ranks()); }
  Part part_at(std::size_t rank) const {
    return part_of(whole_, split_, world_.ranks(), static_cast<int>(rank));
  }
  /// The bytes that one query takes on this rank: its elements, and its sums. Rank 0 holds the sums of all
  /// ranks.
  std::size_t elems_bytes() const noexcept { return whole_.elems_bytes(part_.rows); }
  std::size_t sums_bytes() const noexcept {
    return (world_.rank() == 0 ? whole_.words : part_.words) * whole_.sum_bytes;
  }

  void note(const std::string& text) const {
    if (options_.note) options_.note(text);
  }

  static std::size_t first_open(std::span<const MPI_Request> requests) {
    std::size_t i = 0;
    while (i + 1 < requests.size() && requests[i] == MPI_REQUEST_NULL) ++i;
    return i;
  }

  /// The deadline of `requests` on rank 0, one for each rank, as wait_all() takes it: gives an error once it
  /// has passed. The requests move `bytes` bytes in all. If they follow on a product, rank 0 took `own` for
  /// its part of it.
  std::function<Result<void>()> in_time(std::span<const MPI_Request> requests, std::size_t bytes,
                                        Clock::duration own = {}) const {
    const auto moving = std::chrono::duration<double>(static_cast<double>(bytes) / kSlowestBytesPerSecond);
    const auto end = Clock::now() + options_.timeout + 4 * own + std::chrono::ceil<Clock::duration>(moving);
    return [this, requests, end]() -> Result<void> {
      if (Clock::now() < end) return {};
      const std::size_t rank = first_open(requests);  // 0: an operation of all ranks
      return fail(ErrorCode::kUnavailable,
                  (rank == 0 ? "a rank" : rank_name(static_cast<int>(rank), hellos_[rank])) +
                      " does not answer: this server ends, ask another one");
    };
  }

  // What rank 0 does.

  Result<void> multiply(ConstView<std::byte> Q, View<std::byte> R) {
    const std::lock_guard lock(mutex_);
    if (!agreed_ || stopping_ || world_.rank() != 0) {
      return fail(ErrorCode::kUnavailable, "this server's parts are not together: ask another one");
    }
    const std::size_t each = std::max({elems_bytes(), sums_bytes(), std::size_t{1}});
    const std::size_t most = std::max<std::size_t>(1, options_.max_pass_bytes / each);
    for (std::size_t first = 0; first < Q.rows; first += most) {
      const std::size_t queries = std::min(most, Q.rows - first);
      PIRX_TRY(guarded(
          [&] { return pass(Q.window(first, 0, queries, Q.cols), R.window(first, 0, queries, R.cols)); }));
    }
    return {};
  }

  /// Runs `talk`, which talks to all ranks. After an Unavailable the ranks are out of step, so nothing is run
  /// any more.
  template <class F>
  Result<void> guarded(const F& talk) {
    if (lost_) return tl::unexpected(*lost_);
    auto done = talk();
    if (!done && done.error().code() == ErrorCode::kUnavailable) {
      lost_ = done.error();
      if (options_.lost) options_.lost(*lost_);
    }
    return done;
  }

  /// Gives an order to all ranks and waits for their reports. Unavailable: a rank is lost. Other errors are
  /// those that a rank reported.
  Result<void> call(Order::Kind kind, std::size_t queries) {
    std::vector<MPI_Request>& sent = kept_requests_[0];
    PIRX_TRY(send_order(kind, queries, sent));
    PIRX_TRY(receive_reports(kept_requests_[1]));
    PIRX_TRY(wait_all(sent, in_time(sent, 0)));
    PIRX_TRY(wait_all(kept_requests_[1], in_time(kept_requests_[1], 0)));
    return check_reports();
  }

  Result<void> send_order(Order::Kind kind, std::size_t queries, std::vector<MPI_Request>& requests) {
    order_ = {.number = ++number_, .kind = kind, .queries = static_cast<std::uint32_t>(queries)};
    if (const auto* limit = TimeLimit::current()) {
      const std::chrono::duration<double> left = limit->end() - Clock::now();
      order_.seconds = std::clamp(left.count(), 0.0, Order::kNoLimit);
    }
    requests.assign(parts(), MPI_REQUEST_NULL);
    for (std::size_t i = 1; i < parts(); ++i) {
      PIRX_TRY(check_mpi(
          MPI_Isend(&order_, sizeof order_, MPI_BYTE, static_cast<int>(i), kTagOrder, comm_, &requests[i]),
          "send an order"));
    }
    return {};
  }

  Result<void> receive_reports(std::vector<MPI_Request>& requests) {
    requests.assign(parts(), MPI_REQUEST_NULL);
    reports_.resize(parts());
    for (std::size_t i = 1; i < parts(); ++i) {
      PIRX_TRY(check_mpi(MPI_Irecv(&reports_[i], sizeof(Report), MPI_BYTE, static_cast<int>(i), kTagReport,
                                   comm_, &requests[i]),
                         "listen to a rank"));
    }
    return {};
  }

  Result<void> check_reports() const {
    for (std::size_t i = 1; i < parts(); ++i) {
      if (reports_[i].number != order_.number) {
        return fail(ErrorCode::kUnavailable, rank_name(static_cast<int>(i), hellos_[i]) + " is out of step");
      }
    }
    for (std::size_t i = 1; i < parts(); ++i) {
      const auto rank = static_cast<int>(i);
      if (reports_[i].code == static_cast<std::uint32_t>(ErrorCode::kDataLoss)) {
        return fail(
            ErrorCode::kUnavailable,
            rank_name(rank, hellos_[i]) + " has a damaged database: this server ends, ask another one");
      }
      if (reports_[i].code != Report::kGood) return tl::unexpected(at_rank(rank, reports_[i].code));
    }
    return {};
  }

  static tl::unexpected<Error> too_long() {
    return fail(ErrorCode::kResourceExhausted, "stopped: it took too long");
  }

  Result<void> multiply_in(double seconds, ConstView<std::byte> Q, View<std::byte> R) const {
    TimeLimit limit(Clock::now() +
                    std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
    auto done = local_->multiply(Q, R);
    if (limit.reached()) return too_long();
    return done;
  }

  Result<void> pass(ConstView<std::byte> Q, View<std::byte> R) {
    // Sums are never received in the caller's memory, because MPI may still write to it after a rank was
    // lost.
    PIRX_ASSIGN(const auto sums, reserve(sums_, Q.rows, sums_bytes()));
    ++passes_;
    PIRX_TRY(call(Order::Kind::kPrepare, Q.rows));
    std::vector<MPI_Request>& orders = kept_requests_[0];
    PIRX_TRY(send_order(Order::Kind::kGo, Q.rows, orders));
    PIRX_TRY(scatter(Q));
    PIRX_TRY(wait_all(orders, in_time(orders, 0)));

    const auto start = Clock::now();
    const bool by_rows = split_ == Split::kRows;
    const auto mine = by_rows ? Q.window(0, whole_.elems_bytes(part_.first_row), Q.rows, elems_bytes()) : Q;
    const std::size_t words = part_.words * whole_.sum_bytes;
    const auto own =
        local_->multiply(mine, sums.window(0, part_.first_word * whole_.sum_bytes, Q.rows, words));
    const auto took = Clock::now() - start;

    PIRX_TRY(receive_reports(kept_requests_[1]));
    PIRX_TRY(wait_all(kept_requests_[1], in_time(kept_requests_[1], 0, took), kWhileWorking));
    // All ranks had the same time, and wait for the next order.
    if (over(TimeLimit::current())) return too_long();
    PIRX_TRY(check_reports());
    if (!own) return own;
    PIRX_TRY(send_order(Order::Kind::kGather, Q.rows, orders));
    PIRX_TRY(gather(sums));
    PIRX_TRY(wait_all(orders, in_time(orders, 0)));
    for (std::size_t i = 0; i < R.rows; ++i) std::copy_n(sums.row(i), R.cols, R.row(i));
    return {};
  }

  /// Sends every rank its part of the queries. Returns when all have theirs, because MPI moves them only
  /// while it is called.
  Result<void> scatter(ConstView<std::byte> Q) {
    std::vector<MPI_Request>& requests = kept_requests_[1];
    requests.assign(parts(), MPI_REQUEST_NULL);
    const int queries = static_cast<int>(Q.rows);
    if (split_ == Split::kColumns) {
      PIRX_ASSIGN(const auto row, RowType::create(whole_.elems_bytes(whole_.rows), 1, Q.stride));
      PIRX_TRY(
          check_mpi(MPI_Ibcast(const_cast<std::byte*>(Q.data), queries, row.get(), 0, comm_, &requests[0]),
                    "broadcast queries"));
      return wait_all(requests, in_time(requests, Q.rows * Q.cols * parts()));
    }
    for (std::size_t i = 1; i < parts(); ++i) {
      const Part part = part_at(i);
      PIRX_ASSIGN(const auto row, RowType::create(whole_.elems_bytes(part.rows), 1, Q.stride));
      PIRX_TRY(check_mpi(MPI_Isend(Q.data + whole_.elems_bytes(part.first_row), queries, row.get(),
                                   static_cast<int>(i), kTagQueries, comm_, &requests[i]),
                         "send queries"));
    }
    return wait_all(requests, in_time(requests, Q.rows * Q.cols));
  }

  /// Adds up the sums of all ranks, or puts them side by side; rank 0's own are in place.
  Result<void> gather(View<std::byte> sums) {
    std::vector<MPI_Request>& requests = kept_requests_[2];
    requests.assign(parts(), MPI_REQUEST_NULL);
    const int queries = static_cast<int>(sums.rows);
    if (split_ == Split::kRows) {
      PIRX_ASSIGN(const auto row, RowType::create(whole_.words, whole_.sum_bytes, sums.stride));
      sum_rows_ = {&*local_, sums.stride};
      PIRX_TRY(sum_.describe(row, sum_rows_));
      PIRX_TRY(check_mpi(
          MPI_Ireduce(MPI_IN_PLACE, sums.data, queries, row.get(), sum_.get(), 0, comm_, &requests[0]),
          "add up answers"));
      return wait_all(requests, in_time(requests, sums.rows * sums.cols * parts()));
    }
    for (std::size_t i = 1; i < parts(); ++i) {
      const Part part = part_at(i);
      PIRX_ASSIGN(const auto row, RowType::create(part.words, whole_.sum_bytes, sums.stride));
      PIRX_TRY(check_mpi(MPI_Irecv(sums.data + part.first_word * whole_.sum_bytes, queries, row.get(),
                                   static_cast<int>(i), kTagSums, comm_, &requests[i]),
                         "receive answers"));
    }
    return wait_all(requests, in_time(requests, sums.rows * sums.cols));
  }

  /// Pings the ranks between passes, until the run ends or a rank is lost.
  void keep() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, options_.ping, [this] { return stopping_ || lost_; })) {
      const auto done = guarded([this] { return call(Order::Kind::kPing, 0); });
      if (!done) return;
    }
  }

  // What the other ranks do.

  Result<Order> next_order(const std::function<Result<void>()>& go_on) {
    Pause pause(kWhileWorking);
    for (int there = 0; there == 0;) {
      PIRX_TRY(check_mpi(MPI_Iprobe(0, kTagOrder, comm_, &there, MPI_STATUS_IGNORE), "look for an order"));
      if (there == 0) {
        PIRX_TRY(go_on());
        pause();
      }
    }
    Order order;
    PIRX_TRY(check_mpi(MPI_Recv(&order, sizeof order, MPI_BYTE, 0, kTagOrder, comm_, MPI_STATUS_IGNORE),
                       "take an order"));
    return order;
  }

  Result<void> send_report(const Report& report, const std::function<Result<void>()>& go_on) {
    MPI_Request request = MPI_REQUEST_NULL;
    PIRX_TRY(
        check_mpi(MPI_Isend(&report, sizeof report, MPI_BYTE, 0, kTagReport, comm_, &request), "report"));
    return wait_all({&request, 1}, go_on);
  }

  Result<void> receive_queries(View<std::byte> Q, const std::function<Result<void>()>& go_on) {
    const int queries = static_cast<int>(Q.rows);
    MPI_Request request = MPI_REQUEST_NULL;
    PIRX_ASSIGN(const auto row, RowType::create(elems_bytes(), 1, Q.stride));
    if (split_ == Split::kColumns) {
      PIRX_TRY(check_mpi(MPI_Ibcast(Q.data, queries, row.get(), 0, comm_, &request), "receive queries"));
    } else {
      PIRX_TRY(check_mpi(MPI_Irecv(Q.data, queries, row.get(), 0, kTagQueries, comm_, &request),
                         "receive queries"));
    }
    return wait_all({&request, 1}, go_on);
  }

  Result<void> send_sums(View<std::byte> R, const std::function<Result<void>()>& go_on) {
    const int queries = static_cast<int>(R.rows);
    MPI_Request request = MPI_REQUEST_NULL;
    PIRX_ASSIGN(const auto row, RowType::create(part_.words, whole_.sum_bytes, R.stride));
    if (split_ == Split::kColumns) {
      PIRX_TRY(
          check_mpi(MPI_Isend(R.data, queries, row.get(), 0, kTagSums, comm_, &request), "send answers"));
    } else {
      sum_rows_ = {&*local_, R.stride};
      PIRX_TRY(sum_.describe(row, sum_rows_));
      PIRX_TRY(check_mpi(MPI_Ireduce(R.data, nullptr, queries, row.get(), sum_.get(), 0, comm_, &request),
                         "add up answers"));
    }
    return wait_all({&request, 1}, go_on);
  }

  const World& world_;
  const Options options_;
  MPI_Comm comm_;
  RowSum sum_;

  Product whole_;  ///< only its shape is used
  Split split_ = Split::kRows;
  Part part_;
  std::optional<Product> local_;
  bool agreed_ = false;

  mutable std::mutex mutex_;  ///< guards all members below, and the calls of MPI
  std::condition_variable changed_;
  bool stopping_ = false, left_ = false;
  std::optional<Error> lost_;
  std::uint64_t number_ = 0, passes_ = 0;
  std::vector<Hello> hellos_;
  // What MPI reads and writes. It must live as long as this object, because MPI may still use it for a pass
  // that was given up.
  Order order_;
  std::vector<Report> reports_;
  std::array<std::vector<MPI_Request>, 3> kept_requests_;
  RowSum::Rows sum_rows_{};
  Matrix<std::byte> queries_, sums_;
  std::thread keeper_;
};

Shards::Shards(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Shards::~Shards() = default;

Result<std::unique_ptr<Shards>> Shards::create(const World& world, Options options) {
  MPI_Comm comm = MPI_COMM_NULL;
  PIRX_TRY(check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "make a communicator"));
  PIRX_TRY(check_mpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "set its error handler"));
  PIRX_ASSIGN(auto sum, RowSum::create());
  return std::unique_ptr<Shards>(
      new Shards(std::make_unique<Impl>(world, std::move(options), comm, std::move(sum))));
}

Spread Shards::spread() {
  return [impl = impl_.get()](const Product& whole, const auto& prepare) {
    return impl->spread(whole, prepare);
  };
}
Result<void> Shards::agree(const AnyServer& server, ByteSpan content) {
  return impl_->agree(server, content);
}
Result<void> Shards::work(const std::function<bool()>& give_up, const std::function<bool()>& sound) {
  return impl_->work(give_up, sound);
}
Result<void> Shards::leave() { return impl_->leave(); }
std::optional<Error> Shards::lost() const { return impl_->lost(); }
std::uint64_t Shards::passes() const { return impl_->passes(); }

}  // namespace pirx::shards
