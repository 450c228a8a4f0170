// Chooses the physical layout of every value: channels-last inside regions of convolutions and pools, plain elsewhere,
// so that a conversion happens only where a region ends, inside of the kernel that reads or writes there.
#pragma once

#include "graph/ir.h"

namespace frit::fusion {

struct LayoutReport {
  int32_t regions = 0, channels_last_regions = 0, values = 0;
  double bytes_plain = 0, bytes_channels_last = 0;  // conversion traffic of both choices, over all regions
};

// Writes Value::type.layout. Values that the caller or a host op sees stay plain.
LayoutReport assign_layouts(graph::Graph& graph);

}  // namespace frit::fusion
