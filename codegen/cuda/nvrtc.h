// NVRTC, NVIDIA's run-time compiler of CUDA C++: opened with dlopen, so that frit is built and runs without
// CUDA.
//
// The few functions that are needed are declared here by hand; no CUDA header is used. Nothing in this file
// needs a GPU or a driver. It must not know what it compiles.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/gpu_arch.h"
#include "frit/numerics.h"
#include "frit/result.h"

namespace frit::codegen {

enum class NvrtcOutput : uint8_t { kCubin, kPtx };

struct NvrtcResult {
  std::string bytes;  // of the cubin, or the PTX text
  std::string log;    // warnings, and what ptxas says about registers and spills
};

// Const methods are safe to call from several threads at once. The library stays mapped for the life of the
// process.
class Nvrtc {
 public:
  // The first candidate that opens and has what is needed (device::nvrtc_candidates lists them). kNotFound:
  // the message has each path with what was wrong with it.
  static Result<std::shared_ptr<const Nvrtc>> open(const std::vector<std::string>& candidates);

  const std::string& path() const { return path_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  std::string version() const;                              // "NVRTC 13.0"
  const std::vector<int>& archs() const { return archs_; }  // that it compiles for: 80, 90 ...

  // kUnsupported where this NVRTC is too old for the architecture; kInternal with the log where the text does
  // not compile.
  Result<NvrtcResult> compile(std::string_view source, std::string_view name, const device::GpuArch& arch,
                              Numerics numerics, NvrtcOutput output) const;

 private:
  struct Functions;
  Nvrtc() = default;
  std::shared_ptr<const Functions> functions_;
  std::string path_;
  int major_ = 0, minor_ = 0;
  std::vector<int> archs_;
};

// What is asked of the compiler beyond the text; part of a binary's key. Products and sums are never
// contracted but where the LoopFn says fma, divisions and roots are IEEE's; denormals are flushed except
// under `strict`.
std::vector<std::string> nvrtc_options(const device::GpuArch& arch, Numerics numerics, NvrtcOutput output);

}  // namespace frit::codegen
