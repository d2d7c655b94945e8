// SPDX-License-Identifier: Apache-2.0
// Options of values, keys on one line, progress, exit codes.
#include "cli.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace pirx::cli {
namespace {

template <class T>
CLI::Option* add_parsed(CLI::App& app, const std::string& name, T& value, const std::string& help,
                        Result<T> (*parse)(const std::string&), const char* kind) {
  auto* option = app.add_option_function<std::string>(
      name,
      [&value, parse, name](const std::string& text) {
        auto parsed = parse(text);
        if (!parsed) throw CLI::ValidationError(name, parsed.error().message());
        value = *parsed;
      },
      help);
  return option->type_name(kind);
}

Result<double> parse_bandwidth(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  constexpr std::string_view kBits = "bit/s";
  if (suffix.ends_with(kBits)) suffix.remove_suffix(kBits.size());
  const double factor = suffix.empty()                   ? 1
                        : suffix == "k" || suffix == "K" ? 1e3
                        : suffix == "M"                  ? 1e6
                        : suffix == "G"                  ? 1e9
                                                         : 0;
  constexpr double kMost = 1e15;
  if (error != std::errc{} || !(number * factor > 0 && number * factor <= kMost)) {
    return invalid("'" + text + "' is no bandwidth like 800k, 10M, 1Gbit/s or 2500000");
  }
  return number * factor;
}

std::string human_time(double seconds) {
  char text[32];
  const auto whole = static_cast<long long>(seconds + 0.5);
  std::snprintf(text, sizeof text, "%lld:%02lld", whole / 60, whole % 60);
  return text;
}

}  // namespace

int exit_code(const Error& error) noexcept { return 1 + static_cast<int>(error.code()); }

void fill_standard_descriptors() noexcept {
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = ::open("/dev/null", O_PATH);
  ::close(fd);
}

Action& chosen_action() {
  static Action action;
  return action;
}

void set_action(CLI::App& command, Action action) {
  command.callback([action = std::move(action)] { chosen_action() = action; });
}

CLI::Option* add_duration(CLI::App& app, const std::string& name, std::chrono::microseconds& value,
                          const std::string& help) {
  return add_parsed(app, name, value, help, parse_duration, "TIME");
}

CLI::Option* add_size(CLI::App& app, const std::string& name, std::uint64_t& value, const std::string& help) {
  return add_parsed(app, name, value, help, parse_size, "SIZE");
}

CLI::Option* add_bandwidth(CLI::App& app, const std::string& name, double& value, const std::string& help) {
  return add_parsed<double>(app, name, value, help, parse_bandwidth, "BITS");
}

CLI::Option* add_ca(CLI::App& app, std::string& file, const std::string& help) {
  app.add_option("--ca-file", file, "The old name of --ca")->group("");
  return app.add_option("--ca", file, help);
}

void add_credentials(CLI::App& app, Credentials& credentials) {
  app.add_option("--token-file", credentials.token_file,
                 "Lines 'URL TOKEN' for servers that want a token; for one server, a token alone");
  app.add_option("--tls-cert", credentials.certificate_file,
                 "PEM certificate for servers that want one of their clients");
  app.add_option("--tls-key", credentials.key_file, "Its PEM private key");
}

CLI::Validator whole_number(std::uint64_t low, std::uint64_t high) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        const auto value = parse_whole_number(text, low, high);
        return value ? "" : value.error().message();
      },
      "");
}

/// A byte order mark.
static constexpr std::string_view kMark = "\xef\xbb\xbf";

/// Whether the byte belongs to U+0000 to U+001F or U+007F to U+009F.
static bool is_control(std::string_view text, std::size_t i) {
  const auto at = [text](std::size_t k) {
    return k < text.size() ? static_cast<unsigned char>(text[k]) : 0u;
  };
  const auto is_high = [](unsigned code) { return code >= 0x80 && code < 0xa0; };
  // U+0080 to U+009F are 0xC2 and the code.
  return at(i) < 0x20 || at(i) == 0x7f || (at(i) == 0xc2 && is_high(at(i + 1))) ||
         (i > 0 && at(i - 1) == 0xc2 && is_high(at(i)));
}

