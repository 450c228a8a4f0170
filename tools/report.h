// What the tool says besides its data: errors with exit codes, and the library's log on stderr.
#pragma once

#include <memory>
#include <string>

#include "frit/log.h"
#include "frit/result.h"

namespace frit::tools {

constexpr int kDone = 0, kFailed = 1, kWrongUse = 2, kNo = 3, kTryAgain = 75, kInterrupted = 130,
              kTerminated = 143;

// Prints "frit: error: ..." and a hint line where there is one; the exit code for the error.
int fail(const Error& error);
// Names, flags and shapes that the caller gave.
int wrong_use(const std::string& message, const std::string& hint = {});

// Warnings always, information unless quiet, through spdlog.
std::shared_ptr<LogSink> make_log(bool verbose);

}  // namespace frit::tools
