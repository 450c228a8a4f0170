// Kernel: one compiled LoopFn, ready to be launched; immutable and shared by every plan and session that uses
// it.
//
// The loader makes the code, exec launches it over parts of its tile range. It keeps its object mapped, and
// knows what a launch must provide: how many buffers, sizes and bytes of scratch, and how many tiles there
// are for given sizes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"
#include "device/kernel_abi.h"
#include "device/object_loader.h"
#include "frit/result.h"

namespace frit::device {

// What the signature of a LoopFn says about a launch.
struct KernelShape {
  int32_t buffers = 0;
  int32_t sizes = 0;
  int64_t scratch_bytes = 0;  // per worker, aligned to kScratchAlignment; 0: none
  int64_t tiles = -1;         // known before the run; -1: depends on run-time sizes
};

class Kernel {
 public:
  // The function `name` of a loaded object. Errors: `corrupt` when the object does not define it.
  static Result<std::shared_ptr<const Kernel>> make(std::shared_ptr<const LoadedObject> object,
                                                    std::string name, const KernelShape& shape) {
    const void* address = object->symbol(name);
    if (!address) {
      return make_error(Code::kCorrupt, base::text_of("object: no symbol ", base::quoted(name)));
    }
    return std::shared_ptr<const Kernel>(new Kernel(std::move(object), address, std::move(name), shape));
  }

  // A function of this program instead of generated code: for tests and stand-ins. object() is null.
  static std::shared_ptr<const Kernel> from_function(KernelEntry entry, std::string name,
                                                     const KernelShape& shape) {
    return std::shared_ptr<const Kernel>(
        new Kernel(nullptr, reinterpret_cast<const void*>(entry), std::move(name), shape));
  }

  // Runs tiles [args.first_tile, args.last_tile) on the calling thread. On anything but kOk args.error says
  // more.
  KernelStatus launch(const KernelArgs& args) const { return static_cast<KernelStatus>(entry_(&args)); }

  KernelEntry entry() const { return entry_; }
  const std::string& name() const { return name_; }
  const KernelShape& shape() const { return shape_; }
  const std::shared_ptr<const LoadedObject>& object() const { return object_; }

 private:
  Kernel(std::shared_ptr<const LoadedObject> object, const void* address, std::string name,
         const KernelShape& shape)
      : object_(std::move(object)),
        entry_(reinterpret_cast<KernelEntry>(const_cast<void*>(address))),
        name_(std::move(name)),
        shape_(shape) {}

  const std::shared_ptr<const LoadedObject> object_;
  const KernelEntry entry_;
  const std::string name_;
  const KernelShape shape_;
};

// What a failed launch says, for the error that names the node: "index 7 is out of range for 5 elements".
std::string describe_kernel_error(std::span<const int64_t, kErrorWords> error);

}  // namespace frit::device
