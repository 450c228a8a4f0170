// is_utf8: whether a text may enter the cache; as_utf8 makes it so. Records travel as JSON (packs), which can
// hold no other bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace frit::tuner {

// Neither overlong forms, surrogates nor values above U+10FFFF.
inline bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    const int more = lead >= 0xc2 && lead < 0xe0   ? 1
                     : lead >= 0xe0 && lead < 0xf0 ? 2
                     : lead >= 0xf0 && lead < 0xf5 ? 3
                                                   : 0;
    if (more == 0 || text.size() - i < static_cast<size_t>(more)) return false;
    uint32_t code = lead & (0x3fu >> more);
    for (int k = 0; k < more; ++k) {
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3f);
    }
    if ((more == 2 && code < 0x800) || (more == 3 && code < 0x10000)) return false;
    if ((code >= 0xd800 && code < 0xe000) || code > 0x10ffff) return false;
  }
  return true;
}

// The text cut to a length; if it is not valid UTF-8 then, with '?' for every byte above 126.
inline std::string as_utf8(std::string text, size_t most_bytes) {
  if (text.size() > most_bytes) text.resize(most_bytes);
  if (is_utf8(text)) return text;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) > 126) c = '?';
  }
  return text;
}

}  // namespace frit::tuner
