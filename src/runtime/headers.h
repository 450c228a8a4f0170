// Checks at every entry point of the public API: the application's headers against this library, and that the
// process is the one that the object was made in.
#pragma once

#include <sys/types.h>

#include "frit/header_version.h"
#include "frit/result.h"

namespace frit::runtime {

// Equal but for the last part. kInvalidArgument names both versions.
Status check_headers(const HeaderVersion& headers);

// The process that made an object. After fork() the child has neither the threads nor the locks in a known
// state: it may only drop what it inherited, without touching it.
class Owner {
 public:
  Owner();
  bool is_here() const;
  Status check() const;  // kInvalidArgument in a child

 private:
  pid_t pid_;
};

}  // namespace frit::runtime
