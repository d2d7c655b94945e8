// SPDX-License-Identifier: Apache-2.0
// One table says which options want which kind of file, another what each kind is called. Files are looked at
// only after a command has failed.
#include "wrong_files.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "cli.h"
#include "pirx/database/database.h"

namespace pirx::cli {
namespace {

enum class FileKind : std::uint8_t {
  kUnknown,
  kFolder,
  kEmpty,
  kDamaged,
  kDelta,
  kDatabase,
  kKeyedDatabase,
  kBucket,
  kDeployment,
  kConfig,
  kKeyList,
  kPem,
  kRates,
  kPositions,  ///< or of changes; any text may be of this kind or the next ones
  kTokens,
  kRecords
};

/// Of the kinds before kPositions, in their order.
constexpr std::array kKindNames{
    "",
    "a folder",
    "an empty file",
    "a damaged or truncated database",
    "a file of changes, which belongs to the database of that name without .delta",
    "a database ('pirx serve' and 'pirx db' take it)",
    "a keyed database ('pirx serve' and 'pirx db' take it)",
    "a bucket of an encoded database ('pirx serve' takes it)",
    "a deployment file ('pirx get' takes it)",
    "a config file ('pirx serve --config' takes it)",
    "a list of keys ('pirx db update' takes it)",
    "a PEM file",
    "a file of rates ('pirx plan --rates' takes it)"};

struct WantedFile {
  std::string_view command, option;
  FileKind kind;
  std::string_view name;  ///< what is wanted, in words
  bool bucket = false;    ///< a bucket will do, too
};

constexpr std::string_view kADatabase = "a database", kAPlainOne = "a plain database",
                           kADeployment = "a deployment file", kATokenFile = "a token file",
                           kAPem = "a PEM file", kAKeyList = "a list of keys",
                           kRecordInput = "records to import";

constexpr WantedFile kWantedFiles[] = {
    {"info", "database", FileKind::kDatabase, kADatabase, true},
    {"verify", "database", FileKind::kDatabase, kADatabase, true},
    {"compact", "database", FileKind::kDatabase, kADatabase, true},
    {"get", "database", FileKind::kDatabase, kAPlainOne},
    {"list", "database", FileKind::kDatabase, kAPlainOne},
    {"encode", "database", FileKind::kDatabase, kAPlainOne},
    {"update", "database", FileKind::kDatabase, kAPlainOne},
    {"update", "--keys-from", FileKind::kKeyList, kAKeyList},
    {"update", "--changes", FileKind::kPositions, "a list of changes in JSON lines"},
    {"build", "input", FileKind::kRecords, kRecordInput},
    {"try", "input", FileKind::kRecords, kRecordInput},
    {"serve", "database", FileKind::kDatabase, kADatabase, true},
    {"serve", "--config", FileKind::kConfig, "a config file"},
    {"serve", "--tokens", FileKind::kTokens, kATokenFile},
    {"serve", "--tls-cert", FileKind::kPem, kAPem},
    {"serve", "--tls-key", FileKind::kPem, kAPem},
    {"serve", "--tls-client-ca", FileKind::kPem, kAPem},
    {"plan", "database", FileKind::kDatabase, kADatabase, true},
    {"plan", "--rates", FileKind::kRates, "a file of rates"},
    {"deploy", "target", FileKind::kDeployment, kADeployment},
    {"deploy", "--database", FileKind::kDatabase, kADatabase, true},
    {"deploy", "--token-file", FileKind::kTokens, kATokenFile},
    {"get", "deployment", FileKind::kDeployment, kADeployment},
    {"get", "--keys-from", FileKind::kKeyList, kAKeyList},
    {"get", "--positions", FileKind::kPositions, "a list of positions"},
    {"get", "--token-file", FileKind::kTokens, kATokenFile},
    {"load", "--token-file", FileKind::kTokens, kATokenFile},
};

/// What the file is, as far as it can be told.
FileKind kind_of(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return FileKind::kFolder;
  if (!std::filesystem::is_regular_file(path, error)) return FileKind::kUnknown;
  std::string head(64 << 10, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  if (head.empty())
    return std::filesystem::file_size(path, error) == 0 ? FileKind::kEmpty : FileKind::kUnknown;
  if (head.starts_with("PIRXDD\r\n")) return FileKind::kDelta;
  if (head.starts_with("PIRXDB\r\n")) {
    const auto db = database::Database::open(path);
    // Without memory, say, nothing is known to be wrong with it.
    if (!db) return db.error().code() == ErrorCode::kDataLoss ? FileKind::kDamaged : FileKind::kDatabase;
    if ((*db)->bucket() != nullptr) return FileKind::kBucket;
    return (*db)->geometry().keyed() ? FileKind::kKeyedDatabase : FileKind::kDatabase;
  }
  if (head.starts_with("pirx key list ")) return FileKind::kKeyList;
  if (head.find("-----BEGIN ") != std::string::npos) return FileKind::kPem;
  if (head.find_first_not_of(" \t\r\n") == head.find('{')) {
    if (head.find("\"pirx_deployment\"") != std::string::npos) return FileKind::kDeployment;
    if (head.find("\"pirx_rates\"") != std::string::npos) return FileKind::kRates;
    if (head.find("\"databases\"") != std::string::npos) return FileKind::kConfig;
  }
  return FileKind::kUnknown;
}

bool is_wanted(const WantedFile& wanted, FileKind kind) {
  if (wanted.kind == kind) return true;
  if (kind == FileKind::kKeyedDatabase) return wanted.kind == FileKind::kDatabase;
  if (kind == FileKind::kBucket) return wanted.bucket;
  if (kind == FileKind::kFolder) return wanted.kind == FileKind::kRecords;  // pirx db build reads folders
  return kind == FileKind::kUnknown &&
         (wanted.kind == FileKind::kKeyList || wanted.kind >= FileKind::kPositions);
}

}  // namespace

std::string explain_wrong_files(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  std::string lines;
  for (const auto& wanted : kWantedFiles) {
    if (command->get_name() != wanted.command) continue;
    const auto* option = command->get_option_no_throw(std::string(wanted.option));
    if (option == nullptr || option->count() == 0) continue;
    const auto path = option->results().front();
    if (::access(path.c_str(), R_OK) != 0) continue;  // the command's own message says why
    const auto kind = kind_of(path);
    if (is_wanted(wanted, kind)) continue;
    lines += "\n" + escape_key(path) + " is ";
    const auto* name = kKindNames[static_cast<std::size_t>(kind)];
    if (*name != '\0') lines += std::string(name) + ", ";
    lines += "not " + std::string(wanted.name);
  }
  return lines;
}

}  // namespace pirx::cli
