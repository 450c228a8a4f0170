// Where exec gets machine code from: a LoopFn goes in, a kernel that can be launched comes out.
//
// build.h asks a KernelProvider for every phase of every program; compile.h has the provider that compiles
// and loads. The tuning store plugs in as an ObjectCache, so that exec knows neither SQLite nor how records
// are keyed. It must not know plans or tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "device/kernel.h"
#include "device/target.h"
#include "frit/result.h"
#include "loop/ir.h"

namespace frit::exec {

struct KernelCounters {
  int64_t compiles = 0;      // calls of the compiler that gave an object
  int64_t object_loads = 0;  // objects mapped into the process, compiled here or not
};

// All members may be called from several threads at once.
class KernelProvider {
 public:
  virtual ~KernelProvider() = default;

  // The function must be verified. Errors: kUnsupported and kInternal when the compiler has no code for it or
  // gave up (other params may do), kNotFound when it must be compiled and there is no compiler, kOutOfMemory,
  // kDevice.
  virtual Result<std::shared_ptr<const device::Kernel>> kernel(const loop::LoopFn& fn) = 0;

  virtual KernelCounters counters() const = 0;
};

// What decides about an object's bytes: the ingredients of its key, by name, and their hash.
struct ObjectRequest {
  std::string_view program;  // canonical text of the LoopFn
  int32_t abi_version = device::kKernelAbiVersion;
  std::string_view flags;
  const device::Target* target = nullptr;  // architecture and features decide; the rest is provenance
  base::Hash128 key;
};

// Keeps objects between processes. All members may be called from several threads at once; none of them
// fails: what cannot be read is a miss, what cannot be written is lost.
class ObjectCache {
 public:
  virtual ~ObjectCache() = default;

  virtual std::optional<std::string> get(const ObjectRequest& request) = 0;
  // compiler: what made the object, for provenance and for deciding on a rebuild.
  virtual void put(const ObjectRequest& request, std::string_view object, std::string_view compiler) = 0;
};

// The key of DESIGN section 7: LoopFn text, ABI version, flags, architecture and features.
base::Hash128 binary_key(std::string_view program, std::string_view flags, const device::Target& target);

// What a launch must provide, from the signature.
device::KernelShape kernel_shape(const loop::LoopFn& fn);

}  // namespace frit::exec
