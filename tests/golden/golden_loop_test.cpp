// Golden tests of the loop IR: tests/golden/loop/<case>.txt holds a line of options, a function, "---", and
// the function after simplification. Each time, both are also run by the interpreter on random data and must
// leave the same memory. `golden_loop_test --update` rewrites what is expected; review the diff.
//
// Options: sizes=A,B (values of the run-time sizes), ints=LOW:HIGH (range of integers in the arguments),
// none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "loop/evaluate.h"
#include "loop/interp.h"
#include "loop/scalar.h"
#include "loop/simplify.h"
#include "loop/text.h"
#include "loop/verify.h"

namespace frit::loop {
namespace {

bool update_requested = false;

struct Case {
  std::string name, path, header, before, after;
  std::vector<int64_t> sizes;
  int64_t low = -4, high = 5;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.path; }

std::vector<Case> load_cases() {
  std::vector<Case> cases;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(FRIT_TEST_DATA) + "/golden/loop")) {
    std::ifstream file(entry.path());
    std::stringstream all;
    all << file.rdbuf();
    const std::string text = all.str();
    Case c;
    c.path = entry.path().string();
    c.name = entry.path().stem().string();
    const size_t head = text.find('\n'), cut = text.find("\n---\n");
    c.header = text.substr(0, head);
    c.before = text.substr(head + 1, cut == std::string::npos ? cut : cut - head);
    c.after = cut == std::string::npos ? "" : text.substr(cut + 5);
    std::istringstream words(c.header);
    for (std::string word; words >> word;) {
      std::istringstream values(word.substr(word.find('=') + 1));
      if (word.starts_with("sizes=")) {
        for (std::string size; std::getline(values, size, ',');) c.sizes.push_back(std::stoll(size));
      } else if (word.starts_with("ints=")) {
        char colon = 0;
        values >> c.low >> colon >> c.high;
      }
    }
    cases.push_back(std::move(c));
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.path < b.path; });
  return cases;
}

// Memory of the arguments after a run on the data of a seed.
std::vector<std::vector<uint8_t>> run(const LoopFn& fn, const Case& c, uint64_t seed, std::string* error) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<uint8_t>> memory;
  std::vector<InterpBuffer> args;
  for (int32_t i = 0; i < fn.arg_count; ++i) {
    const Buffer& b = fn.buffers[static_cast<size_t>(i)];
    const auto count = evaluate(b.size, c.sizes);
    const size_t bytes = dtype_bytes(b.dtype);
    memory.emplace_back(count.ok() ? static_cast<size_t>(*count) * bytes : 0);
    for (size_t k = 0; k < memory.back().size(); k += bytes) {
      const int64_t number = c.low + static_cast<int64_t>(random() % static_cast<uint64_t>(c.high - c.low));
      const int64_t value = fold_cast(DType::kI64, b.dtype, number);
      std::memcpy(memory.back().data() + k, &value, bytes);
    }
  }
  for (auto& m : memory) args.push_back({m.data(), static_cast<int64_t>(m.size())});
  const auto interpreter = Interpreter::make(fn);
  if (!interpreter.ok()) {
    *error = interpreter.error().text();
    return {};
  }
  const auto result = interpreter->run(args, c.sizes);
  if (!result.ok()) *error = result.error().text();
  return memory;
}

class GoldenLoop : public testing::TestWithParam<Case> {};

TEST_P(GoldenLoop, TextAndValues) {
  const Case& c = GetParam();
  const auto before = parse_loop_fn(c.before);
  ASSERT_TRUE(before.ok()) << before.error().text();
  ASSERT_TRUE(verify(*before).ok()) << verify(*before).error().text();
  EXPECT_EQ(print(*before), c.before) << "the input is not canonical";
  const LoopFn simple = simplify(*before);
  ASSERT_TRUE(verify(simple).ok()) << verify(simple).error().text() << "\n" << print(simple);
  const std::string text = print(simple);
  if (update_requested && text != c.after) {
    std::ofstream file(c.path);
    file << c.header << "\n" << print(*before) << "---\n" << text;
  } else {
    EXPECT_EQ(text, c.after);
  }
  EXPECT_EQ(print(simplify(simple)), text) << "simplifying twice differs";
  const auto back = parse_loop_fn(text);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(print(*back), text);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    std::string error;
    const auto want = run(*before, c, seed, &error);
    ASSERT_EQ(error, "");
    EXPECT_EQ(run(simple, c, seed, &error), want);
    ASSERT_EQ(error, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenLoop, testing::ValuesIn(load_cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace frit::loop

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i)
    frit::loop::update_requested = frit::loop::update_requested || std::string(argv[i]) == "--update";
  return RUN_ALL_TESTS();
}
