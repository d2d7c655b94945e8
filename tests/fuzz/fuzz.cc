// SPDX-License-Identifier: Apache-2.0
// The targets of a program, fixed coins, and files in memory.
#include "fuzz.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "pirx/base/rng.h"

namespace pirx::fuzz {
namespace {

std::uint64_t coins = 0;

/// Removes itself.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::error_code error;
    const auto memory = std::filesystem::space("/dev/shm", error);
    const bool in_memory = !error && memory.available >= std::uintmax_t{256} << 20;
    const auto parent =
        in_memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
    std::string name = (parent / "pirx-fuzz-XXXXXX").string();
    expect(::mkdtemp(name.data()) != nullptr, "there is a folder for temporary files");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

std::vector<Target>& targets() {
  static std::vector<Target> all;
  return all;
}

const Target* find_target(std::string_view name) {
  const auto& all = targets();
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  return at == all.end() ? nullptr : &*at;
}

void run(const Target& target, ByteSpan input) {
  restart_coins();
  target.run(input);
}

void broken(std::string_view promise) {
  std::fprintf(stderr, "a promise is broken: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

void restart_coins() { coins = 0; }

const std::filesystem::path& scratch() {
  static const Folder folder;
  return folder.path;
}

std::filesystem::path write_scratch(std::string_view name, ByteSpan bytes) {
  const auto path = scratch() / name;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.flush();
  expect(out.good(), "a scratch file can be written");
  return path;
}

Bytes read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return bytes_of(text);
}

Bytes bytes_of(std::string_view text) {
  const auto view = as_bytes(text);
  return {view.begin(), view.end()};
}

Seeds texts(std::initializer_list<std::string_view> all) {
  Seeds seeds;
  for (const auto text : all) seeds.push_back(bytes_of(text));
  return seeds;
}

void change(Bytes& bytes, Script& script) {
  const auto kind = script.byte() % 5;
  const auto at = std::min<std::size_t>(script.word(), bytes.size());
  const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  if (kind == 0) {  // from the end, where tables and checksums lie
    const auto piece = script.piece();
    const auto first = bytes.size() - std::min(bytes.size(), at);
    std::copy_n(piece.begin(), std::min(piece.size(), bytes.size() - first),
                bytes.begin() + static_cast<std::ptrdiff_t>(first));
  } else if (kind == 1) {
    const auto piece = script.piece();
    std::copy_n(piece.begin(), std::min(piece.size(), bytes.size() - at), from);
  } else if (kind == 2) {
    bytes.resize(at);
  } else if (kind == 3) {
    const auto piece = script.piece();
    bytes.insert(from, piece.begin(), piece.end());
  } else if (at < bytes.size()) {
    *from ^= static_cast<std::byte>(1u << script.byte() % 8);
  }
}

}  // namespace pirx::fuzz

// The operating system's random bytes, as everything in this program sees them: those of a counter's seeds.
extern "C" int getentropy(void* to, std::size_t size) {
  std::array<std::byte, pirx::kSeedBytes> seed{};
  pirx::store_le(seed.data(), ++pirx::fuzz::coins);
  pirx::SeedStream(seed).fill({static_cast<std::byte*>(to), size});
  return 0;
}
