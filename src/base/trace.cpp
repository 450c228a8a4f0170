#include "base/trace.h"

#include <unistd.h>

namespace frit::base {

void TraceRecorder::add(const char* category, std::string name, int64_t begin_ns, int64_t end_ns) {
  const int64_t thread = gettid();
  const std::lock_guard lock(mutex_);
  if (spans_.size() == kMostSpans) {
    ++dropped_;
    return;
  }
  spans_.push_back({category, std::move(name), begin_ns, end_ns, thread});
}

size_t TraceRecorder::spans() const {
  const std::lock_guard lock(mutex_);
  return spans_.size();
}

std::string TraceRecorder::json() const {
  const std::lock_guard lock(mutex_);
  const auto microseconds = [](int64_t ns) { return static_cast<double>(ns) / 1000.0; };
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  bool first = true;
  for (const Span& span : spans_) {
    append(out, first ? "\n" : ",\n", "{\"ph\":\"X\",\"cat\":", json_quoted(span.category),
           ",\"name\":", json_quoted(span.name), ",\"ts\":", microseconds(span.begin_ns - origin_ns_),
           ",\"dur\":", microseconds(span.end_ns - span.begin_ns), ",\"pid\":", getpid(),
           ",\"tid\":", span.thread, "}");
    first = false;
  }
  append(out, "\n],\"otherData\":{\"dropped\":", dropped_, "}}\n");
  return out;
}

}  // namespace frit::base
