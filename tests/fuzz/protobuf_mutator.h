// Damages protobuf messages without breaking their framing: fields are changed, dropped, doubled, moved and
// swapped at any depth, and lengths are made right again. Random damage of bytes almost never gets past the
// outer lengths.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace frit::fuzz {

struct Field {
  uint64_t key = 0;     // number << 3 | wire type
  uint64_t number = 0;  // of wire types 0, 1 and 5
  std::string bytes;    // of wire type 2, when it is no message
  std::vector<Field> message;
  bool is_message = false;
};
using Message = std::vector<Field>;

inline bool read_varint(std::string_view& in, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

inline std::optional<Message> read_message(std::string_view in, int depth = 0) {
  Message out;
  while (!in.empty()) {
    Field f;
    if (!read_varint(in, f.key) || f.key >> 3 == 0 || f.key >> 3 > 64) return std::nullopt;
    const uint64_t wire = f.key & 7;
    if (wire == 0) {
      if (!read_varint(in, f.number)) return std::nullopt;
    } else if (wire == 1 || wire == 5) {
      const size_t width = wire == 1 ? 8 : 4;
      if (in.size() < width) return std::nullopt;
      std::memcpy(&f.number, in.data(), width);
      in.remove_prefix(width);
    } else if (wire == 2) {
      uint64_t length = 0;
      if (!read_varint(in, length) || length > in.size()) return std::nullopt;
      const std::string_view payload = in.substr(0, length);
      in.remove_prefix(length);
      // Names are sometimes messages by accident; that only makes for other damage.
      if (auto nested = depth < 8 && !payload.empty() ? read_message(payload, depth + 1) : std::nullopt) {
        f.message = *std::move(nested);
        f.is_message = true;
      } else {
        f.bytes = payload;
      }
    } else {
      return std::nullopt;
    }
    out.push_back(std::move(f));
  }
  return out;
}

inline void write_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline std::string write_message(const Message& message) {
  std::string out;
  for (const Field& f : message) {
    write_varint(out, f.key);
    switch (f.key & 7) {
      case 0:
        write_varint(out, f.number);
        break;
      case 1:
        out.append(reinterpret_cast<const char*>(&f.number), 8);
        break;
      case 5:
        out.append(reinterpret_cast<const char*>(&f.number), 4);
        break;
      default: {
        const std::string payload = f.is_message ? write_message(f.message) : f.bytes;
        write_varint(out, payload.size());
        out += payload;
      }
    }
  }
  return out;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }

  // One change somewhere in the message; `donor` lends fields.
  void change(Message& message, const Message& donor) {
    Message* at = descend(message);
    if (at->empty()) return;
    const size_t i = below(at->size());
    Field& f = (*at)[i];
    switch (below(9)) {
      case 0:
        at->erase(at->begin() + static_cast<int64_t>(i));
        break;
      case 1:
        at->insert(at->begin() + static_cast<int64_t>(below(at->size())), Field(f));
        break;
      case 2:
        std::swap(f, (*at)[below(at->size())]);
        break;
      case 3: {  // a field of the same kind from elsewhere
        const Message* from = &donor;
        for (int steps = 0; steps < 6; ++steps) {
          if (from->empty()) return;
          const Field& other = (*from)[below(from->size())];
          if (other.key == f.key) {
            f = other;
            return;
          }
          from = other.is_message ? &other.message : &donor;
        }
        break;
      }
      case 4:
        f.key = (f.key & 7) | (1 + below(26)) << 3;
        break;
      default:
        change_value(f);
    }
  }

 private:
  Message* descend(Message& message) {
    Message* at = &message;
    for (int depth = 0; depth < 10; ++depth) {
      if (at->empty()) return at;
      Field& f = (*at)[below(at->size())];
      if (!f.is_message || below(8) == 0) return at;
      at = &f.message;
    }
    return at;
  }

  void change_value(Field& f) {
    constexpr uint64_t kNumbers[] = {
        0,          1,          2,          3,          4,          5,     7,     8,     9,          11,
        13,         16,         17,         64,         127,        128,   255,   65535, 0x7fffffff, 1 << 20,
        0x80000000, 0xffffffff, 1ull << 40, 1ull << 62, 1ull << 63, ~0ull, ~1ull, ~2ull};
    switch (f.key & 7) {
      case 2: {
        if (f.is_message) return;
        if (f.bytes.empty() || below(4) == 0) {
          f.bytes.resize(below(20), static_cast<char>('a' + below(26)));
        } else if (below(2) == 0) {
          f.bytes[below(f.bytes.size())] = static_cast<char>(random_());
        } else if (f.bytes.size() % 8 == 0 && below(2) == 0) {  // a raw number: shapes, axes, scales
          const uint64_t number = kNumbers[below(std::size(kNumbers))];
          std::memcpy(f.bytes.data() + below(f.bytes.size() / 8) * 8, &number, 8);
        } else {
          f.bytes.resize(below(f.bytes.size() + 9));
        }
        break;
      }
      case 5: {
        const float numbers[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 1e30f, 1e-30f, INFINITY, -INFINITY, NAN};
        const float number = numbers[below(std::size(numbers))];
        f.number = 0;
        std::memcpy(&f.number, &number, sizeof number);
        break;
      }
      default:
        f.number = below(3) == 0 ? f.number + below(5) - 2 : kNumbers[below(std::size(kNumbers))];
    }
  }

  std::mt19937_64 random_;
};

}  // namespace frit::fuzz
