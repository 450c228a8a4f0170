// Reader of the protobuf wire format. protozero decodes varints and its exceptions end here; the field loop
// is our own because protozero's reader cuts lengths to 32 bits and asserts on wire types that a hostile file
// may choose.
#include "onnx/wire.h"

#include <bit>
#include <cstring>
#include <new>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>
#include <utility>

namespace frit::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are used in place");

// Thrown and caught inside this file only.
struct Malformed {
  std::string where;  // "graph.node[3].attribute[0]"
  const char* at;
  const char* what;
};

enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// A case label: field number and wire type together, so that a known field of a wrong type is skipped as
// unknown.
constexpr uint64_t varint(uint64_t field) { return field << 3 | kVarint; }
constexpr uint64_t bytes(uint64_t field) { return field << 3 | kBytes; }
constexpr uint64_t fixed32(uint64_t field) { return field << 3 | kFixed32; }
constexpr uint64_t fixed64(uint64_t field) { return field << 3 | kFixed64; }

uint64_t read_varint(const char*& p, const char* end) {
  try {
    return protozero::decode_varint(&p, end);
  } catch (const protozero::varint_too_long_exception&) {
    throw Malformed{{}, p, "varint too long"};
  } catch (const protozero::exception&) {
    throw Malformed{{}, p, "truncated"};
  }
}

// The fields of one message, one after the other; next() reads the whole field.
class Fields {
 public:
  explicit Fields(Bytes message) : p_(message.data()), end_(message.data() + message.size()) {}

  bool next() {
    if (p_ == end_) return false;
    const char* start = p_;
    key_ = read_varint(p_, end_);
    if (key_ >> 3 == 0 || key_ >> 32 != 0) throw Malformed{{}, start, "invalid field number"};
    switch (key_ & 7) {
      case kVarint: {
        const char* first = p_;
        value_ = read_varint(p_, end_);
        payload_ = Bytes(first, static_cast<size_t>(p_ - first));
        break;
      }
      case kFixed64:
        take(8, start);
        break;
      case kFixed32:
        take(4, start);
        break;
      case kBytes: {
        const uint64_t length = read_varint(p_, end_);
        take(length, start);
        break;
      }
      default:
        throw Malformed{{}, start, "invalid wire type"};
    }
    return true;
  }

  uint64_t key() const { return key_; }
  Bytes payload() const { return payload_; }
  int64_t integer() const { return static_cast<int64_t>(value_); }
  int32_t integer32() const { return static_cast<int32_t>(static_cast<uint32_t>(value_)); }
  float float32() const {
    float f;
    std::memcpy(&f, payload_.data(), sizeof f);
    return f;
  }
  // A name. Names end up in messages and JSON, so they must be text.
  Bytes text() const;

 private:
  void take(uint64_t length, const char* start) {
    if (length > static_cast<uint64_t>(end_ - p_)) throw Malformed{{}, start, "truncated"};
    payload_ = Bytes(p_, static_cast<size_t>(length));
    p_ += length;
  }

  const char* p_;
  const char* end_;
  uint64_t key_ = 0, value_ = 0;
  Bytes payload_;
};

bool is_utf8(Bytes text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    const int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    if (c < 0xC2 || c > 0xF4 || text.size() - i <= static_cast<size_t>(more)) return false;
    uint32_t code = c & (0x3Fu >> more);
    for (int k = 1; k <= more; ++k) {
      const auto b = static_cast<unsigned char>(text[i + static_cast<size_t>(k)]);
      if ((b & 0xC0) != 0x80) return false;
      code = code << 6 | (b & 0x3Fu);
    }
    constexpr uint32_t kFirst[] = {0, 0x80, 0x800, 0x10000};
    if (code < kFirst[more] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    i += static_cast<size_t>(more) + 1;
  }
  return true;
}

Bytes Fields::text() const {
  if (!is_utf8(payload_)) throw Malformed{{}, payload_.data(), "name is not valid UTF-8"};
  return payload_;
}

