#include "device/object_loader.h"

#include <algorithm>

#include "base/text.h"
#include "base/try.h"

// libgcc's registration of a whole .eh_frame section, from its first entry to the terminator.
extern "C" {
void __register_frame(void* begin);
void __deregister_frame(void* begin);
}

namespace frit::device {

namespace {

#if defined(__x86_64__)
constexpr Arch kHostArch = Arch::kX86_64;
#else
constexpr Arch kHostArch = Arch::kAarch64;
#endif

}  // namespace

LoadedObject::~LoadedObject() {
  if (unwind_table_) __deregister_frame(unwind_table_);
}

const void* LoadedObject::symbol(std::string_view name) const {
  const auto found = std::lower_bound(symbols_.begin(), symbols_.end(), name,
                                      [](const ImageSymbol& s, std::string_view n) { return s.name < n; });
  if (found == symbols_.end() || found->name != name) return nullptr;
  return block_.data() + found->offset;
}

Result<ObjectLoader> ObjectLoader::make(const LoaderOptions& options) {
  ObjectLoader loader;
  loader.memory_ = ExecutableMemory::make(options.memory);
  loader.unwind_ = options.unwind;
  loader.gdb_ = options.gdb;
  if (!options.perf_dump_folder.empty()) {
    FRIT_ASSIGN(loader.perf_, PerfDump::open(options.perf_dump_folder));
  }
  return loader;
}

Result<std::shared_ptr<const LoadedObject>> ObjectLoader::load(std::span<const std::byte> bytes) const {
  FRIT_ASSIGN(const ElfObject object, parse_elf(bytes));
  if (object.arch != kHostArch) {
    return make_error(Code::kDevice, base::text_of("object: is for ", arch_name(object.arch),
                                                   ", this machine is ", arch_name(kHostArch)));
  }
  FRIT_ASSIGN(ImageLayout layout, lay_out(object));
  std::shared_ptr<LoadedObject> loaded(new LoadedObject);
  FRIT_ASSIGN(loaded->block_,
              memory_->write(layout.size_bytes, [&](std::span<std::byte> out, uint64_t address) {
                return write_image(object, layout, address, out);
              }));
  // The unwinder takes a pointer to non-const, and only reads.
  auto* const image = const_cast<std::byte*>(loaded->block_.data());
  if (unwind_ && layout.unwind_bytes != 0) {
    loaded->unwind_table_ = image + layout.unwind_offset;
    __register_frame(loaded->unwind_table_);
  }
  if (gdb_) loaded->gdb_ = GdbRegistration(bytes, layout, reinterpret_cast<uint64_t>(image));
  if (perf_) {
    for (const ImageSymbol& symbol : layout.symbols) {
      if (symbol.is_function) perf_->add(symbol.name, {image + symbol.offset, symbol.size_bytes});
    }
  }
  loaded->symbols_ = std::move(layout.symbols);
  return std::shared_ptr<const LoadedObject>(std::move(loaded));
}

Status check_object(std::span<const std::byte> bytes) {
  FRIT_ASSIGN(const ElfObject object, parse_elf(bytes));
  FRIT_ASSIGN(const ImageLayout layout, lay_out(object));
  // Relocated as if at a page of our own, since all values are relative to it or fit any.
  std::vector<std::byte> image(layout.size_bytes);
  return write_image(object, layout, kImageAlignment, image);
}

}  // namespace frit::device
