// The border between libfrit and libfrit-codegen: one versioned table of C functions over text and bytes.
//
// libfrit finds the library (codegen_library.h), calls frit_codegen_api once and compiles through the table;
// libfrit-codegen implements it and hides everything else. Nothing but what stands here crosses: no C++ type,
// no exception, no LLVM type, no allocation that the other side has to free. The two may come from different
// builds of frit, so the table only ever grows at its end, and a change of meaning raises kCodegenApiVersion.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// Takes size bytes at data, which are only valid during the call; results that arrive in several calls are
// concatenated. Must not throw.
typedef void (*FritCodegenSink)(void* context, const char* data, size_t size);

// One compilation. The texts are UTF-8, need no terminating zero, and are only read during the call.
typedef struct FritCodegenRequest {
  size_t struct_size;   // sizeof(FritCodegenRequest) as the caller knows it
  const char* program;  // canonical text of a Program or a LoopFn (src/loop)
  size_t program_size;
  const char* target;  // Target::text() (src/device/target.h)
  size_t target_size;
  const char*
      flags;  // space-separated key=value; unknown keys are refused. emit=object|llvm|asm (default object)
  size_t flags_size;
} FritCodegenRequest;

// What compile returns. On anything but ok nothing went to `output`, and `error` got one sentence.
enum FritCodegenStatus {
  kFritCodegenOk = 0,
  kFritCodegenBadRequest = 1,   // a text that does not parse or verify, an unknown flag or target
  kFritCodegenUnsupported = 2,  // well-formed, but this emitter has no code for it on this target
  kFritCodegenFailed = 3,       // the compiler gave up (for example an internal LLVM error); try other params
  kFritCodegenNoMemory = 4,
};

typedef struct FritCodegenApi {
  size_t struct_size;          // sizeof(FritCodegenApi) as the library knows it
  uint32_t api_version;        // kCodegenApiVersion of the library
  int32_t kernel_abi_version;  // kKernelAbiVersion that its objects follow

  // What made the code, for provenance and for deciding on a rebuild: "frit 0.1.0 emitter 1 LLVM 19.1.7".
  // Static.
  const char* (*version)(void);

  // Compiles one request. emit=object: an ELF64 relocatable object without external symbols, which defines
  // one function of type KernelEntry per LoopFn. emit=llvm and emit=asm: text. Safe to call from several
  // threads at once.
  int32_t (*compile)(const FritCodegenRequest* request, FritCodegenSink output, void* output_context,
                     FritCodegenSink error, void* error_context);
} FritCodegenApi;

// The only symbol that libfrit-codegen exports. Null when the library cannot serve this version of the table.
typedef const FritCodegenApi* (*FritCodegenEntry)(uint32_t api_version);
}

namespace frit::device {

inline constexpr uint32_t kCodegenApiVersion = 1;
inline constexpr const char* kCodegenEntryName = "frit_codegen_api";

}  // namespace frit::device
