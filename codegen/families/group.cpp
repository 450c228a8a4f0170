#include "codegen/families/group.h"

#include "graph/text.h"

namespace frit::codegen {

std::string Group::text() const {
  std::string out = graph::print(graph);
  out += "anchor " + std::to_string(anchor) + "\n";
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k].constant) out += "constant " + std::to_string(k) + "\n";
    if (inputs[k].caller) out += "caller " + std::to_string(k) + "\n";
  }
  return out;
}

}  // namespace frit::codegen
