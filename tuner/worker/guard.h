// The worker's side of WorkerProcess: what makes a process safe to lose, and its loop of questions and
// answers.
//
// frit-worker and the tests' stand-ins call it first thing in main. It must not know what is asked.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace frit::tuner::worker {

// Dies with the parent: by PR_SET_PDEATHSIG, and by a thread that watches the pipe whose other end only the
// parent has (the signal follows the parent's thread, the pipe its process). Closes what the host left open,
// limits the address space, forbids core files, and ends with kExitOutOfMemory where an allocation fails.
// Arguments: --parent=PID --memory=BYTES. False where they are not there.
bool enter(int argc, char** argv);

// Answers until the parent is gone.
void serve(const std::function<std::string(std::string_view request)>& answer);

}  // namespace frit::tuner::worker
