#include "graph/element_text.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "base/text.h"

namespace frit::graph {
namespace {

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
bool store(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return true;
}

std::string hex(uint64_t bits) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, bits, 16);
  return "0x" + std::string(text, end.ptr);
}

std::optional<uint64_t> parse_hex(std::string_view text) {
  if (text.substr(0, 2) != "0x") return std::nullopt;
  uint64_t bits = 0;
  const auto end = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (text.size() == 2 || end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return bits;
}

// `value` is the exact value, as float or double; `usual` the bits of the type's ordinary NaN.
template <class Wide>
std::string floating_text(Wide value, uint64_t bits, uint64_t usual) {
  if (!std::isnan(value)) return base::text_of(value);
  return bits == usual ? "nan" : "nan:" + hex(bits);
}

// "nan" and "nan:0x..." as bits; none for anything else, and for bits that are not a NaN.
std::optional<uint64_t> parse_nan(std::string_view text, uint64_t usual, uint64_t infinity, uint64_t sign) {
  if (text == "nan") return usual;
  if (text.substr(0, 4) != "nan:") return std::nullopt;
  const auto bits = parse_hex(text.substr(4));
  if (!bits || (*bits & ~sign) <= infinity || (*bits & ~(sign | (sign - 1))) != 0) return std::nullopt;
  return bits;
}

template <class Wide>
std::optional<Wide> parse_number(std::string_view text) {
  const auto value = base::parse_number<Wide>(text);
  // from_chars knows "nan(...)" and "infinity" too; the canonical text has one spelling for each.
  if (!value || std::isnan(*value) || (std::isinf(*value) && text != "inf" && text != "-inf"))
    return std::nullopt;
  return value;
}

template <class T>
bool parse_integer(std::string_view text, std::byte* out) {
  const auto value = base::parse_number<T>(text);
  return value && store(out, *value);
}

}  // namespace

std::string float_text(float value) {
  return floating_text(value, std::bit_cast<uint32_t>(value), 0x7fc00000);
}

std::optional<float> parse_float(std::string_view text) {
  if (const auto bits = parse_nan(text, 0x7fc00000, 0x7f800000, 0x80000000)) {
    return std::bit_cast<float>(static_cast<uint32_t>(*bits));
  }
  return parse_number<float>(text);
}

std::string element_text(DType dtype, const std::byte* bytes) {
  switch (dtype) {
    case DType::kF32:
      return float_text(load<float>(bytes));
    case DType::kF64:
      return floating_text(load<double>(bytes), load<uint64_t>(bytes), 0x7ff8000000000000);
    case DType::kF16:
      return floating_text(base::f16_to_float(load<uint16_t>(bytes)), load<uint16_t>(bytes), 0x7e00);
    case DType::kBF16:
      return floating_text(base::bf16_to_float(load<uint16_t>(bytes)), load<uint16_t>(bytes), 0x7fc0);
    case DType::kI8:
      return base::text_of(load<int8_t>(bytes));
    case DType::kI16:
      return base::text_of(load<int16_t>(bytes));
    case DType::kI32:
      return base::text_of(load<int32_t>(bytes));
    case DType::kI64:
      return base::text_of(load<int64_t>(bytes));
    case DType::kU8:
      return base::text_of(load<uint8_t>(bytes));
    case DType::kU16:
      return base::text_of(load<uint16_t>(bytes));
    case DType::kU32:
      return base::text_of(load<uint32_t>(bytes));
    case DType::kU64:
      return base::text_of(load<uint64_t>(bytes));
    case DType::kBool:
      return load<uint8_t>(bytes) != 0 ? "true" : "false";
  }
  return "invalid";
}

bool parse_element(DType dtype, std::string_view text, std::byte* out) {
  switch (dtype) {
    case DType::kF32: {
      const auto value = parse_float(text);
      return value && store(out, std::bit_cast<uint32_t>(*value));
    }
    case DType::kF64: {
      if (const auto bits = parse_nan(text, 0x7ff8000000000000, 0x7ff0000000000000, uint64_t{1} << 63)) {
        return store(out, *bits);
      }
      const auto value = parse_number<double>(text);
      return value && store(out, *value);
    }
    case DType::kF16: {
      if (const auto bits = parse_nan(text, 0x7e00, 0x7c00, 0x8000))
        return store(out, static_cast<uint16_t>(*bits));
      const auto value = parse_number<double>(text);
      return value && store(out, base::double_to_f16(*value));
    }
    case DType::kBF16: {
      if (const auto bits = parse_nan(text, 0x7fc0, 0x7f80, 0x8000))
        return store(out, static_cast<uint16_t>(*bits));
      const auto value = parse_number<double>(text);
      return value && store(out, base::double_to_bf16(*value));
    }
    case DType::kI8:
      return parse_integer<int8_t>(text, out);
    case DType::kI16:
      return parse_integer<int16_t>(text, out);
    case DType::kI32:
      return parse_integer<int32_t>(text, out);
    case DType::kI64:
      return parse_integer<int64_t>(text, out);
    case DType::kU8:
      return parse_integer<uint8_t>(text, out);
    case DType::kU16:
      return parse_integer<uint16_t>(text, out);
    case DType::kU32:
      return parse_integer<uint32_t>(text, out);
    case DType::kU64:
      return parse_integer<uint64_t>(text, out);
    case DType::kBool:
      return (text == "true" || text == "false") && store(out, static_cast<uint8_t>(text == "true"));
  }
  return false;
}

}  // namespace frit::graph
