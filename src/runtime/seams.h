// The seams of one Model, all four together; the system's, or a test's fakes.
#pragma once

#include "base/seams.h"

namespace frit::runtime {

// Outlived by what they point to.
struct Seams {
  base::Clock* clock = nullptr;
  base::FileSystem* files = nullptr;
  base::Environment* environment = nullptr;
  base::Process* process = nullptr;
};

struct SystemSeams {
  base::SystemClock clock;
  base::SystemFileSystem files;
  base::SystemEnvironment environment;
  base::SystemProcess process;
  Seams all() { return {&clock, &files, &environment, &process}; }
};

}  // namespace frit::runtime
