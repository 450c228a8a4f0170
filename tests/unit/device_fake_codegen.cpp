// A stand-in for libfrit-codegen: answers in text what it was asked, or fails as the program text says.
#include <cstring>
#include <string>

#include "device/codegen_api.h"
#include "device/kernel_abi.h"
#include "frit/version.h"

namespace {

const char* version() { return "fake 1"; }

int32_t compile(const FritCodegenRequest* request, FritCodegenSink output, void* output_context,
                FritCodegenSink error, void* error_context) {
  const std::string program(request->program, request->program_size);
  const std::string target(request->target, request->target_size);
  const std::string flags(request->flags, request->flags_size);
  if (program.rfind("fail ", 0) == 0) {
    error(error_context, "it was ", 7);
    error(error_context, "told to", 7);
    return program[5] - '0';
  }
  if (program.rfind("silent ", 0) == 0) return program[7] - '0';
  // In pieces, the second of which has a zero in it.
  output(output_context, program.data(), program.size());
  output(output_context, "\0|", 2);
  const std::string rest = target + "|" + flags;
  output(output_context, rest.data(), rest.size());
  return kFritCodegenOk;
}

#if !defined(FAKE_ABI)
#define FAKE_ABI frit::device::kKernelAbiVersion
#endif
constexpr FritCodegenApi kTable = {sizeof(FritCodegenApi), frit::device::kCodegenApiVersion, FAKE_ABI,
                                   version, compile};

}  // namespace

extern "C" FRIT_EXPORT const FritCodegenApi* frit_codegen_api(uint32_t api_version) {
#if defined(FAKE_OLD)
  return nullptr;
#else
  return api_version == kTable.api_version ? &kTable : nullptr;
#endif
}
