#include "tuner/base64.h"

#include <cstdint>

namespace frit::tuner {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

std::string base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t left = bytes.size() - at;
    uint32_t word = 0;
    for (size_t i = 0; i < 3; ++i)
      word = word << 8 | (i < left ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    out += kDigits[word >> 18];
    out += kDigits[(word >> 12) & 63];
    out += left > 1 ? kDigits[(word >> 6) & 63] : '=';
    out += left > 2 ? kDigits[word & 63] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const size_t pad = !last ? 0 : text[at + 3] != '=' ? 0 : text[at + 2] != '=' ? 1 : 2;
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) {
      const int value = i < 4 - pad ? digit(text[at + i]) : 0;
      if (value < 0) return std::nullopt;
      word = word << 6 | static_cast<uint32_t>(value);
    }
    // Bits under the padding are zero.
    if ((word & ((1u << (8 * pad)) - 1)) != 0) return std::nullopt;
    for (size_t i = 0; i < 3 - pad; ++i) out += static_cast<char>(word >> (16 - 8 * i));
  }
  return out;
}

}  // namespace frit::tuner
