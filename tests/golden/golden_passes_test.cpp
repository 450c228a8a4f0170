// Golden tests of the graph passes: tests/golden/passes/<pass>/<case>.txt holds a line of options, a graph,
// "---", and the graph after the pass. The folder "pipeline" runs all passes. Each time, before and after are
// also run by the evaluator on random data and must agree. `golden_passes_test --update` rewrites what is
// expected; review the diff.
//
// Options: rule=NAME (only that rule of the pass), numerics=strict|default, limit=N (fold_limit_elems),
// sizes=s:5,t:3 (what the evaluator binds named sizes to), ints=LOW:HIGH (range of integer inputs), positive
// (float inputs > 0), tolerance=X, may_fail (the evaluator refuses both), same=LABEL (all cases with this
// label end as the same text).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "graph/eval.h"
#include "graph/infer.h"
#include "graph/passes.h"
#include "graph/passes/pass_functions.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "support/agree.h"

namespace frit::graph {
namespace {

bool update_requested = false;

struct Case {
  std::string pass, name, path, header, before, after;
  std::map<std::string, std::string> options;
  bool has(const std::string& key) const { return options.count(key) > 0; }
  std::string get(const std::string& key, const std::string& fallback = {}) const {
    const auto found = options.find(key);
    return found == options.end() ? fallback : found->second;
  }
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.path; }

std::string folder() { return std::string(FRIT_TEST_DATA) + "/golden/passes"; }

std::vector<Case> load_cases() {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder())) {
    if (entry.path().extension() != ".txt") continue;
    std::ifstream file(entry.path());
    std::stringstream all;
    all << file.rdbuf();
    const std::string text = all.str();
    Case c;
    c.path = entry.path().string();
    c.pass = entry.path().parent_path().filename().string();
    c.name = entry.path().stem().string();
    const size_t end_of_header = text.find('\n'), cut = text.find("\n---\n");
    c.header = text.substr(0, end_of_header);
    c.before = text.substr(end_of_header + 1, cut == std::string::npos ? cut : cut - end_of_header);
    c.after = cut == std::string::npos ? "" : text.substr(cut + 5);
    std::istringstream words(c.header);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      c.options[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
    }
    cases.push_back(std::move(c));
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.path < b.path; });
  return cases;
}

const Rule* find_rule(const std::string& pass, const std::string& name) {
  for (const RuleTable& table : rule_tables()) {
    if (table.pass != pass) continue;
    for (const Rule& rule : table.rules) {
      if (rule.name == name) return &rule;
    }
  }
  return nullptr;
}

PassContext context_of(const Case& c) {
  PassContext context;
  if (c.get("numerics") == "strict") context.numerics = Numerics::kStrict;
  if (c.has("limit")) context.fold_limit_elems = std::stoll(c.get("limit"));
  return context;
}

Result<bool> run_case(const Case& c, Graph& graph) {
  const PassContext context = context_of(c);
  if (c.has("rule")) {
    const Rule* rule = find_rule(c.pass, c.get("rule"));
    if (rule == nullptr)
      return make_error(Code::kInvalidArgument, "no rule " + c.get("rule") + " in " + c.pass);
    return apply_rules(graph, context, std::span(rule, 1));
  }
  if (c.pass == "pipeline") {
    PassOptions options;
    options.check_reports = true;
    auto reports = run_passes(graph, context, options);
    if (!reports.ok()) return std::move(reports).error();
    return true;
  }
  for (const PassRow& row : pass_table()) {
    if (row.name == c.pass) return row.run(graph, context);
  }
  return make_error(Code::kInvalidArgument, "no pass " + c.pass);
}

// The text has no known contents (shapes as data): inference finds them again.
Result<Graph> load(const Case& c) {
  auto graph = parse(c.before);
  if (!graph.ok()) return graph;
  if (auto inferred = infer_all(*graph); !inferred.ok()) return std::move(inferred).error();
  return graph;
}

testing::DataOptions data_options(const Case& c) {
  testing::DataOptions data;
  std::istringstream sizes(c.get("sizes"));
  for (std::string pair; std::getline(sizes, pair, ',');) {
    const size_t colon = pair.find(':');
    data.sizes[pair.substr(0, colon)] = std::stoll(pair.substr(colon + 1));
  }
  if (c.has("ints")) {
    const std::string range = c.get("ints");
    const size_t colon = range.find(':');
    data.low = std::stoll(range.substr(0, colon));
    data.high = std::stoll(range.substr(colon + 1));
  }
  data.positive = c.has("positive");
  return data;
}

class GoldenPass : public ::testing::TestWithParam<Case> {};

