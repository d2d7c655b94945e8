// SPDX-License-Identifier: Apache-2.0
// The table of causes. A cause is told by the name of the error's code and by a part of its message, which
// tests/tools/advice_test.py provokes for each row.
#include "advice.h"

#include <algorithm>

namespace pirx::cli {
namespace {

struct AdviceRow {
  ErrorCode code;
  std::string_view part;    ///< of the error's message; the first row that fits counts
  std::string_view advice;  ///< FILE stands for the deployment file's name
};

constexpr std::string_view kGetAuthority =
    "the certificate's authority is not trusted here: get its PEM file from the operator, and run 'pirx "
    "deploy FILE --ca PEM --server ...' again";

constexpr AdviceRow kAdvice[] = {
    {ErrorCode::kStaleEpoch, "",
     "the servers have another epoch: take it with 'pirx deploy --refresh FILE', or ask with --refresh; "
     "while they are being updated, ask a little later"},
    {ErrorCode::kUnauthenticated, "with a token only",
     "the servers want a token: ask the operator for one, and give it with --token-file, in a line that "
     "begins with the server's URL as in FILE"},
    {ErrorCode::kUnauthenticated, "target host name",
     "the certificate is for another name: check the URL in FILE, or ask the operator for the right one"},
    {ErrorCode::kUnauthenticated, "signed certificate", kGetAuthority},
    {ErrorCode::kUnauthenticated, "issuer certificate", kGetAuthority},
    {ErrorCode::kUnauthenticated, "has expired",
     "a certificate has expired: check this machine's clock; if it is right, ask the operator for a new "
     "certificate"},
    {ErrorCode::kUnauthenticated, "is not valid yet",
     "a certificate is not valid yet: check this machine's clock; if it is right, ask the operator"},
    {ErrorCode::kUnauthenticated, "speaks no TLS 1.3",
     "the servers speak an old TLS only: ask the operator for TLS 1.3, or take TLS 1.2 with "
     "'pirx deploy FILE --tls-1.2 --server ...'"},
    {ErrorCode::kUnauthenticated, "this client's certificate or its key",
     "your own certificate or key cannot be used: check the files of --tls-cert and --tls-key"},
    {ErrorCode::kUnauthenticated, "it may want a certificate",
     "the servers want a certificate of yours, from an authority that they trust: give --tls-cert and "
     "--tls-key"},
    {ErrorCode::kUnavailable, "resolve",
     "there is no host of that name: check the URLs in FILE, and this machine's network"},
    {ErrorCode::kUnavailable, "connect to",
     "no server runs there: start it (pirx serve), or ask its operator; 'pirx deploy FILE --server ...' "
     "names others"},
    {ErrorCode::kUnavailable, "no reply within",
     "the servers were too slow: give them longer with --deadline"},
    {ErrorCode::kUnavailable, "did not reply in time",
     "the servers were too slow: give them longer with --deadline"},
    {ErrorCode::kResourceExhausted, "fewer records", "ask for fewer records at a time"},
    {ErrorCode::kResourceExhausted, "", "the servers have too much to do: try again later"},
};

bool fits(const AdviceRow& row, std::string_view error) {
  const auto code = std::string(error_code_name(row.code)) + ": ";
  return error.starts_with(code) && error.substr(code.size()).find(row.part) != std::string_view::npos;
}

}  // namespace

std::string advice_for(std::span<const client::ServerOutcome> outcomes, const client::Deployment& deployment,
                       const std::string& file) {
  struct Cause {
    std::string_view advice;
    std::string urls;
    std::size_t count = 0;
  };
  std::vector<Cause> causes;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].error.empty() || outcomes[i].abandoned) continue;
    ++failed;
    for (const AdviceRow& row : kAdvice) {
      if (!fits(row, outcomes[i].error)) continue;
      auto same = std::find_if(causes.begin(), causes.end(), [&](auto& c) { return c.advice == row.advice; });
      if (same == causes.end()) same = causes.insert(same, Cause{.advice = row.advice, .urls = {}});
      same->urls += (same->urls.empty() ? "" : ", ") + deployment.servers[i].url;
      ++same->count;
      break;
    }
  }
  std::string lines;
  for (const auto& cause : causes) {
    std::string line(cause.advice);
    for (auto at = line.find("FILE"); at != std::string::npos; at = line.find("FILE", at + file.size())) {
      line.replace(at, 4, file);
    }
    if (cause.count < failed) line += " (" + cause.urls + ")";
    lines += (lines.empty() ? "" : "\n") + line;
  }
  return lines;
}

}  // namespace pirx::cli
