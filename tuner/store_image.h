// A database file and its write-ahead log as one image in memory.
//
// SQLite cannot read a file in WAL mode where it may not create the shared-memory file beside it (another
// user's cache, a folder without write permission) unless the file is immutable, which only a read-only mount
// promises. There the store reads a private copy instead. Knows the two published file formats
// (sqlite.org/fileformat.html), nothing else.
#pragma once

#include <string>
#include <string_view>

#include "frit/result.h"

namespace frit::tuner {

// The database with every committed transaction of the log applied, marked as not using a log. An empty log,
// or one of another generation, leaves the database as it is; frames after the last valid commit are ignored,
// as SQLite does.
Result<std::string> image_with_log(std::string database, std::string_view log);

}  // namespace frit::tuner
