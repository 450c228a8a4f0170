#include "base/text.h"
#include "tuner/tune.h"

namespace frit::tuner {

namespace {

std::string times(const graph::Shape& shape, size_t from) {
  std::string out;
  for (size_t k = from; k < shape.size(); ++k) out += (out.empty() ? "" : "x") + shape[k].text();
  return out;
}

}  // namespace

std::string group_label(const codegen::Group& group, std::string_view family) {
  const graph::Graph& g = group.graph;
  if (group.anchor == graph::kNoNode) {
    const auto& type = g.value(g.outputs[0]).type;
    return base::text_of(family, " ", times(type.shape, 0));
  }
  const graph::Node& node = g.node(group.anchor);
  const auto& x = g.value(node.inputs[0]).type.shape;
  const auto& y = g.value(node.outputs[0]).type.shape;
  if (std::get_if<graph::Conv>(&node.op)) {
    const auto& w = g.value(node.inputs[1]).type.shape;
    return base::text_of(family, " ", times(w, 2), " ", x[1].text(), "->", y[1].text(), " @", times(y, 2));
  }
  if (std::get_if<graph::MatMul>(&node.op)) {
    std::string batch;
    for (size_t k = 0; k + 2 < y.size(); ++k)
      if (y[k].value() != 1) batch += y[k].text() + "x";
    return base::text_of(family, " ", batch, y[y.size() - 2].text(), "x", y.back().text(), "x", x.back().text());
  }
  return base::text_of(family, " ", times(x, 0));
}

const char* strategy_name(Strategy strategy) {
  switch (strategy) {
    case Strategy::kAuto: return "auto";
    case Strategy::kExhaustive: return "exhaustive";
    case Strategy::kRandom: return "random";
  }
  return "auto";
}

}  // namespace frit::tuner
