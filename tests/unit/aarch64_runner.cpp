// Runs one kernel through frit's own loader: made static by a cross compiler, so that a user-mode emulator
// can run AArch64 kernels on any machine.
//
//   runner OBJECT SYMBOL FIRST LAST SCRATCH_BYTES SIZES BUFFER...
// SIZES is a comma-separated list, or - for none; a BUFFER is a file, read before and written back after, or
// FILE@N for one whose contents begin N bytes past a 64-byte boundary, or FILE@frontN, FILE@endN for one that
// stands against a page without access as near as a multiple of N allows. Prints "STATUS CODE VALUE BOUND",
// exits 0 when the kernel ran (whatever it answered), 1 when it could not be loaded or wrote next to such a
// buffer.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/memory.h"
#include "device/kernel_abi.h"
#include "device/object_loader.h"

namespace {

using frit::base::AlignedBuffer;
using frit::base::GuardedBuffer;
using frit::base::GuardSide;

struct BufferFile {
  std::string path;
  size_t offset = 0;
  size_t size_bytes = 0;
  std::byte* data = nullptr;
  AlignedBuffer memory;
  GuardedBuffer guarded;
};

int fail(const std::string& why) {
  std::fprintf(stderr, "runner: %s\n", why.c_str());
  return 1;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) return fail("expected OBJECT SYMBOL FIRST LAST SCRATCH_BYTES SIZES BUFFER...");
  const std::string object = read_file(argv[1]);
  auto loader = frit::device::ObjectLoader::make();
  if (!loader.ok()) return fail(loader.error().text());
  const auto loaded = loader->load(std::as_bytes(std::span<const char>(object)));
  if (!loaded.ok()) return fail(loaded.error().text());
  const auto kernel =
      reinterpret_cast<frit::device::KernelEntry>(const_cast<void*>((*loaded)->symbol(argv[2])));
  if (!kernel) return fail(std::string("no symbol ") + argv[2]);

  std::vector<int64_t> sizes;
  if (std::strcmp(argv[6], "-") != 0) {
    for (char* at = argv[6]; *at != '\0';) {
      sizes.push_back(std::strtoll(at, &at, 10));
      if (*at == ',') ++at;
    }
  }
  std::vector<BufferFile> buffers(static_cast<size_t>(argc - 7));
  std::vector<void*> pointers;
  for (size_t i = 0; i < buffers.size(); ++i) {
    BufferFile& buffer = buffers[i];
    buffer.path = argv[7 + i];
    std::string place;
    if (const size_t at = buffer.path.rfind('@'); at != std::string::npos) {
      place = buffer.path.substr(at + 1);
      buffer.path.resize(at);
    }
    const std::string contents = read_file(buffer.path);
    buffer.size_bytes = contents.size();
    const bool front = place.rfind("front", 0) == 0, end = place.rfind("end", 0) == 0;
    if (front || end) {
      const size_t alignment = std::strtoull(place.c_str() + (front ? 5 : 3), nullptr, 10);
      auto guarded =
          GuardedBuffer::make(contents.size(), alignment, front ? GuardSide::kFront : GuardSide::kEnd);
      if (!guarded.ok()) return fail(guarded.error().text());
      buffer.guarded = *std::move(guarded);
      buffer.data = buffer.guarded.data();
    } else {
      buffer.offset = std::strtoull(place.c_str(), nullptr, 10);
      auto memory = AlignedBuffer::make(buffer.offset + contents.size() + 64);
      if (!memory.ok()) return fail(memory.error().text());
      buffer.memory = *std::move(memory);
      buffer.data = buffer.memory.data() + buffer.offset;
    }
    std::memcpy(buffer.data, contents.data(), contents.size());
    pointers.push_back(buffer.data);
  }
  const size_t scratch_bytes = std::strtoull(argv[5], nullptr, 10);
  auto scratch = AlignedBuffer::make(scratch_bytes);
  if (!scratch.ok()) return fail(scratch.error().text());

  int64_t error[frit::device::kErrorWords] = {};
  const frit::device::KernelArgs args = {pointers.data(),
                                         sizes.data(),
                                         std::strtoll(argv[3], nullptr, 10),
                                         std::strtoll(argv[4], nullptr, 10),
                                         scratch_bytes == 0 ? nullptr : scratch->data(),
                                         error};
  const int32_t status = kernel(&args);
  for (const BufferFile& buffer : buffers) {
    const frit::Status untouched = buffer.guarded.check();
    if (!untouched.ok()) return fail(buffer.path + ": " + untouched.error().text());
    std::ofstream file(buffer.path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(buffer.data), static_cast<std::streamsize>(buffer.size_bytes));
    if (!file.good()) return fail("cannot write " + buffer.path);
  }
  std::printf("%d %lld %lld %lld\n", status, static_cast<long long>(error[0]),
              static_cast<long long>(error[1]), static_cast<long long>(error[2]));
  return 0;
}
