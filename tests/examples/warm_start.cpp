// Shows what the tuning cache is for: the second process compiles nothing and does not even open the
// compiler.
//
//   warm_start MODEL.onnx CACHE_FOLDER    run it twice
#include <cstdio>
#include <memory>
#include <string>

#include "frit/frit.h"

namespace {

// The library says nothing unless it is given somewhere to say it.
class Stderr final : public frit::LogSink {
 public:
  bool wants(frit::LogLevel level, std::string_view) const override { return level <= frit::LogLevel::kInfo; }
  void write(frit::LogLevel level, std::string_view category, std::string_view message) override {
    std::fprintf(stderr, "%s: %.*s: %.*s\n", frit::log_level_name(level), static_cast<int>(category.size()),
                 category.data(), static_cast<int>(message.size()), message.data());
  }
};

int run(const std::string& path, const std::string& cache) {
  const frit::Model model =
      frit::Model::load(path, {.cache = cache, .log = std::make_shared<Stderr>()}).value_or_throw();
  frit::Session session = frit::Session::create(model, {.threads = 1}).value_or_throw();
  session.prepare({{"batch", {1}}}).value_or_throw();
  const frit::SessionStats stats = session.stats();
  const frit::Counters& c = stats.counters;
  std::printf(
      "load %.2f ms, prepare %.2f ms: %lld groups, %lld compiles, %lld exact hits, %lld misses, compiler "
      "%s\n",
      stats.load_ms, stats.prepare_ms, static_cast<long long>(c.groups), static_cast<long long>(c.compiles),
      static_cast<long long>(c.exact_hits), static_cast<long long>(c.misses),
      stats.compiler_open ? "opened" : "not opened");
  for (const frit::GroupInfo& group : stats.groups) {
    std::printf("  %-40s %-10s %s\n", group.label.c_str(), frit::match_name(group.match),
                group.params.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: warm_start MODEL.onnx CACHE_FOLDER\n");
    return 2;
  }
  try {  // for an application that likes exceptions: only the functions named _or_throw throw
    return run(argv[1], std::string(argv[2]) + "/");
  } catch (const frit::Exception& e) {
    std::fprintf(stderr, "warm_start: %s\n", e.what());
    return 1;
  }
}
