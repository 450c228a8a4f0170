#include <algorithm>

#include "base/text.h"
#include "tuner/tune.h"

namespace frit::tuner {

namespace {

std::string times(const graph::Shape& shape, size_t from) {
  std::string out;
  for (size_t k = from; k < shape.size(); ++k) out += (out.empty() ? "" : "x") + shape[k].text();
  return out;
}

bool is_constant(const codegen::Group& group, graph::ValueId v) {
  const graph::Graph& g = group.graph;
  if (g.value(v).is_constant()) return true;
  for (size_t k = 0; k < g.inputs.size(); ++k)
    if (g.inputs[k] == v) return group.inputs[k].constant;
  return false;
}

// What is fused behind the anchor, as far as people have a word for it: " +add +relu". A bias is part of the anchor.
std::string fused(const codegen::Group& group) {
  const graph::Graph& g = group.graph;
  std::string out;
  const auto add = [&](const char* word) {
    if (out.find(word) == std::string::npos) out += word;
  };
  for (size_t k = static_cast<size_t>(group.anchor) + 1; k < g.nodes.size(); ++k) {
    const graph::Node& node = g.nodes[k];
    if (const auto* binary = std::get_if<graph::Binary>(&node.op)) {
      const bool constant = is_constant(group, node.inputs[0]) || is_constant(group, node.inputs[1]);
      if (binary->op == graph::BinaryOp::kAdd && !constant) add(" +add");
      if (binary->op == graph::BinaryOp::kMax && constant) add(" +relu");
    } else if (const auto* unary = std::get_if<graph::Unary>(&node.op)) {
      if (unary->op == graph::UnaryOp::kRelu) add(" +relu");
      if (unary->op == graph::UnaryOp::kErf) add(" +gelu");
      if (unary->op == graph::UnaryOp::kTanh) add(" +tanh");
      if (unary->op == graph::UnaryOp::kSigmoid) add(" +sigmoid");
    } else if (std::holds_alternative<graph::Clip>(node.op)) {
      add(" +clip");
    }
  }
  return out;
}

// "/2" where a convolution steps further than one.
std::string stride(const graph::Conv& conv) {
  const int64_t most = conv.strides.empty() ? 1 : *std::max_element(conv.strides.begin(), conv.strides.end());
  return most > 1 ? base::text_of("/", most) : std::string();
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
  if (const auto* conv = std::get_if<graph::Conv>(&node.op)) {
    const auto& w = g.value(node.inputs[1]).type.shape;
    return base::text_of(family, " ", times(w, 2), stride(*conv), " ", x[1].text(), "->", y[1].text(), " @", times(y, 2), fused(group));
  }
  if (std::get_if<graph::MatMul>(&node.op)) {
    std::string batch;
    for (size_t k = 0; k + 2 < y.size(); ++k)
      if (y[k].value() != 1) batch += y[k].text() + "x";
    return base::text_of(family, " ", batch, y[y.size() - 2].text(), "x", y.back().text(), "x", x.back().text(), fused(group));
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
