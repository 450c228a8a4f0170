// Low level of the ONNX writer: messages as lists of byte pieces, so that weights are written without a copy.
//
// Field numbers are those of wire.cpp. Knows the wire format, not Graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace frit::onnx {

// A message under construction. Views that were added must outlive it.
class MessageWriter {
 public:
  void integer(uint32_t field, int64_t value);
  void float32(uint32_t field, float value);
  void text(uint32_t field, std::string_view value);     // copied
  void payload(uint32_t field, std::string_view bytes);  // not copied
  void packed_integers(uint32_t field, const std::vector<int64_t>& values);
  void packed_floats(uint32_t field, const std::vector<float>& values);
  void message(uint32_t field, MessageWriter&& nested);

  size_t size_bytes() const { return size_bytes_; }
  std::vector<std::string_view> pieces() const;
  std::string joined() const;

 private:
  struct Piece {
    std::string own;  // used when view is empty
    std::string_view view;
  };
  std::string& tail();  // the last piece, one that is ours to append to
  void append(std::string_view bytes);

  std::vector<std::unique_ptr<Piece>> pieces_;  // behind pointers: views into `own` stay valid
  size_t size_bytes_ = 0;
};

}  // namespace frit::onnx
