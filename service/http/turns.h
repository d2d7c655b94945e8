// SPDX-License-Identifier: Apache-2.0
// Turns: lets clients take turns at work that one of them could otherwise keep a thread busy with.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace pirx::http {

/// Each client's work in the order of its arrival, and one piece of each client before a second one of any.
class Turns {
 public:
  using Work = std::function<void()>;

  /// So many pieces are posted at a time, and so many of a client wait at most.
  Turns(std::size_t at_once, std::size_t most_waiting) : idle_(at_once), most_waiting_(most_waiting) {}

  /// `post` calls what it is given later, on the thread that is to do the work. The work throws nothing.
  /// False, and nothing is kept, where too many pieces of the client wait.
  bool ask(const std::string& client, std::function<void(Work)> post, Work work) {
    {
      const std::lock_guard lock(mutex_);
      auto& mine = waiting_[client];
      if (mine.size() >= most_waiting_) return false;
      mine.push_back({std::move(post), std::move(work)});
      try {
        if (mine.size() == 1) order_.push_back(client);
      } catch (...) {  // no memory: or nobody would ever come to this client's work
        mine.pop_back();
        throw;
      }
      if (idle_ == 0) return true;
      --idle_;
    }
    next();
    return true;
  }

 private:
  struct Piece {
    std::function<void(Work)> post;
    Work work;
  };

  void next() noexcept {
    for (;;) {
      try {
        auto piece = take();
        if (!piece) return;
        const auto post = std::move(piece->post);
        post([this, work = std::move(piece->work)] {
          work();
          next();
        });
        return;
      } catch (...) {  // no memory: this piece is lost, and its connection ends by its deadline
      }
    }
  }

  std::optional<Piece> take() {
    const std::lock_guard lock(mutex_);
    if (order_.empty()) {
      ++idle_;
      return std::nullopt;
    }
    const auto mine = waiting_.find(order_.front());
    std::optional<Piece> piece(std::move(mine->second.front()));
    mine->second.pop_front();
    if (mine->second.empty()) {
      waiting_.erase(mine);
    } else {
      order_.push_back(order_.front());
    }
    order_.pop_front();
    return piece;
  }

  std::mutex mutex_;
  std::size_t idle_;  ///< of those at a time
  const std::size_t most_waiting_;
  std::unordered_map<std::string, std::deque<Piece>> waiting_;
  std::deque<std::string> order_;  ///< of the clients that wait, each once
};

}  // namespace pirx::http
