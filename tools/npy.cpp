#include "npy.h"

#include <cstring>
#include <optional>

#include "base/text.h"
#include "base/try.h"

namespace frit::tools {

namespace {

constexpr char kMagic[] = "\x93NUMPY";

struct Descr {
  const char* text;
  DType dtype;
};
constexpr Descr kDescrs[] = {{"<f4", DType::kF32}, {"<f8", DType::kF64}, {"<f2", DType::kF16},
                             {"|i1", DType::kI8},  {"<i2", DType::kI16}, {"<i4", DType::kI32},
                             {"<i8", DType::kI64}, {"|u1", DType::kU8},  {"<u2", DType::kU16},
                             {"<u4", DType::kU32}, {"<u8", DType::kU64}, {"|b1", DType::kBool}};

std::string field(const std::string& header, const std::string& name) {
  const size_t at = header.find("'" + name + "':");
  if (at == std::string::npos) return {};
  size_t begin = at + name.size() + 3;
  while (begin < header.size() && header[begin] == ' ') ++begin;
  const char close = header[begin] == '(' ? ')' : ',';
  return header.substr(begin, header.find(close, begin) - begin + (close == ')'));
}

}  // namespace

Result<Tensor> read_npy(base::FileSystem& files, const std::string& path) {
  FRIT_ASSIGN(const std::string bytes, files.read(path));
  auto bad = [&](std::string why) {
    return make_error(Code::kIo, path + ": not a readable .npy file: " + std::move(why));
  };
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kMagic, 6) != 0) return bad("no NUMPY magic");
  const int major = static_cast<unsigned char>(bytes[6]);
  uint32_t length = 0;
  size_t start = 10;
  if (major == 1) {
    uint16_t n = 0;
    std::memcpy(&n, bytes.data() + 8, 2);
    length = n;
  } else {
    if (bytes.size() < 12) return bad("truncated header");
    std::memcpy(&length, bytes.data() + 8, 4);
    start = 12;
  }
  if (bytes.size() < start + length) return bad("truncated header");
  const std::string header = bytes.substr(start, length);
  std::string descr = field(header, "descr");
  if (descr.size() >= 2) descr = descr.substr(1, descr.size() - 2);
  std::optional<DType> dtype;
  for (const Descr& d : kDescrs)
    if (descr == d.text) dtype = d.dtype;
  if (!dtype) return bad("element type '" + descr + "' is not one of frit's, little-endian");
  if (field(header, "fortran_order") != "False") return bad("Fortran order, expected C order");
  std::vector<int64_t> shape;
  std::string tuple = field(header, "shape");
  for (size_t at = 1; at < tuple.size();) {
    const size_t end = tuple.find_first_of(",)", at);
    std::string word = tuple.substr(at, end - at);
    word.erase(0, word.find_first_not_of(' '));
    if (!word.empty()) {
      const auto n = base::parse_number<int64_t>(word);
      if (!n || *n < 0) return bad("shape " + tuple);
      shape.push_back(*n);
    }
    at = end == std::string::npos ? tuple.size() : end + 1;
  }
  FRIT_ASSIGN(Tensor tensor, Tensor::allocate(*dtype, shape));
  if (bytes.size() - start - length != tensor.size_bytes())
    return bad(base::text_of("has ", bytes.size() - start - length, " bytes of data, expected ",
                             tensor.size_bytes()));
  std::memcpy(tensor.bytes(), bytes.data() + start + length, tensor.size_bytes());
  return tensor;
}

Status write_npy(base::FileSystem& files, const std::string& path, const Tensor& tensor) {
  const char* descr = nullptr;
  for (const Descr& d : kDescrs)
    if (d.dtype == tensor.dtype()) descr = d.text;
  if (!descr)
    return make_error(Code::kUnsupported, path + ": numpy has no element type " + dtype_name(tensor.dtype()))
        .hinted("--format pb writes any type");
  std::string shape = "(";
  for (int64_t d : tensor.shape()) shape += std::to_string(d) + ",";
  shape += ")";
  std::string header =
      std::string("{'descr': '") + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes(kMagic, 6);
  bytes += '\1';
  bytes += '\0';
  const auto length = static_cast<uint16_t>(header.size());
  bytes.append(reinterpret_cast<const char*>(&length), 2);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes());
  return files.write_atomic(path, bytes);
}

}  // namespace frit::tools
