// Bad input gives the sentence and the exit code, good input gives what was promised, and a second process
// finds everything in the cache.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/cli.h"
#include "support/onnx_builder.h"

namespace frit {
namespace {

namespace fs = std::filesystem;

using testing::Cli;
using testing::content;
using testing::Ran;

TEST_F(Cli, BadInputGivesTheSentenceAndTheExitCode) {
  write("empty.onnx", "");
  write("text.onnx", "this is not a model, it is a sentence that goes on for a while\n");
  const std::string bytes = content(path("mlp.onnx"));
  write("half.onnx", bytes.substr(0, bytes.size() / 2));
  write("broken.npy", "\x93NUMPY\x01");
  const std::string mlp = path("mlp.onnx");
  const struct {
    std::string arguments;
    int code;
    std::string sentence;
  } table[] = {
      {"run " + path("missing.onnx"), 1, "missing.onnx"},
      {"run " + path("empty.onnx"), 1, "empty.onnx"},
      {"run " + path("text.onnx"), 1, "text.onnx"},
      {"run " + path("half.onnx"), 1, "half.onnx"},
      {"run " + mlp + " --input nosuch=ones", 2, "\"nosuch\""},
      {"run " + mlp + " --input x=" + path("nosuch.npy"), 1, "nosuch.npy"},
      {"run " + mlp + " --input x=" + path("broken.npy"), 1, "broken.npy"},
      {"run " + mlp + " --input x=sevens", 2, "sevens"},
      {"run " + mlp + " --input x", 2, "NAME=VALUE"},
      {"run " + mlp + " --shape x=1x65 --on-miss heuristic", 2, "65"},
      {"run " + mlp + " --shape q=3", 2, "\"q\""},
      {"run " + mlp + " --shape x=1xb", 2, "1xb"},
      {"run " + mlp + " --budget nan", 2, "nan"},
      {"run " + mlp + " --budget -3s", 2, "budget"},
      {"run " + mlp + " --numerics exact", 2, "exact"},
      {"run " + mlp + " --on-miss never", 2, "never"},
      {"run " + mlp + " --target cpu:pentium", 2, "pentium"},
      {"run " + mlp + " --treads 2", 2, "did you mean --threads"},
      {"rum " + mlp, 2, "did you mean frit run"},
      {"run", 2, "MODEL"},
      {"bench " + mlp + " --time 0s", 2, "0s"},
      {"tune " + mlp + " --threads 1,x", 2, "1,x"},
      {"explain " + mlp + " --kernel 99", 2, "99"},
      {"explain " + mlp + " --kernel 0 --emit poem", 2, "poem"},
      {"explain " + mlp + " --emit llvm", 2, "--kernel is missing"},
      {"zoo make resnet5 -o " + path("r.onnx"), 2, "did you mean resnet50"},
      {"zoo make mlp -o " + path("no/such/folder/m.onnx"), 1, "no/such/folder"},
      {"run " + path("") + " --on-miss heuristic", 1, ""},
      {"run " + mlp + " --shape x=1x64x1 --on-miss heuristic", 2, "x"},
      {"run " + mlp + " --shape x --on-miss heuristic", 2, "NAME=VALUE"},
      {"run " + mlp + " --budget inf", 2, "inf"},
      {"run " + mlp + " --repeat 0", 2, "--repeat"},
      {"run " + mlp + " --threads -1", 2, "--threads"},
      {"tune " + mlp + " --budget nan", 2, "nan"},
      {"tune " + mlp + " --shape x", 2, "NAME=64,128"},
      {"tune " + mlp + " --shape batch=1,", 2, "empty size"},
      {"tune " + mlp + " " + path("none.onnx") + " --cache off", 1, "none.onnx"},
      {"tune " + mlp + " --threads 0", 2, "0"},
      {"bench " + mlp + " --tune", 2, "did you mean --time"},
      {"cache lst", 2, "did you mean frit cache ls"},
      {"cache ls --jsn", 2, "did you mean --json"},
      {"zoo mak mlp", 2, "did you mean frit zoo make"},
      {"xyzzy", 2, "frit --help"},
      {"cache prune --max-age nan", 2, "nan"},
      {"cache ls --cache off", 2, "off"},
      {"cache show 12", 2, ""},
      {"cache import " + path("missing.pack"), 1, "missing.pack"},
      {"cache why " + mlp, 3, ""},
      {"run " + mlp + " --on-miss error", 3, ""},
  };
  for (const auto& row : table) {
    const Ran ran = run(row.arguments);
    EXPECT_EQ(ran.code, row.code) << row.arguments << "\n" << ran.err;
    EXPECT_NE(ran.err.find(row.sentence), std::string::npos)
        << row.arguments << " does not say '" << row.sentence << "':\n"
        << ran.err;
    if (row.code == 1 || row.code == 2) {
      EXPECT_NE(ran.err.find("frit: error: "), std::string::npos) << row.arguments << "\n" << ran.err;
      EXPECT_EQ(ran.out, "") << row.arguments;
    }
  }
}

// What cannot be written is not said to be done: 75 while another process holds the cache, else 1.
TEST_F(Cli, WritingToACacheThatCannotBeWritten) {
  const std::string cache = " --cache " + path("held.sqlite");
  ASSERT_EQ(run("run " + path("mlp.onnx") + " --on-miss heuristic" + cache).code, 0);
  ASSERT_EQ(run("cache export " + path("held.pack") + cache).code, 0);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path("held.sqlite").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE", nullptr, nullptr, nullptr),
            SQLITE_OK);
  const Ran held = run("cache import " + path("held.pack") + cache);
  const Ran used = run("run " + path("mlp.onnx") + " --on-miss heuristic --json" + cache);
  sqlite3_close(db);
  EXPECT_EQ(held.code, 75) << held.err;
  EXPECT_TRUE(held.says("held by another process") || held.says("busy") || held.says("locked")) << held.err;
  EXPECT_EQ(used.code, 0) << used.err;  // runs without
  EXPECT_TRUE(used.says("warning: ")) << used.err;
  EXPECT_EQ(run("cache import " + path("held.pack") + cache).code, 0);

