// check_stop: turns a requested stop into the error that every long-running function answers.
#pragma once

#include "frit/result.h"
#include "frit/stop.h"

namespace frit::base {

// Use as FRIT_TRY(base::check_stop(token)) between pieces of work.
inline Status check_stop(const StopToken& token) {
  if (token.stop_requested()) return make_error(Code::kCancelled, "stopped on request");
  return {};
}

}  // namespace frit::base
