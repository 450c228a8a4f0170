// Logger: what the library's parts hold to speak to the application's LogSink.
//
// A value, cheap to copy; a default one is silent. Arguments are concatenated as by text_of, and only when
// the sink wants them; an argument that is costly to make is passed as a callable:
//   log.warn("tuner", "cache ", path, " is corrupt, set aside");
//   log.trace("fusion", [&] { return graph.text(); });
// Category is the folder that speaks. Kernel sources and IR dumps go to files, not here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "frit/log.h"

namespace frit::base {

class Logger {
 public:
  Logger() = default;
  explicit Logger(std::shared_ptr<LogSink> sink) : sink_(std::move(sink)) {}

  bool enabled(LogLevel level, std::string_view category) const {
    return sink_ != nullptr && sink_wants(level, category);
  }

  template <class... Ts>
  void log(LogLevel level, std::string_view category, const Ts&... parts) const {
    if (enabled(level, category)) emit(level, category, text_of(parts...));
  }
  template <class... Ts>
  void error(std::string_view category, const Ts&... parts) const {
    log(LogLevel::kError, category, parts...);
  }
  template <class... Ts>
  void warn(std::string_view category, const Ts&... parts) const {
    log(LogLevel::kWarn, category, parts...);
  }
  template <class... Ts>
  void info(std::string_view category, const Ts&... parts) const {
    log(LogLevel::kInfo, category, parts...);
  }
  template <class... Ts>
  void trace(std::string_view category, const Ts&... parts) const {
    log(LogLevel::kTrace, category, parts...);
  }

 private:
  // The sink is the application's code and may throw; nothing of that enters the library.
  bool sink_wants(LogLevel level, std::string_view category) const;
  void emit(LogLevel level, std::string_view category, const std::string& message) const;

  std::shared_ptr<LogSink> sink_;
};

}  // namespace frit::base
