#include "exec/compile.h"

#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "loop/build.h"
#include "loop/text.h"

namespace frit::exec {

namespace {

// Part of the binary key: what is asked of the compiler beyond the text and the target.
constexpr std::string_view kFlags = "emit=object";
constexpr std::string_view kSymbolPrefix = "frit_";

}  // namespace

base::Hash128 binary_key(std::string_view program, std::string_view flags, const device::Target& target) {
  base::Hasher h;
  h.add(program).add(int32_t{device::kKernelAbiVersion}).add(flags);
  h.add(std::string_view(device::arch_name(target.arch))).add(std::string_view(target.feature_text()));
  return h.finish();
}

device::KernelShape kernel_shape(const loop::LoopFn& fn) {
  device::KernelShape shape{fn.arg_count, fn.size_count, fn.scratch_bytes, 1};
  for (const loop::TileDim& dim : fn.tiles) {
    int64_t extent = 0;
    if (!loop::as_int(dim.extent, &extent) || __builtin_mul_overflow(shape.tiles, extent, &shape.tiles)) {
      shape.tiles = -1;
      break;
    }
  }
  return shape;
}

Result<std::unique_ptr<CodegenProvider>> CodegenProvider::make(Options options) {
  FRIT_ASSIGN(device::ObjectLoader loader, device::ObjectLoader::make(options.loader));
  return std::unique_ptr<CodegenProvider>(new CodegenProvider(std::move(options), std::move(loader)));
}

Result<std::shared_ptr<const device::Kernel>> CodegenProvider::kernel(const loop::LoopFn& fn) {
  const std::string text = loop::print(fn);
  const base::Hash128 key = binary_key(text, kFlags, options_.target);
  {
    std::unique_lock lock(mutex_);
    for (;;) {
      Slot& slot = slots_[key];
      if (auto kernel = slot.kernel.lock()) return kernel;
      if (!slot.busy) {
        slot.busy = true;
        break;
      }
      made_.wait(lock);
    }
  }
  auto made = make_kernel(fn, text, key);
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[key];
    slot.busy = false;
    if (made.ok()) slot.kernel = *made;
    if (slots_.size() >= sweep_at_) sweep();
  }
  made_.notify_all();
  return made;
}

KernelCounters CodegenProvider::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

Result<std::shared_ptr<const device::Kernel>> CodegenProvider::make_kernel(const loop::LoopFn& fn,
                                                                           const std::string& text,
                                                                           base::Hash128 key) {
  const ObjectRequest request{text, device::kKernelAbiVersion, kFlags, &options_.target, key};
  if (options_.cache) {
    if (auto object = options_.cache->get(request)) {
      auto kernel = load(fn, *object);
      if (kernel.ok()) return kernel;
      options_.log.warn("exec", "object ", key.hex(),
                        " of the cache does not load, compiling it anew: ", kernel.error().text());
    }
  }
  FRIT_ASSIGN(auto compiler, library());
  base::TraceSpan span(options_.trace, "exec", "compile ", fn.family, " ", [&] { return key.hex(); });
  FRIT_ASSIGN(const std::string object, compiler->compile_object(text, options_.target.text()));
  span.end();
  {
    const std::lock_guard lock(mutex_);
    ++counters_.compiles;
  }
  FRIT_ASSIGN(auto kernel, load(fn, object));
  if (options_.cache) options_.cache->put(request, object, compiler->version());
  return kernel;
}

Result<std::shared_ptr<const device::Kernel>> CodegenProvider::load(const loop::LoopFn& fn,
                                                                    const std::string& object) {
  FRIT_ASSIGN(auto loaded, loader_.load(std::as_bytes(std::span(object))));
  {
    const std::lock_guard lock(mutex_);
    ++counters_.object_loads;
  }
  const device::ImageSymbol* entry = nullptr;
  for (const device::ImageSymbol& symbol : loaded->symbols()) {
    if (!symbol.is_function || !symbol.name.starts_with(kSymbolPrefix)) continue;
    if (entry) {
      return make_error(Code::kCorrupt, base::text_of("object defines ", entry->name, " and ", symbol.name,
                                                      ", expected one kernel"));
    }
    entry = &symbol;
  }
  if (!entry) return make_error(Code::kCorrupt, "object defines no kernel");
  std::string name = entry->name;
  return device::Kernel::make(std::move(loaded), std::move(name), kernel_shape(fn));
}

Result<std::shared_ptr<const device::CodegenLibrary>> CodegenProvider::library() {
  const std::lock_guard lock(library_mutex_);
  if (!library_) {
    if (!options_.open_library) {
      return make_error(Code::kNotFound, "a kernel must be compiled and there is no compiler");
    }
    FRIT_ASSIGN(library_, options_.open_library());
  }
  return library_;
}

void CodegenProvider::sweep() {
  std::erase_if(slots_, [](const auto& item) { return !item.second.busy && item.second.kernel.expired(); });
  sweep_at_ = 256 + 2 * slots_.size();
}

}  // namespace frit::exec
