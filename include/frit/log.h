// The log sink: where frit's messages go. The library is silent until the application hands it a sink in the
// options of a call; it never writes to stdout or stderr itself.
//
// A sink may be called from several threads at once, and must not call back into frit.
#pragma once

#include <string_view>

#include "frit/version.h"

namespace frit {
inline namespace FRIT_ABI {

// In order of importance: a sink that wants kInfo gets errors and warnings too.
enum class LogLevel {
  kError,  // something asked for was not done
  kWarn,   // done, but worse than it should be (a corrupt cache set aside, a slow fallback)
  kInfo,   // what a user wants to know once
  kTrace,  // what a developer of frit wants to know
};

class LogSink {
 public:
  virtual ~LogSink() = default;

  // The text is only made when this is true; it must be cheap.
  virtual bool wants(LogLevel level, std::string_view category) const = 0;

  // category: the folder that speaks, e.g. "tuner". Neither view outlives the call. message has no final
  // newline.
  virtual void write(LogLevel level, std::string_view category, std::string_view message) = 0;
};

// "error", "warn", "info", "trace".
constexpr const char* log_level_name(LogLevel level) {
  constexpr const char* names[] = {"error", "warn", "info", "trace"};
  return names[static_cast<int>(level)];
}

}  // namespace FRIT_ABI
}  // namespace frit
