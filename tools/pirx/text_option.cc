// Texts and what they say.
#include "text_option.h"

#include "values.h"

namespace pirx::cli {

Result<std::uint64_t> TextOption::value(const std::string& text) const {
  const auto invalid = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  std::uint64_t value = 0;
  switch (kind) {
    case Kind::kText:
    case Kind::kPath:
      if (text.empty()) return invalid("a text is missing");
      return 0;
    case Kind::kSwitch:
      if (text != "on") return invalid("it is given or not, it has no value");
      return 1;
    case Kind::kNumber:
      return parse_whole_number(text, least, most);
    case Kind::kSize: {
      PIRX_ASSIGN(value, parse_size(text));
      break;
    }
    case Kind::kTime: {
      PIRX_ASSIGN(const auto time, parse_duration(text));
      value = static_cast<std::uint64_t>(time.count());
      break;
    }
  }
  if (value >= least && value <= most) return value;
  const auto shown = [this](std::uint64_t bound) {
    return kind == Kind::kTime ? show_duration(bound) : show_size(bound);
  };
  return invalid("'" + text + "' is not within " + shown(least) + " to " + shown(most));
}

}  // namespace pirx::cli
