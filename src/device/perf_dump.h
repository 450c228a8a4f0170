// Writes perf's jitdump file, from which `perf inject --jit` makes symbols and disassembly for generated
// code.
//
// By option only, one file per process and loader: FOLDER/jit-PID.dump. Use: perf record -k 1, then
// perf inject --jit -i perf.data -o out.data, then perf report -i out.data. The format is linux/tools/perf/
// Documentation/jitdump-specification.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "frit/result.h"

namespace frit::device {

// Safe to use from several threads at once.
class PerfDump {
 public:
  // Creates the file in a folder that exists. Errors: `io`.
  static Result<std::unique_ptr<PerfDump>> open(const std::string& folder);
  PerfDump(const PerfDump&) = delete;
  PerfDump& operator=(const PerfDump&) = delete;
  ~PerfDump();

  // One function. A write that fails is dropped: a profile is not worth a failed model.
  void add(std::string_view name, std::span<const std::byte> code);

  const std::string& path() const { return path_; }

 private:
  PerfDump() = default;

  std::string path_;
  int file_ = -1;
  void* marker_ = nullptr;  // the mapping by which perf notices the file
  size_t marker_bytes_ = 0;
  std::mutex mutex_;
  uint64_t count_ = 0;
};

}  // namespace frit::device
