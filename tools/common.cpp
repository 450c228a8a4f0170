#include "common.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/try.h"
#include "interrupt.h"
#include "report.h"

namespace frit::tools {

void add_common(CLI::App& app, CommonOptions& o, bool with_threads) {
  app.add_option("--target", o.target, "cpu (default), or a baseline such as cpu:x86-64-v3")
      ->type_name("NAME");
  app.add_option("--cache", o.cache, "tuning cache: a file, a folder, or off")->type_name("PLACE");
  app.add_option("--numerics", o.numerics, "strict, default or fast")->type_name("POLICY");
  if (with_threads)
    app.add_option("--threads", o.threads, "of one run; 0 (default): as many as this process may run")
        ->type_name("N")
        ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", o.json, "one JSON object on stdout");
  app.add_flag("--verbose", o.verbose, "also what a developer of frit wants to know");
}

void add_inputs(CLI::App& app, InputOptions& o) {
  app.add_option("--input", o.inputs, "NAME=VALUE: file.npy, file.pb, random:SEED, ones or zeros")
      ->type_name("INPUT")
      ->allow_extra_args(false);
  app.add_option("--shape", o.shapes, "NAME=1x128 for an input, NAME=128 for a dimension")
      ->type_name("SHAPE")
      ->allow_extra_args(false);
  app.add_option("--seed", o.seed, "of inputs that are not given, default 1")->type_name("N");
}

Result<Numerics> parse_numerics(const std::string& text) {
  for (Numerics n : {Numerics::kStrict, Numerics::kDefault, Numerics::kFast})
    if (text == numerics_name(n)) return n;
  return make_error(Code::kInvalidArgument, "--numerics is '" + text + "', expected strict, default or fast");
}

Result<OnMiss> parse_on_miss(const std::string& text) {
  if (text == "heuristic") return OnMiss::kHeuristic;
  if (text == "background") return OnMiss::kBackground;
  if (text == "tune") return OnMiss::kTune;
  if (text == "error") return OnMiss::kError;
  return make_error(Code::kInvalidArgument,
                    "--on-miss is '" + text + "', expected heuristic, background, tune or error");
}

Result<double> parse_duration(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  double scale = 0;
  if (unit.empty() || unit == "s")
    scale = 1;
  else if (unit == "ms")
    scale = 1e-3;
  else if (unit == "m" || unit == "min")
    scale = 60;
  else if (unit == "h")
    scale = 3600;
  if (end == text.c_str() || scale == 0 || !std::isfinite(value) || value <= 0)
    return make_error(Code::kInvalidArgument,
                      "duration '" + text + "' is not a finite number above 0 with unit ms, s, m or h");
  return value * scale;
}

Result<std::vector<int64_t>> parse_shape(const std::string& text) {
  std::vector<int64_t> shape;
  if (text.empty() || text == "scalar") return shape;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('x', begin), text.size());
    const auto n = base::parse_number<int64_t>(std::string_view(text).substr(begin, end - begin));
    if (!n || *n < 0)
      return make_error(Code::kInvalidArgument, "shape '" + text + "' is not of the form 1x3x224x224");
    shape.push_back(*n);
    begin = end + 1;
  }
  return shape;
}

Result<ModelOptions> model_options(const CommonOptions& common) {
  ModelOptions options;
  options.target = common.target;
  if (!common.cache.empty()) options.cache = common.cache;
  options.log = make_log(common.verbose);
  return options;
}

Result<SessionOptions> session_options(const CommonOptions& common) {
  SessionOptions options;
  options.threads = common.threads;
  FRIT_ASSIGN(options.numerics, parse_numerics(common.numerics));
  if (options.numerics == Numerics::kFast)
    std::fprintf(stderr, "frit: --numerics fast equals default on the CPU for now\n");
  options.stop = stop_on_signals();
  return options;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  std::string best;
  size_t least = 3;
  for (const std::string& k : known) {
    std::vector<size_t> row(k.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= word.size(); ++i) {
      size_t diagonal = row[0];
      row[0] = i;
      for (size_t j = 1; j <= k.size(); ++j) {
        const size_t above = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (word[i - 1] != k[j - 1])});
        diagonal = above;
      }
    }
    if (row.back() < least) least = row.back(), best = k;
  }
  return best;
}

}  // namespace frit::tools
