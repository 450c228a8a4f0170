#include "progress.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>

namespace frit::tools {

namespace {

std::string line(const Progress& p) {
  char out[400];
  std::string left = "no limit";
  if (std::isfinite(p.seconds_left)) {
    const auto s = static_cast<int>(p.seconds_left);
    char text[32];
    std::snprintf(text, sizeof text, "%d:%02d left", s / 60, s % 60);
    left = text;
  }
  std::snprintf(out, sizeof out, "[%d/%d] %.*s  trial %lld/%lld  best %.3f ms (heuristic %.3f)  model %.2f -> %.2f ms  %s", p.group_number, p.groups,
                static_cast<int>(p.group.size()), p.group.data(), static_cast<long long>(p.trial), static_cast<long long>(p.trials), p.best_ms, p.heuristic_ms,
                p.model_heuristic_ms, p.model_ms, left.c_str());
  return out;
}

bool open_line = false;  // a line is on the terminal that has no end yet

}  // namespace

ProgressCallback make_progress() {
  using Time = std::chrono::steady_clock::time_point;
  auto last = std::make_shared<Time>();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  return [last, terminal](const Progress& p) {
    const auto now = std::chrono::steady_clock::now();
    const auto gap = terminal ? std::chrono::milliseconds(100) : std::chrono::seconds(10);
    if (*last != Time() && now - *last < gap) return;
    *last = now;
    if (terminal) {
      std::fprintf(stderr, "\r\033[K%s", line(p).c_str());
      open_line = true;
    } else {
      std::fprintf(stderr, "%s\n", line(p).c_str());
    }
    std::fflush(stderr);
  };
}

void end_progress() {
  if (open_line) std::fputc('\n', stderr);
  open_line = false;
}

}  // namespace frit::tools
