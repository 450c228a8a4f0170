// Runs an AArch64 kernel under qemu-aarch64, by way of the program that tests/unit/aarch64_runner.cpp is
// built to.
//
// For tests of label `full`, which exist where the cross compiler and qemu-aarch64 do. Buffers go through
// files in a folder of the test.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "device/kernel_abi.h"

namespace frit::aarch64 {

struct Run {
  std::string object;  // path of the object file
  std::string symbol;
  int64_t first_tile = 0, last_tile = 1;
  int64_t scratch_bytes = 0;
  std::vector<int64_t> sizes;
  std::vector<std::vector<std::byte>> buffers;  // before; after run() what the kernel left
  std::vector<size_t> offsets;                  // of each buffer from a 64-byte boundary; empty: none
  std::vector<std::string>
      guards;  // instead: "front16", "end4" of each buffer: against a page without access
  // After run():
  int32_t status = -1;
  int64_t error[device::kErrorWords] = {};
};

inline std::string shell_quoted(const std::string& text) { return "'" + text + "'"; }

// Empty when the kernel ran, else why not. `folder` exists and is the test's own; `emulator` is qemu-aarch64
// (empty on an AArch64 machine).
inline std::string run(Run& run, const std::string& emulator, const std::string& runner,
                       const std::string& folder) {
  std::string sizes;
  for (int64_t size : run.sizes) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  std::string command = (emulator.empty() ? "" : shell_quoted(emulator) + " ") + shell_quoted(runner) + " " +
                        shell_quoted(run.object) + " " + run.symbol + " " + std::to_string(run.first_tile) +
                        " " + std::to_string(run.last_tile) + " " + std::to_string(run.scratch_bytes) + " " +
                        (sizes.empty() ? "-" : sizes);
  std::vector<std::string> paths;
  for (size_t i = 0; i < run.buffers.size(); ++i) {
    paths.push_back(folder + "/buffer" + std::to_string(i));
    std::ofstream(paths.back(), std::ios::binary)
        .write(reinterpret_cast<const char*>(run.buffers[i].data()),
               static_cast<std::streamsize>(run.buffers[i].size()));
    command += " " + shell_quoted(paths.back());
    if (i < run.offsets.size() && run.offsets[i] != 0) command += "@" + std::to_string(run.offsets[i]);
    if (i < run.guards.size()) command += "@" + run.guards[i];
  }
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return "cannot start: " + command;
  std::string text;
  char chunk[256];
  while (std::fgets(chunk, sizeof chunk, pipe)) text += chunk;
  const int exit_status = pclose(pipe);
  long long words[3] = {};
  if (exit_status != 0 ||
      std::sscanf(text.c_str(), "%d %lld %lld %lld", &run.status, &words[0], &words[1], &words[2]) != 4) {
    return "exit status " + std::to_string(exit_status) + ": " + text;
  }
  for (int i = 0; i < 3; ++i) run.error[i] = words[i];
  for (size_t i = 0; i < run.buffers.size(); ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (chars.size() != run.buffers[i].size()) return paths[i] + " has another size";
    for (size_t b = 0; b < chars.size(); ++b) run.buffers[i][b] = static_cast<std::byte>(chars[b]);
  }
  return "";
}

}  // namespace frit::aarch64
