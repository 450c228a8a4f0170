// Options that several verbs share, and what they mean to the library.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frit/options.h"
#include "frit/result.h"

namespace CLI {
class App;
}

namespace frit::tools {

struct CommonOptions {
  std::string target = "cpu";
  std::string cache;  // empty: the library's choice
  std::string numerics = "default";
  int threads = 0;  // 0: as many as this process may run
  bool json = false;
  bool verbose = false;
};
void add_common(CLI::App& app, CommonOptions& options, bool with_threads = true);

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=file.npy|file.pb|random:SEED|ones|zeros
  std::vector<std::string> shapes;  // NAME=1x128, for an input or a dimension
  uint64_t seed = 1;
};
void add_inputs(CLI::App& app, InputOptions& options);

Result<ModelOptions> model_options(const CommonOptions& common);
// Threads and numerics; the stop token of the signals. Says so where numerics are not what they are asked to
// be.
Result<SessionOptions> session_options(const CommonOptions& common);
Result<Numerics> parse_numerics(const std::string& text);
Result<OnMiss> parse_on_miss(const std::string& text);
// "20s", "5m", "1h", "250ms", "20": seconds, finite and above 0.
Result<double> parse_duration(const std::string& text);
// "1x3x224x224"
Result<std::vector<int64_t>> parse_shape(const std::string& text);
// The element of `known` that is closest to `word`, or nothing where none is close.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace frit::tools
