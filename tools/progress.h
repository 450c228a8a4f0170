// The progress of tuning: one line that is rewritten on a terminal, a line every 10 s elsewhere.
#pragma once

#include "frit/options.h"

namespace frit::tools {

ProgressCallback make_progress();
// Ends the line that is being rewritten.
void end_progress();

}  // namespace frit::tools
