// Any bytes given to the object loader are refused or loaded, and never crash it.
//
// Both architectures are parsed, laid out and relocated; what passes and is for this machine is loaded, which
// registers its unwind table with libgcc, and unloaded. Code is never run: that a cache row's code may be
// trusted is decided elsewhere.
#include <cstring>

#include "device/object_loader.h"
#include "support/fuzz_driver.h"
#include "unit/device_objects.h"

// As declared in libgcc's unwind-dw2-fde.h.
struct dwarf_eh_bases {
  void* tbase;
  void* dbase;
  void* func;
};
extern "C" const void* _Unwind_Find_FDE(void* pc, dwarf_eh_bases* bases);

namespace {

using frit::fuzz::Bytes;

uint64_t loaded_count = 0, refused_count = 0;

// An exact copy on the heap, so that a sanitizer sees any read past the end.
void one_input(std::span<const std::byte> input) {
  const Bytes bytes(input.begin(), input.end());
  const frit::Status checked = frit::device::check_object(bytes);
  static const frit::device::ObjectLoader loader = *frit::device::ObjectLoader::make();
  const auto loaded = loader.load(bytes);
  if (loaded.ok()) {
    if (!checked.ok()) std::abort();
    // Makes libgcc read the whole table, as it would for any exception in the process.
    for (const auto& symbol : (*loaded)->symbols()) {
      const void* address = (*loaded)->symbol(symbol.name);
      if (address == nullptr) std::abort();
      dwarf_eh_bases bases{};
      _Unwind_Find_FDE(const_cast<void*>(address), &bases);
    }
  }
  ++(loaded.ok() ? loaded_count : refused_count);
}

std::vector<Bytes> corpus() {
  std::vector<Bytes> seeds;
  for (const char* name : {"kernel", "callback", "external", "writable", "got", "constructor"}) {
    seeds.push_back(frit::device::read_object("host", name));
#if defined(FRIT_TEST_AARCH64_OBJECTS)
    seeds.push_back(frit::device::read_object("aarch64", name));
#endif
  }
  // The loadable ones count more.
  for (int i = 0; i < 6; ++i) seeds.push_back(seeds.front());
  return seeds;
}

}  // namespace

#if defined(FRIT_LIBFUZZER)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  one_input(std::as_bytes(std::span(data, size)));
  return 0;
}
#else
int main(int argc, char** argv) {
  const int result = frit::fuzz::run(argc, argv, corpus(), one_input);
  std::printf("loaded %llu, refused %llu\n", static_cast<unsigned long long>(loaded_count),
              static_cast<unsigned long long>(refused_count));
  // A fuzz test that reaches nothing would prove nothing.
  return result != 0 || loaded_count == 0 || refused_count == 0;
}
#endif
