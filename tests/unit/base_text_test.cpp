// Text helpers and the logger on top of them.
#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/text.h"

namespace frit::base {
namespace {

TEST(Text, Concatenates) {
  const std::string name = "conv";
  EXPECT_EQ(text_of(), "");
  EXPECT_EQ(text_of("node ", name, std::string_view(" has "), 3, " of ", 4u, ' ', true, "/", false),
            "node conv has 3 of 4 true/false");
  EXPECT_EQ(text_of(int8_t{-5}, ' ', uint8_t{200}, ' ', std::numeric_limits<int64_t>::min(), ' ',
                    std::numeric_limits<uint64_t>::max()),
            "-5 200 -9223372036854775808 18446744073709551615");
  EXPECT_EQ(text_of([] { return std::string("made late"); }, ' ', [] { return 7; }), "made late 7");
}

TEST(Text, FloatsAreShortestThatReadBack) {
  EXPECT_EQ(text_of(0.1f, ' ', 0.1, ' ', 1.0, ' ', -0.0, ' ', 1e300), "0.1 0.1 1 -0 1e+300");
  EXPECT_EQ(text_of(std::nan(""), ' ', -std::nan(""), ' ', INFINITY, ' ', -INFINITY), "nan nan inf -inf");
  for (const double value : {1.0 / 3, 5e-324, 1.7976931348623157e308, 123456789.123456789, -2.5e-7}) {
    EXPECT_EQ(parse_number<double>(text_of(value)), value);
  }
  for (const float value : {1.0f / 3, 1e-45f, 3.4028235e38f, 16777217.0f}) {
    EXPECT_EQ(parse_number<float>(text_of(value)), value);
  }
}

TEST(Text, Joins) {
  EXPECT_EQ(join(std::vector<int>{}), "");
  EXPECT_EQ(join(std::vector<int>{1}), "1");
  EXPECT_EQ(join(std::vector<int>{1, 2, 3}, "x"), "1x2x3");
  EXPECT_EQ(join(std::vector<std::string>{"a", "b"}), "a, b");
}

TEST(Text, Quotes) {
  EXPECT_EQ(quoted(""), "\"\"");
  EXPECT_EQ(quoted("a\"b\\c\n\t\r\x01\xff"), "\"a\\\"b\\\\c\\n\\t\\r\\x01\\xff\"");
  EXPECT_EQ(json_quoted("a\"b\\\n\x7f"), "\"a\\\"b\\\\\\u000a\\u007f\"");
  EXPECT_EQ(json_quoted("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(json_quoted("\xc3\xbc\xff"), "\"\\u00c3\\u00bc\\u00ff\"");
  EXPECT_EQ(json_quoted(std::string_view("\0", 1)), "\"\\u0000\"");
}

TEST(Text, Utf8) {
  for (const char* good :
       {"", "ascii", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_utf8(good)) << quoted(good);
  }
  for (const char* bad :
       {"\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\xc2", "\xe1\x80", "\xf1\x80\x80", "a\xff", "\xc2\x41"}) {
    EXPECT_FALSE(is_utf8(bad)) << quoted(bad);
  }
}

TEST(Text, ParsesWholeNumbersOnly) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<uint8_t>("255"), 255);
  EXPECT_EQ(parse_number<double>("2.5e3"), 2500.0);
  for (const char* bad : {"", " 1", "1 ", "+1", "1x", "x", "0x10", "99999999999", "1.5", "-", "--1"}) {
    EXPECT_FALSE(parse_number<int>(bad)) << bad;
  }
  EXPECT_FALSE(parse_number<uint8_t>("256"));
  EXPECT_FALSE(parse_number<unsigned>("-1"));
  EXPECT_FALSE(parse_number<double>("1,5"));
}

TEST(Text, ErrnoTextIsLowerCase) {
  EXPECT_EQ(errno_text(ENOENT), "no such file or directory");
  EXPECT_EQ(errno_text(ENOSPC), "no space left on device");
  EXPECT_EQ(errno_text(EDOTDOT), "RFS specific error");
}

class ListSink final : public LogSink {
 public:
  explicit ListSink(LogLevel most) : most_(most) {}
  bool wants(LogLevel level, std::string_view category) const override {
    return level <= most_ && category != "muted";
  }
  void write(LogLevel level, std::string_view category, std::string_view message) override {
    lines.push_back(text_of(log_level_name(level), " ", category, ": ", message));
  }
  std::vector<std::string> lines;

 private:
  LogLevel most_;
};

TEST(Log, SilentByDefault) {
  const Logger log;
  int made = 0;
  log.error("base", [&] {
    ++made;
    return "costly";
  });
  EXPECT_FALSE(log.enabled(LogLevel::kError, "base"));
  EXPECT_EQ(made, 0);
}

TEST(Log, LevelsCategoriesAndLaziness) {
  const auto sink = std::make_shared<ListSink>(LogLevel::kInfo);
  const Logger log(sink);
  int made = 0;
  const auto costly = [&] {
    ++made;
    return 42;
  };
  log.error("tuner", "trial ", costly);
  log.warn("tuner", "cache is ", 3, " bytes");
  log.info("exec", "done");
  log.trace("exec", costly);
  log.error("muted", costly);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(sink->lines, (std::vector<std::string>{"error tuner: trial 42", "warn tuner: cache is 3 bytes",
                                                   "info exec: done"}));
  EXPECT_STREQ(log_level_name(LogLevel::kTrace), "trace");
}

class ThrowingSink final : public LogSink {
 public:
  explicit ThrowingSink(bool early) : early_(early) {}
  bool wants(LogLevel, std::string_view) const override {
    if (early_) throw std::runtime_error("wants");
    return true;
  }
  void write(LogLevel, std::string_view, std::string_view) override { throw 1; }

 private:
  bool early_;
};

TEST(Log, WhatASinkThrowsStaysOutside) {
  for (const bool early : {true, false}) {
    const Logger log(std::make_shared<ThrowingSink>(early));
    EXPECT_NO_THROW(log.error("base", "x"));
    EXPECT_EQ(log.enabled(LogLevel::kInfo, "base"), !early);
  }
}

}  // namespace
}  // namespace frit::base
