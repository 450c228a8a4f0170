#include "device/eh_frame.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "base/text.h"
#include "base/try.h"

namespace frit::device {

namespace {

// DWARF pointer encodings, of which compilers use these three for code addresses: relative to the place, and
// absolute in 8 bytes, signed 4 or signed 8.
constexpr uint8_t kPcRelAbs8 = 0x10;
constexpr uint8_t kPcRel4 = 0x1b;
constexpr uint8_t kPcRel8 = 0x1c;

template <class... Parts>
Error bad(const Parts&... parts) {
  return make_error(Code::kCorrupt, base::text_of("object: unwind table: ", parts...));
}

// Reads forward over one entry; every read fails past its end.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  std::optional<T> read() {
    if (sizeof(T) > bytes_.size() - at_) return std::nullopt;
    T out;
    std::memcpy(&out, bytes_.data() + at_, sizeof out);
    at_ += sizeof out;
    return out;
  }
  std::optional<std::string_view> read_string() {
    const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes_.size() - at_);
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    at_ += end + 1;
    return rest.substr(0, end);
  }
  // An LEB128 number of at most 5 bytes; its value where it is small, which is all that is needed here.
  std::optional<uint32_t> read_leb() {
    uint32_t value = 0;
    for (int i = 0; i < 5; ++i) {
      const std::optional<uint8_t> byte = read<uint8_t>();
      if (!byte) return std::nullopt;
      if (i < 4) value |= static_cast<uint32_t>(*byte & 0x7f) << (7 * i);
      if (!(*byte & 0x80)) return value;
    }
    return std::nullopt;
  }
  size_t position() const { return at_; }
  size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

// The pointer encoding that a CIE states for its FDEs; `body` begins after the id.
Result<uint8_t> check_cie(Cursor body) {
  const std::optional<uint8_t> version = body.read<uint8_t>();
  if (!version || (*version != 1 && *version != 3)) return bad("unknown version of a CIE");
  const std::optional<std::string_view> augmentation = body.read_string();
  if (!augmentation || augmentation->substr(0, 2) != "zR" ||
      augmentation->substr(2).find_first_not_of("SB") != std::string_view::npos) {
    return bad("augmentation ", augmentation ? base::quoted(*augmentation) : "without end",
               ", expected \"zR\"");
  }
  const bool factors = body.read_leb() && body.read_leb();
  // The return address column is a byte in version 1, an LEB128 number in version 3.
  const bool column = *version == 1 ? body.read<uint8_t>().has_value() : body.read_leb().has_value();
  const std::optional<uint32_t> data_bytes = factors && column ? body.read_leb() : std::nullopt;
  if (!data_bytes || *data_bytes != 1) return bad("a CIE with unexpected data");
  const std::optional<uint8_t> encoding = body.read<uint8_t>();
  if (!encoding) return bad("a CIE ends early");
  if (*encoding != kPcRelAbs8 && *encoding != kPcRel4 && *encoding != kPcRel8) {
    return bad("pointer encoding ", *encoding, " is not relative to the place");
  }
  return *encoding;
}

// `place` is the run-time address of the body's first byte (the code address).
Status check_fde(Cursor body, uint8_t encoding, uint64_t place, uint64_t code_begin, uint64_t code_end) {
  std::optional<uint64_t> begin, length;
  if (encoding == kPcRel4) {
    if (const std::optional<int32_t> relative = body.read<int32_t>()) {
      begin = place + static_cast<uint64_t>(int64_t{*relative});
    }
    if (const std::optional<int32_t> count = body.read<int32_t>(); count && *count >= 0) {
      length = static_cast<uint64_t>(*count);
    }
  } else {
    if (const std::optional<uint64_t> relative = body.read<uint64_t>()) begin = place + *relative;
    length = body.read<uint64_t>();
  }
  const std::optional<uint32_t> data_bytes = body.read_leb();
  if (!begin || !length || !data_bytes || *data_bytes > body.left()) return bad("an FDE ends early");
  if (*begin < code_begin || *begin >= code_end || *length == 0 || *length > code_end - *begin) {
    return bad("an FDE covers what is no code of the object");
  }
  return {};
}

}  // namespace

Status check_eh_frame(std::span<const std::byte> table, uint64_t address, uint64_t code_begin,
                      uint64_t code_end) {
  std::unordered_map<size_t, uint8_t> encodings;  // of the CIEs seen, by offset
  bool has_fde = false;
  size_t at = 0;
  while (at < table.size()) {
    Cursor entry(table.subspan(at));
    const std::optional<uint32_t> length = entry.read<uint32_t>();
    if (!length || *length < 4 || *length == 0xffffffffu || *length > entry.left()) {
      return bad("an entry of bad length at ", at);
    }
    const Cursor whole(table.subspan(at, 4 + size_t{*length}));
    Cursor body = whole;
    body.read<uint32_t>();
    const size_t id_at = at + body.position();
    const uint32_t id = *body.read<uint32_t>();
    if (id == 0) {
      FRIT_ASSIGN(const uint8_t encoding, check_cie(body));
      encodings[at] = encoding;
    } else {
      const auto cie = id <= id_at ? encodings.find(id_at - id) : encodings.end();
      if (cie == encodings.end()) return bad("an FDE without a CIE before it");
      FRIT_TRY(check_fde(body, cie->second, address + at + body.position(), code_begin, code_end));
      has_fde = true;
    }
    at += 4 + size_t{*length};
  }
  // Some unwinders register an address range per table, and have no notion of an empty one.
  if (!has_fde) return bad("no FDE");
  return {};
}

}  // namespace frit::device
