#include "onnx/constants.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "onnx/dtypes.h"

namespace frit::onnx {
namespace {

using base::quoted;
using base::text_of;
using graph::ConstantData;

std::string dims_text(const std::vector<int64_t>& dims) { return "[" + base::join(dims, ",") + "]"; }

Result<size_t> payload_bytes(const std::vector<int64_t>& dims, DType dtype) {
  constexpr uint64_t kLimit = uint64_t{1} << 48;
  uint64_t count = 1;
  bool empty = false;
  for (int64_t d : dims) {
    if (d < 0) return make_error(Code::kBadModel, "shape " + dims_text(dims) + " has a negative dimension");
    empty |= d == 0;
    if (d != 0 && static_cast<uint64_t>(d) > kLimit / count)
      return make_error(Code::kBadModel, "shape " + dims_text(dims) + " is too large");
    if (d != 0) count *= static_cast<uint64_t>(d);
  }
  return empty ? size_t{0} : static_cast<size_t>(count) * dtype_bytes(dtype);
}

// Memory of ours for payloads that cannot be used in place.
std::shared_ptr<ConstantData> own(std::vector<std::byte> bytes) {
  auto holder = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  auto data = std::make_shared<ConstantData>();
  data->bytes = holder->data();
  data->size_bytes = holder->size();
  data->owner = std::move(holder);
  return data;
}

bool is_bool_clean(Bytes payload) {
  return std::all_of(payload.begin(), payload.end(), [](char c) { return c == 0 || c == 1; });
}

// A payload of plain little-endian elements that lies in `source`.
std::shared_ptr<ConstantData> plain(Bytes payload, DType dtype, const Source& source) {
  const size_t offset = payload.empty() ? 0 : static_cast<size_t>(payload.data() - source.bytes.data());
  const bool clean = dtype != DType::kBool || is_bool_clean(payload);
  std::shared_ptr<ConstantData> data;
  if (clean && source.owner != nullptr) {
    data = std::make_shared<ConstantData>();
    data->bytes = reinterpret_cast<const std::byte*>(payload.data());
    data->size_bytes = payload.size();
    data->owner = source.owner;
    data->mapped = source.mapped.get();
  } else {
    std::vector<std::byte> copy(payload.size());
    if (!payload.empty()) std::memcpy(copy.data(), payload.data(), payload.size());
    if (!clean)
      for (std::byte& b : copy) b = std::byte{b != std::byte{0}};
    data = own(std::move(copy));
    // The copy is what is used from here on; the file's pages need not count as ours too.
    if (source.mapped != nullptr) source.mapped->drop_pages(offset, payload.size());
  }
  if (clean) {  // else the file's bytes are not the constant's
    data->origin_file = source.file;
    data->origin_offset = offset;
  }
  return data;
}

// float_data and double_data: pieces of plain bytes.
Result<std::shared_ptr<ConstantData>> joined(const std::vector<Bytes>& pieces, size_t want_bytes, DType dtype,
                                             const Source& source) {
  size_t have = 0;
  for (Bytes piece : pieces) have += piece.size();
  if (have != want_bytes)
    return make_error(Code::kBadModel, text_of("has ", have / dtype_bytes(dtype), " elements, expected ",
                                               want_bytes / dtype_bytes(dtype)));
  if (pieces.size() == 1) return plain(pieces[0], dtype, source);
  std::vector<std::byte> bytes;
  bytes.reserve(have);
  for (Bytes piece : pieces) {
    const auto* first = reinterpret_cast<const std::byte*>(piece.data());
    bytes.insert(bytes.end(), first, first + piece.size());
  }
  return own(std::move(bytes));
}

Result<std::shared_ptr<ConstantData>> narrowed(const std::vector<Bytes>& pieces, size_t want_bytes,
                                               DType dtype) {
  const size_t width = dtype_bytes(dtype), count = want_bytes / width;
  FRIT_ASSIGN(const std::vector<uint64_t> values, decode_varints(pieces, count));
  if (values.size() != count)
    return make_error(Code::kBadModel,
                      text_of("has ", values.size() > count ? "more than " : "",
                              std::min(values.size(), count), " elements, expected ", count));
  std::vector<std::byte> bytes(want_bytes);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t v = dtype == DType::kBool ? uint64_t{values[i] != 0} : values[i];
    std::memcpy(bytes.data() + i * width, &v, width);  // little-endian: the low bytes
  }
  return own(std::move(bytes));
}

Result<std::shared_ptr<ConstantData>> typed(const TensorView& t, DType dtype, size_t want_bytes,
                                            const Source& model) {
  switch (dtype) {
    case DType::kF32:
      return joined(t.float_data, want_bytes, dtype, model);
    case DType::kF64:
      return joined(t.double_data, want_bytes, dtype, model);
    case DType::kI64:
      return narrowed(t.int64_data, want_bytes, dtype);
    case DType::kU32:
    case DType::kU64:
      return narrowed(t.uint64_data, want_bytes, dtype);
    default:
      return narrowed(t.int32_data, want_bytes, dtype);
  }
}

struct Span {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<Span> read_span(const std::vector<KeyValue>& entries) {
  Span span;
  for (const KeyValue& entry : entries) {
    if (entry.key == "location") span.location = std::string(entry.value);
    if (entry.key != "offset" && entry.key != "length") continue;
    const auto number = base::parse_number<uint64_t>(entry.value);
    if (!number)
      return make_error(Code::kBadModel, text_of("external data has ", entry.key, " ", quoted(entry.value),
                                                 ", expected a number"));
    (entry.key == "offset" ? span.offset : span.length.emplace()) = *number;
  }
  if (span.location.empty()) return make_error(Code::kBadModel, "external data has no location");
  return span;
}

Result<std::shared_ptr<ConstantData>> external_payload(const TensorView& t, DType dtype, size_t want_bytes,
                                                       ExternalFiles& files) {
  FRIT_ASSIGN(const Span span, read_span(t.external_data));
  FRIT_ASSIGN(const Source* source, files.open(span.location));
  const auto wrong = [&](const std::string& what) {
    return make_error(Code::kBadModel, text_of("external data ", quoted(span.location), ": ", what));
  };
  if (span.length && *span.length != want_bytes)
    return wrong(text_of("length is ", *span.length, " bytes, expected ", want_bytes));
  const size_t size = source->bytes.size();
  if (span.offset > size || want_bytes > size - span.offset)
    return wrong(text_of("offset ", span.offset, " and length ", want_bytes, " reach past its end (", size,
                         " bytes)"));
  return plain(source->bytes.substr(span.offset, want_bytes), dtype, *source);
}

bool is_inside(const std::string& path, const std::string& folder) {
  if (folder == "/") return true;
  return path.size() > folder.size() + 1 && path.compare(0, folder.size(), folder) == 0 &&
         path[folder.size()] == '/';
}

bool climbs(const std::string& location) {
  for (size_t begin = 0; begin <= location.size();) {
    const size_t end = std::min(location.find('/', begin), location.size());
    if (location.compare(begin, end - begin, "..") == 0) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

Source source_of(std::shared_ptr<const base::MappedFile> mapped, std::string file) {
  return {mapped->text(), mapped, std::move(mapped), std::move(file)};
}
Source source_of(const Buffer& buffer) {
  return {Bytes(reinterpret_cast<const char*>(buffer.data), buffer.size_bytes), buffer.owner, nullptr, {}};
}

Result<const Source*> ExternalFiles::open(const std::string& location) {
  const auto found = open_.find(location);
  if (found != open_.end()) return &found->second;
  Source source;
  if (files_ != nullptr) {
    FRIT_ASSIGN(source, open_file(location));
  } else if (resolver_) {
    FRIT_ASSIGN(const Buffer buffer, resolver_(location).with(text_of("external data ", quoted(location))));
    source = source_of(buffer);
  } else {
    return make_error(Code::kInvalidArgument, text_of("external data ", quoted(location),
                                                      " cannot be found: the model"
                                                      " comes from memory and no resolver was given"));
  }
  return &open_.emplace(location, std::move(source)).first->second;
}

Result<Source> ExternalFiles::open_file(const std::string& location) {
  const auto outside = [&](const char* why) {
    return make_error(Code::kBadModel, text_of("external data ", quoted(location), " ", why))
        .hinted("external data is only read from the model's own folder");
  };
  if (location.front() == '/') return outside("is an absolute path");
  if (climbs(location)) return outside("has '..' in its path");
  if (location.find('\0') != std::string::npos) return outside("has a NUL byte in its path");
  const auto missing = [&](Error error) {
    return std::move(error).with(text_of("external data ", quoted(location)));
  };
  auto folder = files_->canonical(folder_);
  if (!folder.ok()) return missing(std::move(folder).error());
  auto path = files_->canonical(folder_ + "/" + location);
  if (!path.ok()) return missing(std::move(path).error());
  if (!is_inside(*path, *folder)) return outside("is a link that leads out of the model's folder");
  auto mapped = files_->map(*path);
  if (!mapped.ok()) return missing(std::move(mapped).error());
  return source_of(std::make_shared<const base::MappedFile>(*std::move(mapped)), *std::move(path));
}

Result<Constant> read_constant(const TensorView& tensor, const Source& model, ExternalFiles& external) {
  FRIT_ASSIGN(const DType dtype, dtype_from_onnx(tensor.data_type));
  FRIT_ASSIGN(const size_t want_bytes, payload_bytes(tensor.dims, dtype));
  if (tensor.segmented) return make_error(Code::kUnsupported, "tensor is a segment of a larger one");
  std::shared_ptr<ConstantData> data;
  try {
    if (tensor.external) {
      FRIT_ASSIGN(data, external_payload(tensor, dtype, want_bytes, external));
    } else if (tensor.has_raw) {
      if (tensor.raw.size() != want_bytes)
        return make_error(Code::kBadModel,
                          text_of("raw data has ", tensor.raw.size(), " bytes, expected ", want_bytes,
                                  " for ", dtype_name(dtype), dims_text(tensor.dims)));
      data = plain(tensor.raw, dtype, model);
    } else {
      FRIT_ASSIGN(data, typed(tensor, dtype, want_bytes, model));
    }
  } catch (const std::bad_alloc&) {
    return make_error(Code::kOutOfMemory, text_of("no memory for ", want_bytes, " bytes"));
  }
  data->name = std::string(tensor.name);
  Constant out;
  out.type.dtype = dtype;
  for (int64_t d : tensor.dims) out.type.shape.push_back(graph::Dim(d));
  out.data = std::move(data);
  return out;
}

}  // namespace frit::onnx
