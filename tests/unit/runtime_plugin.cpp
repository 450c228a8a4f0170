// A shared library of an application that uses libfrit: what the tests of loading and unloading open.
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "frit/frit.h"

namespace {

frit::GraphBuilder net() {
  frit::GraphBuilder g;
  const frit::Value x = g.input("x", frit::DType::kF32, {64, 64});
  std::vector<float> eye(64 * 64, 0.0f);
  for (size_t k = 0; k < 64; ++k) eye[k * 65] = 2.0f;
  g.output(g.relu(g.matmul(x, g.constant(frit::Tensor::of(eye, {64, 64}).value_or_throw()))), "y");
  return g;
}

frit::Result<frit::Session> session(const char* cache) {
  auto model = frit::Model::from_graph(net(), {.cache = std::string(cache)});
  if (!model.ok()) return std::move(model).error();
  return frit::Session::create(*model, {.threads = 2});
}

bool runs(frit::Session& session) {
  std::vector<float> x(64 * 64, 1.5f), y(64 * 64);
  const frit::Status s = session.run(std::array{frit::TensorView::of(x.data(), {64, 64})},
                                     std::array{frit::TensorView::of(y.data(), {64, 64})});
  return s.ok() && y[17] == 3.0f && y.back() == 3.0f;
}

}  // namespace

// 0 when a run gave the right answer. *compiles: kernels that had to be compiled.
extern "C" __attribute__((visibility("default"))) int plugin_run(const char* cache, long long* compiles) {
  auto s = session(cache);
  if (!s.ok()) return 1;
  if (!runs(*s)) return 2;
  *compiles = s->stats().counters.compiles;
  return 0;
}

// Leaves threads behind that prepare and run for ever.
extern "C" __attribute__((visibility("default"))) void plugin_run_for_ever(const char* cache,
                                                                           int after_runs) {
  static std::atomic<int>* const done = new std::atomic<int>{0};
  auto* const kept = new frit::Result<frit::Session>(session(cache));
  if (!kept->ok()) std::abort();
  for (int k = 0; k < 2; ++k) {
    std::thread([kept] {
      for (;;) {
        if (!runs(**kept)) std::abort();
        ++*done;
      }
    }).detach();
  }
  while (*done < after_runs) std::this_thread::yield();
}
