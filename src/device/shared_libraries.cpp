#include "device/shared_libraries.h"

#include <dlfcn.h>
#include <link.h>

#include "base/text.h"

namespace frit::device {

namespace {

#if defined(__x86_64__)
constexpr const char* kMultiarch = "/usr/lib/x86_64-linux-gnu/";
#else
constexpr const char* kMultiarch = "/usr/lib/aarch64-linux-gnu/";
#endif

// The value of a variable that is set to something.
std::optional<std::string> variable(base::Environment& environment, const char* name) {
  std::optional<std::string> value = environment.get(name);
  return value && !value->empty() ? value : std::nullopt;
}

constexpr const char* kNvrtcNames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

// PREFIX/bin/python -> PREFIX/lib/python3.N/site-packages/nvidia/*/lib, as far as they are there.
void add_wheels(const std::string& python, base::FileSystem& files, std::vector<std::string>& paths) {
  const size_t name = python.rfind('/'), folder = name == 0 ? std::string::npos : python.rfind('/', name - 1);
  if (name == std::string::npos || folder == std::string::npos) return;
  const std::string lib = python.substr(0, folder) + "/lib";
  const auto versions = files.list(lib);
  if (!versions.ok()) return;
  for (const std::string& version : *versions) {
    if (version.rfind("python3", 0) != 0) continue;
    for (const char* wheel : {"cu13", "cuda_nvrtc"}) {
      const std::string folder = lib + "/" + version + "/site-packages/nvidia/" + wheel + "/lib/";
      for (const char* file : kNvrtcNames)
        if (files.exists(folder + file)) paths.push_back(folder + file);
    }
  }
}

template <class AskVersion>
LibraryProbe probe(const std::vector<std::string>& candidates, AskVersion ask_version) {
  LibraryProbe probe;
  for (const std::string& path : candidates) {
    // Stays mapped: NVRTC loses memory when it is unloaded.
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) {
      const char* why = dlerror();
      std::string text = why ? why : "cannot be opened";
      if (text.rfind(path + ": ", 0) == 0) text.erase(0, path.size() + 2);
      probe.attempts.push_back({path, text});
      continue;
    }
    probe.attempts.push_back({path, ""});
    link_map* map = nullptr;
    probe.path = dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map->l_name[0] ? map->l_name : path;
    probe.version = ask_version(handle);
    dlclose(handle);
    break;
  }
  return probe;
}

}  // namespace

std::vector<std::string> cuda_driver_candidates(base::Environment& environment) {
  std::vector<std::string> paths;
  if (const auto path = variable(environment, "FRIT_CUDA_DRIVER")) paths.push_back(*path);
  paths.emplace_back("libcuda.so.1");
  paths.push_back(std::string(kMultiarch) + "libcuda.so.1");
  paths.emplace_back("/usr/lib64/libcuda.so.1");
  paths.emplace_back("/usr/lib/wsl/lib/libcuda.so.1");
  return paths;
}

std::vector<std::string> nvrtc_candidates(base::Environment& environment, base::FileSystem& files) {
  std::vector<std::string> paths;
  if (const auto path = variable(environment, "FRIT_NVRTC")) paths.push_back(*path);
  std::vector<std::string> folders = {""};
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const auto root = variable(environment, name)) folders.push_back(*root + "/lib64/");
  }
  folders.emplace_back("/usr/local/cuda/lib64/");
  folders.emplace_back(kMultiarch);
  for (const std::string& folder : folders) {
    for (const char* name : kNvrtcNames) paths.push_back(folder + name);
  }
  if (const auto python = variable(environment, "FRIT_PYTHON")) add_wheels(*python, files, paths);
  return paths;
}

LibraryProbe probe_cuda_driver(const std::vector<std::string>& candidates) {
  return probe(candidates, [](void* handle) -> std::string {
    // CUresult cuDriverGetVersion(int*): 1000 * major + 10 * minor; needs no initialisation.
    const auto ask = reinterpret_cast<int (*)(int*)>(dlsym(handle, "cuDriverGetVersion"));
    int version = 0;
    if (!ask || ask(&version) != 0) return {};
    return base::text_of(version / 1000, ".", version % 1000 / 10);
  });
}

LibraryProbe probe_nvrtc(const std::vector<std::string>& candidates) {
  return probe(candidates, [](void* handle) -> std::string {
    const auto ask = reinterpret_cast<int (*)(int*, int*)>(dlsym(handle, "nvrtcVersion"));
    int major = 0, minor = 0;
    if (!ask || ask(&major, &minor) != 0) return {};
    return base::text_of(major, ".", minor);
  });
}

}  // namespace frit::device
