// frit explain: every step of the lowering, made visible: passes, groups, one kernel's graph, loops, LLVM IR
// and assembly or CUDA C++ and PTX, its space of choices; and a picture of the plan.
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codegen/families/family.h"
#include "common.h"
#include "explain_cuda.h"
#include "graph/infer.h"
#include "graph/passes.h"
#include "graph/text.h"
#include "inputs.h"
#include "loop/text.h"
#include "report.h"
#include "runtime/model_impl.h"
#include "runtime/planning.h"
#include "runtime/setup.h"
#include "tuner/search.h"
#include "tuner/tune.h"
#include "verbs.h"

namespace frit::tools {

namespace {

using base::text_of;
using json = nlohmann::ordered_json;

struct ExplainArgs {
  std::string model;
  CommonOptions common;
  InputOptions inputs;
  bool passes = false, groups = false, space = false;
  int kernel = -1;
  std::string emit, dot, nvrtc;
};

struct Explained {
  std::optional<Model> model;
  runtime::Runtime* runtime = nullptr;
  runtime::Setup setup;
  std::optional<device::Target> gpu;  // what the plan is for, where that is no CPU
  runtime::InputShapes shapes;
};

Result<std::unique_ptr<Explained>> open(const ExplainArgs& args) {
  auto out = std::make_unique<Explained>();
  CommonOptions common = args.common;
  if (common.target.rfind("cuda:", 0) == 0) {
    auto target = device::parse_target(common.target);
    if (!target.ok()) return target.error();
    out->gpu = *std::move(target);
    common.target = "cpu";  // the model is loaded here; its plan is made for there
  }
  auto options = model_options(common);
  if (!options.ok()) return options.error();
  auto model = Model::load(args.model, *options);
  if (!model.ok()) return model.error();
  out->model.emplace(*std::move(model));
  out->runtime = out->model->impl()->runtime.get();
  auto numerics = parse_numerics(args.common.numerics);
  if (!numerics.ok()) return numerics.error();
  SessionOptions session;
  session.threads = args.common.threads;
  session.numerics = *numerics;
  auto setup = runtime::resolve(session, *out->runtime);
  if (!setup.ok()) return setup.error();
  out->setup = *std::move(setup);
  if (out->gpu) out->setup.build.target = &*out->gpu;
  auto named = input_shapes(*out->model, args.inputs);
  if (!named.ok()) return named.error();
  auto shapes = runtime::input_shapes(out->model->impl()->graph, *named);
  if (!shapes.ok()) return shapes.error();
  out->shapes = *std::move(shapes);
  return out;
}

int print_passes(const ExplainArgs& args, const Explained& e) {
  graph::Graph graph = e.model->impl()->graph;
  auto sizes = runtime::bind_inputs(graph, e.shapes);
  if (!sizes.ok()) return fail(sizes.error());
  if (Status s = graph::bind_sizes(graph, *sizes); !s.ok()) return fail(s.error());
  const size_t before = graph.nodes.size();
  graph::PassContext context;
  context.numerics = e.setup.build.numerics;
  auto reports = graph::run_passes(graph, context);
  if (!reports.ok()) return fail(reports.error());
  json rows = json::array();
  if (!args.common.json) std::printf("%-20s %14s %22s %22s %9s\n", "pass", "nodes", "MFLOP", "MB", "time");
  for (const auto& r : *reports) {
    if (!r.changed) continue;
    if (args.common.json)
      rows.push_back({{"pass", r.pass},
                      {"nodes_before", r.nodes_before},
                      {"nodes_after", r.nodes_after},
                      {"flops_before", r.flops_before},
                      {"flops_after", r.flops_after},
                      {"bytes_before", r.bytes_before},
                      {"bytes_after", r.bytes_after},
                      {"ms", r.ms}});
    else
      std::printf("%-20s %5d -> %5d %9.1f -> %9.1f %9.2f -> %9.2f %6.2f ms\n", r.pass.c_str(), r.nodes_before,
                  r.nodes_after, r.flops_before * 1e-6, r.flops_after * 1e-6, r.bytes_before * 1e-6,
                  r.bytes_after * 1e-6, r.ms);
  }
  if (args.common.json) {
    std::printf("%s\n", json{{"schema", "frit/explain-passes/1"},
                             {"nodes_before", before},
                             {"nodes_after", graph.nodes.size()},
                             {"passes", rows}}
                            .dump(2)
                            .c_str());
    return kDone;
  }
  std::printf("\n%zu nodes -> %zu nodes. What each pass is for:\n", before, graph.nodes.size());
  for (const auto& row : graph::pass_table()) std::printf("  %-20s %s\n", row.name, row.reason);
  return kDone;
}

std::string label_of(const fusion::PlanGroup& group, bool gpu = false) {
  return group.family.empty()
             ? (gpu ? "no GPU schedule " : "host op ") +
                   (group.group.node_names.empty() ? std::string() : group.group.node_names[0])
             : tuner::group_label(group.group, group.family);
}

int print_groups(const ExplainArgs& args, const fusion::Plan& plan, bool gpu) {
  json groups = json::array(), edges = json::array();
  for (size_t k = 0; k < plan.groups.size(); ++k) {
    const auto& g = plan.groups[k];
    if (args.common.json) {
      groups.push_back({{"group", k},
                        {"family", g.family},
                        {"label", label_of(g, gpu)},
                        {"load_time", g.load_time},
                        {"nodes", g.group.node_names}});
      continue;
    }
    std::string names = base::join(g.group.node_names, " ");
    std::printf("%3zu  %-12s %-46s %2zu nodes  %s\n", k,
                g.family.empty() ? (gpu ? "none" : "host") : g.family.c_str(), label_of(g, gpu).c_str(),
                g.nodes.size(), names.substr(0, 100).c_str());
  }
  if (!args.common.json) std::printf("\nedges between groups: why fused, why cut\n");
  for (const auto& e : plan.edges) {
    if (args.common.json) {
      edges.push_back({{"producer", e.producer},
                       {"consumer", e.consumer},
                       {"fused", e.fused},
                       {"bytes_saved", e.bytes_saved},
                       {"us_fused", e.seconds_fused * 1e6},
                       {"us_cut", e.seconds_cut * 1e6},
                       {"reason", e.reason}});
      continue;
    }
    std::printf("%3d -> %-3d  %-5s  %9.1f KB  %s", e.producer, e.consumer, e.fused ? "fused" : "cut",
                e.bytes_saved / 1024, e.reason.c_str());
    if (e.seconds_fused > 0)
      std::printf("  (model: %.1f us together, %.1f us apart)", e.seconds_fused * 1e6, e.seconds_cut * 1e6);
    std::printf("\n");
  }
  const auto& s = plan.summary;
  if (args.common.json)
    std::printf("%s\n", json{{"schema", "frit/explain-groups/1"},
                             {"groups", groups},
                             {"edges", edges},
                             {"launches_unfused", s.launches_unfused},
                             {"launches", s.launches},
                             {"bytes_unfused", s.bytes_unfused},
                             {"bytes", s.bytes},
                             {"duplicated_nodes", s.duplicated_nodes},
                             {"duplicated_flops", s.duplicated_flops}}
                            .dump(2)
                            .c_str());
  else
    std::printf(
        "\nkernel launches %d -> %d, memory traffic %.1f -> %.1f MB; %d nodes (index maps) are repeated, "
        "%.3g FLOP with them\n",
        s.launches_unfused, s.launches, s.bytes_unfused * 1e-6, s.bytes * 1e-6, s.duplicated_nodes,
        s.duplicated_flops);
  return kDone;
}

int write_dot(const std::string& path, const fusion::Plan& plan) {
  std::string out = "digraph plan {\n  node [shape=box fontname=\"Helvetica\" fontsize=10 style=filled];\n";
  std::map<graph::ValueId, size_t> made;
  const std::map<std::string, const char*> colours = {
      {"conv", "#cfe2f3"},   {"depthwise", "#d0e0e3"}, {"matmul", "#d9d2e9"},    {"normalize", "#d9ead3"},
      {"reduce", "#d9ead3"}, {"pool", "#fff2cc"},      {"pointwise", "#eeeeee"}, {"", "#f4cccc"}};
  for (size_t k = 0; k < plan.groups.size(); ++k) {
    const auto& g = plan.groups[k];
    auto colour = colours.find(g.family);
    std::string label = label_of(g);
    for (char& c : label)
      if (c == '"') c = '\'';
    out += text_of("  g", k, " [label=\"", k, ": ", label, "\\n", g.nodes.size(), " nodes\" fillcolor=\"",
                   colour == colours.end() ? "#ffffff" : colour->second, "\"];\n");
    for (graph::ValueId v : g.inputs)
      if (auto it = made.find(v); it != made.end())
        out += text_of("  g", it->second, " -> g", k, " [label=\"",
                       graph::type_text(plan.graph.value(v).type), "\" fontsize=8];\n");
    for (graph::ValueId v : g.outputs) made[v] = k;
  }
  out += "}\n";
  std::ofstream file(path);
  file << out;
  if (!file.flush()) return fail(make_error(Code::kIo, path + ": cannot be written"));
  std::fprintf(stderr, "frit: wrote %s; dot -Tsvg %s draws it\n", path.c_str(), path.c_str());
  return kDone;
}

int print_kernel(const ExplainArgs& args, Explained& e, const fusion::Plan& plan) {
  if (args.kernel < 0 || args.kernel >= static_cast<int>(plan.groups.size()))
    return wrong_use(text_of("--kernel ", args.kernel, " is not a group of the plan, which has 0 to ",
                             plan.groups.size() - 1),
                     "frit explain MODEL --groups lists them");
  const auto& group = plan.groups[static_cast<size_t>(args.kernel)];
  if (args.emit == "graph") {
    std::printf("%s", group.group.text().c_str());
    return kDone;
  }
  const codegen::Family* family = codegen::family_named(group.family);
  if (!family && e.gpu) return fail(no_gpu_schedule(group.group, args.kernel));
  if (!family)
    return wrong_use(text_of("group ", args.kernel, " is a host op and has no kernel"),
                     "--emit graph shows it");
  const codegen::BuildContext& context = e.setup.build;
  const bool for_gpu = args.emit == "cuda" || args.emit == "ptx",
             for_cpu = args.emit == "llvm" || args.emit == "asm";
  if (for_gpu && !e.gpu)
    return wrong_use("--emit " + args.emit + " is for GPUs, the target is " + args.common.target,
                     "--target cuda:" + base::join(device::known_gpu_names(), ", cuda:"));
  if (for_cpu && e.gpu)
    return wrong_use("--emit " + args.emit + " is for CPUs, the target is " + args.common.target,
                     "--emit cuda shows the kernel, --emit ptx what NVRTC makes of it");
  if (args.space) {
    const codegen::Space space = family->space(group.group, context);
    const tuner::Search search(*family, group.group, context, tuner::Strategy::kExhaustive, 1);
    std::printf("%s, family %s version %d\n", label_of(group).c_str(), family->name, family->version);
    for (const auto& dim : space.dims) {
      std::string values;
      for (int64_t v : dim.values) values += " " + std::to_string(v);
      std::printf("  %-8s%-40s %s\n", dim.name.c_str(), values.c_str(), dim.meaning.c_str());
    }
    for (const auto& c : space.constraints) std::printf("  where %s\n", c.text.c_str());
    std::printf("%lld points, %zu legal, %lld after the cost model's pruning; heuristic: %s\n",
                static_cast<long long>(space.raw_size()), space.enumerate().size(),
                static_cast<long long>(search.points()),
                family->heuristic(group.group, context).text().c_str());
    return kDone;
  }
  codegen::Params params = family->heuristic(group.group, context);
  if (e.runtime->store() && !e.gpu) {
    auto key = tuner::decision_key(group.group.text(), e.setup.parts, e.runtime->target_parts());
    if (key.ok()) {
      const auto hit = e.runtime->store()->get_decision(*key);
      if (hit.match == tuner::Match::kExact)
        if (auto parsed = codegen::Params::parse(hit.decision.params); parsed.ok()) params = *parsed;
    }
  }
  auto program = family->build(group.group, params, context);
  if (!program.ok()) return fail(program.error());
  std::fprintf(stderr, "frit: %s with %s\n", label_of(group).c_str(), params.text().c_str());
  if (args.emit == "loop") {
    std::printf("%s", loop::print(*program).c_str());
    return kDone;
  }
  if (for_gpu) return print_cuda(*program, context, args.emit, args.nvrtc);
  if (for_cpu) {
    auto compiler = e.runtime->compiler();
    if (!compiler.ok()) return fail(compiler.error());
    for (const auto* phases : {&program->prepare, &program->phases})
      for (const auto& phase : *phases) {
        auto text =
            (*compiler)->compile(loop::print(phase.fn), e.runtime->target().text(), "emit=" + args.emit);
        if (!text.ok()) return fail(text.error());
        std::printf("%s\n", text->c_str());
      }
    return kDone;
  }
  return wrong_use("--emit is '" + args.emit + "', expected graph, loop, llvm, asm, cuda or ptx");
}

int explain(ExplainArgs args) {
  if (args.kernel < 0 && (!args.emit.empty() || args.space))
    return wrong_use(text_of(args.space ? "--space" : "--emit", " is of one kernel, and --kernel is missing"),
                     "frit explain MODEL --groups lists the kernels");
  if (args.emit.empty()) args.emit = "loop";
  auto opened = open(args);
  if (!opened.ok()) return fail(opened.error());
  Explained& e = **opened;
  if (args.passes) return print_passes(args, e);
  auto graph = runtime::specialise(e.model->impl()->graph, e.shapes, e.setup.build.numerics);
  if (!graph.ok()) return fail(graph.error());
  fusion::FusionOptions options;
  options.build = e.setup.build;
  auto plan = fusion::make_plan(*std::move(graph), options);  // made anew: a stored plan has no reasons
  if (!plan.ok()) return fail(plan.error());
  if (!args.dot.empty()) return write_dot(args.dot, *plan);
  if (args.kernel >= 0) return print_kernel(args, e, *plan);
  return print_groups(args, *plan, e.gpu.has_value());
}

}  // namespace

void add_explain(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<ExplainArgs>();
  CLI::App* verb =
      app.add_subcommand("explain", "every step from the file to machine code")->group("Understand");
  verb->add_option("MODEL", args->model, "an ONNX file")->required()->type_name("");
  add_common(*verb, args->common);
  verb->add_option("--shape", args->inputs.shapes, "NAME=1x128 for an input, NAME=128 for a dimension")
      ->type_name("SHAPE")
      ->allow_extra_args(false);
  verb->add_flag("--passes", args->passes, "what each graph pass changed");
  verb->add_flag("--groups", args->groups, "the groups, and why each edge was fused or cut");
  verb->add_option("--kernel", args->kernel, "one group, by its number")->type_name("K");
  verb->add_option("--emit", args->emit, "with --kernel: graph, loop, llvm, asm; for GPUs cuda, ptx")
      ->type_name("STEP");
  verb->add_option("--nvrtc", args->nvrtc, "with --emit ptx: the file of NVRTC, tried first")
      ->type_name("FILE");
  verb->add_flag("--space", args->space, "with --kernel: what the tuner may choose");
  verb->add_option("--dot", args->dot, "draw the plan into this file, for Graphviz")->type_name("FILE");
  verb->footer(
      "examples:\n  frit explain resnet50.onnx --groups\n  frit explain resnet50.onnx --kernel 3 --emit asm");
  verb->callback([args, &invocation] { invocation.action = [args] { return explain(*args); }; });
}

}  // namespace frit::tools
