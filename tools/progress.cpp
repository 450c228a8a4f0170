#include "progress.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"

namespace frit::tools {

namespace {

constexpr int64_t kTerminalGapNs = 100'000'000;
constexpr int64_t kLineGapNs = 10'000'000'000;

// Three digits that mean something, as people write times.
std::string number(double ms) {
  char out[32];
  const int decimals = ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 0.1 ? 2 : ms >= 0.01 ? 3 : 4;
  std::snprintf(out, sizeof out, "%.*f", decimals, std::isfinite(ms) ? ms : 0.0);
  return out;
}

std::string left(double seconds) {
  if (!std::isfinite(seconds) || seconds > 1e7) return "no limit";
  const auto s = static_cast<int64_t>(std::max(0.0, std::ceil(seconds)));
  char out[48];
  if (s >= 3600)
    std::snprintf(out, sizeof out, "%lld:%02lld:%02lld left", static_cast<long long>(s / 3600), static_cast<long long>(s / 60 % 60),
                  static_cast<long long>(s % 60));
  else
    std::snprintf(out, sizeof out, "%lld:%02lld left", static_cast<long long>(s / 60), static_cast<long long>(s % 60));
  return out;
}

// "@56x56" is "@56²" for a person.
std::string squared(std::string_view label) {
  const size_t at = label.rfind('@');
  if (at == std::string_view::npos) return std::string(label);
  const std::string_view size = label.substr(at + 1);
  const size_t cross = size.find('x');
  if (cross == std::string_view::npos || size.substr(0, cross) != size.substr(cross + 1)) return std::string(label);
  return base::text_of(label.substr(0, at + 1), size.substr(0, cross), "²");
}

// The first `columns` characters.
std::string cut(const std::string& text, int columns) {
  if (columns <= 0) return text;
  size_t end = 0;
  for (int seen = 0; end < text.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (starts && ++seen > columns) break;
  }
  return text.substr(0, end);
}

struct ForStderr {
  base::SystemClock clock;
  std::unique_ptr<ProgressPrinter> printer;
};

ForStderr& for_stderr() {
  static auto* const one = new ForStderr;  // leaked: a search may be running when the process ends
  return *one;
}

int terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

std::string progress_line(const Progress& p) {
  return base::text_of("[", p.group_number, "/", p.groups, "] ", squared(p.group), "  trial ", p.trial, "/", p.trials, "  best ",
                       number(p.best_ms), " ms (heuristic ", number(p.heuristic_ms), ")  model ", number(p.model_heuristic_ms), " -> ",
                       number(p.model_ms), " ms  ", left(p.seconds_left));
}

void ProgressPrinter::update(const Progress& progress) {
  const int64_t now = clock_.now_ns();
  if (any_ && now - last_ns_ < (options_.terminal ? kTerminalGapNs : kLineGapNs)) return;
  any_ = true;
  last_ns_ = now;
  const std::string line = progress_line(progress);
  open_ = options_.terminal;
  // Rewritten in place: back to the start of the line, which is cleared.
  options_.write(options_.terminal ? base::text_of("\r\033[K", cut(line, options_.columns - 1)) : line + "\n");
}

void ProgressPrinter::end() {
  if (open_) options_.write("\n");
  open_ = false;
}

ProgressCallback make_progress() {
  ProgressPrinter::Options options;
  options.terminal = isatty(STDERR_FILENO) != 0;
  options.columns = options.terminal ? terminal_columns() : 0;
  options.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  ForStderr& out = for_stderr();
  out.printer = std::make_unique<ProgressPrinter>(out.clock, std::move(options));
  return [&out](const Progress& p) { out.printer->update(p); };
}

void end_progress() {
  if (for_stderr().printer) for_stderr().printer->end();
}

}  // namespace frit::tools
