// SPDX-License-Identifier: Apache-2.0
// A publisher's files, for the commands that make them and those that take them.
#pragma once

#include "cli.h"
#include "pirx/client/manifest.h"

namespace pirx::cli {

/// Reads a manifest. Errors are those of read_file and Manifest::parse.
Result<Manifest> load_manifest(const std::string& file);
/// A publisher's key from a command line: 64 hexadecimal digits, or the name of a file with them. Digits are
/// the key, also where a file has that name.
Result<ed25519::PublicKey> read_publisher(const std::string& text);
/// Such a key, a colon and the publisher's name of a database.
Result<client::Pin> read_pin(const std::string& text);

}  // namespace pirx::cli
