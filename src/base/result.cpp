#include "frit/result.h"

namespace frit {
inline namespace FRIT_ABI {

FRIT_EXPORT const char* code_name(Code code) {
  switch (code) {
    case Code::kBadModel: return "bad_model";
    case Code::kUnsupported: return "unsupported";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kIo: return "io";
    case Code::kCorrupt: return "corrupt";
    case Code::kDevice: return "device";
    case Code::kOutOfMemory: return "out_of_memory";
    case Code::kCancelled: return "cancelled";
    case Code::kNotFound: return "not_found";
    case Code::kBusy: return "busy";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

}  // namespace FRIT_ABI
}  // namespace frit
