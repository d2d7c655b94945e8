// Prints the figures of papers 001 and 004 that follow from formulas, as JSON: computed, printed, and why
// they differ where they do.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "paper_figures.h"

int main() {
  using Json = nlohmann::ordered_json;
  Json json = {{"kind", "paper"}, {"figures", Json::array()}};
  for (const auto& figure : pirx::planner::paper_figures()) {
    json["figures"].push_back({{"table", figure.table},
                               {"row", figure.row},
                               {"column", figure.column},
                               {"unit", figure.unit},
                               {"computed", figure.computed},
                               {"printed", figure.printed ? Json(*figure.printed) : Json()},
                               {"remark", figure.remark}});
  }
  std::printf("%s\n", json.dump(1).c_str());
}
