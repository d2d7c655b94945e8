// SPDX-License-Identifier: Apache-2.0
// Reads JSON documents that may be hostile: configuration files, deployment files, bodies of HTTP replies.
// And writes JSON documents.
#pragma once

#include <concepts>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "pirx/base/result.h"

namespace pirx {

/// A value of a JSON document, or the place where one is missing. Every function that fails gives an error
/// which names the document and the member:
///
///     const auto json = Json::parse(text, {.name = "deployment file"});
///     (*json)["database"]["epoch"].number();  // "deployment file: 'database.epoch' is not a whole number"
///
/// Immutable and cheap to copy: the values of a document share it.
class Json {
 public:
  struct Source {
    std::string name = {};    ///< begins every error, as in "deployment file"; may be empty
    std::string advice = {};  ///< ends every error, as in " (see docs/deployment_file.md)"
    std::size_t max_bytes = std::size_t{1} << 20;
    ErrorCode code = ErrorCode::kDataLoss;  ///< of every error
    bool lines = false;                     ///< errors name the line, for documents that people write
  };
  static constexpr int kMaxDepth = 32;

  /// Parses a document, which must be an object. Error: it is longer than max_bytes, it is not JSON, there is
  /// something after the object, an object has a name twice, or values are nested deeper than kMaxDepth.
  static Result<Json> parse(std::string_view text, Source source);

  /// Whether there is a value here.
  bool exists() const noexcept { return value_ != nullptr; }
  /// The member of that name. If there is none, then the result does not exist, and reading it is an error.
  Json operator[](std::string_view name) const;
  /// The members of an object, by their names. Error: it is missing or not an object.
  Result<std::vector<std::pair<std::string, Json>>> members() const;
  /// The values of a list. Error: it is missing or not a list.
  Result<std::vector<Json>> list() const;
  /// A whole number without a sign. Error: it is missing, of another kind, or outside [least, most].
  Result<std::uint64_t> number(std::uint64_t least = 0,
                               std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const;
  /// Any number. Error: it is missing or of another kind.
  Result<double> real() const;
  /// `otherwise` is for a member that may be missing. Error: it is of another kind, or missing without that.
  Result<bool> boolean(std::optional<bool> otherwise = {}) const;
  Result<std::string> string(std::optional<std::string> otherwise = {}) const;
  /// Error: there is a member with another name than these, such as a misspelt option.
  Result<void> only(std::initializer_list<std::string_view> names) const;

  /// The error "NAME: 'PATH' PROBLEM ADVICE" about this value, with Source::lines "NAME line N: ...". Path
  /// and problem become printable_ascii.
  tl::unexpected<Error> error(std::string_view problem) const;

 private:
  struct Document;
  Json(std::shared_ptr<const Document> document, const void* value, std::string path)
      : document_(std::move(document)), value_(value), path_(std::move(path)) {}
  /// The error that it is missing, or that it has this problem.
  tl::unexpected<Error> other_kind(const char* problem) const;

  std::shared_ptr<const Document> document_;
  const void* value_;  ///< in the document; null if it does not exist
  std::string path_;   ///< "servers[0].url"; empty for the document
};

/// A value of a JSON document that is to be written. Objects keep the order of their members:
///
///     OutJson json = {{"machine", "a laptop"}, {"link", {{"up", 1e6}, {"down", 1e7}}}, {"rates",
///     OutJson::list()}}; json["rates"].push_back(0.5); json.dump(1);
class OutJson {
 public:
  using Members = std::vector<std::pair<std::string, OutJson>>;

  OutJson(std::nullptr_t = nullptr) {}
  OutJson(bool value) : value_(value) {}
  OutJson(double value) : value_(value) {}
  template <std::unsigned_integral T>
  OutJson(T value) : value_(std::uint64_t{value}) {}
  template <std::signed_integral T>
  OutJson(T value) : value_(std::int64_t{value}) {}
  template <std::convertible_to<std::string_view> T>
  OutJson(const T& text) : value_(std::string(std::string_view(text))) {}
  template <class T>
  OutJson(const std::vector<T>& values) : value_(std::vector<OutJson>(values.begin(), values.end())) {}
  template <class T, class Less>
  OutJson(const std::map<std::string, T, Less>& values) : value_(Members(values.begin(), values.end())) {}
  OutJson(Members members) : value_(std::move(members)) {}
  OutJson(std::initializer_list<Members::value_type> members) : value_(Members(members)) {}
  static OutJson object() { return OutJson(std::initializer_list<Members::value_type>()); }
  static OutJson list() { return OutJson(std::vector<OutJson>()); }

  /// The member of an object with that name, which is added as null if it is new. A null becomes an object.
  OutJson& operator[](std::string_view name);
  /// Adds a value to a list. A null becomes a list.
  void push_back(OutJson value);
  /// The text: on one line, or with `indent` spaces a level. The first member of a name counts. Bytes that
  /// are not UTF-8 become U+FFFD; control characters are escaped.
  std::string dump(int indent = -1) const;

 private:
  struct Conversion;
  /// Not trivially copied: libstdc++ 12 takes a variant of strings, vectors and trivial types alone for one
  /// that always has a value, and destroys what is none when memory runs out in a copy.
  struct Null {
    Null() noexcept {}
    Null(const Null&) noexcept {}
    Null& operator=(const Null&) noexcept { return *this; }
  };
  std::variant<Null, bool, double, std::int64_t, std::uint64_t, std::string, std::vector<OutJson>, Members>
      value_;
};

/// Whether the text is UTF-8, so that JSON can hold it as it is.
bool is_utf8(std::string_view text);

}  // namespace pirx
