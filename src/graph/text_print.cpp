#include <charconv>
#include <string>

#include "base/hash.h"
#include "base/text.h"
#include "graph/element_text.h"
#include "graph/op_fields.h"
#include "graph/text.h"

namespace frit::graph {
namespace {

std::string field_text(bool v) { return v ? "true" : "false"; }
std::string field_text(int64_t v) { return std::to_string(v); }
std::string field_text(float v) { return float_text(v); }
std::string field_text(const Dim& v) { return v.text(); }
std::string field_text(uint64_t v) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof text, v, 16);
  return "0x" + std::string(text, end.ptr);
}
template <class E>
requires std::is_enum_v<E> std::string field_text(E v) { return std::string(enum_name(v)); }
template <class T>
std::string field_text(const std::vector<T>& values) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? "," : "") + field_text(values[i]);
  return out + "]";
}

// The elements of a small constant; nothing for a large one. A constant whose bytes do not fit its type (a
// broken graph) has none.
std::string content_text(const Value& v, const PrintOptions& options) {
  const auto shape = constant_shape(v.type.shape);
  int64_t count = 1;
  bool small = shape.has_value();
  if (shape) {
    for (int64_t d : *shape) {
      if (d == 0) count = 0;
    }
    for (int64_t d : *shape) {
      if (count > 0 && small) count = d > kMaxInlineElements ? kMaxInlineElements + 1 : count * d;
      small = small && d >= 0 && count <= kMaxInlineElements;
    }
  }
  if (count == 0) small = true;
  const size_t size = dtype_bytes(v.type.dtype);
  if (small && v.constant->size_bytes == static_cast<size_t>(count) * size) {
    std::string out = " [";
    for (int64_t i = 0; i < count; ++i) {
      out += (i ? ", " : "") + element_text(v.type.dtype, v.constant->bytes + static_cast<size_t>(i) * size);
    }
    return out + "]";
  }
  if (!options.content_hashes) return {};
  return " hash=" + base::hash128(v.constant->bytes, v.constant->size_bytes).hex();
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options)
      : graph_(graph), options_(options), number_(graph.values.size(), -1) {}

  std::string run() {
    out_ = "graph(";
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      out_ += i ? ", " : "";
      define(graph_.inputs[i]);
    }
    out_ += ") {\n";
    for (const Node& node : graph_.nodes) {
      if (!node.dead) print_line(node);
    }
    for (ValueId id : graph_.outputs) define_constant(id);
    out_ += "  return";
    for (size_t i = 0; i < graph_.outputs.size(); ++i)
      out_ += (i ? ", " : " ") + reference(graph_.outputs[i]);
    return out_ + "\n}\n";
  }

 private:
  bool exists(ValueId id) const { return id >= 0 && static_cast<size_t>(id) < graph_.values.size(); }
  std::string new_number(ValueId id) {
    if (exists(id)) number_[static_cast<size_t>(id)] = next_;
    return base::text_of('%', next_++);
  }
  std::string reference(ValueId id) const {
    if (id == kNoValue) return "_";
    if (!exists(id) || number_[static_cast<size_t>(id)] < 0) return base::text_of("%?", id);
    return base::text_of('%', number_[static_cast<size_t>(id)]);
  }
  std::string type_of(ValueId id) const { return exists(id) ? type_text(graph_.value(id).type) : "?"; }

  void define(ValueId id) { base::append(out_, new_number(id), ": ", type_of(id)); }
  void define_constant(ValueId id) {
    if (!exists(id) || !graph_.value(id).is_constant() || number_[static_cast<size_t>(id)] >= 0) return;
    const Value& v = graph_.value(id);
    base::append(out_, "  ", new_number(id), " = const ", type_text(v.type), content_text(v, options_), "\n");
  }

  void print_line(const Node& node) {
    for (ValueId id : node.inputs) define_constant(id);
    std::string inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) inputs += (i ? ", " : "") + reference(node.inputs[i]);
    out_ += "  ";
    for (size_t j = 0; j < node.outputs.size(); ++j) out_ += (j ? ", " : "") + new_number(node.outputs[j]);
    const std::string attributes = attributes_text(node.op);
    base::append(out_, " = ", op_name(node.op), "(", inputs, ")", attributes.empty() ? "" : " ", attributes,
                 " :");
    for (size_t j = 0; j < node.outputs.size(); ++j)
      base::append(out_, j ? ", " : " ", type_of(node.outputs[j]));
    out_ += "\n";
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::vector<int64_t> number_;
  int64_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string attributes_text(const Op& op) {
  std::string out;
  std::visit(
      [&out](const auto& o) {
        for_each_field(o, [&out](std::string_view name, const auto& value) {
          base::append(out, out.empty() ? "{" : " ", name, "=", field_text(value));
        });
      },
      op);
  return out.empty() ? out : out + "}";
}

std::string print(const Graph& graph, const PrintOptions& options) { return Printer(graph, options).run(); }

std::string print_node(const Graph& graph, const Node& node) {
  auto reference = [](ValueId id) { return id == kNoValue ? std::string("_") : base::text_of('%', id); };
  auto type = [&graph](ValueId id) {
    return id >= 0 && static_cast<size_t>(id) < graph.values.size() ? type_text(graph.value(id).type) : "?";
  };
  std::string out;
  for (size_t j = 0; j < node.outputs.size(); ++j) out += (j ? ", " : "") + reference(node.outputs[j]);
  base::append(out, " = ", op_name(node.op), "(");
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    base::append(out, i ? ", " : "", reference(node.inputs[i]));
    if (node.inputs[i] != kNoValue) base::append(out, ": ", type(node.inputs[i]));
  }
  const std::string attributes = attributes_text(node.op);
  base::append(out, ")", attributes.empty() ? "" : " ", attributes, " :");
  for (size_t j = 0; j < node.outputs.size(); ++j) base::append(out, j ? ", " : " ", type(node.outputs[j]));
  return out;
}

}  // namespace frit::graph
