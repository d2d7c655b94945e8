// SPDX-License-Identifier: Apache-2.0
// Runs targets on kept inputs, in any build:
//
//     pirx_fuzz_replay TARGET FILE_OR_FOLDER...   each file, in the order of their names
//     pirx_fuzz_replay --corpus FOLDER TARGET...  the inputs in FOLDER/TARGET and the seeds of each
//     pirx_fuzz_replay --mutate ROUNDS TARGET...  so many changed seeds of each; PIRX_TEST_SEED chooses the
//     changes pirx_fuzz_replay --seeds FOLDER [TARGET...] writes the seeds, those of all if none is named
//     pirx_fuzz_replay --list                     the names of the targets
#include <cstdio>
#include <fstream>

#include "fuzz.h"
#include "support/seed.h"

namespace pirx::fuzz {
namespace {

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::size_t replay(const Target& target, const std::filesystem::path& path) {
  std::size_t inputs = 0;
  if (!std::filesystem::exists(path)) return inputs;
  for (const auto& file : files_of(path)) {
    // Before it runs: whoever reads the log of a crash sees the input's name last.
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);
    run(target, read_all(file));
    ++inputs;
  }
  return inputs;
}

Seeds seeds_of(const Target& target) {
  restart_coins();
  return target.seeds == nullptr ? Seeds{Bytes()} : target.seeds();
}

void write_seeds(const Target& target, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / target.name);
  const auto seeds = seeds_of(target);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream out(folder / target.name / ("seed_" + std::to_string(i)), std::ios::binary);
    out.write(reinterpret_cast<const char*>(seeds[i].data()), static_cast<std::streamsize>(seeds[i].size()));
    expect(out.good(), "a seed can be written");
  }
}

/// A seed with a few changes: bits, bytes, numbers at their bounds, cuts, repeats, pieces of another seed.
Bytes mutate(const Seeds& seeds, std::mt19937_64& engine) {
  auto bytes = seeds[engine() % seeds.size()];
  const auto& other = seeds[engine() % seeds.size()];
  for (auto changes = 1 + engine() % 6; changes > 0; --changes) {
    const auto kind = engine() % 8;
    const auto at = bytes.empty() ? 0 : engine() % bytes.size();
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto room = bytes.size() - at;
    if (kind == 0) {
      for (auto n = 1 + engine() % 16; n > 0; --n) bytes.push_back(static_cast<std::byte>(engine()));
    } else if (room == 0) {
      continue;
    } else if (kind == 1) {
      bytes.resize(at);
    } else if (kind == 2) {
      *from ^= static_cast<std::byte>(1u << engine() % 8);
    } else if (kind == 3) {
      *from = static_cast<std::byte>(engine());
    } else if (kind == 4) {
      const std::uint64_t numbers[] = {
          0, 1, 255, 65535, 0xffffffff, ~std::uint64_t{0}, std::uint64_t{1} << 63, engine() % 65536};
      const auto number = numbers[engine() % std::size(numbers)];
      const std::size_t sizes[] = {1, 2, 4, 8};
      std::memcpy(&*from, &number, std::min(room, sizes[engine() % std::size(sizes)]));
    } else if (kind == 5) {
      const Bytes piece(from,
                        from + static_cast<std::ptrdiff_t>(std::min<std::size_t>(room, 1 + engine() % 32)));
      bytes.insert(from, piece.begin(), piece.end());
    } else if (kind == 6) {
      bytes.erase(from, from + static_cast<std::ptrdiff_t>(std::min<std::size_t>(room, 1 + engine() % 32)));
    } else if (at < other.size()) {
      const auto size = std::min({room, other.size() - at, std::size_t{1 + engine() % 64}});
      std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(at), size, from);
    }
  }
  return bytes;
}

/// On an error the program ends; the input is in the file that is named last.
void run_mutated(const Target& target, unsigned long rounds) {
  const auto seeds = seeds_of(target);
  std::uint64_t stream = 0;
  for (const auto c : target.name) stream = stream * 31 + static_cast<unsigned char>(c);
  auto engine = testing::seeded_engine(stream);
  const auto path = std::filesystem::temp_directory_path() / ("pirx-fuzz-" + std::string(target.name));
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  for (unsigned long round = 0; round < rounds; ++round) {
    const auto bytes = mutate(seeds, engine);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    run(target, bytes);
  }
  std::filesystem::remove(path);
  std::printf("%s: %lu changed inputs\n", std::string(target.name).c_str(), rounds);
}

const Target& named(std::string_view name) {
  const auto* target = find_target(name);
  if (target == nullptr) {
    std::fprintf(stderr, "no target '%.*s'\n", static_cast<int>(name.size()), name.data());
    std::exit(2);
  }
  return *target;
}

int main_of(std::vector<std::string> words) {
  if (words.size() == 1 && words[0] == "--list") {
    for (const auto& target : targets()) std::printf("%s\n", std::string(target.name).c_str());
    return 0;
  }
  if (words.size() < 2) {
    std::fprintf(stderr, "usage: pirx_fuzz_replay TARGET FILE...\n");
    return 2;
  }
  if (words[0] == "--seeds") {
    for (const auto& target : targets()) {
      if (words.size() == 2 || std::find(words.begin() + 2, words.end(), target.name) != words.end()) {
        write_seeds(target, words[1]);
      }
    }
    return 0;
  }
  if (words[0] == "--mutate") {
    for (std::size_t i = 2; i < words.size(); ++i) run_mutated(named(words[i]), std::stoul(words[1]));
    return 0;
  }
  if (words[0] == "--corpus") {
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto& target = named(words[i]);
      auto inputs = replay(target, std::filesystem::path(words[1]) / words[i]);
      for (const auto& seed : seeds_of(target)) {
        std::printf("%s: seed\n", words[i].c_str());
        std::fflush(stdout);
        run(target, seed);
        ++inputs;
      }
      std::printf("%s: %zu inputs\n", words[i].c_str(), inputs);
    }
    return 0;
  }
  const auto& target = named(words[0]);
  for (std::size_t i = 1; i < words.size(); ++i) replay(target, words[i]);
  return 0;
}

}  // namespace
}  // namespace pirx::fuzz

int main(int argc, char** argv) { return pirx::fuzz::main_of({argv + 1, argv + argc}); }
