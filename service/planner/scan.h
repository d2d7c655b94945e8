// The cost of a server of Goldberg's or Chor's protocol: a pass of the engine over a prepared database.
#pragma once

#include "pirx/planner/planner.h"

namespace pirx::planner {

/// Adds the pass, the preparation and the memory for both to an offer. Bytes are those of whole rows.
Result<void> add_scan(Offer& offer, const Question& question, Rates& rates, ScanField field,
                      const database::Geometry& geometry);

}  // namespace pirx::planner
