#include "kept.h"

#include <cstdio>

#include "interrupt.h"
#include "runtime/model_impl.h"
#include "tuner/store.h"

namespace frit::tools {

Kept::Kept(const Model& model) : model_(model), before_(trials()) {}

int64_t Kept::trials() const {
  tuner::Store* const store = model_.impl()->runtime->store();
  return store ? store->stats().trials : 0;
}

int Kept::report() const {
  tuner::Store* const store = model_.impl()->runtime->store();
  if (!store || store->status().mode == tuner::StoreMode::kMemory) {
    std::fprintf(stderr, "frit: stopped; nothing is kept, because there is no cache file\n");
    return interrupted();
  }
  const auto now = store->stats();
  std::fprintf(stderr,
               "frit: stopped; %lld trials were measured and are kept in %s, %lld with earlier ones\n"
               "frit: the same command continues from there\n",
               static_cast<long long>(now.trials - before_), store->status().path.c_str(),
               static_cast<long long>(now.trials));
  return interrupted();
}

}  // namespace frit::tools
