// Where the tuning cache lies: resolved once, from the caller's option and the environment, before the store
// is opened.
//
// In this order, the first that is set:
//   1. the option                        a file, a folder, or "off"
//   2. FRIT_CACHE                        the same
//   3. CACHE_DIRECTORY/cache.db          as systemd sets it; of several folders the first
//   4. XDG_CACHE_HOME/frit/cache.db      if absolute
//   5. HOME/.cache/frit/cache.db         if absolute
// else memory. A name is a folder if it is one or ends in '/'. 4 and 5 are passed over where the folder would
// be made inside another user's (root with a user's HOME) or a world-writable folder: /tmp is never used
// unasked.
#pragma once

#include <optional>
#include <string>

#include "base/seams.h"

namespace frit::tuner {

struct Place {
  enum class Kind { kFile, kMemory, kOff };
  Kind kind = Kind::kMemory;
  std::string path;    // of the file
  std::string source;  // "option", "FRIT_CACHE", "CACHE_DIRECTORY", "XDG_CACHE_HOME", "HOME", or "none"
  std::string note;    // one line for the log's info level: why memory; empty otherwise
};

Place resolve_place(const std::optional<std::string>& option, base::Environment& environment,
                    base::FileSystem& files, base::Process& process);

}  // namespace frit::tuner
