// frit zoo: real architectures with seeded weights, made through the public graph API and written as ONNX.
// The numbers that come out of them mean nothing; the work is the real work.
#include <cmath>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/random.h"
#include "common.h"
#include "frit/graph_builder.h"
#include "report.h"
#include "verbs.h"

namespace frit::tools {

namespace {

struct ZooArgs {
  std::string name, output;
  int64_t batch = 1, seq = 128;
  bool json = false;
};

// Layers with weights whose scale keeps the variance of activations: uniform in +-sqrt(3 / fan in), times a
// gain.
class Net {
 public:
  explicit Net(GraphBuilder& g) : g_(g) {}

  Value weight(const std::string& name, std::vector<int64_t> shape, double scale, double mean = 0) {
    auto made = Tensor::allocate(DType::kF32, std::move(shape));
    if (!made.ok()) return {};
    Tensor t = std::move(*made);
    const uint64_t seed = base::crc32(name);
    auto values = t.values<float>();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(mean + scale * std::sqrt(3.0) * (2 * base::uniform(seed, i) - 1));
    return g_.constant(std::move(t), name);
  }
  Value conv(Value x, int64_t in, int64_t out, int64_t kernel, int64_t stride, const std::string& name,
             double gain = 1.4, int64_t groups = 1) {
    const double fan_in = static_cast<double>(in / groups * kernel * kernel);
    const int64_t pad = kernel / 2;
    return g_.conv(x, weight(name + ".weight", {out, in / groups, kernel, kernel}, gain / std::sqrt(fan_in)),
                   weight(name + ".bias", {out}, 0.05),
                   {.strides = {stride, stride}, .pads = {pad, pad, pad, pad}, .groups = groups}, name);
  }
  Value linear(Value x, int64_t in, int64_t out, const std::string& name, double gain = 1.0) {
    Value y =
        g_.matmul(x, weight(name + ".weight", {in, out}, gain / std::sqrt(static_cast<double>(in))), name);
    return g_.add(y, weight(name + ".bias", {out}, 0.05), name + ".add");
  }
  Value norm(Value x, int64_t n, const std::string& name) {
    return g_.layer_norm(x, weight(name + ".weight", {n}, 0.1, 1), weight(name + ".bias", {n}, 0.05), -1,
                         1e-12f, name);
  }

 private:
  GraphBuilder& g_;
};

void resnet50(GraphBuilder& g, const ZooArgs& args) {
  Net net(g);
  Value x = g.relu(net.conv(g.input("x", DType::kF32, {args.batch, 3, 224, 224}), 3, 64, 7, 2, "conv1"));
  x = g.max_pool(x, {.kernel = {3, 3}, .strides = {2, 2}, .pads = {1, 1, 1, 1}}, "maxpool");
  int64_t channels = 64;
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int64_t stage = 0; stage < 4; ++stage) {
    const int64_t width = 64 << stage;
    for (int64_t i = 0; i < blocks[stage]; ++i) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
      const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      Value y = g.relu(net.conv(x, channels, width, 1, 1, name + ".conv1"));
      y = g.relu(net.conv(y, width, width, 3, stride, name + ".conv2"));
      y = net.conv(y, width, width * 4, 1, 1, name + ".conv3", 0.5);
      if (i == 0) x = net.conv(x, channels, width * 4, 1, stride, name + ".downsample", 1.0);
      channels = width * 4;
      x = g.relu(g.add(y, x, name + ".add"));
    }
  }
  g.output(net.linear(g.flatten(g.global_average_pool(x)), channels, 1000, "fc"), "y");
}