  const Ran nowhere = run("cache import " + path("held.pack") + " --cache /proc/no/such/folder/c.sqlite");
  EXPECT_EQ(nowhere.code, 1) << nowhere.err;
  EXPECT_TRUE(nowhere.says("cannot be written")) << nowhere.err;
}

TEST_F(Cli, ErrorsOfModelsAndDataNameTheNode) {
  test::OnnxBuilder conv;
  conv.input("x", test::kFloat, {"1", "3", "8", "8"})
      .floats("w", {4, 3, 1, 1}, std::vector<float>(12))
      .node("Conv", {"x", "w"}, {"y"}, {{"dilations", std::vector<int64_t>{1, 1, 1}}}, "Conv_12")
      .output("y");
  write("conv.onnx", conv.bytes());
  const Ran ran = run("run " + path("conv.onnx"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(
      ran.says("frit: error: " + path("conv.onnx") +
               ": node \"Conv_12\" (Conv, opset 17): dilations has 3 values, expected 2 for rank-4 input"))
      << ran.err;

  // A file with an index that is out of range: wrong data, found when it runs.
  test::OnnxBuilder gather;
  gather.input("ids", test::kInt64, {"2"})
      .floats("table", {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})
      .node("Gather", {"table", "ids"}, {"y"}, {}, "Lookup")
      .output("y");
  write("gather.onnx", gather.bytes());
  std::string ids("\x08\x02\x10\x07\x4a\x10", 6);  // TensorProto: dims 2, int64, 16 bytes of raw data
  for (const int64_t v : {int64_t{1}, int64_t{400}}) ids.append(reinterpret_cast<const char*>(&v), 8);
  write("ids.pb", ids);
  const std::string base = "run " + path("gather.onnx") + " --on-miss heuristic";
  EXPECT_EQ(run(base).code, 0);  // what is invented fits
  const Ran data = run(base + " --input ids=" + path("ids.pb"));
  EXPECT_EQ(data.code, 1) << data.err;
  EXPECT_TRUE(data.says("Lookup")) << data.err;
  EXPECT_TRUE(data.says("400")) << data.err;
}

// Every verb shows two commands to copy, and fits on a screen.
TEST_F(Cli, HelpFitsOnAScreen) {
  for (const char* verb : {"", "run", "bench", "tune", "explain", "devices", "zoo", "zoo list", "zoo make",
                           "cache", "cache ls", "cache show", "cache why", "cache stats", "cache verify",
                           "cache export", "cache import", "cache prune"}) {
    const Ran ran = run(std::string(verb) + " --help");
    EXPECT_EQ(ran.code, 0) << verb << ran.err;
    EXPECT_LE(std::count(ran.out.begin(), ran.out.end(), '\n'), 40) << verb;
    size_t examples = 0;
    for (size_t at = 0; (at = ran.out.find("\n  frit " + std::string(verb), at)) != std::string::npos; ++at)
      ++examples;
    EXPECT_GE(examples, 2u) << verb << "\n" << ran.out;
  }
}

TEST_F(Cli, SecondProcessSearchesNothingAndCompilesNothing) {
  const std::string cache = " --cache " + path("warm.sqlite");
  const std::string mlp = path("mlp.onnx");
  const Ran first = run("run " + mlp + cache + " --threads 1 --budget 2s --json --outputs " + path("out1") +
                        " --input x=random:7");
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("tuned for at most 2s"), std::string::npos) << first.err;
  const auto one = nlohmann::json::parse(first.out);
  EXPECT_GT(one["counters"]["trials"], 0);
  EXPECT_GT(one["counters"]["compiles"], 0);
  EXPECT_EQ(one["counters"]["host_kernels"], 0);

  fs::copy_file(mlp, path("moved.onnx"), fs::copy_options::overwrite_existing);
  const Ran second = run("run " + path("moved.onnx") + cache + " --threads 1 --json --outputs " +
                         path("out2") + " --input x=random:7");
  ASSERT_EQ(second.code, 0) << second.err;
  const auto two = nlohmann::json::parse(second.out);
  EXPECT_EQ(two["counters"]["trials"], 0);
  EXPECT_EQ(two["counters"]["compiles"], 0);
  EXPECT_EQ(two["counters"]["misses"], 0);
  EXPECT_EQ(two["counters"]["exact_hits"], two["counters"]["kernels"]);
  ASSERT_FALSE(content(path("out1/y.npy")).empty());
  EXPECT_EQ(content(path("out1/y.npy")), content(path("out2/y.npy")));

  for (const char* key : {"schema", "model", "device", "target", "threads", "load_ms", "first_run_ms",
                          "latency_ms", "counters", "memory"})
    EXPECT_TRUE(two.contains(key)) << key;
  for (const char* key : {"median", "min", "p95", "runs"})
    EXPECT_TRUE(two["latency_ms"].contains(key)) << key;
  for (const char* key : {"weights", "arena", "peak_rss"}) EXPECT_TRUE(two["memory"].contains(key)) << key;

  const Ran stats = run("cache stats --json" + cache);
  ASSERT_EQ(stats.code, 0) << stats.err;
  const auto counts = nlohmann::json::parse(stats.out);
  EXPECT_EQ(counts["trials"], one["counters"]["trials"]);
  EXPECT_EQ(run("cache verify" + cache).code, 0);
  EXPECT_EQ(run("cache why " + mlp + " --threads 1" + cache).code, 0);

  // Another machine's cache: decisions travel, code does not.
  ASSERT_EQ(run("cache export " + path("pack") + cache).code, 0);
  const std::string other = " --cache " + path("other.sqlite");
  const Ran imported = run("cache import " + path("pack") + other + " --json");
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_GT(nlohmann::json::parse(imported.out)["added"], 0);
  const Ran third = run("run " + mlp + other + " --threads 1 --json");
  ASSERT_EQ(third.code, 0) << third.err;
  const auto three = nlohmann::json::parse(third.out);
  EXPECT_EQ(three["counters"]["trials"], 0);
  EXPECT_GT(three["counters"]["compiles"], 0);
}

TEST_F(Cli, ExplainShowsEveryStep) {
  const std::string mlp = path("mlp.onnx");
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --emit graph").out.find("matmul"), std::string::npos);
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --emit loop").out.find("fma"), std::string::npos);
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --emit llvm").out.find("define i32 @frit_"),
            std::string::npos);
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --emit asm").out.find("vfmadd"), std::string::npos);
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --space").out.find("legal"), std::string::npos);
  ASSERT_EQ(run("explain " + mlp + " --dot " + path("plan.dot")).code, 0);
  EXPECT_TRUE(fs::exists(path("plan.dot")));
}

}  // namespace
}  // namespace frit
