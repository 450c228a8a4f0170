// The verbs of the one binary, one file each. A verb adds its options to the command line and says what to do
// when it was chosen; main runs it.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace frit::tools {

struct Invocation {
  std::function<int()> action;  // returns the exit code
};

void add_run(CLI::App& app, Invocation& invocation);
void add_bench(CLI::App& app, Invocation& invocation);
void add_tune(CLI::App& app, Invocation& invocation);
void add_explain(CLI::App& app, Invocation& invocation);
void add_devices(CLI::App& app, Invocation& invocation);
void add_zoo(CLI::App& app, Invocation& invocation);
void add_cache(CLI::App& app, Invocation& invocation);

}  // namespace frit::tools
