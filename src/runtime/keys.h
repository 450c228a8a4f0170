// From a target and a session's options to the ingredients of cache keys (src/README.md section 7,
// schemas/key.md).
//
// The one place that says what of a machine keys a record and what is only provenance.
#pragma once

#include <string>

#include "codegen/families/family.h"
#include "device/target.h"
#include "frit/numerics.h"
#include "tuner/key.h"
#include "tuner/records.h"

namespace frit::runtime {

tuner::TargetParts target_parts(const device::Target& target);

// shared_cores: two of the threads have to share a core.
tuner::SessionParts session_parts(Numerics numerics, int threads, bool shared_cores);

// Cache sizes, cores, the CPU's marketing name, frit's version.
tuner::Provenance provenance_of(const device::Target& target);

// What numerics means on a CPU, where kFast is not faster yet.
Numerics effective_numerics(Numerics numerics);

}  // namespace frit::runtime
