// What an interrupted search leaves behind: counted in the cache, and told with how to continue.
#pragma once

#include <cstdint>

#include "frit/model.h"

namespace frit::tools {

class Kept {
 public:
  // Counts what is there before the search.
  explicit Kept(const Model& model);
  // One sentence on stderr; the exit code for the signal that came.
  int report() const;

 private:
  int64_t trials() const;

  const Model model_;
  const int64_t before_;
};

}  // namespace frit::tools