// Runs `read` on a nested message and puts its place in front of whatever goes wrong in it.
template <class Read>
auto nested(const char* field, Read&& read) {
  try {
    return read();
  } catch (Malformed& bad) {
    bad.where = bad.where.empty() ? field : std::string(field) + "." + bad.where;
    throw;
  }
}
template <class Read>
auto nested(const char* field, size_t index, Read&& read) {
  try {
    return read();
  } catch (Malformed& bad) {
    const std::string here = std::string(field) + "[" + std::to_string(index) + "]";
    bad.where = bad.where.empty() ? here : here + "." + bad.where;
    throw;
  }
}

void append_varints(Bytes packed, std::vector<int64_t>& out) {
  const char* p = packed.data();
  const char* end = p + packed.size();
  while (p != end) out.push_back(static_cast<int64_t>(read_varint(p, end)));
}

void append_floats(Bytes packed, std::vector<float>& out) {
  if (packed.size() % sizeof(float) != 0) throw Malformed{{}, packed.data(), "packed floats are cut off"};
  const size_t count = packed.size() / sizeof(float), old = out.size();
  out.resize(old + count);
  if (count != 0) std::memcpy(out.data() + old, packed.data(), packed.size());
}

KeyValue read_key_value(Bytes message) {
  KeyValue out;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes(1)) out.key = f.payload();
    if (f.key() == bytes(2)) out.value = f.payload();
  }
  return out;
}

TensorView read_tensor(Bytes message) {
  TensorView out;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case varint(1):
        out.dims.push_back(f.integer());
        break;
      case bytes(1):
        append_varints(f.payload(), out.dims);
        break;
      case varint(2):
        out.data_type = f.integer32();
        break;
      case bytes(3):
        out.segmented = true;
        break;
      case fixed32(4):
      case bytes(4):
        out.float_data.push_back(f.payload());
        break;
      case varint(5):
      case bytes(5):
        out.int32_data.push_back(f.payload());
        break;
      case bytes(6):
        out.string_data.push_back(f.payload());
        break;
      case varint(7):
      case bytes(7):
        out.int64_data.push_back(f.payload());
        break;
      case bytes(8):
        out.name = f.text();
        break;
      case bytes(9):
        out.has_raw = true;
        out.raw = f.payload();
        break;
      case fixed64(10):
      case bytes(10):
        out.double_data.push_back(f.payload());
        break;
      case varint(11):
      case bytes(11):
        out.uint64_data.push_back(f.payload());
        break;
      case bytes(13):
        out.external_data.push_back(
            nested("external_data", out.external_data.size(), [&] { return read_key_value(f.payload()); }));
        break;
      case varint(14):
        out.external = f.integer() == 1;
        break;
      default:
        break;
    }
  }
  return out;
}

AttributeView read_attribute(Bytes message) {
  AttributeView out;
  AttributeType seen = AttributeType::kUndefined;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes(1):
        out.name = f.text();
        break;
      case fixed32(2):
        out.f = f.float32();
        seen = AttributeType::kFloat;
        break;
      case varint(3):
        out.i = f.integer();
        seen = AttributeType::kInt;
        break;
      case bytes(4):
        out.s = f.payload();
        seen = AttributeType::kString;
        break;
      case bytes(5):
        out.t = std::make_shared<const TensorView>(nested("t", [&] { return read_tensor(f.payload()); }));
        seen = AttributeType::kTensor;
        break;
      case bytes(6):
        out.g = f.payload();
        seen = AttributeType::kGraph;
        break;
      case fixed32(7):
        out.floats.push_back(f.float32());
        seen = AttributeType::kFloats;
        break;
      case bytes(7):
        append_floats(f.payload(), out.floats);
        seen = AttributeType::kFloats;
        break;
      case varint(8):
        out.ints.push_back(f.integer());
        seen = AttributeType::kInts;
        break;
      case bytes(8):
        append_varints(f.payload(), out.ints);
        seen = AttributeType::kInts;
        break;
      case bytes(9):
        out.strings.push_back(f.payload());
        seen = AttributeType::kStrings;
        break;
      case bytes(10):
        seen = AttributeType::kTensors;
        break;
      case bytes(11):
        seen = AttributeType::kGraphs;
        break;
      case bytes(14):
        seen = AttributeType::kType;
        break;
      case bytes(15):
        seen = AttributeType::kTypes;
        break;
      case varint(20):
        out.type = static_cast<AttributeType>(f.integer32());
        break;
      case bytes(21):
        out.ref_attr_name = f.text();
        break;
      case bytes(22):
        seen = AttributeType::kSparseTensor;
        break;
      case bytes(23):
        seen = AttributeType::kSparseTensors;
        break;
      default:
        break;
    }
  }
  if (out.type == AttributeType::kUndefined) out.type = seen;
  if (out.type == AttributeType::kTensor && out.t == nullptr && out.ref_attr_name.empty())
    throw Malformed{{}, message.data(), "attribute of type tensor has no tensor"};
  return out;
}

