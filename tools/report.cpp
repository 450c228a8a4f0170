#include "report.h"

#include <cstdio>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "interrupt.h"

namespace frit::tools {

int fail(const Error& error) {
  if (error.code == Code::kCancelled && interrupted()) {
    std::fprintf(stderr, "frit: stopped\n");
    return interrupted();
  }
  std::fprintf(stderr, "frit: error: %s\n", error.text().c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  switch (error.code) {
    case Code::kInvalidArgument:
      return kWrongUse;
    case Code::kNotFound:
      return kNo;
    case Code::kBusy:
      return kTryAgain;
    case Code::kCancelled:
      return interrupted() ? interrupted() : kInterrupted;
    default:
      return kFailed;
  }
}

int wrong_use(const std::string& message, const std::string& hint) {
  std::fprintf(stderr, "frit: error: %s\n", message.c_str());
  if (!hint.empty()) std::fprintf(stderr, "hint: %s\n", hint.c_str());
  return kWrongUse;
}

namespace {

class SpdlogSink final : public LogSink {
 public:
  explicit SpdlogSink(bool verbose)
      : logger_("frit", std::make_shared<spdlog::sinks::stderr_sink_mt>()), verbose_(verbose) {
    logger_.set_pattern("frit: %v");
    logger_.set_level(spdlog::level::trace);
  }
  bool wants(LogLevel level, std::string_view) const override {
    return verbose_ || level != LogLevel::kTrace;
  }
  void write(LogLevel level, std::string_view category, std::string_view message) override {
    if (level == LogLevel::kInfo) return logger_.info("{}", message);
    if (level == LogLevel::kTrace) return logger_.trace("{}: {}", category, message);
    logger_.log(level == LogLevel::kWarn ? spdlog::level::warn : spdlog::level::err, "{}: {}",
                level == LogLevel::kWarn ? "warning" : "error", message);
  }

 private:
  spdlog::logger logger_;
  const bool verbose_;
};

}  // namespace

std::shared_ptr<LogSink> make_log(bool verbose) { return std::make_shared<SpdlogSink>(verbose); }

}  // namespace frit::tools
