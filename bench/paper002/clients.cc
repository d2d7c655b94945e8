// Experiments 3 and 4 of paper 002 (Henry 2016): what a client computes to make a query and to reconstruct
// the blocks from the replies, beside the same written plainly (plain.h). Through the public client, over
// random records; every answer is compared before its time counts. Milliseconds of one core, medians taken in
// turns. Prints a JSON record a case.
#include <CLI/CLI.hpp>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "engine/record.h"
#include "paper002/deployment.h"
#include "paper002/plain.h"
#include "pirx/base/cpu.h"

namespace {

using namespace pirx;
using namespace pirx::bench;

struct Arguments {
  std::vector<std::string> fields{"w160", "gf2_8"};
  std::vector<unsigned> thresholds{1, 4, 16}, ramps{1, 4, 8};
  std::vector<int> experiments{3, 4};
  unsigned servers = 32;
  std::uint64_t rows = 16'000, block_bytes = 4'000'000;
  std::size_t plain_rows = 1000, plain_words = 2000;
  int samples = 5;
};

struct Times {
  std::vector<double> pirx, plain, pirx_gather, plain_gather;
};

/// Milliseconds of the plain client.
struct Plain {
  double query, gather, decode;
};

/// The first q records in any order that is not theirs.
std::vector<std::uint64_t> wanted(const Settings& settings) {
  std::vector<std::uint64_t> indices;
  for (unsigned m = settings.ramp; m-- > 0;) indices.push_back((m * 7919 + 1) % settings.records);
  return indices;
}

void check(const Deployment& deployment, const std::vector<std::uint64_t>& indices, const Answer& answer) {
  need(answer.certainty == Certainty::kProven && answer.records.size() == indices.size(),
       "the answer is not proven");
  for (std::size_t m = 0; m < indices.size(); ++m) {
    need(answer.records[m] == deployment.record(indices[m]), "the answer is wrong");
  }
}

/// The plain client makes a query for `rows` rows and decodes replies of `words` words.
template <class Field>
Plain time_plain(const Settings& settings, std::size_t rows, std::size_t words) {
  PlainClient<Field> client(settings.servers, settings.threshold, settings.ramp);
  std::vector<std::size_t> hidden;
  for (unsigned m = 0; m < settings.ramp; ++m) hidden.push_back(m * 7919 % rows);
  std::vector<Bytes> requests(settings.servers, Bytes(rows * Field::kBytes));
  std::vector<Bytes> replies(settings.servers, Bytes(words * Field::kBytes));
  std::vector<Bytes> blocks(settings.ramp, Bytes(words * Field::kWordBytes));
  std::mt19937_64 random(5);
  Bytes D(rows * words * Field::kWordBytes);
  for (auto& byte : D) byte = static_cast<std::byte>(random());
  double start = cpu_milliseconds();
  client.query(rows, hidden, requests);
  const double query = cpu_milliseconds() - start;
  for (unsigned j = 0; j < settings.servers; ++j) client.answer(requests[j], D, words, replies[j]);
  start = cpu_milliseconds();
  client.read(replies, words);
  const double gather = cpu_milliseconds() - start;
  start = cpu_milliseconds();
  need(client.decode(words, blocks), "the plain client's replies contradict each other");
  const double decode = cpu_milliseconds() - start;
  const std::size_t row_bytes = words * Field::kWordBytes;
  for (unsigned m = 0; m < settings.ramp; ++m) {
    need(std::memcmp(blocks[m].data(), D.data() + hidden[m] * row_bytes, row_bytes) == 0,
         "the plain client is wrong");
  }
  return {query, gather, decode};
}

Plain time_plain(const Settings& settings, std::size_t rows, std::size_t words) {
  return settings.field == "w160" ? time_plain<NtlField>(settings, rows, words)
                                  : time_plain<TableField>(settings, rows, words);
}

bench::Record record_of(const char* kind, const Settings& settings, const Times& times) {
  bench::Record record(kind);
  const double ours = median(times.pirx), plain = median(times.plain);
  const auto [fastest, slowest] = std::minmax_element(times.pirx.begin(), times.pirx.end());
  record.add("field", settings.field)
      .add("servers", settings.servers)
      .add("t", settings.threshold)
      .add("q", settings.ramp)
      .add("pirx_ms", ours)
      .add("pirx_min_ms", *fastest)
      .add("pirx_max_ms", *slowest)
      .add("plain_ms", plain)
      .add("plain_to_pirx", plain / ours);
  return record;
}

void print(const bench::Record& record) {
  std::printf("%s\n", record.to_string().c_str());
  std::fflush(stdout);
}

/// Experiment 3: rows of one word, so that answering, which checks the query, costs little.
void preparation(const Arguments& a, Settings settings, Rng& rng) {
  settings.records = a.rows;
  settings.record_bytes = settings.field == "w160" ? 20 : 1;
  const Deployment deployment(settings);
  const auto indices = wanted(settings);
  Times times;
  for (int sample = -1; sample < a.samples; ++sample) {
    const double start = cpu_milliseconds();
    auto query = need(deployment.client().query(indices, rng));
    const double taken = cpu_milliseconds() - start;
    const auto replies = deployment.answer(query);
    auto collector = deployment.client().collect(std::move(query.state));
    for (std::size_t j = 0; j < replies.size(); ++j) need(collector.add(j, replies[j]));
    check(deployment, indices, need(std::move(collector).finish()));
    const double plain = time_plain(settings, a.plain_rows, 1).query;
    if (sample < 0) continue;  // the first time
    times.pirx.push_back(taken);
    times.plain.push_back(plain * static_cast<double>(a.rows) / static_cast<double>(a.plain_rows));
  }
  auto record = record_of("query preparation", settings, times);
  record.add("rows", a.rows).add("request_bytes", deployment.client().request_bytes(indices.size()));
  print(record);
}

/// Experiment 4. Taking in (gather) is from the bytes of replies to checked values, reconstruction from there
/// to the records' bytes, with all replies compared.
void reconstruction(const Arguments& a, Settings settings, Rng& rng) {
  settings.records = std::max(2u, settings.ramp);
  settings.record_bytes = a.block_bytes;
  const Deployment deployment(settings);
  const auto indices = wanted(settings);
  const auto words = a.block_bytes / (settings.field == "w160" ? 20 : 1);
  Times times;
  for (int sample = -1; sample < a.samples; ++sample) {
    auto query = need(deployment.client().query(indices, rng));
    const auto replies = deployment.answer(query);
    const double start = cpu_milliseconds();
    auto collector = deployment.client().collect(std::move(query.state));
    for (std::size_t j = 0; j < replies.size(); ++j) need(collector.add(j, replies[j]));
    const double gathered = cpu_milliseconds();
    const auto answer = need(std::move(collector).finish());
    const double end = cpu_milliseconds();
    check(deployment, indices, answer);
    const auto plain = time_plain(settings, std::max<std::size_t>(2, settings.ramp), a.plain_words);
    if (sample < 0) continue;
    const double scale = static_cast<double>(words) / static_cast<double>(a.plain_words);
    times.pirx.push_back(end - gathered);
    times.pirx_gather.push_back(gathered - start);
    times.plain.push_back(plain.decode * scale);
    times.plain_gather.push_back(plain.gather * scale);
  }
  auto record = record_of("reconstruction", settings, times);
  const double gather = median(times.pirx_gather), plain_gather = median(times.plain_gather);
  record.add("words", words)
      .add("block_bytes", a.block_bytes)
      .add("pirx_gather_ms", gather)
      .add("plain_gather_ms", plain_gather)
      .add("plain_to_pirx_with_gather", (median(times.plain) + plain_gather) / (median(times.pirx) + gather))
      .add("reply_bytes", deployment.client().reply_bytes(indices.size()));
  print(record);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments a;
  CLI::App app{"What clients compute (experiments 3 and 4 of paper 002), beside the same written plainly"};
  app.add_option("--experiments", a.experiments, "3: query preparation, 4: reconstruction")
      ->delimiter(',')
      ->check(CLI::Range(3, 4));
  app.add_option("--fields", a.fields, "w160 (plainly: NTL), gf2_8 (plainly: a table)")
      ->delimiter(',')
      ->check(CLI::IsMember({"w160", "gf2_8"}));
  app.add_option("--t", a.thresholds, "servers that may collude")->delimiter(',');
  app.add_option("--q", a.ramps, "blocks in a query vector")->delimiter(',');
  app.add_option("--servers", a.servers, "l")->check(CLI::Range(4, 64));
  app.add_option("--rows", a.rows, "of the database, in experiment 3")->check(CLI::PositiveNumber);
  app.add_option("--block_bytes", a.block_bytes, "in experiment 4")->check(CLI::PositiveNumber);
  app.add_option("--plain_rows", a.plain_rows, "rows the plain client's time is measured on, and scaled from")
      ->check(CLI::Range(64, 1'000'000));
  app.add_option("--plain_words", a.plain_words, "likewise words")->check(CLI::Range(1, 1'000'000));
  app.add_option("--samples", a.samples, "of each, in turns; medians are printed")
      ->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
#ifdef _OPENMP
  omp_set_num_threads(1);
#endif
  auto rng = need(Rng::from_os());
  bench::Record context("context");
  context.add("cpu", cpu_features_name(need(allowed_cpu_features()))).add("compiler", __VERSION__);
  print(context);
  for (const int experiment : a.experiments) {
    for (const auto& field : a.fields) {
      for (const auto t : a.thresholds) {
        for (const auto q : a.ramps) {
          if (t + q >= a.servers) continue;  // a reply more than needed, for a proof
          const Settings settings{field, a.servers, t, q, 0, 0};
          (experiment == 3 ? preparation : reconstruction)(a, settings, rng);
        }
      }
    }
  }
  return 0;
}
