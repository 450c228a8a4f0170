// What a network is called and how an exporter spelled it never shows: groups, and so cache keys, are the
// same.
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "fusion/plan.h"
#include "graph/passes.h"
#include "support/onnx_builder.h"
#include "support/onnx_run.h"

namespace frit::test {
namespace {

constexpr int64_t kWidth = 48;

// Names of values and nodes: numbered behind a prefix, so that renaming is another prefix. `reversed` numbers
// them so that they sort the other way.
class Names {
 public:
  Names(std::string prefix, bool reversed)
      : prefix_(std::move(prefix)), next_(reversed ? 900 : 100), step_(reversed ? -1 : 1) {}
  std::string next() {
    next_ += step_;
    return prefix_ + std::to_string(next_);
  }

 private:
  std::string prefix_;
  int next_, step_;
};

class Speller {
 public:
  Speller(OnnxBuilder& builder, Names& names) : builder_(builder), names_(names) {}
  std::string op(const std::string& type, const onnx::Names& inputs,
                 const onnx::Attributes& attributes = {}) {
    const std::string out = names_.next();
    builder_.node(type, inputs, {out}, attributes, names_.next());
    return out;
  }
  std::string number(float v) {
    const std::string name = names_.next();
    builder_.floats(name, {}, {v});
    return name;
  }
  std::string weight(const std::vector<int64_t>& dims, int salt) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>((i * 37 + salt) % 101 - 50) / 64.0f);
    const std::string name = names_.next();
    builder_.floats(name, dims, values);
    return name;
  }
  std::string last_axis() {  // of opset 18 and later, where reductions take axes as an input
    const std::string name = names_.next();
    builder_.ints(name, {-1});
    return name;
  }

 private:
  OnnxBuilder& builder_;
  Names& names_;
};

using Spelling = std::function<std::string(Speller&, const std::string& x)>;

// x [rows, width] times a weight, what `spell` makes of that, and a residual.
std::string model_bytes(const Spelling& spell, const std::string& prefix, bool reversed) {
  OnnxBuilder builder(20);
  Names names(prefix, reversed);
  Speller s(builder, names);
  const std::string x = names.next();
  builder.input(x, kFloat, {"12", std::to_string(kWidth)});
  const std::string product = s.op("MatMul", {x, s.weight({kWidth, kWidth}, 1)});
  const std::string y = s.op("Add", {spell(s, product), x});
  builder.output(y);
  return builder.bytes();
}

std::vector<std::string> groups_of(const Spelling& spell, const std::string& prefix = "v",
                                   bool reversed = false) {
  auto graph = import_text(model_bytes(spell, prefix, reversed));
  EXPECT_TRUE(graph.ok()) << graph.error().text();
  if (!graph.ok()) return {};
  const auto reports = graph::run_passes(*graph, {});
  EXPECT_TRUE(reports.ok()) << reports.error().text();
  const auto target = device::parse_target("cpu:x86-64-v3").value_or_throw();
  fusion::FusionOptions options;
  options.build = {&target, Numerics::kDefault, 1};
  const auto plan = fusion::make_plan(*std::move(graph), options);
  EXPECT_TRUE(plan.ok()) << plan.error().text();
  std::vector<std::string> out;
  if (!plan.ok()) return out;
  for (const auto& group : plan->groups) out.push_back(group.family + "\n" + group.group.text());
  return out;
}

void expect_identical(const std::vector<Spelling>& spellings, size_t groups) {
  const std::vector<std::string> want = groups_of(spellings[0]);
  EXPECT_EQ(want.size(), groups) << want[0];
  for (const std::string& text : want) EXPECT_EQ(text.find("host"), std::string::npos);
  for (size_t k = 0; k < spellings.size(); ++k) {
    EXPECT_EQ(groups_of(spellings[k]), want) << "spelling " << k;
    EXPECT_EQ(groups_of(spellings[k], "/encoder/layer.0/Renamed_", true), want)
        << "spelling " << k << " renamed";
  }
}

TEST(Spelling, Gelu) {
  constexpr float kRoot2 = 1.41421356f, kHalfRoot2 = 0.70710678f;
  const auto erf_of = [=](Speller& s, const std::string& x) {
    return s.op("Erf", {s.op("Div", {x, s.number(kRoot2)})});
  };
  expect_identical(
      {[](Speller& s, const std::string& x) { return s.op("Gelu", {x}); },
       // 0.5 * (x * (1 + erf(x / sqrt(2)))), as PyTorch exports it
       [=](Speller& s, const std::string& x) {
         const std::string sum = s.op("Add", {erf_of(s, x), s.number(1)});
         return s.op("Mul", {s.op("Mul", {x, sum}), s.number(0.5f)});
       },
       // (x * 0.5) * (1 + erf(x / sqrt(2))), as TensorFlow does
       [=](Speller& s, const std::string& x) {
         const std::string sum = s.op("Add", {s.number(1), erf_of(s, x)});
         return s.op("Mul", {s.op("Mul", {s.number(0.5f), x}), sum});
       },
       // x * (0.5 * erf(x * sqrt(1/2)) + 0.5)
       [=](Speller& s, const std::string& x) {
         const std::string erf = s.op("Erf", {s.op("Mul", {x, s.number(kHalfRoot2)})});
         return s.op("Mul", {x, s.op("Add", {s.op("Mul", {s.number(0.5f), erf}), s.number(0.5f)})});
       }},
      1);
}