NodeView read_node(Bytes message) {
  NodeView out;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes(1):
        out.inputs.push_back(f.text());
        break;
      case bytes(2):
        out.outputs.push_back(f.text());
        break;
      case bytes(3):
        out.name = f.text();
        break;
      case bytes(4):
        out.op_type = f.text();
        break;
      case bytes(5):
        out.attributes.push_back(
            nested("attribute", out.attributes.size(), [&] { return read_attribute(f.payload()); }));
        break;
      case bytes(7):
        out.domain = f.text();
        break;
      case bytes(8):
        out.overload = f.text();
        break;
      default:
        break;
    }
  }
  return out;
}

std::vector<DimView> read_shape(Bytes message) {
  std::vector<DimView> dims;
  for (Fields f(message); f.next();) {
    if (f.key() != bytes(1)) continue;
    DimView dim;
    nested("dim", dims.size(), [&] {
      for (Fields d(f.payload()); d.next();) {
        if (d.key() == varint(1)) dim = {true, d.integer(), {}};
        if (d.key() == bytes(2)) dim = {false, 0, d.text()};
      }
    });
    dims.push_back(dim);
  }
  return dims;
}

TypeView read_type(Bytes message) {
  using Kind = TypeView::Kind;
  TypeView out;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes(1):
      case bytes(8):
        out.kind = f.key() == bytes(1) ? Kind::kTensor : Kind::kSparseTensor;
        for (Fields t(f.payload()); t.next();) {
          if (t.key() == varint(1)) out.elem_type = t.integer32();
          if (t.key() == bytes(2)) {
            out.has_shape = true;
            out.dims = nested("shape", [&] { return read_shape(t.payload()); });
          }
        }
        break;
      case bytes(4):
      case bytes(9):
        out.kind = f.key() == bytes(4) ? Kind::kSequence : Kind::kOptional;
        for (Fields t(f.payload()); t.next();)
          if (t.key() == bytes(1)) out.element = t.payload();
        break;
      case bytes(5):
        out.kind = Kind::kMap;
        break;
      case bytes(7):
        out.kind = Kind::kOpaque;
        break;
      default:
        break;
    }
  }
  return out;
}

ValueInfoView read_value_info(Bytes message) {
  ValueInfoView out;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes(1)) out.name = f.text();
    if (f.key() == bytes(2)) out.type = nested("type", [&] { return read_type(f.payload()); });
  }
  return out;
}

GraphView read_graph(Bytes message) {
  GraphView out;
  const auto value_info = [](const char* field, std::vector<ValueInfoView>& list, Bytes payload) {
    list.push_back(nested(field, list.size(), [&] { return read_value_info(payload); }));
  };
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes(1):
        out.nodes.push_back(nested("node", out.nodes.size(), [&] { return read_node(f.payload()); }));
        break;
      case bytes(2):
        out.name = f.text();
        break;
      case bytes(5):
        out.initializers.push_back(
            nested("initializer", out.initializers.size(), [&] { return read_tensor(f.payload()); }));
        break;
      case bytes(11):
        value_info("input", out.inputs, f.payload());
        break;
      case bytes(12):
        value_info("output", out.outputs, f.payload());
        break;
      case bytes(13):
        value_info("value_info", out.value_info, f.payload());
        break;
      case bytes(15):
        out.has_sparse_initializer = true;
        break;
      default:
        break;
    }
  }
  return out;
}

