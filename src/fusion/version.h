// The partitioner's version, which stands beside the plan records that it makes.
#pragma once

namespace frit::fusion {

// Raised when another plan comes out of the same graph: older records become near hits.
inline constexpr int kPartitionerVersion = 1;

}  // namespace frit::fusion
