// For tests of exec: kernels that are C++ functions behind the kernel ABI, a kernel family for float
// element-wise nodes, and plans with one group per node.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/try.h"
#include "exec/build.h"
#include "graph/tensor.h"
#include "loop/build.h"

namespace frit::testing {

using KernelBody = std::function<int32_t(const device::KernelArgs&)>;

// A kernel's entry has no state of its own, so each body gets an entry of its own.
class Trampolines {
 public:
  static constexpr size_t kCount = 512;
  static device::KernelEntry install(KernelBody body) {
    const std::lock_guard lock(mutex());
    const size_t k = next()++ % kCount;
    bodies()[k] = std::move(body);
    return entries()[k];
  }

 private:
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  static size_t& next() {
    static size_t n = 0;
    return n;
  }
  static std::array<KernelBody, kCount>& bodies() {
    static std::array<KernelBody, kCount> b;
    return b;
  }
  template <size_t K>
  static int32_t entry(const device::KernelArgs* args) {
    return bodies()[K](*args);
  }
  template <size_t... Ks>
  static std::array<device::KernelEntry, kCount> make(std::index_sequence<Ks...>) {
    return {&entry<Ks>...};
  }
  static const std::array<device::KernelEntry, kCount>& entries() {
    static const auto e = make(std::make_index_sequence<kCount>());
    return e;
  }
};

// Kernels by the name of their function's family; "fail" cannot be compiled.
class FakeProvider final : public exec::KernelProvider {
 public:
  std::function<KernelBody(const loop::LoopFn&)> make_body;

  Result<std::shared_ptr<const device::Kernel>> kernel(const loop::LoopFn& fn) override {
    ++asked;
    if (fn.family == "fail") return make_error(Code::kInternal, "the compiler gave up");
    KernelBody body = make_body(fn);
    if (!body) return make_error(Code::kUnsupported, "no such kernel");
    return device::Kernel::from_function(Trampolines::install(std::move(body)), "frit_" + fn.family,
                                         exec::kernel_shape(fn));
  }
  exec::KernelCounters counters() const override { return {asked.load(), 0}; }

