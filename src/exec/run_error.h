// From a kernel's error word to the sentence that the user reads: which node, which value, which range.
//
// A kernel reports a code, a value and a bound; which of the group's nodes that was follows from their kinds
// and extents. It must not know how kernels are run.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "device/kernel_abi.h"
#include "fusion/plan.h"

namespace frit::exec {

// A node of a group that can report bad data.
struct ErrorSite {
  device::KernelStatus status = device::KernelStatus::kOk;  // what it may report
  std::vector<int64_t> bounds;  // what its indices must stay below; empty: not known
  std::string node;             // "Gather \"emb\""
};

std::vector<ErrorSite> error_sites(const fusion::Plan& plan, size_t group);

// kInvalidArgument for bad data: `Gather "emb": index 50300 is out of range [-50257, 50257)`. label stands
// for the node where no site fits.
Error kernel_error(std::span<const ErrorSite> sites, const std::string& label,
                   std::span<const int64_t, device::kErrorWords> words);

}  // namespace frit::exec
