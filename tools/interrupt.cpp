#include "interrupt.h"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace frit::tools {

namespace {

StopSource* source = nullptr;  // leaked: a signal may come at any moment until the end
volatile std::sig_atomic_t seen = 0;

void on_signal(int signal) {
  if (seen) _exit(128 + signal);
  seen = signal;
  if (source) source->request_stop();
}

}  // namespace

StopToken stop_on_signals() {
  if (!source) {
    source = new StopSource;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
  }
  return source->token();
}

int interrupted() { return seen ? 128 + static_cast<int>(seen) : 0; }

}  // namespace frit::tools
