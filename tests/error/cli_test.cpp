// The binary as a user meets it: bad input gives the sentence and the exit code, good input gives what was promised, and a
// second process finds everything in the cache.
#include <gtest/gtest.h>

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

namespace frit {
namespace {

namespace fs = std::filesystem;

struct Ran {
  int code = -1;
  std::string out, err;
};

class Cli : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = fs::temp_directory_path() / ("frit_cli_test_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    const Ran made = run("zoo make mlp -o " + path("mlp.onnx"));
    ASSERT_EQ(made.code, 0) << made.err;
  }
  static void TearDownTestSuite() { fs::remove_all(folder_); }

  static std::string path(const std::string& name) { return (folder_ / name).string(); }
  static void write(const std::string& name, const std::string& bytes) { std::ofstream(path(name), std::ios::binary) << bytes; }

  static Ran run(const std::string& arguments, const std::string& environment = {}) {
    const std::string errors = path("stderr.txt");
    const std::string command = "env -u FRIT_CACHE FRIT_CACHE=" + path("cache") + " " + environment + " " FRIT_TOOL " " + arguments + " 2>" + errors;
    Ran ran;
    FILE* pipe = popen(command.c_str(), "r");
    std::array<char, 4096> buffer;
    for (size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) ran.out.append(buffer.data(), n);
    const int status = pclose(pipe);
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    std::ifstream file(errors);
    ran.err.assign(std::istreambuf_iterator<char>(file), {});
    return ran;
  }

  static inline fs::path folder_;
};

TEST_F(Cli, BadInputGivesTheSentenceAndTheExitCode) {
  write("empty.onnx", "");
  write("text.onnx", "this is not a model, it is a sentence that goes on for a while\n");
  std::ifstream model(path("mlp.onnx"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(model)), {});
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
      {"zoo make resnet5 -o " + path("r.onnx"), 2, "did you mean resnet50"},
      {"zoo make mlp -o " + path("no/such/folder/m.onnx"), 1, "no/such/folder"},
      {"cache show 12", 2, ""},
      {"cache import " + path("missing.pack"), 1, "missing.pack"},
      {"cache why " + mlp, 3, ""},
      {"run " + mlp + " --on-miss error", 3, ""},
  };
  for (const auto& row : table) {
    const Ran ran = run(row.arguments);
    EXPECT_EQ(ran.code, row.code) << row.arguments << "\n" << ran.err;
    EXPECT_NE(ran.err.find(row.sentence), std::string::npos) << row.arguments << " does not say '" << row.sentence << "':\n" << ran.err;
    if (row.code == 1 || row.code == 2) {
      EXPECT_NE(ran.err.find("frit: error: "), std::string::npos) << row.arguments << "\n" << ran.err;
      EXPECT_EQ(ran.out, "") << row.arguments;
    }
  }
}

