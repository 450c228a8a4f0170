#include "runtime/shapes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "graph/tensor.h"

namespace frit::runtime {

namespace {

using graph::Dim;

Error wrong(std::string message) { return make_error(Code::kInvalidArgument, std::move(message)); }

std::string input_label(const graph::Graph& graph, size_t k) {
  return "input " + base::quoted(graph.value(graph.inputs[k]).name);
}

// The symbol that a dimension is, if it is nothing but one.
std::optional<std::string> plain_symbol(const Dim& dim) {
  std::vector<std::string> symbols;
  dim.collect_symbols(symbols);
  if (symbols.size() == 1 && dim == Dim::symbol(symbols[0])) return symbols[0];
  return std::nullopt;
}

struct Size {
  int64_t value = 0;
  std::string from;  // who said so
};

class Binder {
 public:
  explicit Binder(const graph::Graph& graph) : graph_(graph) {}

  Status set(const std::string& symbol, int64_t value, const std::string& from) {
    if (value < 0)
      return wrong(base::text_of(from, ": dimension ", symbol, " is ", value, ", expected 0 or more"));
    const auto [it, is_new] = sizes_.emplace(symbol, Size{value, from});
    if (is_new || it->second.value == value) return {};
    return wrong(base::text_of(from, " has ", value, " as dimension ", symbol, ", but ", it->second.from,
                               " has ", it->second.value));
  }

  // Rank, sizes of constant dimensions, and what named dimensions are.
  Status take(size_t k, const std::vector<int64_t>& shape) {
    const graph::Shape& type = graph_.value(graph_.inputs[k]).type.shape;
    const std::string label = input_label(graph_, k);
    if (shape.size() != type.size()) {
      return wrong(base::text_of(label, " has shape ", shape_text(shape), ", expected rank ", type.size(),
                                 " as in ", graph::shape_text(type)));
    }
    if (auto count = graph::checked_element_count(shape); !count.ok()) {
      return std::move(count).error().with(label);
    }
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const auto size = type[axis].constant();
      if (size && *size != shape[axis]) {
        return wrong(
            base::text_of(label, " has shape ", shape_text(shape), ", expected ", graph::shape_text(type)));
      }
      if (const auto symbol = plain_symbol(type[axis])) FRIT_TRY(set(*symbol, shape[axis], label));
    }
    return {};
  }

  // What an input's shape must be, once all that is known is set.
  Result<std::vector<int64_t>> shape_of(size_t k) const {
    const std::map<std::string, int64_t> known = sizes();
    std::vector<int64_t> out;
    for (const Dim& d : graph_.value(graph_.inputs[k]).type.shape) {
      const Dim bound = d.bind(known);
      if (!bound.is_constant()) {
        return wrong(base::text_of(input_label(graph_, k), " has shape ",
                                   graph::shape_text(graph_.value(graph_.inputs[k]).type.shape),
                                   ": the size of ", bound.text(), " is not given"))
            .hinted("give the input's shape, or the size of the dimension by its name");
      }
      out.push_back(bound.value());
    }
    return out;
  }

  std::map<std::string, int64_t> sizes() const {
    std::map<std::string, int64_t> out;
    for (const auto& [name, size] : sizes_) out.emplace(name, size.value);
    return out;
  }

 private:
  const graph::Graph& graph_;
  std::map<std::string, Size> sizes_;
};

std::set<std::string> symbols_of_inputs(const graph::Graph& graph) {
  std::vector<std::string> all;
  for (const graph::ValueId v : graph.inputs) {
    for (const Dim& d : graph.value(v).type.shape) d.collect_symbols(all);
  }
  return {all.begin(), all.end()};
}

Error unknown_name(const graph::Graph& graph, const std::set<std::string>& symbols, const std::string& name) {
  std::string has;
  for (size_t k = 0; k < graph.inputs.size(); ++k) base::append(has, k ? ", " : "", input_label(graph, k));
  for (const std::string& s : symbols) base::append(has, has.empty() ? "" : ", ", "dimension ", s);
  return wrong(base::text_of("there is no input or dimension ", base::quoted(name), "; the model has ",
                             has.empty() ? "no inputs" : has));
}

}  // namespace

Result<InputShapes> input_shapes(const graph::Graph& graph, std::span<const NamedShape> named) {
  Binder binder(graph);
  const std::set<std::string> symbols = symbols_of_inputs(graph);
  InputShapes out(graph.inputs.size());
  std::vector<bool> given(graph.inputs.size(), false);
  for (const NamedShape& item : named) {
    size_t k = 0;
    while (k < graph.inputs.size() && graph.value(graph.inputs[k]).name != item.name) ++k;
    if (k < graph.inputs.size()) {
      if (given[k]) return wrong(base::text_of(input_label(graph, k), " is given twice"));
      FRIT_TRY(binder.take(k, item.shape));
      given[k] = true;
      out[k] = item.shape;
    } else if (symbols.count(item.name) == 0) {
      return unknown_name(graph, symbols, item.name);
    } else if (item.shape.size() != 1) {
      return wrong(base::text_of("dimension ", item.name, " is given as ", shape_text(item.shape),
                                 ", expected one number"));
    } else {
      FRIT_TRY(binder.set(item.name, item.shape[0], "the caller"));
    }
  }
  for (size_t k = 0; k < out.size(); ++k) {
    if (given[k]) continue;
    FRIT_ASSIGN(out[k], binder.shape_of(k));
  }
  return out;
}

Result<std::map<std::string, int64_t>> bind_inputs(const graph::Graph& graph, const InputShapes& shapes) {
  Binder binder(graph);
  if (shapes.size() != graph.inputs.size()) {
    return wrong(base::text_of(shapes.size(), " inputs, expected ", graph.inputs.size()));
  }
  for (size_t k = 0; k < shapes.size(); ++k) FRIT_TRY(binder.take(k, shapes[k]));
  // Dimensions that are expressions follow from the named ones.
  for (size_t k = 0; k < shapes.size(); ++k) {
    FRIT_ASSIGN(const std::vector<int64_t> expected, binder.shape_of(k));
    if (expected == shapes[k]) continue;
    return wrong(base::text_of(input_label(graph, k), " has shape ", shape_text(shapes[k]), ", expected ",
                               graph::shape_text(graph.value(graph.inputs[k]).type.shape), ", which is ",
                               shape_text(expected)));
  }
  return binder.sizes();
}

}  // namespace frit::runtime