OpsetView read_opset(Bytes message) {
  OpsetView out;
  for (Fields f(message); f.next();) {
    if (f.key() == bytes(1)) out.domain = f.text();
    if (f.key() == varint(2)) out.version = f.integer();
  }
  return out;
}

FunctionView read_function(Bytes message) {
  FunctionView out;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case bytes(1):
        out.name = f.text();
        break;
      case bytes(4):
        out.inputs.push_back(f.text());
        break;
      case bytes(5):
        out.outputs.push_back(f.text());
        break;
      case bytes(6):
        out.attributes.push_back(f.text());
        break;
      case bytes(7):
        out.nodes.push_back(nested("node", out.nodes.size(), [&] { return read_node(f.payload()); }));
        break;
      case bytes(9):
        out.opsets.push_back(nested("opset_import", [&] { return read_opset(f.payload()); }));
        break;
      case bytes(10):
        out.domain = f.text();
        break;
      case bytes(11):
        out.default_attributes.push_back(nested("attribute_proto", out.default_attributes.size(),
                                                [&] { return read_attribute(f.payload()); }));
        break;
      case bytes(13):
        out.overload = f.text();
        break;
      default:
        break;
    }
  }
  return out;
}

ModelView read_model(Bytes message) {
  ModelView out;
  for (Fields f(message); f.next();) {
    switch (f.key()) {
      case varint(1):
        out.ir_version = f.integer();
        break;
      case bytes(2):
        out.producer_name = f.text();
        break;
      case bytes(3):
        out.producer_version = f.text();
        break;
      case bytes(7):
        out.has_graph = true;
        out.graph = nested("graph", [&] { return read_graph(f.payload()); });
        break;
      case bytes(8):
        out.opsets.push_back(nested("opset_import", [&] { return read_opset(f.payload()); }));
        break;
      case bytes(14):
        out.metadata.push_back(nested("metadata_props", [&] { return read_key_value(f.payload()); }));
        break;
      case bytes(25):
        out.functions.push_back(
            nested("functions", out.functions.size(), [&] { return read_function(f.payload()); }));
        break;
      default:
        break;
    }
  }
  return out;
}

// Runs a reader over a whole message; what it throws becomes an Error.
template <class T>
Result<T> parse(Bytes message, const char* kind, T (*read)(Bytes)) {
  try {
    return read(message);
  } catch (const Malformed& bad) {
    std::string text = std::string("not a valid ONNX ") + kind + ": " + bad.what;
    if (!bad.where.empty()) text += " in " + bad.where;
    return make_error(Code::kBadModel, text + " at byte " + std::to_string(bad.at - message.data()));
  } catch (const std::bad_alloc&) {
    return make_error(Code::kOutOfMemory, std::string("out of memory while reading the ONNX ") + kind);
  }
}

}  // namespace

const char* attribute_type_name(AttributeType type) {
  constexpr const char* kNames[] = {
      "undefined", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
      "strings",   "tensors", "graphs", "sparse tensor", "sparse tensors", "type",  "types"};
  const auto i = static_cast<size_t>(type);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

Result<ModelView> parse_model(Bytes message) { return parse<ModelView>(message, "model", read_model); }
Result<GraphView> parse_graph(Bytes message) { return parse<GraphView>(message, "graph", read_graph); }
Result<TensorView> parse_tensor(Bytes message) { return parse<TensorView>(message, "tensor", read_tensor); }

Result<std::vector<uint64_t>> decode_varints(const std::vector<Bytes>& pieces, size_t limit) {
  try {
    std::vector<uint64_t> out;
    for (Bytes piece : pieces) {
      const char* p = piece.data();
      const char* end = p + piece.size();
      while (p != end && out.size() <= limit) out.push_back(read_varint(p, end));
    }
    return out;
  } catch (const Malformed& bad) {
    return make_error(Code::kBadModel, std::string("packed integers are malformed: ") + bad.what);
  } catch (const std::bad_alloc&) {
    return make_error(Code::kOutOfMemory, "out of memory while decoding packed integers");
  }
}

}  // namespace frit::onnx
