// Stands before libfrit-codegen: compiles through it, and for some kernels makes LLVM's instruction selection
// fail on the way, in the application's own process. provoke_fatal says for which.
#include <dlfcn.h>

#include <atomic>
#include <string>
#include <string_view>

#include "device/codegen_api.h"
#include "device/kernel_abi.h"

namespace {

using frit::device::kCodegenApiVersion;
using frit::device::kCodegenEntryName;

const FritCodegenApi* real() {
  void* library = dlopen(FRIT_TEST_CODEGEN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) return nullptr;
  const auto entry = reinterpret_cast<FritCodegenEntry>(dlsym(library, kCodegenEntryName));
  return entry ? entry(kCodegenApiVersion) : nullptr;
}

// How many compiles of programs whose text holds the word are still to fail.
std::atomic<int> g_left{0};
std::atomic<int> g_failed{0};
const char* g_word = "";

int32_t compile(const FritCodegenRequest* request, FritCodegenSink output, void* output_context,
                FritCodegenSink error, void* error_context) {
  FritCodegenRequest changed = *request;
  const std::string flags = std::string(request->flags, request->flags_size) + " provoke=fatal";
  const std::string_view text(request->program, request->program_size);
  if (text.find(g_word) != std::string_view::npos && g_left.fetch_sub(1) > 0) {
    ++g_failed;
    changed.flags = flags.data();
    changed.flags_size = flags.size();
  }
  return real()->compile(&changed, output, output_context, error, error_context);
}

const char* version() { return real()->version(); }

const FritCodegenApi kApi = {sizeof(FritCodegenApi), kCodegenApiVersion, frit::device::kKernelAbiVersion,
                             version, compile};

}  // namespace

extern "C" __attribute__((visibility("default"))) const FritCodegenApi* frit_codegen_api(
    uint32_t api_version) {
  return api_version == kCodegenApiVersion && real() ? &kApi : nullptr;
}

// The next `times` compiles of texts that hold `word`, which must stay, fail inside LLVM.
extern "C" __attribute__((visibility("default"))) void provoke_fatal(const char* word, int times) {
  g_word = word;
  g_failed = 0;
  g_left = times;
}

extern "C" __attribute__((visibility("default"))) int provoked() { return g_failed; }
