#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

#include "base/half.h"
#include "base/random.h"
#include "base/text.h"
#include "base/try.h"
#include "graph/element_text.h"
#include "graph/op_fields.h"
#include "graph/text.h"

namespace frit::graph {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Every alternative of Op by its base name, value-initialised.
template <size_t... I>
std::optional<Op> make_op_of(std::string_view base_name, std::index_sequence<I...>) {
  std::optional<Op> out;
  (void)((kOpBaseNames[I] == base_name && (out = Op(std::in_place_index<I>), true)) || ...);
  return out;
}
std::optional<Op> make_op(std::string_view base_name) {
  return make_op_of(base_name, std::make_index_sequence<std::variant_size_v<Op>>());
}

template <class E>
bool parse_enum(std::string_view text, E& out) {
  const auto& names = EnumNames<E>::kNames;
  const auto it = std::find(names.begin(), names.end(), text);
  if (it == names.end()) return false;
  out = static_cast<E>(it - names.begin());
  return true;
}

bool parse_field(std::string_view text, bool& out) {
  out = text == "true";
  return out || text == "false";
}
bool parse_field(std::string_view text, int64_t& out) {
  const auto v = base::parse_number<int64_t>(text);
  out = v.value_or(0);
  return v.has_value();
}
bool parse_field(std::string_view text, float& out) {
  const auto v = parse_float(text);
  out = v.value_or(0);
  return v.has_value();
}
bool parse_field(std::string_view text, uint64_t& out) {
  if (text.size() < 3 || text.substr(0, 2) != "0x") return false;
  const auto end = std::from_chars(text.data() + 2, text.data() + text.size(), out, 16);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}
bool parse_field(std::string_view text, Dim& out) {
  auto v = Dim::parse(text);
  if (!v.ok()) return false;
  out = *std::move(v);
  return true;
}
template <class E>
requires std::is_enum_v<E>
bool parse_field(std::string_view text, E& out) { return parse_enum(text, out); }

// The items of "[a, b, c]", split at commas that are not inside parentheses or quotes.
std::optional<std::vector<std::string_view>> list_items(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  auto trim = [](std::string_view s) {
    while (!s.empty() && is_space(s.front())) s.remove_prefix(1);
    while (!s.empty() && is_space(s.back())) s.remove_suffix(1);
    return s;
  };
  std::vector<std::string_view> items;
  if (trim(text).empty()) return items;
  size_t first = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (quoted && i < text.size()) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      --depth;
    } else if (c == ',' && (depth <= 0 || i == text.size())) {
      items.push_back(trim(text.substr(first, i - first)));
      first = i + 1;
    }
  }
  return items;
}

template <class T>
bool parse_field(std::string_view text, std::vector<T>& out) {
  const auto items = list_items(text);
  if (!items) return false;
  out.clear();
  for (std::string_view item : *items) {
    T value{};
    if (!parse_field(item, value)) return false;
    out.push_back(std::move(value));
  }
  return true;
}

class GraphParser {
 public:
  GraphParser(std::string_view text, const ParseOptions& options) : text_(text), options_(options) {}

  Result<Graph> run() {
    if (word() != "graph") return fail("expected 'graph'");
    FRIT_TRY(expect('('));
    while (!take(')')) {
      if (!graph_.inputs.empty()) FRIT_TRY(expect(','));
      FRIT_ASSIGN(const std::string name, label());
      FRIT_TRY(expect(':'));
      FRIT_ASSIGN(TensorType type, parse_type());
      FRIT_TRY(define(name, graph_.add_input(std::move(type))));
    }
    FRIT_TRY(expect('{'));
    while (peek() == '%') FRIT_TRY(parse_line());
    if (word() != "return") return fail("expected a value or 'return'");
    while (peek() != '}') {
      if (!graph_.outputs.empty()) FRIT_TRY(expect(','));
      FRIT_ASSIGN(const ValueId id, use());
      if (id == kNoValue) return fail("a graph output cannot be absent");
      graph_.outputs.push_back(id);
    }
    FRIT_TRY(expect('}'));
    if (peek() != '\0' || at_ != text_.size()) return fail("unexpected text after the graph");
    return std::move(graph_);
  }

