// Ctrl-C and SIGTERM: the first asks the work to stop and keep what it has, the second ends the process at
// once.
#pragma once

#include "frit/stop.h"

namespace frit::tools {

// Installs the handlers (once per process); the token is triggered by the first signal.
StopToken stop_on_signals();
// 0, or 130 / 143 for the signal that came.
int interrupted();

}  // namespace frit::tools
