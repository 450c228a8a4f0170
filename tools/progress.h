// The progress of tuning: one line that is rewritten on a terminal, a line every 10 s elsewhere.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/seams.h"
#include "frit/options.h"

namespace frit::tools {

// "[18/53] conv 3x3 64->64 @56²  trial 212/480  best 0.84 ms (heuristic 1.31)  model 21.4 -> 15.9 ms  2:10 left"
std::string progress_line(const Progress& progress);

class ProgressPrinter {
 public:
  struct Options {
    bool terminal = false;
    int columns = 0;  // of the terminal: what does not fit is cut off; 0: not known
    std::function<void(std::string_view)> write;
  };
  ProgressPrinter(base::Clock& clock, Options options) : clock_(clock), options_(std::move(options)) {}

  void update(const Progress& progress);
  // Ends the line that is being rewritten, if there is one.
  void end();

 private:
  base::Clock& clock_;
  Options options_;
  bool any_ = false, open_ = false;
  int64_t last_ns_ = 0;
};

// Both for stderr.
ProgressCallback make_progress();
void end_progress();

}  // namespace frit::tools
