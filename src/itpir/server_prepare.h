// The rows of a server half in the engine's layout, kept in a side file between runs where one is named.
#pragma once

#include "pirx/itpir/server.h"
#include "pirx/strassen/engine.h"

namespace pirx::itpir {

/// `rows` prepared: from options.prepared_file where it holds them, else made and then kept there. A file
/// that cannot be used or written costs time and a note, never the server: the database has all that is in
/// it.
template <class F>
Result<strassen::PreparedMatrix<F>> prepare_rows(const strassen::Engine<F>& engine,
                                                 matrix::ConstView<std::byte> rows,
                                                 const database::Version& version,
                                                 const ServerOptions& options) {
  strassen::PrepareOptions how = options.layout;
  how.threads = options.threads;
  const auto note = [&options](const std::string& text) {
    if (options.note) options.note(text);
  };
  if (options.prepared_file.empty()) {
    auto made = engine.prepare(rows, how);
    if (made && (how.depth > 0 || how.layout == strassen::Layout::kResidues)) {
      const bool stored = made->depth() > 0 || made->layout() == strassen::Layout::kResidues;
      note(stored ? "the layout that was asked for takes " + std::to_string(made->bytes() >> 20) + " MiB"
                  : "there is no such layout for this field, CPU and database: it makes no difference");
    }
    return made;
  }
  const strassen::PreparedOrigin origin{version.identity, version.epoch};
  auto loaded = engine.load(options.prepared_file, origin, rows.rows, rows.cols, how);
  if (loaded) {
    note("the prepared database was read");
    return loaded;
  }
  PIRX_ASSIGN(auto made, engine.prepare(rows, how));
  if (made.layout() != strassen::Layout::kSliced) {
    note("this database is not prepared in planes for this field and CPU: there is nothing to keep");
    return made;
  }
  const auto saved = engine.save(made, options.prepared_file, origin, options.threads);
  note("the database was prepared (" + loaded.error().message() + ") and " +
       (saved ? "kept for the next start" : "not kept: " + saved.error().message()));
  return made;
}

}  // namespace pirx::itpir
