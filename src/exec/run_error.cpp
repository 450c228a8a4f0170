#include "exec/run_error.h"

#include <algorithm>
#include <variant>

#include "base/text.h"

namespace frit::exec {

namespace {

using device::KernelStatus;

std::string node_text(const graph::Node& node) {
  std::string out = node.source_op.empty() ? graph::op_name(node.op) : node.source_op;
  if (!node.name.empty()) base::append(out, " ", base::quoted(node.name));
  return out;
}

int64_t extent(const graph::Value& value, int64_t axis) {
  const auto shape = graph::constant_shape(value.type.shape);
  return shape && axis >= 0 && axis < static_cast<int64_t>(shape->size())
             ? (*shape)[static_cast<size_t>(axis)]
             : -1;
}

// The bounds of an op that indexes its first input; nothing for other ops.
struct IndexBounds {
  const graph::Value& data;
  std::vector<int64_t>* bounds;

  bool axis(int64_t a) const {
    bounds->push_back(extent(data, a));
    return true;
  }
  bool all_axes() const {
    for (size_t k = 0; k < data.type.shape.size(); ++k) axis(static_cast<int64_t>(k));
    return true;
  }
  bool operator()(const graph::Gather& op) const { return axis(op.axis); }
  bool operator()(const graph::GatherElements& op) const { return axis(op.axis); }
  bool operator()(const graph::ScatterElements& op) const { return axis(op.axis); }
  bool operator()(const graph::GatherND&) const { return all_axes(); }
  bool operator()(const graph::ScatterND&) const { return all_axes(); }
  template <class Op>
  bool operator()(const Op&) const {
    return false;
  }
};

bool divides_integers(const graph::Graph& graph, const graph::Node& node) {
  const auto* op = std::get_if<graph::Binary>(&node.op);
  if (!op || is_float(graph.value(node.outputs[0]).type.dtype)) return false;
  return op->op == graph::BinaryOp::kDiv || op->op == graph::BinaryOp::kModFloor ||
         op->op == graph::BinaryOp::kModTrunc;
}

}  // namespace

std::vector<ErrorSite> error_sites(const fusion::Plan& plan, size_t group) {
  std::vector<ErrorSite> out;
  for (const graph::NodeId id : plan.groups[group].nodes) {
    const graph::Node& node = plan.graph.node(id);
    if (node.inputs.empty() || node.inputs[0] == graph::kNoValue || node.outputs.empty()) continue;
    std::vector<int64_t> bounds;
    if (std::visit(IndexBounds{plan.graph.value(node.inputs[0]), &bounds}, node.op)) {
      out.push_back({KernelStatus::kIndexOutOfRange, std::move(bounds), node_text(node)});
    } else if (divides_integers(plan.graph, node)) {
      out.push_back({KernelStatus::kDivisionByZero, {}, node_text(node)});
    }
  }
  return out;
}

Error kernel_error(std::span<const ErrorSite> sites, const std::string& label,
                   std::span<const int64_t, device::kErrorWords> words) {
  const auto status = static_cast<KernelStatus>(words[device::kErrorCode]);
  const int64_t value = words[device::kErrorValue], bound = words[device::kErrorBound];
  std::vector<std::string> nodes;
  const auto collect = [&](bool by_bound) {
    for (const ErrorSite& site : sites) {
      if (site.status != status) continue;
      if (by_bound && std::find(site.bounds.begin(), site.bounds.end(), bound) == site.bounds.end()) continue;
      if (std::find(nodes.begin(), nodes.end(), site.node) == nodes.end()) nodes.push_back(site.node);
    }
  };
  collect(true);
  if (nodes.empty()) collect(false);
  const std::string where = nodes.empty() ? label : base::join(nodes, " or ");
  switch (status) {
    case KernelStatus::kIndexOutOfRange:
      return make_error(Code::kInvalidArgument, base::text_of(where, ": index ", value, " is out of range [",
                                                              -bound, ", ", bound, ")"));
    case KernelStatus::kDivisionByZero:
      return make_error(Code::kInvalidArgument, base::text_of(where, ": integer division by zero"));
    case KernelStatus::kBadValue:
      return make_error(Code::kInvalidArgument,
                        base::text_of(where, ": value ", value, " is outside of the operator's domain"));
    case KernelStatus::kOk:
      break;
  }
  return make_error(Code::kInternal, base::text_of(where, ": kernel returned ", words[device::kErrorCode]));
}

}  // namespace frit::exec