  std::atomic<int64_t> asked{0};
};

inline int64_t elements_of(const loop::Buffer& buffer) {
  int64_t n = 0;
  loop::as_int(buffer.size, &n);
  return n;
}

constexpr int64_t kTileElements = 16;

inline int64_t tiles_of(int64_t elements) { return (elements + kTileElements - 1) / kTileElements; }

// fn "ew_add": out[i] = a[i] + b[i] and so on; arguments are the inputs, then the output; a tile is 16
// elements.
struct Elementwise {
  std::string op;  // add, sub, mul, relu, neg, copy
  int64_t inputs() const { return op == "add" || op == "sub" || op == "mul" ? 2 : 1; }
  float apply(float a, float b) const {
    if (op == "add") return a + b;
    if (op == "sub") return a - b;
    if (op == "mul") return a * b;
    if (op == "relu") return a > 0 ? a : 0;
    if (op == "neg") return -a;
    return a;
  }
};

inline loop::LoopFn elementwise_fn(const std::string& op, int64_t n,
                                   const std::vector<loop::Access>& access) {
  loop::LoopFn fn;
  fn.context = std::make_shared<loop::Context>();
  fn.family = "ew_" + op;
  loop::Builder b(fn);
  std::vector<loop::Buffer> args;
  for (const loop::Access a : access) args.push_back(b.arg(DType::kF32, a, b.integer(n), 4));
  loop::Expr tile = b.tile(tiles_of(n));
  loop::Expr begin = b.let(tile * kTileElements);
  loop::Expr end = b.let(loop::min(begin + kTileElements, b.integer(n)));
  b.loop(begin, end, 1, loop::LoopKind::kSerial, [&](loop::Expr i) {
    const auto in = [&](size_t k) { return loop::load(b.context(), args[k], i); };
    loop::Expr v;
    if (op == "add")
      v = in(0) + in(1);
    else if (op == "sub")
      v = in(0) - in(1);
    else if (op == "mul")
      v = in(0) * in(1);
    else if (op == "relu")
      v = loop::select(loop::gt(in(0), b.number(0)), in(0), b.number(0));
    else if (op == "neg")
      v = loop::unary(loop::OpCode::kNeg, in(0));
    else
      v = in(0);
    b.store(args.back(), i, v);
  });
  b.finish();
  return fn;
}

// The same in C++. Told of each call: tiles and where.
using LaunchHook = std::function<void(const device::KernelArgs&)>;
inline KernelBody elementwise_body(const loop::LoopFn& fn, LaunchHook hook = {}) {
  if (!fn.family.starts_with("ew_")) return {};
  const Elementwise ew{fn.family.substr(3)};
  const int64_t n = elements_of(fn.buffers[0]);
  return [ew, n, hook](const device::KernelArgs& args) {
    if (hook) hook(args);
    const auto* a = static_cast<const float*>(args.buffers[0]);
    const auto* b = static_cast<const float*>(args.buffers[ew.inputs() - 1]);
    auto* out = static_cast<float*>(args.buffers[ew.inputs()]);
    for (int64_t i = args.first_tile * kTileElements; i < std::min(n, args.last_tile * kTileElements); ++i) {
      out[i] = ew.apply(a[i], b[i]);
    }
    return 0;
  };
}

// A program of one phase; in place of input 0 unless that is constant or the caller's.
inline Result<loop::Program> elementwise_program(const codegen::Group& group) {
  const graph::Node& node = group.graph.nodes[0];
  std::string op = "copy";
  if (const auto* u = std::get_if<graph::Unary>(&node.op))
    op = u->op == graph::UnaryOp::kRelu ? "relu" : "neg";
  if (const auto* b = std::get_if<graph::Binary>(&node.op)) {
    op = b->op == graph::BinaryOp::kAdd ? "add" : b->op == graph::BinaryOp::kSub ? "sub" : "mul";
  }
  const int64_t n = graph::element_count(group.graph.value(node.outputs[0]).type.shape).value();
  loop::Program p;
  loop::Phase phase;
  std::vector<loop::Access> access(node.inputs.size(), loop::Access::kRead);
  access.push_back(loop::Access::kWrite);
  phase.fn = elementwise_fn(op, n, access);
  for (size_t k = 0; k < group.graph.inputs.size(); ++k) {
    p.buffers.push_back({loop::BufferRole::kInput, static_cast<int32_t>(k), 0});
  }
  for (const graph::ValueId v : node.inputs) {
    const auto at = std::find(group.graph.inputs.begin(), group.graph.inputs.end(), v);
    phase.args.push_back(static_cast<int32_t>(at - group.graph.inputs.begin()));
  }
  p.buffers.push_back({loop::BufferRole::kOutput, 0, 0});
  phase.args.push_back(static_cast<int32_t>(p.buffers.size() - 1));
  p.in_place = {-1};
  if (!group.inputs[0].constant && !group.inputs[0].caller) {
    p.in_place = {0};
    for (size_t k = 0; k + 1 < phase.args.size(); ++k) {
      if (phase.args[k] == 0)
        phase.fn.buffers[phase.args.size() - 1].may_alias.push_back(static_cast<int32_t>(k));
    }
    phase.fn.buffers[phase.args.size() - 1].in_place = true;
  }
  p.phases.push_back(std::move(phase));
  return p;
}

// Param `kind`: 0 an ordinary kernel, 1 one that the compiler has no code for, 2 a program that is refused, 3
// one worker only.
inline const codegen::Family& elementwise_family() {
  static const codegen::Family family = {
      "ew",
      1,
      [](const codegen::Group&, const codegen::BuildContext&, std::string*) { return true; },
      [](const codegen::Group&, const codegen::BuildContext&) {
        codegen::Space space;
        space.dims.push_back({"kind", {1, 2, 0, 3}, "what happens"});
        return space;
      },
      [](const codegen::Group&, const codegen::BuildContext&) {
        return codegen::Params{{"kind", 0}};
      },
      [](const codegen::Group&, const codegen::Params&, const codegen::BuildContext&) {
        return codegen::Cost{};
      },
      [](const codegen::Group& group, const codegen::Params& params,
         const codegen::BuildContext&) -> Result<loop::Program> {
        if (params.get("kind") == 2) return make_error(Code::kUnsupported, "kind 2 is not for this group");
        FRIT_ASSIGN(loop::Program p, elementwise_program(group));
        if (params.get("kind") == 1) p.phases[0].fn.family = "fail";
        if (params.get("kind") == 3) p.phases[0].threads = 1;
        return p;
      }};
  return family;
}

inline graph::TensorType f32(std::vector<int64_t> shape) {
  graph::TensorType type;
  for (const int64_t extent : shape) type.shape.push_back(extent);
  return type;
}

// One group per node, as fusion makes them.
inline fusion::PlanGroup single_group(const graph::Graph& graph, graph::NodeId id, std::string family) {
  fusion::PlanGroup out;
  const graph::Node& node = graph.node(id);
  out.family = std::move(family);
  out.nodes = {id};
  std::map<graph::ValueId, graph::ValueId> inner;
  std::vector<graph::ValueId> node_inputs;
  for (const graph::ValueId v : node.inputs) {
    if (!inner.contains(v)) {
      inner[v] = out.group.graph.add_input(graph.value(v).type);
      out.inputs.push_back(v);
      const bool caller = std::find(graph.inputs.begin(), graph.inputs.end(), v) != graph.inputs.end();
      out.group.inputs.push_back({graph.value(v).is_constant(), caller});
    }
    node_inputs.push_back(inner[v]);
  }
  std::vector<graph::TensorType> types;
  for (const graph::ValueId v : node.outputs) types.push_back(graph.value(v).type);
  const graph::NodeId made = out.group.graph.add_node(node.op, node_inputs, types);
  out.group.graph.outputs = out.group.graph.node(made).outputs;
  out.outputs = node.outputs;
  return out;
}

inline std::shared_ptr<fusion::Plan> plan_of(graph::Graph graph) {
  auto plan = std::make_shared<fusion::Plan>();
  std::vector<bool> constant(graph.values.size(), false);
  for (size_t v = 0; v < graph.values.size(); ++v) constant[v] = graph.values[v].is_constant();
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const graph::Node& node = graph.nodes[n];
    fusion::PlanGroup group = single_group(graph, static_cast<graph::NodeId>(n), "ew");
    group.load_time = std::all_of(node.inputs.begin(), node.inputs.end(),
                                  [&](graph::ValueId v) { return constant[static_cast<size_t>(v)]; });
    for (size_t k = 0; k < group.inputs.size(); ++k)
      group.group.inputs[k].constant = constant[static_cast<size_t>(group.inputs[k])];
    if (group.load_time) {
      for (const graph::ValueId v : node.outputs) constant[static_cast<size_t>(v)] = true;
    }
    plan->groups.push_back(std::move(group));
  }
  plan->graph = std::move(graph);
  return plan;
}

inline exec::BuildOptions fake_build_options(int threads = 1) {
  exec::BuildOptions options;
  options.context.threads = threads;
  options.family = [](std::string_view name) { return name == "ew" ? &elementwise_family() : nullptr; };
  return options;
}

}  // namespace frit::testing
