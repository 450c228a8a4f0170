// Drives a fuzz body over mutated seeds, for ctest: no fuzzing engine, the same inputs from the same seed.
//
//   program [SECONDS [SEED [ITERATION]]]
// prints the seed; input number i depends on seed and i alone, and a crash prints both, so that
// `program 0 SEED ITERATION` shows it again (0 seconds: one input). Under FRIT_LIBFUZZER the body is
// libFuzzer's instead, and main is its own.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace frit::fuzz {

using Bytes = std::vector<std::byte>;
using Body = void (*)(std::span<const std::byte>);

inline uint64_t current_seed = 0, current_iteration = 0;

// One to eight small damages: what file formats are most sensitive to.
inline Bytes mutated(const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : static_cast<size_t>(random() % n); };
  Bytes bytes = corpus[below(corpus.size())];
  const int changes = static_cast<int>(below(8)) + 1;
  for (int i = 0; i < changes; ++i) {
    const size_t at = below(bytes.size());
    switch (random() % 8) {
      case 0:
        if (!bytes.empty()) bytes[at] ^= std::byte{1} << (random() % 8);
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<std::byte>(random());
        break;
      case 2: {  // a number that limits are about, of 1 to 8 bytes, at a place where numbers are
        constexpr uint64_t kNumbers[] = {0,          1,          2,          7,     8,
                                         255,        256,        4096,       65535, 0x7fffffff,
                                         0x80000000, 0xffffffff, 1ull << 40, ~0ull, 1ull << 63};
        uint64_t number = kNumbers[below(std::size(kNumbers))];
        if (random() % 4 == 0) number = bytes.size() + below(9) - 4;
        const size_t width = size_t{1} << below(4);
        const size_t place = at / width * width;
        if (place + width <= bytes.size()) std::memcpy(bytes.data() + place, &number, width);
        break;
      }
      case 3:  // the end is missing
        if (random() % 4 == 0) bytes.resize(at);
        break;
      case 4: {  // a piece is somewhere else
        const size_t from = below(bytes.size());
        const size_t count = std::min({below(64), bytes.size() - from, bytes.size() - at});
        if (count != 0) std::memmove(bytes.data() + at, bytes.data() + from, count);
        break;
      }
      case 5: {  // a piece of another seed
        const Bytes& other = corpus[below(corpus.size())];
        const size_t from = below(other.size());
        const size_t count = std::min({below(256), other.size() - from, bytes.size() - at});
        if (count != 0) std::memcpy(bytes.data() + at, other.data() + from, count);
        break;
      }
      case 6:  // more than there was
        if (random() % 4 == 0) bytes.insert(bytes.end(), below(32), static_cast<std::byte>(random()));
        break;
      default: {  // a small step
        if (!bytes.empty())
          bytes[at] = static_cast<std::byte>(static_cast<int>(bytes[at]) + (random() % 2 ? 1 : -1));
        break;
      }
    }
  }
  return bytes;
}

inline void report_crash(int signal_number) {
  char text[160];
  const int count = std::snprintf(text, sizeof text, "fuzz: signal %d at seed %llu iteration %llu\n",
                                  signal_number, static_cast<unsigned long long>(current_seed),
                                  static_cast<unsigned long long>(current_iteration));
  [[maybe_unused]] const ssize_t n = write(2, text, static_cast<size_t>(count));
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

inline int run(int argc, char** argv, const std::vector<Bytes>& corpus, Body body) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  current_seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device{}();
  current_iteration = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 0;
  std::printf("fuzz: seed %llu, %zu seeds in the corpus\n", static_cast<unsigned long long>(current_seed),
              corpus.size());
  std::fflush(stdout);
  for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) signal(s, report_crash);
  for (const Bytes& seed : corpus) body(seed);
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  double slowest = 0;
  uint64_t slowest_iteration = 0, inputs = 0;
  do {
    std::mt19937_64 random(current_seed * 0x9e3779b97f4a7c15u + current_iteration);
    const Bytes input = mutated(corpus, random);
    const double before = elapsed();
    body(input);
    if (const double took = elapsed() - before; took > slowest) {
      slowest = took;
      slowest_iteration = current_iteration;
    }
    ++current_iteration;
    ++inputs;
  } while (elapsed() < seconds);
  std::printf("fuzz: %llu inputs, the slowest took %.1f ms (iteration %llu)\n",
              static_cast<unsigned long long>(inputs), slowest * 1e3,
              static_cast<unsigned long long>(slowest_iteration));
  return 0;
}

}  // namespace frit::fuzz
