// The objects of tests/unit/objects and their kernel, for the loader's tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "device/kernel_abi.h"

namespace frit::device {

inline std::string object_path(const std::string& folder, const std::string& name) {
  return std::string(FRIT_TEST_OBJECTS) + "/" + folder + "/" + name + ".o";
}

// FOLDER/NAME.o as bytes; folder is host or aarch64.
inline std::vector<std::byte> read_object(const std::string& folder, const std::string& name) {
  const std::string path = object_path(folder, name);
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(chars.size());
  if (!chars.empty()) std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

// What frit_test_kernel of objects/kernel.c computes for element i.
inline float expected_element(float x, int64_t i) {
  const float table[7] = {0.5f, -1.0f, 2.0f, 0.25f, 8.0f, -3.0f, 1.5f};
  const float bytes[5] = {3, 1, 4, 1, 5};
  const float halves[3] = {1000, 2000, 3000};
  const float vector[4] = {1, 2, 3, 4};
  const char letters[4] = {'z', 'o', 't', 't'};
  const float weight = table[i % 7] + bytes[i % 5] + halves[i % 3] + halves[i % 3];
  const float constants = 302.0f + 0.125f + 0.75f + vector[i & 3];
  return x * weight + constants + static_cast<float>(letters[i & 3]);
}

// What frit_test_choose returns.
inline int32_t expected_choice(int64_t which, int32_t n) {
  const int32_t choices[] = {11, n * 3, n - 7, n ^ 0x55, n << 2, -n, n * n};
  return which >= 0 && which < 7 ? choices[which] : -1;
}

}  // namespace frit::device
