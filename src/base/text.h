// Small text helpers: concatenation of values (g++ 12 has no std::format), joining, quoting, number parsing.
//
// Numbers print the same on every host and locale; floats print the shortest text that reads back to the same
// value. Knows nothing of frit's types: those print themselves.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace frit::base {

inline void append_value(std::string& out, std::string_view value) { out += value; }
inline void append_value(std::string& out, const char* value) { out += value; }
inline void append_value(std::string& out, char value) { out += value; }

// Integers of one byte print as numbers, bool as true or false, every NaN as "nan".
template <class T>
requires std::is_arithmetic_v<T>
void append_value(std::string& out, T value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_floating_point_v<T>) {
    char text[64];
    if (value != value) {
      out += "nan";
    } else {
      const auto end = std::to_chars(text, text + sizeof text, value);
      out.append(text, end.ptr);
    }
  } else {
    char text[24];
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    const auto end = std::to_chars(text, text + sizeof text, static_cast<Wide>(value));
    out.append(text, end.ptr);
  }
}

// A callable is called only here, so that a disabled log statement never runs it.
template <class F>
requires(std::invocable<const F&> &&
         !std::is_convertible_v<const F&, std::string_view>) void append_value(std::string& out,
                                                                               const F& make) {
  append_value(out, make());
}

// append(out, "node ", 3, " has ", 2.5, ...)
template <class... Ts>
void append(std::string& out, const Ts&... values) {
  (append_value(out, values), ...);
}

template <class... Ts>
std::string text_of(const Ts&... values) {
  std::string out;
  append(out, values...);
  return out;
}

template <class Range>
std::string join(const Range& values, std::string_view separator = ", ") {
  std::string out;
  bool first = true;
  for (const auto& value : values) {
    if (!first) out += separator;
    first = false;
    append(out, value);
  }
  return out;
}

// The text in double quotes; ", \, control bytes and bytes above 126 as \", \\, \n, \t, \r, \xNN.
std::string quoted(std::string_view text);

// Whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates).
bool is_utf8(std::string_view text);

// The text as a JSON string, always valid: bytes of a text that is not UTF-8 become the characters U+0080 ...
// U+00FF.
std::string json_quoted(std::string_view text);

// Reads a whole text as a number in base 10; nothing for anything else (spaces, a sign +, overflow, a rest).
template <class T>
requires std::is_arithmetic_v<T> std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// What a failed system call says, in the style of our messages: "no such file or directory".
std::string errno_text(int error);

}  // namespace frit::base
