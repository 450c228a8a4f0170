// Where the shared libraries of CUDA may be, and what happens when one tries to open them.
//
// One list of places for everybody: the doctor shows it, whoever opens NVRTC or the driver walks it. Nothing
// here calls into a library but to ask its version.
#pragma once

#include <string>
#include <vector>

#include "base/seams.h"

namespace frit::device {

// In the order in which they are tried; a name without a folder goes through the system's own search.
std::vector<std::string> cuda_driver_candidates(base::Environment& environment);
// NVRTC also comes as a wheel of Python: looked for beside the interpreter that FRIT_PYTHON names.
std::vector<std::string> nvrtc_candidates(base::Environment& environment, base::FileSystem& files);

struct LibraryAttempt {
  std::string path;
  std::string error;  // empty: it opened
};

struct LibraryProbe {
  std::vector<LibraryAttempt> attempts;  // up to the first that opened
  std::string path;                      // of the file that opened; empty: none did
  std::string version;                   // as it says itself, "13.0"; empty when it does not
  bool found() const { return !path.empty(); }
};

// What was opened stays mapped for the life of the process.
LibraryProbe probe_cuda_driver(const std::vector<std::string>& candidates);
LibraryProbe probe_nvrtc(const std::vector<std::string>& candidates);

}  // namespace frit::device
