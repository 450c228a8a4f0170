#include "onnx/writer.h"

#include <protozero/pbf_writer.hpp>

namespace frit::onnx {

std::string& MessageWriter::tail() {
  if (pieces_.empty() || !pieces_.back()->view.empty()) pieces_.push_back(std::make_unique<Piece>());
  return pieces_.back()->own;
}
void MessageWriter::append(std::string_view bytes) {
  tail() += bytes;
  size_bytes_ += bytes.size();
}

void MessageWriter::integer(uint32_t field, int64_t value) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_int64(field, value);
  append(bytes);
}
void MessageWriter::float32(uint32_t field, float value) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_float(field, value);
  append(bytes);
}
void MessageWriter::text(uint32_t field, std::string_view value) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_string(field, value.data(), value.size());
  append(bytes);
}
void MessageWriter::packed_integers(uint32_t field, const std::vector<int64_t>& values) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_packed_int64(field, values.begin(), values.end());
  append(bytes);
}
void MessageWriter::packed_floats(uint32_t field, const std::vector<float>& values) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_packed_float(field, values.begin(), values.end());
  append(bytes);
}

namespace {

// Tag and length of a length-delimited field; protozero's writer would cut the length to 32 bits.
std::string prefix(uint32_t field, size_t length) {
  std::string bytes;
  protozero::add_varint_to_buffer(&bytes, uint64_t{field} << 3 | 2);
  protozero::add_varint_to_buffer(&bytes, length);
  return bytes;
}

}  // namespace

void MessageWriter::payload(uint32_t field, std::string_view bytes) {
  append(prefix(field, bytes.size()));
  if (bytes.empty()) return;
  pieces_.push_back(std::make_unique<Piece>(Piece{{}, bytes}));
  size_bytes_ += bytes.size();
}

void MessageWriter::message(uint32_t field, MessageWriter&& nested) {
  append(prefix(field, nested.size_bytes_));
  for (std::unique_ptr<Piece>& piece : nested.pieces_) {
    if (piece->view.empty()) {
      append(piece->own);
    } else {
      pieces_.push_back(std::move(piece));
      size_bytes_ += pieces_.back()->view.size();
    }
  }
  nested.pieces_.clear();
  nested.size_bytes_ = 0;
}

std::vector<std::string_view> MessageWriter::pieces() const {
  std::vector<std::string_view> out;
  for (const auto& piece : pieces_)
    out.push_back(piece->view.empty() ? std::string_view(piece->own) : piece->view);
  return out;
}

std::string MessageWriter::joined() const {
  std::string out;
  out.reserve(size_bytes_);
  for (const std::string_view piece : pieces()) out += piece;
  return out;
}

}  // namespace frit::onnx
