// SPDX-License-Identifier: Apache-2.0
// Builds databases from JSON lines and CSV, with and without keyed rows: what `pirx db build` does. The
// counter is rows a second of the whole build.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gbench.h"
#include "pirx/database/importers.h"

namespace {

namespace fs = std::filesystem;
using pirx::bench::need;
namespace database = pirx::database;

/// A folder that is removed at the end.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / ("pirx-import-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

void write_rows(const Folder& folder, std::uint64_t rows) {
  std::ofstream json(folder / "rows.jsonl"), csv(folder / "rows.csv");
  csv << "id,name,age,active,profile\n";
  for (std::uint64_t i = 0; i < rows; ++i) {
    char id[32];
    std::snprintf(id, sizeof id, "user%07llu",
                  static_cast<unsigned long long>(i * 7919 % rows));  // as if shuffled
    const auto age = std::to_string(i % 90), profile = "words about this one and that, " + std::to_string(i);
    json << R"({"id":")" << id << R"(","name":"gamma beta","age":)" << age << R"(,"active":true,"profile":")"
         << profile << "\"}\n";
    csv << id << ",gamma beta," << age << ",true,\"" << profile << "\"\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  pirx::bench::Program program(argc, argv);
  const auto rows = program.number("rows", 1'000'000, 1, 100'000'000);
  program.start();
  const Folder folder;
  write_rows(folder, rows);
  const database::Columns columns{"id", {"profile"}};
  for (const bool keyed : {false, true}) {
    for (const std::string format : {"jsonl", "csv"}) {
      const auto build = [&folder, &columns, keyed, format] {
        const auto target = folder / "rows.pirx";
        fs::remove(target);
        auto builder = need(database::DatabaseBuilder::create(target, {.keyed = keyed}));
        need(format == "csv" ? database::import_delimited(folder / "rows.csv", ',', true, columns, builder)
                             : database::import_json_lines(folder / "rows.jsonl", columns, builder));
        return need(builder.finish());
      };
      const auto right = [rows](const database::BuildReport& report) { return report.records == rows; };
      pirx::bench::add("import/format:" + format + "/keyed:" + (keyed ? "1" : "0"), build, right,
                       {{"rows", benchmark::Counter(static_cast<double>(rows),
                                                    benchmark::Counter::kIsIterationInvariantRate)}});
    }
  }
  return pirx::bench::Program::run();
}
