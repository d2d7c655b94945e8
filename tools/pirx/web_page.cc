// SPDX-License-Identifier: Apache-2.0
// Reads the page's files from their folder.
#include "web_page.h"

#include <set>

#include "pirx/base/small_file.h"
#include "pirx/http/endpoint.h"

namespace pirx::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of a file

struct PageFile {
  const char *path, *name, *type;
  bool gzip = false;
};
constexpr PageFile kPageFiles[] = {
    {"/", "index.html", "text/html; charset=utf-8"},
    {"/page.css", "page.css", "text/css; charset=utf-8"},
    {"/page.js", "page.js", "text/javascript; charset=utf-8"},
    {"/pirx.js", "pirx.js", "text/javascript; charset=utf-8"},
    {"/pirx.wasm", "pirx.wasm.gz", "application/wasm", true},
};

/// Where an installed program keeps the page. A program in its build folder, build/PRESET/tools/pirx/pirx,
/// also looks where the build or scripts/web puts it; elsewhere others may be able to write to those folders.
std::string find_folder() {
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<fs::path> places{program / "../share/pirx/web"};
  if (program.parent_path().filename() == "tools") {
    places.insert(places.end(), {program / "../../web", program / "../../../web"});
  }
  for (const auto& folder : places) {
    if (fs::exists(folder / "index.html", error)) return folder.string();
  }
  return {};
}

http::StaticFile static_file(std::string path, std::string type, const std::string& policy,
                             std::string_view text, bool gzip = false) {
  const auto bytes = as_bytes(text);
  return {std::move(path), std::move(type), policy, gzip, {bytes.begin(), bytes.end()}};
}

}  // namespace

Result<WebPage> make_web_page(std::span<const client::Deployment> deployments, std::string folder) {
  if (folder.empty()) folder = find_folder();
  if (folder.empty()) {
    return invalid(
        "this pirx was built without the page: scripts/web makes it; name its folder with --web-folder");
  }
  std::set<std::string> origins;
  for (const auto& deployment : deployments) {
    PIRX_ASSIGN(const auto addresses, http::parse_addresses(deployment.servers));
    for (const auto& address : addresses) origins.insert(address.origin);
  }
  std::string policy =
      "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'; connect-src 'self'";
  for (const auto& origin : origins) policy += " " + origin;
  std::vector<http::StaticFile> files;
  for (const auto& [path, name, type, gzip] : kPageFiles) {
    const auto text = read_file(fs::path(folder) / name, kMostBytes, "--web-folder");
    if (!text) return invalid(text.error().message() + ": scripts/web makes the page");
    files.push_back(static_file(path, type, policy, *text, gzip));
  }
  std::vector<client::Deployment> shown(deployments.begin(), deployments.end());
  for (auto& one : shown) {
    for (auto& server : one.servers) server.ca_file.clear();  // of this machine, and of no use to a browser
  }
  const auto text = client::format_deployments(shown);
  files.push_back(static_file("/deployment.json", "application/json", "", text));
  return std::make_shared<const std::vector<http::StaticFile>>(std::move(files));
}

Result<WebPage> load_web_page(const std::string& deployment, std::string folder) {
  PIRX_ASSIGN(const auto deployments, client::load_deployments(deployment));
  return make_web_page(deployments, std::move(folder));
}

}  // namespace pirx::cli
