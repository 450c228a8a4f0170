// TraceRecorder and TraceSpan: when what ran on which thread, as Chrome-trace JSON (chrome://tracing,
// Perfetto).
//
//   base::TraceSpan span(trace, "codegen", "compile ", kernel_name);   // trace: TraceRecorder*, null when
//   off
//
// With a null recorder a span is one branch: no clock is read and no text is made. Categories are folders, as
// in the log.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/seams.h"
#include "base/text.h"
#include "frit/result.h"

namespace frit::base {

// All members may be called from any thread at once.
class TraceRecorder {
 public:
  // At most this many spans are kept; what comes later is counted only.
  static constexpr size_t kMostSpans = size_t{1} << 20;

  explicit TraceRecorder(Clock& clock) : clock_(clock), origin_ns_(clock.now_ns()) {}

  int64_t now_ns() const { return clock_.now_ns(); }
  // category must live as long as the recorder (a literal). Recorded for the calling thread.
  void add(const char* category, std::string name, int64_t begin_ns, int64_t end_ns);

  size_t spans() const;
  std::string json() const;
  Status write(FileSystem& files, const std::string& path) const { return files.write_atomic(path, json()); }

 private:
  struct Span {
    const char* category;
    std::string name;
    int64_t begin_ns, end_ns;
    int64_t thread;
  };

  Clock& clock_;  // outlives the recorder
  const int64_t origin_ns_;
  mutable std::mutex mutex_;
  std::vector<Span> spans_;
  size_t dropped_ = 0;
};

class TraceSpan {
 public:
  template <class... Ts>
  explicit TraceSpan(TraceRecorder* recorder, const char* category, const Ts&... name_parts)
      : recorder_(recorder) {
    if (!recorder_) return;
    category_ = category;
    name_ = text_of(name_parts...);
    begin_ns_ = recorder_->now_ns();
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;
  ~TraceSpan() { end(); }

  void end() {
    if (!recorder_) return;
    TraceRecorder* recorder = std::exchange(recorder_, nullptr);
    recorder->add(category_, std::move(name_), begin_ns_, recorder->now_ns());
  }

 private:
  TraceRecorder* recorder_;
  const char* category_ = nullptr;
  std::string name_;
  int64_t begin_ns_ = 0;
};

}  // namespace frit::base