void mobilenet_v2(GraphBuilder& g, const ZooArgs& args) {
  Net net(g);
  auto relu6 = [&](Value v) { return g.clip(v, 0, 6); };
  Value x = relu6(net.conv(g.input("x", DType::kF32, {args.batch, 3, 224, 224}), 3, 32, 3, 2, "stem"));
  int64_t channels = 32, number = 0;
  const int64_t settings[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  for (const auto& [expand, out, repeat, first_stride] : settings)
    for (int64_t i = 0; i < repeat; ++i, ++number) {
      const std::string name = "block" + std::to_string(number);
      const int64_t stride = i == 0 ? first_stride : 1, hidden = channels * expand;
      Value y = expand == 1 ? x : relu6(net.conv(x, channels, hidden, 1, 1, name + ".expand"));
      y = relu6(net.conv(y, hidden, hidden, 3, stride, name + ".depthwise", 1.4, hidden));
      y = net.conv(y, hidden, out, 1, 1, name + ".project", 1.0);
      x = stride == 1 && channels == out ? g.add(x, y, name + ".add") : y;
      channels = out;
    }
  x = relu6(net.conv(x, channels, 1280, 1, 1, "head"));
  g.output(net.linear(g.flatten(g.global_average_pool(x)), 1280, 1000, "classifier"), "y");
}

void bert_base(GraphBuilder& g, const ZooArgs& args) {
  Net net(g);
  constexpr int64_t kHidden = 768, kHeads = 12, kHead = 64, kInner = 3072, kVocabulary = 30522;
  const int64_t b = args.batch, s = args.seq;
  Value ids = g.input("ids", DType::kI64, {b, s});
  Value mask = g.input("mask", DType::kI64, {b, s});
  Value x =
      g.gather(net.weight("embeddings.word", {kVocabulary, kHidden}, 0.5), ids, 0, "embeddings.word.gather");
  x = g.add(x, net.weight("embeddings.position", {1, s, kHidden}, 0.3), "embeddings.add");
  x = net.norm(x, kHidden, "embeddings.norm");
  Value open = g.reshape(g.cast(mask, DType::kF32), {b, 1, 1, s});
  Value bias = g.mul(g.sub(g.scalar(1), open), g.scalar(-1e4), "mask.bias");
  for (int layer = 0; layer < 12; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    auto heads = [&](const char* which) {
      Value v = net.linear(x, kHidden, kHidden, name + "." + which);
      return g.transpose(g.reshape(v, {b, s, kHeads, kHead}), {0, 2, 1, 3});
    };
    Value q = heads("query"), k = heads("key"), v = heads("value");
    Value scores = g.mul(g.matmul(q, g.transpose(k, {0, 1, 3, 2}), name + ".scores"), g.scalar(0.125));
    Value p = g.softmax(g.add(scores, bias), -1, name + ".softmax");
    Value context = g.reshape(g.transpose(g.matmul(p, v, name + ".context"), {0, 2, 1, 3}), {b, s, kHidden});
    x = net.norm(g.add(net.linear(context, kHidden, kHidden, name + ".out"), x), kHidden, name + ".norm1");
    Value inner = g.gelu(net.linear(x, kHidden, kInner, name + ".inner"), false, name + ".gelu");
    x = net.norm(g.add(net.linear(inner, kInner, kHidden, name + ".outer"), x), kHidden, name + ".norm2");
  }
  g.output(x, "y");
}

void mlp(GraphBuilder& g, const ZooArgs& args) {
  Net net(g);
  Value x = g.input("x", DType::kF32, {args.batch, 64});
  x = g.relu(net.linear(x, 64, 256, "fc1", 1.4));
  x = g.gelu(net.linear(x, 256, 256, "fc2", 1.4));
  g.output(g.softmax(net.linear(x, 256, 10, "fc3")), "y");
}

struct Entry {
  const char* name;
  const char* what;
  void (*build)(GraphBuilder&, const ZooArgs&);
};
constexpr Entry kZoo[] = {
    {"resnet50", "53 convolutions with residuals, 1x3x224x224, 8.2 GFLOP", resnet50},
    {"mobilenet_v2", "depthwise and 1x1 convolutions, 1x3x224x224, 0.6 GFLOP", mobilenet_v2},
    {"bert_base", "12 layers of masked attention, --batch and --seq, 22 GFLOP at 1x128", bert_base},
    {"mlp", "three small layers, for trying things out", mlp},
};

int list(const ZooArgs& args) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Entry& e : kZoo) {
    if (args.json)
      rows.push_back({{"name", e.name}, {"what", e.what}});
    else
      std::printf("%-14s %s\n", e.name, e.what);
  }
  if (args.json)
    std::printf("%s\n", nlohmann::ordered_json{{"schema", "frit/zoo/1"}, {"networks", rows}}.dump(2).c_str());
  return kDone;
}

int make(const ZooArgs& args) {
  std::vector<std::string> names;
  for (const Entry& e : kZoo) names.emplace_back(e.name);
  for (const Entry& e : kZoo) {
    if (args.name != e.name) continue;
    GraphBuilder g(e.name);
    e.build(g, args);
    if (g.error()) return fail(*g.error());
    if (Status s = g.save_onnx(args.output); !s.ok()) return fail(s.error());
    std::fprintf(stderr, "frit: wrote %s\n", args.output.c_str());
    return kDone;
  }
  const std::string near = did_you_mean(args.name, names);
  return wrong_use("the zoo has no network '" + args.name + "'",
                   near.empty() ? "frit zoo list shows what there is" : "did you mean " + near + "?");
}

}  // namespace

void add_zoo(CLI::App& app, Invocation& invocation) {
  auto args = std::make_shared<ZooArgs>();
  CLI::App* verb = app.add_subcommand("zoo", "networks with seeded weights")->group("Understand");
  verb->require_subcommand(1);
  CLI::App* list_verb = verb->add_subcommand("list", "what there is");
  list_verb->add_flag("--json", args->json, "one JSON object on stdout");
  list_verb->callback([args, &invocation] { invocation.action = [args] { return list(*args); }; });
  CLI::App* make_verb = verb->add_subcommand("make", "write one as an ONNX file");
  make_verb->add_option("NAME", args->name, "one of frit zoo list")->required()->type_name("");
  make_verb->add_option("-o,--output", args->output, "the file")->required()->type_name("FILE");
  make_verb->add_option("--batch", args->batch, "images or sequences, default 1")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  make_verb->add_option("--seq", args->seq, "tokens, of bert_base; default 128")
      ->check(CLI::Range(1, 512))
      ->type_name("N");
  make_verb->callback([args, &invocation] { invocation.action = [args] { return make(*args); }; });
  make_verb->footer(
      "examples:\n  frit zoo make resnet50 -o resnet50.onnx\n  frit zoo make bert_base --seq 64 -o "
      "bert.onnx");
  list_verb->footer("examples:\n  frit zoo list\n  frit zoo list --json");
  verb->footer("examples:\n  frit zoo list\n  frit zoo make bert_base --seq 64 -o bert.onnx");
}

}  // namespace frit::tools
