// SPDX-License-Identifier: Apache-2.0
// The page for look-ups in a browser (docs/browser.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pirx/client/deployment.h"
#include "pirx/http/http_server.h"

namespace pirx::cli {

using WebPage = std::shared_ptr<const std::vector<http::StaticFile>>;

/// The files of the page and, as the last one, this deployment as /deployment.json. Empty `folder`: where an
/// installed pirx, or the source tree of one that is not installed, has them. Its Content-Security-Policy
/// lets it ask the servers of the deployment and nobody else. InvalidArgument: the folder has no page.
Result<WebPage> make_web_page(std::span<const client::Deployment> deployments, std::string folder);
/// The same for a deployment file. Errors of client::load_deployments.
Result<WebPage> load_web_page(const std::string& deployment, std::string folder);

}  // namespace pirx::cli