void trim_line(std::string& line, bool first) {
  if (first && line.starts_with(kMark)) line.erase(0, kMark.size());
  if (line.ends_with('\r')) line.pop_back();
}

KeyLines::KeyLines(std::istream& in, std::string name)
    : in_(in), name_(std::move(name)), buffer_(std::size_t{1} << 20) {}  // escaped, a key has up to 256 KiB

Result<bool> KeyLines::next(std::string& line, char end) {
  in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()), end);
  if (in_.bad()) return fail(ErrorCode::kUnavailable, "cannot read " + name_);
  auto length = static_cast<std::size_t>(in_.gcount());
  if (in_.eof() && length == 0) return false;
  if (in_.fail()) return invalid(name_ + " has a line that is longer than any key");
  if (!in_.eof()) --length;  // the line's end
  line.assign(buffer_.data(), length);
  return true;
}

std::string position_list_header(const database::Version& version) {
  return std::string(kPositionList) + to_hex(version.identity) + ", epoch " + std::to_string(version.epoch);
}

std::string position_list_end(const Digest& digest) { return std::string(kPositionListEnd) + to_hex(digest); }

std::string escape_key(std::string_view key) {
  std::string text;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\r') {
      text += "\\r";
    } else if (is_control(key, i) || (i < kMark.size() && key.starts_with(kMark))) {
      text += "\\x" + to_hex(std::as_bytes(std::span(&c, 1)));
    } else {
      text += c;
    }
  }
  return text;
}

void print_record(ByteSpan record) {
  auto text = as_text(record);
  std::string shown;
  if (isatty(STDOUT_FILENO) != 0) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\n' && text[i] != '\t' && is_control(text, i)) {
        shown += "\\x" + to_hex(record.subspan(i, 1));
      } else {
        shown += text[i];
      }
    }
    text = shown;
  }
  // At once: standard output has no buffer here, so that nothing stays in it.
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fputc('\n', stdout);
}

Result<std::string> unescape_key(std::string_view text) {
  std::string key;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      key += text[i];
      continue;
    }
    const char next = ++i < text.size() ? text[i] : '\0';
    if (next == 'x') {
      const auto byte = from_hex(text.substr(i + 1, 2));
      if (!byte || byte->size() != 1) {
        return invalid("\\x that is not followed by two hexadecimal digits");
      }
      key += static_cast<char>((*byte)[0]);
      i += 2;
      continue;
    }
    if (next != '\\' && next != 'n' && next != 'r') {
      return invalid("a backslash that is followed by none of \\, n, r and x");
    }
    key += next == 'n' ? '\n' : next == 'r' ? '\r' : '\\';
  }
  return key;
}

std::string in_red(const std::string& text) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  const bool coloured =
      isatty(STDERR_FILENO) != 0 && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
  return coloured ? "\033[31m" + text + "\033[0m" : text;
}

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(std::chrono::steady_clock::now()),
      last_(start_) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
  shown_ = false;
}

void ProgressLine::update(std::uint64_t done, std::uint64_t total) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (done < last_done_) start_ = now;  // the next phase
  last_done_ = done;
  if (now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  const double seconds = std::max(1e-3, std::chrono::duration<double>(now - start_).count());
  const double rate = static_cast<double>(done) / seconds;
  std::string line = "\r\033[K" + what_ + ": " + human_bytes(done);
  if (total > 0) {
    line += " of " + human_bytes(total) + " (" + std::to_string(100 * done / total) + "%)";
    if (rate > 0 && done <= total)
      line += ", " + human_time(static_cast<double>(total - done) / rate) + " left";
  }
  line += ", " + human_bytes(static_cast<std::uint64_t>(rate)) + "/s";
  std::fputs(line.c_str(), stderr);
  shown_ = true;
}

}  // namespace pirx::cli