TEST(Spelling, LayerNorm) {
  const auto scaled = [](Speller& s, const std::string& y) {
    return s.op("Add", {s.op("Mul", {y, s.weight({kWidth}, 5)}), s.weight({kWidth}, 9)});
  };
  const auto centred = [](Speller& s, const std::string& x) {
    return s.op("Sub", {x, s.op("ReduceMean", {x, s.last_axis()})});
  };
  expect_identical(
      {[](Speller& s, const std::string& x) {
         const std::string scale = s.weight({kWidth}, 5), bias = s.weight({kWidth}, 9);
         return s.op("LayerNormalization", {x, scale, bias}, {{"epsilon", 1e-5f}});
       },
       // the difference squared by Pow, divided by the root
       [=](Speller& s, const std::string& x) {
         const std::string d = centred(s, x);
         const std::string var = s.op("ReduceMean", {s.op("Pow", {d, s.number(2)}), s.last_axis()});
         return scaled(s, s.op("Div", {d, s.op("Sqrt", {s.op("Add", {var, s.number(1e-5f)})})}));
       },
       // a product instead of the power, computed twice, times the reciprocal root
       [=](Speller& s, const std::string& x) {
         const std::string d = centred(s, x), again = centred(s, x);
         const std::string var = s.op("ReduceMean", {s.op("Mul", {again, again}), s.last_axis()});
         const std::string root = s.op("Sqrt", {s.op("Add", {s.number(1e-5f), var})});
         return scaled(s, s.op("Mul", {d, s.op("Reciprocal", {root})}));
       },
       // means as sums times 1/n, the root as a power
       [=](Speller& s, const std::string& x) {
         const auto mean = [&](const std::string& v) {
           return s.op("Mul", {s.op("ReduceSum", {v, s.last_axis()}), s.number(1.0f / kWidth)});
         };
         const std::string d = s.op("Sub", {x, mean(x)});
         const std::string var = mean(s.op("Mul", {d, d}));
         const std::string root = s.op("Pow", {s.op("Add", {var, s.number(1e-5f)}), s.number(0.5f)});
         return scaled(s, s.op("Div", {d, root}));
       }},
      2);
}

TEST(Spelling, Softmax) {
  const auto exponent = [](Speller& s, const std::string& x) {
    return s.op("Exp", {s.op("Sub", {x, s.op("ReduceMax", {x, s.last_axis()})})});
  };
  expect_identical(
      {[](Speller& s, const std::string& x) {
         return s.op("Softmax", {x}, {{"axis", int64_t{-1}}});
       },
       [](Speller& s, const std::string& x) {
         return s.op("Softmax", {x}, {{"axis", int64_t{1}}});
       },
       [=](Speller& s, const std::string& x) {
         const std::string e = exponent(s, x);
         return s.op("Div", {e, s.op("ReduceSum", {e, s.last_axis()})});
       },
       [=](Speller& s, const std::string& x) {
         const std::string e = exponent(s, x);
         return s.op("Mul", {s.op("Reciprocal", {s.op("ReduceSum", {e, s.last_axis()})}), e});
       },
       // computed twice, and the sum one too
       [=](Speller& s, const std::string& x) {
         return s.op("Div", {exponent(s, x), s.op("ReduceSum", {exponent(s, x), s.last_axis()})});
       }},
      2);
}

// The check can fail: another constant, another axis are other groups.
TEST(Spelling, OtherMeaningsAreOtherGroups) {
  const auto gelu_like = [](float c) {
    return [c](Speller& s, const std::string& x) {
      const std::string sum =
          s.op("Add", {s.op("Erf", {s.op("Div", {x, s.number(1.41421356f)})}), s.number(c)});
      return s.op("Mul", {s.op("Mul", {x, sum}), s.number(0.5f)});
    };
  };
  std::set<std::vector<std::string>> seen;
  seen.insert(groups_of(gelu_like(1)));
  seen.insert(groups_of(gelu_like(1.5f)));
  seen.insert(groups_of([](Speller& s, const std::string& x) {
    return s.op("Softmax", {x}, {{"axis", int64_t{0}}});
  }));
  seen.insert(groups_of([](Speller& s, const std::string& x) {
    return s.op("Softmax", {x}, {{"axis", int64_t{1}}});
  }));
  EXPECT_EQ(seen.size(), 4u);
}

}  // namespace
}  // namespace frit::test
