#include "tuner/store_image.h"

#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace frit::tuner {
namespace {

constexpr size_t kDatabaseHeaderBytes = 100;
constexpr size_t kLogHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr size_t kPageCountOffset = 28;

uint32_t big_endian(std::string_view bytes, size_t at) {
  uint32_t out = 0;
  for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

void put_big_endian(std::string& bytes, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>(value >> (24 - 8 * i));
}

uint32_t little_endian(std::string_view bytes, size_t at) {
  uint32_t out = 0;
  for (size_t i = 4; i-- > 0;) out = out << 8 | static_cast<unsigned char>(bytes[at + i]);
  return out;
}

// The log's running checksum, over pairs of 32-bit words in the byte order that its magic number names.
struct Checksum {
  bool big = false;
  uint32_t s0 = 0, s1 = 0;

  void add(std::string_view bytes) {
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      s0 += (big ? big_endian(bytes, at) : little_endian(bytes, at)) + s1;
      s1 += (big ? big_endian(bytes, at + 4) : little_endian(bytes, at + 4)) + s0;
    }
  }
  bool matches(std::string_view bytes, size_t at) const {
    return big_endian(bytes, at) == s0 && big_endian(bytes, at + 4) == s1;
  }
};

bool is_page_size(uint32_t size) { return size >= 512 && size <= 65536 && (size & (size - 1)) == 0; }

}  // namespace

Result<std::string> image_with_log(std::string database, std::string_view log) {
  const auto applied = [&]() -> Result<std::string> {
    if (database.size() < kDatabaseHeaderBytes || database.compare(0, 15, "SQLite format 3") != 0) {
      return make_error(Code::kCorrupt, "not an SQLite database");
    }
    database[18] = database[19] = 1;  // read and write version: rollback journal
    return std::move(database);
  };
  if (log.size() < kLogHeaderBytes) return applied();
  const uint32_t magic = big_endian(log, 0);
  if ((magic & ~1u) != 0x377f0682u) return applied();
  const uint32_t page_size = big_endian(log, 8);
  Checksum sum{(magic & 1) != 0};
  sum.add(log.substr(0, 24));
  if (!is_page_size(page_size) || !sum.matches(log, 24)) return applied();

  const size_t frame_size = kFrameHeaderBytes + page_size;
  std::unordered_map<uint32_t, size_t> pending,
      committed;  // page number -> offset of its newest content in the log
  uint32_t pages = 0;
  for (size_t at = kLogHeaderBytes; log.size() - at >= frame_size; at += frame_size) {
    const std::string_view frame = log.substr(at, frame_size);
    const uint32_t page = big_endian(frame, 0);
    if (page == 0 || frame.compare(8, 8, log.substr(16, 8)) != 0) break;
    sum.add(frame.substr(0, 8));
    sum.add(frame.substr(kFrameHeaderBytes));
    if (!sum.matches(frame, 16)) break;
    pending[page] = at + kFrameHeaderBytes;
    if (const uint32_t size_after = big_endian(frame, 4); size_after != 0) {
      for (const auto& [number, offset] : pending) committed[number] = offset;
      pending.clear();
      pages = size_after;
    }
  }
  if (pages == 0) return applied();
  constexpr uint64_t kLargest = uint64_t{1} << 30;
  if (uint64_t{pages} * page_size > kLargest) return make_error(Code::kUnsupported, "larger than 1 GiB");
  database.resize(size_t{pages} * page_size, '\0');
  for (const auto& [number, offset] : committed) {
    if (number > pages) continue;  // the file shrank in a later transaction
    std::memcpy(database.data() + size_t{number - 1} * page_size, log.data() + offset, page_size);
  }
  put_big_endian(database, kPageCountOffset, pages);
  return applied();
}

}  // namespace frit::tuner
