// Files that go in and come out of the binary: inputs as .npy and .pb, outputs, a full disk, a cache that
// cannot be written.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/cli.h"

namespace frit {
namespace {

namespace fs = std::filesystem;

using testing::Cli;
using testing::content;
using testing::Ran;

// Files of more than `blocks` times 512 bytes cannot be written, as on a full disk; the signal for it is
// ignored.
std::string full_disk(int blocks) { return "trap '' 25; ulimit -f " + std::to_string(blocks); }

std::string row() {
  std::string bytes;
  for (int k = 0; k < 64; ++k) {
    const float v = static_cast<float>(k) / 64 - 0.5f;
    bytes.append(reinterpret_cast<const char*>(&v), 4);
  }
  return bytes;
}

std::string npy(const std::string& descr, const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  return std::string("\x93NUMPY\x01\0", 8) + std::string(reinterpret_cast<const char*>(&length), 2) + header +
         data;
}

// TensorProto: dims = 1, 64; data_type = FLOAT; raw_data.
std::string pb(const std::string& data) { return std::string("\x08\x01\x08\x40\x10\x01\x4a\x80\x02") + data; }

std::string payload(const std::string& npy_file) {
  uint16_t length = 0;
  if (npy_file.size() < 10) return {};
  std::memcpy(&length, npy_file.data() + 8, 2);
  return npy_file.substr(10 + length);
}

TEST_F(Cli, InputsComeFromFilesSeedsAndConstants) {
  write("x.npy", npy("<f4", "(1, 64)", row()));
  write("x.pb", pb(row()));
  const std::string base = "run " + path("mlp.onnx") + " --on-miss heuristic --threads 1";
  const auto result = [&](const std::string& more) {
    fs::remove_all(path("out"));
    const Ran ran = run(base + " --outputs " + path("out/deep") + " " + more);
    EXPECT_EQ(ran.code, 0) << more << "\n" << ran.err;
    return payload(content(path("out/deep/y.npy")));
  };
  const std::string from_npy = result("--input x=" + path("x.npy"));
  ASSERT_EQ(from_npy.size(), 40u);
  EXPECT_EQ(from_npy, result("--input x=" + path("x.pb")));
  EXPECT_EQ(from_npy, result("--input x=" + path("x.pb") + " --shape x=1x64"));
  const std::string seven = result("--input x=random:7");
  EXPECT_NE(seven, from_npy);
  EXPECT_EQ(seven, result("--input x=random:7"));
  EXPECT_NE(seven, result("--input x=random:8"));
  EXPECT_NE(result("--input x=ones"), result("--input x=zeros"));
  EXPECT_EQ(result(""), result("--seed 1"));
  EXPECT_NE(result(""), result("--seed 2"));
}

TEST_F(Cli, OutputsAreNpyOrProtobuf) {
  const std::string base = "run " + path("mlp.onnx") + " --on-miss heuristic --threads 1 --outputs ";
  ASSERT_EQ(run(base + path("n")).code, 0);
  ASSERT_EQ(run(base + path("p") + " --format pb").code, 0);
  const std::string data = payload(content(path("n/y.npy")));
  ASSERT_EQ(data.size(), 40u);
  const std::string proto = content(path("p/y.pb"));
  EXPECT_NE(proto.find(data), std::string::npos);
  EXPECT_NE(proto.find("y"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("p/y.npy")));
  EXPECT_EQ(run(base + path("q") + " --format csv").code, 2);
}

TEST_F(Cli, BadInputFilesSayWhatIsWrong) {
  write("short.npy", npy("<f4", "(1, 64)", row().substr(4)));
  write("doubles.npy", npy("<f8", "(1, 32)", row()));
  write("wide.npy", npy("<f4", "(2, 32)", row()));
  write("big.npy", npy("<f4", "(9223372036854775807, 64)", row()));
  write("negative.npy", npy("<f4", "(-1, 64)", row()));
  write("endian.npy", npy(">f4", "(1, 64)", row()));
  write("cut.pb", pb(row()).substr(0, 100));
  write("text.pb", "not a tensor at all");
  write("empty.pb", "");
  write("fine.npy", npy("<f4", "(1, 64)", row()));
  const struct {
    std::string file;
    int code;
    std::string says;
  } table[] = {
      {"short.npy", 1, "252 bytes"},   {"doubles.npy", 2, "f64"},
      {"wide.npy", 2, "[2,32]"},       {"big.npy", 2, ""},
      {"negative.npy", 1, "(-1, 64)"}, {"endian.npy", 1, ">f4"},
      {"cut.pb", 1, "cut.pb"},         {"text.pb", 1, "text.pb"},
      {"empty.pb", 1, "empty.pb"},
  };
  for (const auto& row : table) {
    const Ran ran = run("run " + path("mlp.onnx") + " --on-miss heuristic --input x=" + path(row.file));
    EXPECT_EQ(ran.code, row.code) << row.file << "\n" << ran.err;
    EXPECT_TRUE(ran.says("frit: error: ")) << row.file << "\n" << ran.err;
    EXPECT_TRUE(ran.says(row.says)) << row.file << "\n" << ran.err;
  }
  const Ran twice = run("run " + path("mlp.onnx") + " --input x=ones --input x=zeros");
  EXPECT_EQ(twice.code, 2);
  EXPECT_TRUE(twice.says("given twice")) << twice.err;
  const Ran differs =
      run("run " + path("mlp.onnx") + " --on-miss heuristic --shape x=2x64 --input x=" + path("fine.npy"));
  EXPECT_EQ(differs.code, 2);
  EXPECT_TRUE(differs.says("[2,64]")) << differs.err;
}

TEST_F(Cli, AFullDiskLosesNothing) {
  // A model: the old file stays, and nothing is left beside it.
  write("old.onnx", "the old one");
  const Ran made = run("zoo make mlp -o " + path("old.onnx"), {}, full_disk(64));
  EXPECT_EQ(made.code, 1) << made.err;
  EXPECT_TRUE(made.says("old.onnx")) << made.err;
  EXPECT_EQ(content(path("old.onnx")), "the old one");

  ASSERT_EQ(run("zoo make mlp --batch 2000 -o " + path("wide.onnx")).code, 0);
  const Ran outputs =
      run("run " + path("wide.onnx") + " --on-miss heuristic --cache off --outputs " + path("full"), {},
          full_disk(64));
  EXPECT_EQ(outputs.code, 1) << outputs.err;
  EXPECT_TRUE(outputs.says("y.npy")) << outputs.err;
  EXPECT_TRUE(fs::is_empty(path("full")));

  // A new cache: one warning, and the work is done.
  const Ran fresh =
      run("run " + path("mlp.onnx") + " --on-miss heuristic --json --cache " + path("none.sqlite"), {},
          full_disk(16));
  EXPECT_EQ(fresh.code, 0) << fresh.err;
  EXPECT_TRUE(fresh.says("none.sqlite")) << fresh.err;
  EXPECT_EQ(nlohmann::json::parse(fresh.out)["counters"]["host_kernels"], 0);

  // A cache that cannot grow: what it holds stays.
  const std::string cache = " --cache " + path("grown.sqlite");
  ASSERT_EQ(run("run " + path("mlp.onnx") + " --on-miss heuristic --threads 1" + cache).code, 0);
  const auto before = nlohmann::json::parse(run("cache stats --json" + cache).out);
  ASSERT_GT(before["decisions"], 0);
  const Ran stuck =
      run("run " + path("wide.onnx") + " --on-miss heuristic --threads 1" + cache, {}, full_disk(4));
  EXPECT_EQ(stuck.code, 0) << stuck.err;
  const auto after = nlohmann::json::parse(run("cache stats --json" + cache).out);
  EXPECT_EQ(after["decisions"], before["decisions"]);
  EXPECT_EQ(run("cache verify" + cache).code, 0);
  EXPECT_EQ(run("run " + path("mlp.onnx") + " --on-miss error --threads 1" + cache).code, 0);
}

TEST_F(Cli, ACacheThatCannotBeUsedIsAWarning) {
  write("foreign.sqlite", "this is not a database, it is a text that somebody wants to keep");
  const std::string foreign = content(path("foreign.sqlite"));
  for (const std::string& cache :
       {std::string("/proc/no/such/folder/c.sqlite"), path("mlp.onnx/c.sqlite"), path("foreign.sqlite")}) {
    const Ran ran = run("run " + path("mlp.onnx") + " --on-miss heuristic --json --cache " + cache);
    EXPECT_EQ(ran.code, 0) << cache << "\n" << ran.err;
    EXPECT_TRUE(ran.says("warning: ")) << cache << "\n" << ran.err;
    EXPECT_FALSE(nlohmann::json::parse(ran.out, nullptr, false).is_discarded()) << ran.out;
  }
  // Set aside, not deleted.
  bool kept = false;
  for (const auto& file : fs::directory_iterator(path("")))
    kept = kept ||
           (file.path().filename().string().starts_with("foreign.sqlite") && content(file.path()) == foreign);
  EXPECT_TRUE(kept);
}

TEST_F(Cli, TraceAndProfile) {
  const Ran ran =
      run("bench " + path("mlp.onnx") + " --time 100ms --threads 1 --cache off --profile --trace " + path("trace.json"));
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("GFLOP/s"), std::string::npos);
  EXPECT_NE(ran.out.find("matmul"), std::string::npos);
  EXPECT_TRUE(ran.says(" tuned, ")) << ran.err;
  EXPECT_TRUE(ran.says(" near, ")) << ran.err;
  EXPECT_TRUE(ran.says(" heuristic")) << ran.err;
  const auto trace = nlohmann::json::parse(content(path("trace.json")));
  const auto& events = trace.is_array() ? trace : trace["traceEvents"];
  bool load = false, run_span = false, compile = false, kernel = false;
  for (const auto& event : events) {
    const std::string name = event.value("name", "");
    load = load || name == "load";
    run_span = run_span || name == "run";
    compile = compile || name.starts_with("compile ");
    kernel = kernel || name.find("fc1") != std::string::npos;
  }
  EXPECT_TRUE(load && run_span && compile && kernel) << load << run_span << compile << kernel;
  EXPECT_EQ(run("bench " + path("mlp.onnx") + " --time 100ms --trace " + path("no/such/folder/t.json")).code,
            1);
}

TEST_F(Cli, FastSaysThatItEqualsDefault) {
  for (const std::string& verb :
       {std::string("run --on-miss heuristic "), std::string("bench --time 50ms ")}) {
    const Ran ran = run(verb + path("mlp.onnx") + " --numerics fast");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(ran.says("fast equals default")) << ran.err;
  }
}

}  // namespace
}  // namespace frit
