#include "device/codegen_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include "base/text.h"
#include "base/try.h"
#include "device/kernel_abi.h"
#include "device/object_loader.h"
#include "frit/version.h"

namespace frit::device {

namespace {

using base::text_of;

#define FRIT_TEXT_OF_(x) #x
#define FRIT_TEXT_OF(x) FRIT_TEXT_OF_(x)
constexpr const char* kFileNames[] = {"libfrit-codegen.so." FRIT_TEXT_OF(FRIT_VERSION_MAJOR),
                                      "libfrit-codegen.so"};

// Relative to the folder of whoever asks: libfrit in lib, or the tool in bin.
#if defined(__x86_64__)
constexpr const char* kPlaces[] = {"/", "/../lib/", "/../lib/x86_64-linux-gnu/", "/../lib64/"};
#elif defined(__aarch64__)
constexpr const char* kPlaces[] = {"/", "/../lib/", "/../lib/aarch64-linux-gnu/", "/../lib64/"};
#else
constexpr const char* kPlaces[] = {"/", "/../lib/", "/../lib64/"};
#endif

// The folder of the program or shared library that contains this function; empty when the system does not
// say.
std::string own_folder() {
  Dl_info info{};
  link_map* map = nullptr;
  void* const here = reinterpret_cast<void*>(&own_folder);
  if (dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return {};
  std::string path = map && map->l_name ? map->l_name : "";
  if (path.empty()) {  // the program itself has no name there
    Result<std::string> program = base::SystemProcess().executable_path();
    if (program.ok()) path = *std::move(program);
  }
  const Result<std::string> real = base::SystemFileSystem().canonical(path);
  if (real.ok()) path = *real;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// What a user's word for the library may mean.
std::vector<std::string> from_word(const std::string& word) {
  struct stat info {};
  if (stat(word.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return {word};
  std::vector<std::string> paths;
  for (const char* name : kFileNames) paths.push_back(word + "/" + name);
  return paths;
}

void append_bytes(void* context, const char* data, size_t size) {
  static_cast<std::string*>(context)->append(data, size);
}

// Opens one path; the error is why it is not taken.
Result<const FritCodegenApi*> open_path(const std::string& path) {
  const auto refused = [](const std::string& why) { return make_error(Code::kNotFound, why); };
  // Without a slash the loader would search the system's folders.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char* why = dlerror();
    std::string text = why ? why : "cannot be opened";
    if (text.rfind(file + ": ", 0) == 0) text.erase(0, file.size() + 2);
    return refused(text);
  }
  // The handle is never closed: the library stays for the life of the process.
  const auto entry = reinterpret_cast<FritCodegenEntry>(dlsym(handle, kCodegenEntryName));
  if (!entry) return refused(text_of("it has no function ", kCodegenEntryName));
  const FritCodegenApi* api = entry(kCodegenApiVersion);
  if (!api) return refused(text_of("it does not serve version ", kCodegenApiVersion, " of the interface"));
  return api;
}

Code code_of(int32_t status) {
  switch (status) {
    case kFritCodegenBadRequest:
      return Code::kInvalidArgument;
    case kFritCodegenUnsupported:
      return Code::kUnsupported;
    case kFritCodegenNoMemory:
      return Code::kOutOfMemory;
    default:
      return Code::kInternal;
  }
}

}  // namespace

std::vector<std::string> CodegenLibrary::candidates(const std::string& option,
                                                    base::Environment& environment) {
  if (!option.empty()) return from_word(option);
  const std::optional<std::string> variable = environment.get("FRIT_CODEGEN");
  if (variable && !variable->empty()) return from_word(*variable);
  std::vector<std::string> paths;
  const std::string folder = own_folder();
  if (folder.empty()) return paths;
  for (const char* place : kPlaces) {
    for (const char* name : kFileNames) paths.push_back(folder + place + name);
  }
  return paths;
}

Result<std::shared_ptr<const CodegenLibrary>> CodegenLibrary::open(const std::string& option,
                                                                   base::Environment& environment) {
  std::string tried;
  for (const std::string& path : candidates(option, environment)) {
    Result<const FritCodegenApi*> api = open_path(path);
    Result<std::shared_ptr<const CodegenLibrary>> library =
        api.ok() ? from_table(*api, path)
                 : Result<std::shared_ptr<const CodegenLibrary>>(std::move(api).error());
    if (library.ok()) return library;
    base::append(tried, tried.empty() ? "" : "; ", path, " (", library.error().message, ")");
  }
  return make_error(Code::kNotFound,
                    text_of("libfrit-codegen, which compiles kernels, cannot be opened: tried ",
                            tried.empty() ? "nothing" : tried))
      .hinted("install libfrit-codegen beside libfrit, or set FRIT_CODEGEN to its path");
}

Result<std::shared_ptr<const CodegenLibrary>> CodegenLibrary::from_table(const FritCodegenApi* api,
                                                                         std::string path) {
  // Fields that are not there must not be read, so the size comes first.
  if (api->struct_size < sizeof(FritCodegenApi) || api->api_version != kCodegenApiVersion || !api->compile ||
      !api->version) {
    return make_error(Code::kNotFound, "its table of functions is of another version");
  }
  if (api->kernel_abi_version != kKernelAbiVersion) {
    return make_error(Code::kNotFound, text_of("it writes kernels of ABI ", api->kernel_abi_version,
                                               ", expected ", kKernelAbiVersion));
  }
  std::shared_ptr<CodegenLibrary> library(new CodegenLibrary);
  library->api_ = api;
  library->path_ = std::move(path);
  library->version_ = api->version();
  return std::shared_ptr<const CodegenLibrary>(std::move(library));
}

Result<std::string> CodegenLibrary::compile(std::string_view program, std::string_view target,
                                            std::string_view flags) const {
  FritCodegenRequest request{};
  request.struct_size = sizeof request;
  request.program = program.data();
  request.program_size = program.size();
  request.target = target.data();
  request.target_size = target.size();
  request.flags = flags.data();
  request.flags_size = flags.size();
  std::string output, error;
  const int32_t status = api_->compile(&request, append_bytes, &output, append_bytes, &error);
  if (status == kFritCodegenOk) return output;
  return make_error(code_of(status),
                    error.empty() ? text_of("the compiler failed with status ", status) : error);
}

Result<std::string> CodegenLibrary::compile_object(std::string_view program, std::string_view target) const {
  FRIT_ASSIGN(std::string object, compile(program, target, "emit=object"));
  if (const Status status = check_object(std::as_bytes(std::span<const char>(object))); !status.ok()) {
    return make_error(Code::kInternal,
                      text_of("the compiler wrote an object that cannot be loaded: ", status.error().text()));
  }
  return object;
}

}  // namespace frit::device
