#include "runtime/headers.h"

#include <unistd.h>

#include "base/text.h"

#define FRIT_TEXT_(x) #x
#define FRIT_TEXT(x) FRIT_TEXT_(x)

namespace frit {
inline namespace FRIT_ABI {

const char* library_version() {
  return FRIT_TEXT(FRIT_VERSION_MAJOR) "." FRIT_TEXT(FRIT_VERSION_MINOR) "." FRIT_TEXT(FRIT_VERSION_PATCH);
}

}  // namespace FRIT_ABI

namespace runtime {

Status check_headers(const HeaderVersion& headers) {
  if (headers.value / 100 == HeaderVersion{}.value / 100) return {};
  const uint32_t v = headers.value;
  return make_error(Code::kInvalidArgument,
                    base::text_of("the program was compiled with the headers of frit ", v / 10000, ".",
                                  v / 100 % 100, ".", v % 100, ", the library is ", library_version()))
      .hinted("compile it again with the headers that belong to the library");
}

Owner::Owner() : pid_(getpid()) {}

bool Owner::is_here() const { return pid_ == getpid(); }

Status Owner::check() const {
  if (is_here()) return {};
  return make_error(Code::kInvalidArgument,
                    "this session was made before fork() and cannot run in the child process")
      .hinted("load the model again in the child, or fork before loading it");
}

}  // namespace runtime
}  // namespace frit
