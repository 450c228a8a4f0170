// The doctor: what `frit devices` tells about this machine, as facts with a verdict each.
//
// Examines, prints nothing, changes nothing. Topics are stable words, so that a script can look one up;
// values are sentences for people. What lies above this layer (the place of the cache) is added by the tool.
#pragma once

#include <string>
#include <vector>

#include "base/seams.h"
#include "device/executable_memory.h"
#include "device/target.h"

namespace frit::device {

enum class Verdict {
  kGood,
  kNote,  // works, but could be better, or an optional part is missing
  kBad,   // frit cannot do its work here
};

const char* verdict_name(Verdict verdict);  // "good", "note", "bad"

struct DoctorRow {
  std::string topic;  // isa, caches, threads, huge_pages, executable_memory, codegen, cuda_driver, nvrtc
  Verdict verdict = Verdict::kGood;
  std::string value;                 // one line
  std::vector<std::string> details;  // e.g. each path that was tried
  std::string hint;                  // what to do about it, or empty
};

struct DoctorReport {
  Target host;
  int threads = 1;  // that a run uses by default
  std::vector<DoctorRow> rows;
  const DoctorRow* row(std::string_view topic) const;
};

struct DoctorOptions {
  std::string codegen;  // as given by option: see CodegenLibrary::open
  ExecutablePolicy memory = ExecutablePolicy::kAuto;
};

DoctorReport examine(base::FileSystem& files, base::Process& process, base::Environment& environment,
                     const DoctorOptions& options = {});

}  // namespace frit::device
