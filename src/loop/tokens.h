// Tokens of the loop text: what the parser (parse.cpp) reads words, numbers and punctuation with. Private to
// src/loop.
//
// The first error sticks: it moves to the end of the text, after which every read fails quietly.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "frit/dtype.h"
#include "frit/result.h"

namespace frit::loop {

class Tokens {
 protected:
  static constexpr int32_t kMaxLanes = 4096;
  static constexpr int32_t kMaxId = 1 << 20;

  explicit Tokens(std::string_view text) : begin_(text.data()), at_(begin_), end_(begin_ + text.size()) {
    space();
  }

  bool ok() const { return message_.empty(); }
  void error(std::string_view message) {
    if (!ok()) return;
    size_t line = 1, column = 1;
    for (const char* p = begin_; p < at_; ++p) {
      if (*p == '\n')
        ++line, column = 1;
      else
        ++column;
    }
    message_ = base::text_of("loop text, line ", line, ", column ", column, ": ", message);
    at_ = end_;
  }
  template <class T>
  Result<T> finish(T value) {
    if (!ok()) return make_error(Code::kCorrupt, message_);
    return value;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
  }
  void space() {
    for (; at_ < end_; ++at_) {
      if (*at_ == '#') {
        while (at_ < end_ && *at_ != '\n') ++at_;
        if (at_ == end_) return;
      } else if (*at_ != ' ' && *at_ != '\n' && *at_ != '\t' && *at_ != '\r') {
        return;
      }
    }
  }
  char peek() const { return at_ < end_ ? *at_ : '\0'; }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    space();
    return true;
  }
  void expect(char c) {
    if (!accept(c)) error(base::text_of("expected '", c, "'"));
  }
  std::string_view peek_word() const {
    const char* p = at_;
    while (p < end_ && is_word(*p)) ++p;
    return {at_, static_cast<size_t>(p - at_)};
  }
  std::string_view word() {
    const std::string_view w = peek_word();
    if (w.empty()) error("expected a word");
    at_ += w.size();
    space();
    return w;
  }
  bool accept_word(std::string_view w) {
    if (peek_word() != w) return false;
    at_ += w.size();
    space();
    return true;
  }
  void expect_word(std::string_view w) {
    if (!accept_word(w)) error(base::text_of("expected '", w, "'"));
  }
  template <class T = int64_t>
  T integer() {
    T value = 0;
    const auto [p, ec] = std::from_chars(at_, end_, value);
    if (ec != std::errc()) {
      error("expected an integer");
      return 0;
    }
    at_ = p;
    space();
    return value;
  }
  int32_t small_integer() { return integer<int32_t>(); }
  // name=INTEGER
  int64_t attribute(std::string_view name) {
    expect_word(name);
    expect('=');
    return integer();
  }
  std::vector<int32_t> numbers() {
    std::vector<int32_t> out;
    if (!is_digit(peek()) && peek() != '-') return out;
    do out.push_back(small_integer());
    while (ok() && accept(','));
    return out;
  }
  // A letter and a number, such as v12.
  int32_t numbered(char letter) {
    if (peek() != letter) {
      error(base::text_of("expected ", letter, "NUMBER"));
      return -1;
    }
    ++at_;
    const int32_t id = small_integer();
    if (id < 0 || id >= kMaxId) error("number out of range");
    return ok() ? id : -1;
  }
  DType dtype_of(std::string_view name) {
    for (int t = 0; t <= static_cast<int>(DType::kBool); ++t) {
      if (name == dtype_name(static_cast<DType>(t))) return static_cast<DType>(t);
    }
    error(base::text_of("unknown element type '", name, "'"));
    return DType::kF32;
  }
  DType dtype() { return dtype_of(word()); }
  int32_t lanes() {
    const int32_t n = small_integer();
    if (n < 1 || n > kMaxLanes) error("lanes out of range");
    return ok() ? n : 1;
  }

  const char* begin_;
  const char* at_;
  const char* end_;
  std::string message_;
};

}  // namespace frit::loop
