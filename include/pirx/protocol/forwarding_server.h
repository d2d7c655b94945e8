// SPDX-License-Identifier: Apache-2.0
// ForwardingServer: the base of servers that add something to another server.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "pirx/protocol.h"

namespace pirx {

/// Forwards every call to another server. Override what differs.
class ForwardingServer : public AnyServer {
 public:
  /// `server` is not null.
  explicit ForwardingServer(std::unique_ptr<const AnyServer> server) : server_(std::move(server)) {}
  ProtocolId protocol() const noexcept override { return server_->protocol(); }
  Bytes parameters() const override { return server_->parameters(); }
  std::size_t max_request_bytes() const noexcept override { return server_->max_request_bytes(); }
  std::size_t max_queries() const noexcept override { return server_->max_queries(); }
  std::size_t working_bytes(std::size_t queries) const noexcept override {
    return server_->working_bytes(queries);
  }
  std::size_t max_reply_bytes(std::size_t queries) const noexcept override {
    return server_->max_reply_bytes(queries);
  }
  std::size_t pass_bytes() const noexcept override { return server_->pass_bytes(); }
  std::size_t preferred_queries() const noexcept override { return server_->preferred_queries(); }
  Bytes sample_request(std::size_t queries) const override { return server_->sample_request(queries); }
  std::vector<std::pair<std::string, std::string>> facts() const override { return server_->facts(); }
  Result<std::size_t> admit(ByteSpan request) const override { return server_->admit(request); }
  /// answer_from() with senders without a name: override that one alone.
  std::vector<Result<Bytes>> answer(std::span<const ByteSpan> requests) const final {
    return answer_from(requests, std::vector<std::string_view>(requests.size()));
  }
  std::vector<Result<Bytes>> answer_from(std::span<const ByteSpan> requests,
                                         std::span<const std::string_view> senders) const override {
    return server_->answer_from(requests, senders);
  }

 private:
  const std::unique_ptr<const AnyServer> server_;
};

}  // namespace pirx
