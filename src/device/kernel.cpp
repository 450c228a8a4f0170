#include "device/kernel.h"

namespace frit::device {

std::string describe_kernel_error(std::span<const int64_t, kErrorWords> error) {
  const int64_t value = error[kErrorValue], bound = error[kErrorBound];
  switch (static_cast<KernelStatus>(error[kErrorCode])) {
    case KernelStatus::kOk:
      return "no error";
    case KernelStatus::kIndexOutOfRange:
      return base::text_of("index ", value, " is out of range for ", bound,
                           bound == 1 ? " element" : " elements");
    case KernelStatus::kDivisionByZero:
      return "integer division by zero";
    case KernelStatus::kBadValue:
      return base::text_of("value ", value, " is not allowed");
  }
  return base::text_of("kernel error ", error[kErrorCode], ", value ", value);
}

}  // namespace frit::device
