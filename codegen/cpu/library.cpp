// libfrit-codegen's only exported function: the table of src/device/codegen_api.h, over text and bytes.
#include <new>
#include <string>
#include <string_view>

#include "base/try.h"
#include "codegen/cpu/compile.h"
#include "device/codegen_api.h"
#include "device/kernel_abi.h"
#include "frit/version.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace frit::codegen {
namespace {

Result<CompileOptions> parse_flags(std::string_view flags) {
  CompileOptions options;
  while (!flags.empty()) {
    const size_t space = flags.find(' ');
    const std::string_view item = flags.substr(0, space);
    flags = space == std::string_view::npos ? std::string_view{} : flags.substr(space + 1);
    if (item.empty()) continue;
    if (item == "emit=object") options.kind = EmitKind::kObject;
    else if (item == "emit=llvm") options.kind = EmitKind::kLlvm;
    else if (item == "emit=asm") options.kind = EmitKind::kAsm;
    else if (item == "provoke=fatal") options.provoke_fatal = true;
    else return make_error(Code::kInvalidArgument, "unknown codegen flag '" + std::string(item) + "', expected emit=object|llvm|asm");
  }
  return options;
}

Result<std::string> compile_request(const FritCodegenRequest& request) {
  const std::string_view text(request.program, request.program_size);
  FRIT_ASSIGN(CompileOptions options, parse_flags({request.flags, request.flags_size}));
  FRIT_ASSIGN(device::Target target, device::parse_target({request.target, request.target_size}));
  if (!target.has_fma()) return make_error(Code::kUnsupported, "target " + target.text() + " has no fused multiply-add, expected x86-64-v3 or later");
  FRIT_ASSIGN(loop::LoopFn fn, loop::parse_loop_fn(text));
  FRIT_TRY(loop::verify(fn));
  return compile_kernel(fn, loop::kernel_symbol(fn.family, text), target, options);
}

int32_t status_of(const Error& error) {
  switch (error.code) {
    case Code::kUnsupported: return kFritCodegenUnsupported;
    case Code::kInternal: return kFritCodegenFailed;
    case Code::kOutOfMemory: return kFritCodegenNoMemory;
    default: return kFritCodegenBadRequest;
  }
}

const char* version() {
  return FRIT_CODEGEN_VERSION;
}

int32_t compile(const FritCodegenRequest* request, FritCodegenSink output, void* output_context, FritCodegenSink error, void* error_context) {
  auto refuse = [&](int32_t status, std::string_view why) {
    if (error) error(error_context, why.data(), why.size());
    return status;
  };
  if (!request || request->struct_size < sizeof(FritCodegenRequest) || !output) return refuse(kFritCodegenBadRequest, "incomplete request");
  try {
    auto result = compile_request(*request);
    if (!result.ok()) return refuse(status_of(result.error()), result.error().text());
    output(output_context, result->data(), result->size());
    return kFritCodegenOk;
  } catch (const std::bad_alloc&) {
    return refuse(kFritCodegenNoMemory, "out of memory while compiling");
  } catch (const std::exception& e) {
    return refuse(kFritCodegenFailed, e.what());
  }
}

constexpr FritCodegenApi kApi = {sizeof(FritCodegenApi), device::kCodegenApiVersion, device::kKernelAbiVersion, version, compile};

}  // namespace
}  // namespace frit::codegen

extern "C" FRIT_EXPORT const FritCodegenApi* frit_codegen_api(uint32_t api_version) {
  return api_version == frit::device::kCodegenApiVersion ? &frit::codegen::kApi : nullptr;
}