 private:
  Error fail(const std::string& what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    return make_error(Code::kInvalidArgument, base::text_of("graph text, line ", line, ": ", what));
  }
  char peek() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (is_space(text_[at_])) {
        ++at_;
      } else {
        return text_[at_];
      }
    }
    return '\0';
  }
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  Status expect(char c) {
    if (take(c)) return {};
    if (at_ == text_.size()) return fail(base::text_of("unexpected end, expected '", c, "'"));
    return fail(base::text_of("unexpected ", base::quoted(text_.substr(at_, 1)), ", expected '", c, "'"));
  }
  std::string_view word() {
    peek();
    const size_t first = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }
  // A bracketed text as it stands, with its brackets; quotes may hold anything.
  Result<std::string_view> bracketed() {
    if (peek() != '[') return fail("expected '['");
    const size_t first = at_;
    for (bool quoted = false; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (quoted && c == '\\') {
        ++at_;
      } else if (c == '"') {
        quoted = !quoted;
      } else if (c == ']' && !quoted) {
        ++at_;
        return text_.substr(first, at_ - first);
      }
    }
    at_ = text_.size();
    return fail("unexpected end, expected ']'");
  }

  Result<std::string> label() {
    if (!take('%')) return fail("expected a value such as %0");
    const std::string_view name = word();
    if (name.empty()) return fail("expected a number or a word after '%'");
    return std::string(name);
  }
  Status define(const std::string& name, ValueId id) {
    if (!values_.emplace(name, id).second) return fail("%" + name + " is defined twice");
    const bool is_number = std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) graph_.value(id).name = name;
    return {};
  }
  Result<ValueId> use() {
    if (take('_')) return kNoValue;
    FRIT_ASSIGN(const std::string name, label());
    const auto it = values_.find(name);
    if (it == values_.end()) return fail("%" + name + " is used before it is defined");
    return it->second;
  }

  Result<TensorType> parse_type() {
    TensorType type;
    const std::string_view dtype = word();
    if (!parse_enum(dtype, type.dtype)) return fail("unknown type " + base::quoted(dtype));
    FRIT_ASSIGN(const std::string_view shape, bracketed());
    const auto items = list_items(shape);
    for (std::string_view item : *items) {
      auto d = Dim::parse(item);
      if (!d.ok()) return fail(d.error().message);
      type.shape.push_back(*std::move(d));
    }
    if (at_ < text_.size() && text_[at_] == '@') {
      ++at_;
      FRIT_TRY(parse_layout(type));
    }
    return type;
  }
  // One digit per axis up to rank 10, else numbers with points between.
  Status parse_layout(TensorType& type) {
    const bool wide = type.shape.size() > 10;
    for (size_t i = 0; i < type.shape.size(); ++i) {
      if (wide && i > 0) FRIT_TRY(expect('.'));
      const size_t first = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && (wide || at_ == first)) ++at_;
      const auto axis = base::parse_number<int64_t>(text_.substr(first, at_ - first));
      if (!axis) return fail("expected an axis of the layout");
      type.layout.order.push_back(*axis);
    }
    if (type.layout.order.empty()) return fail("a scalar has no layout");
    return {};
  }

  Status parse_line() {
    std::vector<std::string> names;
    do {
      FRIT_ASSIGN(std::string name, label());
      names.push_back(std::move(name));
    } while (take(','));
    FRIT_TRY(expect('='));
    const std::string_view base_name = word();
    if (base_name == "const") {
      if (names.size() != 1) return fail("a constant is one value");
      return parse_constant(names[0]);
    }
    FRIT_ASSIGN(Op op, parse_op(base_name));
    FRIT_TRY(expect('('));
    std::vector<ValueId> inputs;
    while (!take(')')) {
      if (!inputs.empty()) FRIT_TRY(expect(','));
      FRIT_ASSIGN(const ValueId id, use());
      inputs.push_back(id);
    }
    FRIT_TRY(std::visit([this](auto& o) { return parse_attributes(o); }, op));
    FRIT_TRY(expect(':'));
    std::vector<TensorType> types;
    do {
      FRIT_ASSIGN(TensorType type, parse_type());
      types.push_back(std::move(type));
    } while (take(','));
    if (types.size() != names.size()) {
      return fail(base::text_of(names.size(), " values are defined, but ", types.size(), " types are given"));
    }
    const NodeId id = graph_.add_node(std::move(op), std::move(inputs), std::move(types));
    for (size_t j = 0; j < names.size(); ++j) FRIT_TRY(define(names[j], graph_.node(id).outputs[j]));
    return {};
  }

  Result<Op> parse_op(std::string_view base_name) {
    auto op = make_op(base_name);
    if (!op) return fail("unknown op " + base::quoted(base_name));
    const bool ok = std::visit(
        [this](auto& o) {
          if constexpr (requires { o.op; }) {
            return take('.') && parse_enum(word(), o.op);
          } else {
            return true;
          }
        },
        *op);
    if (!ok) return fail("expected a known name after " + base::quoted(base_name));
    return *std::move(op);
  }

  template <class O>
  Status parse_attributes(O& op) {
    std::map<std::string_view, std::string_view> given;
    if (take('{')) {
      while (!take('}')) {
        const std::string_view name = word();
        if (name.empty()) return fail("expected an attribute");
        FRIT_TRY(expect('='));
        FRIT_ASSIGN(const std::string_view value, attribute_value());
        if (!given.emplace(name, value).second)
          return fail("attribute " + std::string(name) + " is given twice");
      }
    }
    Status status;
    for_each_field(op, [&](std::string_view name, auto& field) {
      if (!status.ok()) return;
      const auto it = given.find(name);
      if (it == given.end()) {
        status = fail("attribute " + std::string(name) + " is missing");
      } else if (!parse_field(it->second, field)) {
        status = fail(base::text_of("attribute ", name, " has the value ", base::quoted(it->second),
                                    ", which is not of its type"));
      } else {
        given.erase(it);
      }
    });
    if (status.ok() && !given.empty()) return fail("unknown attribute " + std::string(given.begin()->first));
    return status;
  }
  Result<std::string_view> attribute_value() {
    if (peek() == '[') return bracketed();
    const size_t first = at_;
    while (at_ < text_.size() && !is_space(text_[at_]) && text_[at_] != '}' && text_[at_] != '#') ++at_;
    return text_.substr(first, at_ - first);
  }

  Status parse_constant(const std::string& name) {
    FRIT_ASSIGN(TensorType type, parse_type());
    const auto shape = constant_shape(type.shape);
    if (!shape)
      return fail("a constant has the shape " + shape_text(type.shape) + ", expected constant dimensions");
    const size_t size = dtype_bytes(type.dtype);
    size_t count = std::find(shape->begin(), shape->end(), 0) != shape->end() ? 0 : 1;
    for (int64_t d : *shape) {
      if (d < 0) return fail("a constant has a negative dimension");
      size_t total = 0;
      if (count > 0 && (__builtin_mul_overflow(count, static_cast<size_t>(d), &count) ||
                        __builtin_mul_overflow(count, size, &total) ||
                        total > options_.max_constant_bytes - constant_bytes_)) {
        return fail("constants are larger than " + std::to_string(options_.max_constant_bytes) + " bytes");
      }
    }
    constant_bytes_ += count * size;
    std::vector<std::byte> bytes(count * size);
    if (peek() == '[') {
      FRIT_ASSIGN(const std::string_view list, bracketed());
      const auto items = list_items(list);
      if (items->size() != count) {
        return fail(base::text_of("a constant of shape ", shape_text(type.shape), " has ", items->size(),
                                  " values, expected ", count));
      }
      for (size_t i = 0; i < count; ++i) {
        if (!parse_element(type.dtype, (*items)[i], bytes.data() + i * size)) {
          return fail(base::quoted((*items)[i]) + " is not of type " + dtype_name(type.dtype));
        }
      }
    } else {
      if (count <= static_cast<size_t>(kMaxInlineElements))
        return fail("expected the values of a small constant");
      if (text_.substr(at_, 5) == "hash=") {
        at_ += 5;
        if (word().empty()) return fail("expected a hash");
      }
      fill(type.dtype, count, bytes.data());
    }
    ++constants_;
    return define(name, graph_.add_constant(std::move(type), make_constant(std::move(bytes))));
  }

  void fill(DType dtype, size_t count, std::byte* out) const {
    const uint64_t seed = base::random_bits(options_.seed, constants_);
    auto store = [&out](auto value) {
      std::memcpy(out, &value, sizeof value);
      out += sizeof value;
    };
    for (size_t i = 0; i < count; ++i) {
      const double u = 2 * base::uniform(seed, i) - 1;
      switch (dtype) {
        case DType::kF32:
          store(static_cast<float>(u));
          break;
        case DType::kF64:
          store(u);
          break;
        case DType::kF16:
          store(base::double_to_f16(u));
          break;
        case DType::kBF16:
          store(base::double_to_bf16(u));
          break;
        default:  // little-endian 0 or 1 of any width
          *out = static_cast<std::byte>(u < 0 ? 1 : 0);
          out += dtype_bytes(dtype);
      }
    }
  }

  std::string_view text_;
  ParseOptions options_;
  size_t at_ = 0;
  Graph graph_;
  std::map<std::string, ValueId> values_;
  size_t constant_bytes_ = 0;
  uint64_t constants_ = 0;
};

}  // namespace

Result<Graph> parse(std::string_view text, const ParseOptions& options) {
  return GraphParser(text, options).run();
}

}  // namespace frit::graph
