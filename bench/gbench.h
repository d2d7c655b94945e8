// SPDX-License-Identifier: Apache-2.0
// What every benchmark does: it takes its own flags out of the command line, leaves the others to Google
// Benchmark, names the machine, and reports no time for a wrong answer.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "pirx/base/cpu.h"
#include "pirx/protocol/option.h"

namespace pirx::bench {

/// The value of a result. An error ends the program.
template <class T>
T need(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// One of main(): first its flags, then start(), then benchmarks are registered, then run().
class Program {
 public:
  Program(int argc, char** argv) : words_(argv, argv + argc) {}

  /// The value of --name=VALUE, or `fallback`.
  std::string text(const std::string& name, std::string fallback) {
    const std::string flag = "--" + name + "=";
    usage_ += " [" + flag + fallback + "]";
    std::erase_if(words_, [&](const std::string& word) {
      if (!word.starts_with(flag)) return false;
      fallback = word.substr(flag.size());
      return true;
    });
    return fallback;
  }
  std::uint64_t number(const std::string& name, std::uint64_t fallback, std::uint64_t least,
                       std::uint64_t most) {
    return read(name, text(name, std::to_string(fallback)), least, most);
  }
  /// The words between commas.
  std::vector<std::string> texts(const std::string& name, const std::string& fallback) {
    std::vector<std::string> out;
    std::istringstream list(text(name, fallback));
    for (std::string word; std::getline(list, word, ',');) out.push_back(word);
    return out;
  }
  template <class T>
  std::vector<T> numbers(const std::string& name, const std::string& fallback, T least, T most) {
    std::vector<T> out;
    for (const auto& word : texts(name, fallback)) {
      out.push_back(static_cast<T>(read(name, word, least, most)));
    }
    return out;
  }

  /// Reads Google Benchmark's flags. Ends the program on --help and on flags that nobody knows.
  void start() {
    std::vector<char*> argv;
    for (auto& word : words_) argv.push_back(word.data());
    if (std::find(words_.begin(), words_.end(), "--help") != words_.end()) {
      std::printf("%s%s, and:\n", argv[0], usage_.c_str());
    }
    int argc = static_cast<int>(argv.size());
    benchmark::Initialize(&argc, argv.data());
    if (benchmark::ReportUnrecognizedArguments(argc, argv.data())) std::exit(1);
    benchmark::AddCustomContext("cpu", cpu_features_name(need(allowed_cpu_features())));
    benchmark::AddCustomContext("compiler", __VERSION__);
  }
  /// The exit code: 1 if an answer was wrong, or if there is no benchmark of the given name.
  static int run() { return benchmark::RunSpecifiedBenchmarks() > 0 && !wrong_ ? 0 : 1; }
  /// Ends a benchmark without a time.
  static void wrong(benchmark::State& state, const std::string& why) {
    wrong_ = true;
    state.SkipWithError(why.c_str());
  }

 private:
  static std::uint64_t read(const std::string& name, const std::string& text, std::uint64_t least,
                            std::uint64_t most) {
    return need(parse_whole_number(text, least, most).map_error([&](const Error& error) {
      return Error(error.code(), "--" + name + ": " + error.message());
    }));
  }

  static inline bool wrong_ = false;
  std::vector<std::string> words_;
  std::string usage_;
};

/// Registers a benchmark of f(): milliseconds by the clock on the wall, beside the processor time of all
/// threads, and `counters`. right(x) says whether x, what the last call gave, is the right answer.
template <class F, class Right>
benchmark::internal::Benchmark* add(const std::string& name, F f, Right right,
                                    const benchmark::UserCounters& counters = {}) {
  const auto loop = [f, right, counters](benchmark::State& state) {
    std::optional<std::invoke_result_t<const F&>> last;
    for (auto _ : state) last.emplace(f());
    state.counters = counters;
    if (!right(*last)) Program::wrong(state, "a wrong answer");
  };
  return benchmark::RegisterBenchmark(name.c_str(), loop)
      ->MeasureProcessCPUTime()
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

}  // namespace pirx::bench