TEST_P(GoldenPass, TextAndValues) {
  const Case& c = GetParam();
  auto parsed = load(c);
  ASSERT_TRUE(parsed.ok()) << c.path << ": " << parsed.error().text();
  const Graph before = *parsed;
  ASSERT_TRUE(verify(before).ok()) << verify(before).error().text();
  Graph after = before;
  auto changed = run_case(c, after);
  ASSERT_TRUE(changed.ok()) << changed.error().text();
  ASSERT_TRUE(verify(after).ok()) << verify(after).error().text() << "\n" << print(after);
  const std::string text = print(after);
  if (update_requested && text != c.after) {
    std::ofstream file(c.path);
    file << c.header << "\n" << c.before << "---\n" << text;
  } else {
    EXPECT_EQ(text, c.after) << c.path;
  }
  EXPECT_EQ(*changed || c.pass == "pipeline", c.pass == "pipeline" || text != print(before))
      << "lies about `changed`";

  const Rule* rule = c.has("rule") ? find_rule(c.pass, c.get("rule")) : nullptr;
  testing::Agreement agreement;
  if (rule != nullptr && rule->exactness == Exactness::kExact) agreement.exact = true;
  if (rule != nullptr && rule->exactness == Exactness::kSignedZero)
    agreement.exact = agreement.zeros_equal = true;
  testing::DataOptions data = data_options(c);
  data.special = agreement.exact;
  agreement.may_fail = c.has("may_fail");
  if (c.has("tolerance")) agreement.tolerance = std::stod(c.get("tolerance"));
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    data.seed = seed;
    EXPECT_EQ(testing::disagreement(before, after, testing::random_data(before, data), agreement), "")
        << c.path << " seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenPass, ::testing::ValuesIn(load_cases()), [](const auto& info) {
  std::string name = info.param.pass + "_" + info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char ch) { return !std::isalnum(static_cast<unsigned char>(ch)); }, '_');
  return name;
});

// Every rule has a golden case in which it alone changes the graph.
TEST(RuleCoverage, EveryRuleFires) {
  std::set<std::string> fired;
  for (const Case& c : load_cases()) {
    if (!c.has("rule")) continue;
    auto graph = load(c);
    ASSERT_TRUE(graph.ok()) << c.path << ": " << graph.error().text();
    auto changed = run_case(c, *graph);
    ASSERT_TRUE(changed.ok()) << c.path;
    if (*changed) fired.insert(c.pass + "/" + c.get("rule"));
  }
  for (const RuleTable& table : rule_tables()) {
    for (const Rule& rule : table.rules) {
      EXPECT_EQ(fired.count(std::string(table.pass) + "/" + rule.name), 1u)
          << "no case in tests/golden/passes/" << table.pass << " fires rule " << rule.name << ": "
          << rule.equation;
    }
  }
}

// Every pass has golden cases, also those without rules.
TEST(RuleCoverage, EveryPassHasCases) {
  std::set<std::string> seen;
  for (const Case& c : load_cases()) seen.insert(c.pass);
  for (const PassRow& row : pass_table()) EXPECT_EQ(seen.count(row.name), 1u) << row.name;
}

// Spellings of one thing end as the same text.
TEST(Spellings, EndAsOneText) {
  std::map<std::string, std::vector<const Case*>> labels;
  const std::vector<Case> cases = load_cases();
  for (const Case& c : cases) {
    if (c.has("same")) labels[c.get("same")].push_back(&c);
  }
  EXPECT_GE(labels.size(), 4u);
  for (const auto& [label, spelled] : labels) {
    EXPECT_GE(spelled.size(), 3u) << label;
    std::string first;
    for (const Case* c : spelled) {
      auto graph = load(*c);
      ASSERT_TRUE(graph.ok()) << c->path;
      ASSERT_TRUE(run_case(*c, *graph).ok()) << c->path;
      if (first.empty()) first = print(*graph);
      EXPECT_EQ(print(*graph), first) << c->path << " against " << spelled[0]->path;
    }
  }
}

// The pipeline is idempotent, and does not depend on names.
TEST(Spellings, PipelineIsIdempotent) {
  for (const Case& c : load_cases()) {
    auto graph = load(c);
    ASSERT_TRUE(graph.ok()) << c.path;
    ASSERT_TRUE(run_passes(*graph, context_of(c)).ok()) << c.path;
    const std::string once = print(*graph);
    auto reports = run_passes(*graph, context_of(c));
    ASSERT_TRUE(reports.ok()) << c.path;
    EXPECT_EQ(print(*graph), once) << c.path;
    for (const PassReport& report : *reports) EXPECT_FALSE(report.changed) << c.path << ": " << report.pass;
  }
}

// Under strict, only rules that keep the bits (or fold a constant) act.
TEST(RuleCoverage, StrictRefusesRoundingRules) {
  int refused = 0;
  for (const Case& c : load_cases()) {
    const Rule* rule = c.has("rule") ? find_rule(c.pass, c.get("rule")) : nullptr;
    if (rule == nullptr || rule->exactness == Exactness::kExact || rule->exactness == Exactness::kFolded)
      continue;
    auto graph = load(c);
    ASSERT_TRUE(graph.ok());
    PassContext strict;
    strict.numerics = Numerics::kStrict;
    auto changed = apply_rules(*graph, strict, std::span(rule, 1));
    ASSERT_TRUE(changed.ok());
    EXPECT_FALSE(*changed) << c.path;
    ++refused;
  }
  EXPECT_GT(refused, 5);
}

}  // namespace
}  // namespace frit::graph

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) frit::graph::update_requested |= std::string(argv[i]) == "--update";
  return RUN_ALL_TESTS();
}