TEST_F(Cli, SecondProcessSearchesNothingAndCompilesNothing) {
  const std::string cache = " --cache " + path("warm.sqlite");
  const std::string mlp = path("mlp.onnx");
  const Ran first = run("run " + mlp + cache + " --threads 1 --budget 2s --json --outputs " + path("out1") + " --input x=random:7");
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.err.find("tuned for at most 2s"), std::string::npos) << first.err;
  const auto one = nlohmann::json::parse(first.out);
  EXPECT_GT(one["counters"]["trials"], 0);
  EXPECT_GT(one["counters"]["compiles"], 0);
  EXPECT_EQ(one["counters"]["host_kernels"], 0);

  fs::copy_file(mlp, path("moved.onnx"), fs::copy_options::overwrite_existing);
  const Ran second = run("run " + path("moved.onnx") + cache + " --threads 1 --json --outputs " + path("out2") + " --input x=random:7");
  ASSERT_EQ(second.code, 0) << second.err;
  const auto two = nlohmann::json::parse(second.out);
  EXPECT_EQ(two["counters"]["trials"], 0);
  EXPECT_EQ(two["counters"]["compiles"], 0);
  EXPECT_EQ(two["counters"]["misses"], 0);
  EXPECT_EQ(two["counters"]["exact_hits"], two["counters"]["kernels"]);
  auto content = [&](const std::string& name) {
    std::ifstream file(path(name), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  };
  ASSERT_FALSE(content("out1/y.npy").empty());
  EXPECT_EQ(content("out1/y.npy"), content("out2/y.npy"));

  for (const char* key : {"schema", "model", "device", "target", "threads", "load_ms", "first_run_ms", "latency_ms", "counters", "memory"})
    EXPECT_TRUE(two.contains(key)) << key;
  for (const char* key : {"median", "min", "p95", "runs"}) EXPECT_TRUE(two["latency_ms"].contains(key)) << key;
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

// What the schemas in schemas/ use of JSON Schema: type, const, enum, minimum, properties, required, items.
void validate(const nlohmann::json& schema, const nlohmann::json& value, const std::string& at) {
  if (schema.contains("const")) {
    EXPECT_EQ(schema["const"], value) << at;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end()) << at << ": " << value;
  }
  if (schema.contains("minimum")) {
    EXPECT_GE(value.get<double>(), schema["minimum"].get<double>()) << at;
  }
  const std::string type = schema.value("type", "");
  if (type == "string") {
    EXPECT_TRUE(value.is_string()) << at;
  } else if (type == "boolean") {
    EXPECT_TRUE(value.is_boolean()) << at;
  } else if (type == "integer") {
    EXPECT_TRUE(value.is_number_integer()) << at << ": " << value;
  } else if (type == "number") {
    EXPECT_TRUE(value.is_number()) << at << ": " << value;
  } else if (type == "array") {
    ASSERT_TRUE(value.is_array()) << at;
    for (const auto& item : value) validate(schema["items"], item, at + "[]");
  } else if (type == "object") {
    ASSERT_TRUE(value.is_object()) << at;
    for (const auto& name : schema["required"]) EXPECT_TRUE(value.contains(name.get<std::string>())) << at << " lacks " << name;
    for (const auto& [name, item] : value.items()) {
      EXPECT_TRUE(schema["properties"].contains(name)) << at << " has " << name << ", which its schema does not know";
      if (schema["properties"].contains(name)) validate(schema["properties"][name], item, at + "." + name);
    }
  }
}

TEST_F(Cli, EveryVerbSpeaksJson) {
  const std::string mlp = path("mlp.onnx");
  const struct {
    std::string arguments, schema;
  } table[] = {
      {"run " + mlp + " --on-miss heuristic --json", "frit/run/1"},
      {"bench " + mlp + " --time 100ms --json", "frit/run/1"},
      {"tune " + mlp + " --budget 1s --json", "frit/tune/1"},
      {"explain " + mlp + " --passes --json", "frit/explain-passes/1"},
      {"explain " + mlp + " --groups --json", "frit/explain-groups/1"},
      {"zoo list --json", "frit/zoo/1"},
      {"devices --json", "frit/devices/1"},
      {"cache ls --json", "frit/cache-ls/1"},
      {"cache stats --json", "frit/cache-stats/1"},
      {"cache verify --json", "frit/cache-verify/1"},
      {"cache stats --json --cache " + path("nothing.sqlite"), "frit/cache-stats/1"},
      {"cache verify --json --cache " + path("nothing.sqlite"), "frit/cache-verify/1"},
  };
  for (const auto& row : table) {
    const Ran ran = run(row.arguments);
    ASSERT_EQ(ran.code, 0) << row.arguments << "\n" << ran.err;
    const auto json = nlohmann::json::parse(ran.out, nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << row.arguments << "\n" << ran.out;
    EXPECT_EQ(json["schema"], row.schema) << row.arguments;
    std::string name = row.schema.substr(5, row.schema.size() - 7);
    std::replace(name.begin(), name.end(), '-', '_');
    std::ifstream file(std::string(FRIT_TEST_DATA) + "/../schemas/" + name + ".schema.json");
    ASSERT_TRUE(file.good()) << name;
    validate(nlohmann::json::parse(file), json, name);
  }
  EXPECT_FALSE(fs::exists(path("nothing.sqlite")));
}

TEST_F(Cli, ExplainShowsEveryStep) {
  const std::string mlp = path("mlp.onnx");
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --emit graph").out.find("matmul"), std::string::npos);
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --emit loop").out.find("fma"), std::string::npos);
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --emit llvm").out.find("define i32 @frit_"), std::string::npos);
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --emit asm").out.find("vfmadd"), std::string::npos);
  EXPECT_NE(run("explain " + mlp + " --kernel 0 --space").out.find("legal"), std::string::npos);
  ASSERT_EQ(run("explain " + mlp + " --dot " + path("plan.dot")).code, 0);
  EXPECT_TRUE(fs::exists(path("plan.dot")));
}

}  // namespace
}  // namespace frit
