// The list of protocols that a program was built with.
#include "pirx/protocol.h"

namespace pirx {

void Registry::add(Entry entry) {
  PIRX_CHECK(entry.open != nullptr);
  for (const auto& known : entries_) PIRX_CHECK(known.name != entry.name);
  entries_.push_back(std::move(entry));
}

Result<std::unique_ptr<AnyServer>> Registry::open(const std::string& name, const ServerSpec& spec) const {
  std::string known;
  for (const auto& entry : entries_) {
    if (entry.name == name) return entry.open(spec);
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  return fail(ErrorCode::kInvalidArgument,
              "no protocol is called '" + name + "': this program has " + (known.empty() ? "none" : known));
}

}  // namespace pirx
