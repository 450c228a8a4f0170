// The progress line of a search: what it says, how often, and that it leaves a terminal as it found it.
#include <gtest/gtest.h>

#include <limits>

#include "support/fake_seams.h"
#include "tools/progress.h"

namespace frit::tools {
namespace {

Progress sample() {
  Progress p;
  p.group = "conv 3x3 64->64 @56x56";
  p.group_number = 18;
  p.groups = 53;
  p.trial = 212;
  p.trials = 480;
  p.best_ms = 0.84;
  p.heuristic_ms = 1.31;
  p.model_heuristic_ms = 21.4;
  p.model_ms = 15.9;
  p.seconds_left = 130;
  return p;
}
constexpr const char* kLine =
    "[18/53] conv 3x3 64->64 @56²  trial 212/480  best 0.84 ms (heuristic 1.31)  model 21.4 -> 15.9 ms  2:10 left";

TEST(Progress, SaysWhatIsKnown) {
  Progress p = sample();
  EXPECT_EQ(progress_line(p), kLine);
  p.group = "matmul 128x768x768";
  p.best_ms = 0.00123;
  p.heuristic_ms = 123.4;
  p.seconds_left = std::numeric_limits<double>::infinity();
  EXPECT_EQ(progress_line(p), "[18/53] matmul 128x768x768  trial 212/480  best 0.0012 ms (heuristic 123)  model 21.4 -> 15.9 ms  no limit");
  p.seconds_left = 3 * 3600 + 61;
  EXPECT_NE(progress_line(p).find("3:01:01 left"), std::string::npos);
  p.seconds_left = -3;
  EXPECT_NE(progress_line(p).find("  0:00 left"), std::string::npos);
  p.group = "conv 3x3 64->64 @56x28";
  EXPECT_NE(progress_line(p).find("@56x28 "), std::string::npos);
  p.group = "conv 3 64->64 @5x5x5";
  EXPECT_NE(progress_line(p).find("@5x5x5 "), std::string::npos);
}

class ProgressOn : public ::testing::Test {
 protected:
  ProgressPrinter printer(bool terminal, int columns = 0) {
    return ProgressPrinter(clock_, {terminal, columns, [this](std::string_view text) { written_ += text; }});
  }
  fakes::FakeClock clock_;
  std::string written_;
};

TEST_F(ProgressOn, ATerminalIsOneLineThatIsRewritten) {
  ProgressPrinter p = printer(true);
  p.update(sample());
  EXPECT_EQ(written_, std::string("\r\033[K") + kLine);
  clock_.advance_ns(99'000'000);
  p.update(sample());
  EXPECT_EQ(written_, std::string("\r\033[K") + kLine);  // not faster than anybody reads
  clock_.advance_ns(1'000'000);
  p.update(sample());
  EXPECT_EQ(written_, std::string("\r\033[K") + kLine + "\r\033[K" + kLine);
  written_.clear();
  p.end();
  p.end();
  EXPECT_EQ(written_, "\n");
}

TEST_F(ProgressOn, ANarrowTerminalDoesNotWrap) {
  ProgressPrinter p = printer(true, 29);
  p.update(sample());
  EXPECT_EQ(written_, "\r\033[K[18/53] conv 3x3 64->64 @56²");  // 28 characters, the last of two bytes
}

TEST_F(ProgressOn, AFileIsALineEveryTenSeconds) {
  ProgressPrinter p = printer(false);
  int lines = 0;
  for (int tenths = 0; tenths <= 350; ++tenths, clock_.advance_ns(100'000'000)) {
    written_.clear();
    p.update(sample());
    if (written_.empty()) continue;
    ++lines;
    EXPECT_EQ(written_, std::string(kLine) + "\n");
    EXPECT_EQ(tenths % 100, 0);
  }
  EXPECT_EQ(lines, 4);
  written_.clear();
  p.end();
  EXPECT_EQ(written_, "");
}

TEST_F(ProgressOn, WhatNeverBeganNeedsNoEnd) {
  ProgressPrinter p = printer(true);
  p.end();
  EXPECT_EQ(written_, "");
}

}  // namespace
}  // namespace frit::tools
