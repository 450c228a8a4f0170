// Loads kernels: ELF objects, from the compiler or from a cache, become code in this process.
//
// The only way by which generated code gets to run, in the worker too, so that what was measured is what is
// served. parse (elf_object), place and relocate (elf_image), make executable (executable_memory), register
// with the unwinder, and by option with gdb and perf. It must not know what a kernel computes, and asks no
// linker: an object that needs anything from outside is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/elf_image.h"
#include "device/executable_memory.h"
#include "device/gdb_jit.h"
#include "device/perf_dump.h"
#include "frit/result.h"

namespace frit::device {

struct LoaderOptions {
  bool unwind = true;            // exceptions and profilers can walk through kernels
  bool gdb = false;              // a debugger sees kernels
  std::string perf_dump_folder;  // where perf's jitdump file goes; empty: none
  ExecutablePolicy memory = ExecutablePolicy::kAuto;
};

// One object in memory; unregistered and unmapped when it dies. Const methods are safe to call concurrently.
class LoadedObject {
 public:
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  ~LoadedObject();

  // The address of a global symbol; null when the object defines none of that name.
  const void* symbol(std::string_view name) const;
  const std::vector<ImageSymbol>& symbols() const { return symbols_; }
  std::span<const std::byte> image() const { return {block_.data(), block_.size_bytes()}; }

 private:
  friend class ObjectLoader;
  LoadedObject() = default;

  ExecutableMemory::Block block_;
  std::vector<ImageSymbol> symbols_;  // sorted by name
  void* unwind_table_ = nullptr;      // as registered
  GdbRegistration gdb_;
};

// Loads may run from several threads at once. Loaded objects keep what they need of the loader alive.
class ObjectLoader {
 public:
  // Errors: `io` when the perf dump cannot be created.
  static Result<ObjectLoader> make(const LoaderOptions& options = {});

  // Copies what it needs of the bytes. Errors: `corrupt`, `unsupported` (see elf_image), `device` (another
  // architecture, no executable memory), `out_of_memory`.
  Result<std::shared_ptr<const LoadedObject>> load(std::span<const std::byte> object) const;

  ExecutableMemory::Stats memory_stats() const { return memory_->stats(); }

 private:
  ObjectLoader() = default;

  std::shared_ptr<ExecutableMemory> memory_;
  std::shared_ptr<PerfDump> perf_;
  bool unwind_ = true;
  bool gdb_ = false;
};

// What load would refuse on a machine of the object's architecture, without loading: for the compiler and for
// checks of caches. Names the first undefined symbol, among other things.
Status check_object(std::span<const std::byte> object);

}  // namespace frit::device
