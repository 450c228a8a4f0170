// StoreObjectCache: machine code between processes, kept in the tuning cache; plugs the store into exec.
//
// A local object that another emitter or compiler made is built anew where there is a compiler, and taken as
// it is where there is none; objects that were imported on the user's word are always taken. What made this
// build's objects is known without opening the compiler, so that a warm start never does. It must not know
// plans.
#pragma once

#include <functional>
#include <string>

#include "base/log.h"
#include "exec/kernel_source.h"
#include "tuner/key.h"
#include "tuner/store.h"

namespace frit::runtime {

class StoreObjectCache final : public exec::ObjectCache {
 public:
  struct Options {
    tuner::Store* store = nullptr;  // outlives this
    tuner::TargetParts target;
    std::string expected;  // version text of this build's libfrit-codegen
    // Version of the compiler that is really there, which it opens; empty: there is none.
    std::function<std::string()> compiler_version;
    base::Logger log;
  };
  explicit StoreObjectCache(Options options) : options_(std::move(options)) {}

  std::optional<std::string> get(const exec::ObjectRequest& request) override;
  void put(const exec::ObjectRequest& request, std::string_view object, std::string_view compiler) override;

 private:
  Result<tuner::Key> key(const exec::ObjectRequest& request) const;
  const Options options_;
};

}  // namespace frit::runtime
