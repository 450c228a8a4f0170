#include "base/log.h"

namespace frit::base {

bool Logger::sink_wants(LogLevel level, std::string_view category) const {
  try {
    return sink_->wants(level, category);
  } catch (...) {
    return false;
  }
}

void Logger::emit(LogLevel level, std::string_view category, const std::string& message) const {
  try {
    sink_->write(level, category, message);
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // A message that its reader cannot take is lost; the work it speaks of goes on.
  }
}

}  // namespace frit::base
