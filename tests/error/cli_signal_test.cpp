// Interrupted work: the first signal finishes the trial and keeps everything, a second one ends at once, and
// a process that was killed loses nothing that it had committed.
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "support/cli.h"

namespace frit {
namespace {

using testing::Cli;
using testing::Ran;

class CliSignal : public Cli {
 protected:
  static int64_t trials(const std::string& cache) {
    const Ran ran = run("cache stats --json --cache " + cache);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out)["trials"];
  }
  // Until something was measured: a search that has begun.
  static bool begins(const std::string& cache) {
    for (int k = 0; k < 400; ++k) {
      if (trials(cache) > 5) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }
  static std::string tune(const std::string& cache) {
    return command("tune " + path("mlp.onnx") + " --threads 1 --budget 300s --cache " + cache, {}, {});
  }
};

TEST_F(CliSignal, TheFirstKeepsEverythingAndSaysSo) {
  const struct { int signal, code; } table[] = {{SIGINT, 130}, {SIGTERM, 143}};
  for (const auto& row : table) {
    const std::string cache = path("kept" + std::to_string(row.signal) + ".sqlite");
    Child child(tune(cache), path("tune.txt"));
    ASSERT_TRUE(begins(cache));
    child.signal(row.signal);
    const Ran ran = child.wait();
    EXPECT_EQ(ran.code, row.code) << ran.err;
    EXPECT_TRUE(ran.says("trials were measured and are kept in " + cache)) << ran.err;
    EXPECT_TRUE(ran.says("the same command continues from there")) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_GT(trials(cache), 5);
    EXPECT_EQ(run("cache verify --cache " + cache).code, 0);
    // What was found is used: no run needs to search again.
    const Ran after = run("run " + path("mlp.onnx") + " --threads 1 --on-miss error --json --cache " + cache);
    EXPECT_EQ(after.code, 0) << after.err;
  }
}

TEST_F(CliSignal, ASecondOneEndsAtOnce) {
  const std::string cache = path("twice.sqlite");
  Child child(tune(cache), path("tune.txt"));
  ASSERT_TRUE(begins(cache));
  child.signal(SIGINT);
  child.signal(SIGINT);
  child.signal(SIGTERM);  // should the two have been merged into one
  const Ran ran = child.wait();
  EXPECT_TRUE(ran.code == 130 || ran.code == 143) << ran.code << "\n" << ran.err;
  EXPECT_GT(trials(cache), 5);
  EXPECT_EQ(run("cache verify --cache " + cache).code, 0);
}

TEST_F(CliSignal, AKilledSearchIsTakenUpWhereItWas) {
  const std::string cache = path("killed.sqlite");
  {
    Child child(tune(cache), path("tune.txt"));
    ASSERT_TRUE(begins(cache));
    child.signal(SIGKILL);
    EXPECT_EQ(child.wait().code, 137);
  }
  const int64_t left = trials(cache);
  EXPECT_GT(left, 5);
  EXPECT_EQ(run("cache verify --cache " + cache).code, 0);
  const Ran again = run("tune " + path("mlp.onnx") + " --threads 1 --budget 2s --json --cache " + cache);
  ASSERT_EQ(again.code, 0) << again.err;
  const int64_t now = nlohmann::json::parse(again.out)["results"][0]["trials"];
  EXPECT_GT(now, 0);
  // What the killed process measured is neither lost nor measured again; the starting points alone may be:
  // one per group.
  const auto groups = static_cast<int64_t>(nlohmann::json::parse(again.out)["results"][0]["groups"].size());
  EXPECT_GE(trials(cache), left);
  EXPECT_LE(trials(cache), left + now);
  EXPECT_GE(trials(cache), left + now - groups);
}

TEST_F(CliSignal, RunAndBenchSayThatTheyStopped) {
  for (const std::string& verb :
       {std::string("bench --time 300s "), std::string("run --on-miss heuristic --repeat 1000000000 ")}) {
    for (const int signal : {SIGINT, SIGTERM}) {
      Child child(command(verb + path("mlp.onnx") + " --threads 1", {}, {}), path("bench.txt"));
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      child.signal(signal);
      const Ran ran = child.wait();
      EXPECT_EQ(ran.code, 128 + signal) << verb << ran.err;
      EXPECT_TRUE(ran.says("stopped")) << verb << ran.err;
      EXPECT_FALSE(ran.says("error")) << verb << ran.err;
    }
  }
}

}  // namespace
}  // namespace frit
