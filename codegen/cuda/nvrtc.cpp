#include "codegen/cuda/nvrtc.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "base/try.h"

namespace frit::codegen {

using base::text_of;

// The ABI of NVRTC as far as it is used: nvrtcResult is an int with 0 for success, a program an opaque
// pointer.
struct Nvrtc::Functions {
  using Program = void*;
  int (*version)(int*, int*) = nullptr;
  int (*create)(Program*, const char* source, const char* name, int headers, const char* const*,
                const char* const*) = nullptr;
  int (*compile)(Program, int count, const char* const* options) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*arch_count)(int*) = nullptr;
  int (*arch_list)(int*) = nullptr;

  // The name of the first function that the library lacks, or null.
  const char* find(void* library) {
    const char* missing = nullptr;
    const auto get = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function && !missing) missing = name;
    };
    get(version, "nvrtcVersion");
    get(create, "nvrtcCreateProgram");
    get(compile, "nvrtcCompileProgram");
    get(destroy, "nvrtcDestroyProgram");
    get(log_size, "nvrtcGetProgramLogSize");
    get(log, "nvrtcGetProgramLog");
    get(cubin_size, "nvrtcGetCUBINSize");
    get(cubin, "nvrtcGetCUBIN");
    get(ptx_size, "nvrtcGetPTXSize");
    get(ptx, "nvrtcGetPTX");
    get(error_text, "nvrtcGetErrorString");
    get(arch_count, "nvrtcGetNumSupportedArchs");
    get(arch_list, "nvrtcGetSupportedArchs");
    return missing;
  }
};

Result<std::shared_ptr<const Nvrtc>> Nvrtc::open(const std::vector<std::string>& candidates) {
  std::string tried;
  const auto refuse = [&](const std::string& path, std::string why) {
    if (why.rfind(path + ": ", 0) == 0) why.erase(0, path.size() + 2);
    base::append(tried, tried.empty() ? "" : "; ", path, ": ", why);
  };
  for (const std::string& path : candidates) {
    // Stays mapped: NVRTC loses memory when it is unloaded.
    void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
      const char* why = dlerror();
      refuse(path, why ? why : "cannot be opened");
      continue;
    }
    auto functions = std::make_shared<Functions>();
    std::shared_ptr<Nvrtc> out(new Nvrtc());
    if (const char* missing = functions->find(library)) {
      refuse(path, text_of("has no ", missing));
    } else if (functions->version(&out->major_, &out->minor_) != 0) {
      refuse(path, "does not tell its version");
    } else {
      int count = 0;
      if (functions->arch_count(&count) == 0 && count > 0) {
        out->archs_.resize(static_cast<size_t>(count));
        if (functions->arch_list(out->archs_.data()) != 0) out->archs_.clear();
      }
      link_map* map = nullptr;
      out->path_ = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] ? map->l_name : path;
      out->functions_ = std::move(functions);
      return std::shared_ptr<const Nvrtc>(std::move(out));
    }
    dlclose(library);
  }
  return make_error(Code::kNotFound, "NVRTC is not here; tried " + (tried.empty() ? "nothing" : tried))
      .hinted(
          "install CUDA 12.8 or later, or `pip install nvidia-cuda-nvrtc-cu12`, and name libnvrtc.so by "
          "FRIT_NVRTC");
}

std::string Nvrtc::version() const { return text_of("NVRTC ", major_, ".", minor_); }

std::vector<std::string> nvrtc_options(const device::GpuArch& arch, Numerics numerics, NvrtcOutput output) {
  std::vector<std::string> options = {
      text_of("--gpu-architecture=", output == NvrtcOutput::kCubin ? "sm_" : "compute_", arch.sm),
      "--std=c++17",
      "--fmad=false",
      "--prec-div=true",
      "--prec-sqrt=true",
      numerics == Numerics::kStrict ? "--ftz=false" : "--ftz=true",
  };
  if (output == NvrtcOutput::kCubin) options.emplace_back("--ptxas-options=-v");
  return options;
}

Result<NvrtcResult> Nvrtc::compile(std::string_view source, std::string_view name,
                                   const device::GpuArch& arch, Numerics numerics, NvrtcOutput output) const {
  if (!archs_.empty() && std::find(archs_.begin(), archs_.end(), arch.sm) == archs_.end())
    return make_error(Code::kUnsupported, text_of(version(), " does not compile for ", arch.name()))
        .hinted("a newer NVRTC does; FRIT_NVRTC names one");
  const Functions& f = *functions_;
  const auto failed = [&](const char* what, int code) {
    return make_error(Code::kInternal, text_of(version(), ": ", what, " gave ", f.error_text(code)));
  };
  const std::string text(source), file = std::string(name) + ".cu";
  void* program = nullptr;
  if (const int code = f.create(&program, text.c_str(), file.c_str(), 0, nullptr, nullptr); code != 0)
    return failed("nvrtcCreateProgram", code);
  const auto destroy = [&f](void** p) { f.destroy(p); };
  const std::unique_ptr<void*, decltype(destroy)> owner(&program, destroy);

  std::vector<std::string> options = nvrtc_options(arch, numerics, output);
  if (major_ > 12 || (major_ == 12 && minor_ >= 9))
    options.emplace_back("--no-cache");  // its own cache hides the log
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  const int compiled = f.compile(program, static_cast<int>(pointers.size()), pointers.data());

  // Sizes of texts include the zero at their end.
  const auto read = [&](auto ask_size, auto ask, std::string& out) {
    size_t size = 0;
    int code = ask_size(program, &size);
    if (code != 0) return code;
    out.resize(size);
    return size > 0 ? ask(program, out.data()) : 0;
  };
  const auto trim = [](std::string& s) {
    while (!s.empty() && s.back() == '\0') s.pop_back();
  };
  NvrtcResult result;
  if (read(f.log_size, f.log, result.log) != 0) result.log.clear();
  trim(result.log);
  if (compiled != 0)
    return make_error(Code::kInternal, text_of(version(), ": ", file, " for ", arch.name(), ": ",
                                               f.error_text(compiled), ": ", result.log));
  const bool cubin = output == NvrtcOutput::kCubin;
  if (const int code =
          cubin ? read(f.cubin_size, f.cubin, result.bytes) : read(f.ptx_size, f.ptx, result.bytes);
      code != 0)
    return failed(cubin ? "nvrtcGetCUBIN" : "nvrtcGetPTX", code);
  if (!cubin) trim(result.bytes);
  if (result.bytes.empty()) return make_error(Code::kInternal, version() + ": no output for " + arch.name());
  return result;
}

}  // namespace frit::codegen
