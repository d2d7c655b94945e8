// SPDX-License-Identifier: Apache-2.0
// What a retrieval by a plan takes.
#include "pirx/planner/planner.h"

namespace pirx::planner {

double retrieval_seconds(const pirx::Plan& plan, const Link& link, std::size_t wishes) {
  const Work work = plan.work();
  const auto queries = static_cast<double>(wishes * (plan.geometry().keyed() ? work.key_queries : 1));
  return (work.once_messages + queries * work.query_messages) * link.round_trip +
         8 * (work.once_up + queries * work.up) / link.up +
         8 * (work.once_down + queries * work.down) / link.down + work.once_seconds +
         work.once_server_seconds + queries * (work.seconds + work.server_seconds);
}

}  // namespace pirx::planner
