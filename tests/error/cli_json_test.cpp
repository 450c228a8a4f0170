// What every verb prints with --json is one object that its schema in schemas/ describes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "support/cli.h"

namespace frit {
namespace {

namespace fs = std::filesystem;

using testing::Cli;
using testing::Ran;

// What the schemas in schemas/ use of JSON Schema: type, const, enum, minimum, properties, required, items,
// additionalProperties.
void validate(const nlohmann::json& schema, const nlohmann::json& value, const std::string& at) {
  if (schema.contains("const")) {
    EXPECT_EQ(schema["const"], value) << at;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end())
        << at << ": " << value;
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
    for (const auto& name : schema.value("required", nlohmann::json::array()))
      EXPECT_TRUE(value.contains(name.get<std::string>())) << at << " lacks " << name;
    for (const auto& [name, item] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(name))
        validate(schema["properties"][name], item, at + "." + name);
      else if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
        validate(schema["additionalProperties"], item, at + "." + name);
      else
        EXPECT_TRUE(schema.contains("additionalProperties"))
            << at << " has " << name << ", which its schema does not know";
    }
  }
}

class CliJson : public Cli {
 protected:
  // Runs it and holds what it says against the schema that it names; an exit code of 0, or of 3 where that is
  // an answer.
  static nlohmann::json check(const std::string& arguments, const std::string& schema, int code = 0) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, code) << arguments << "\n" << ran.err;
    const auto json = nlohmann::json::parse(ran.out, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << arguments << "\n" << ran.out;
    if (json.is_discarded()) return {};
    EXPECT_EQ(json["schema"], schema) << arguments;
    std::string name = schema.substr(5, schema.size() - 7);
    std::replace(name.begin(), name.end(), '-', '_');
    std::ifstream file(std::string(FRIT_TEST_DATA) + "/../schemas/" + name + ".schema.json");
    EXPECT_TRUE(file.good()) << name;
    if (file.good()) validate(nlohmann::json::parse(file), json, name);
    return json;
  }
};

TEST_F(CliJson, OfEveryVerb) {
  const std::string mlp = path("mlp.onnx");
  const auto why_nothing = check("cache why " + mlp + " --json", "frit/cache-why/1", 3);
  EXPECT_GT(why_nothing["missing"], 0);
  check("run " + mlp + " --on-miss heuristic --json", "frit/run/1");
  const auto profiled = check("bench " + mlp + " --time 100ms --profile --json", "frit/run/1");
  ASSERT_TRUE(profiled.contains("profile"));
  EXPECT_EQ(profiled["profile"]["groups"].size(), profiled["counters"]["groups"]);
  const auto tuned = check("tune " + mlp + " --threads 1 --budget 1s --json", "frit/tune/1");
  EXPECT_GT(tuned["results"][0]["trials"], 0);
  check("explain " + mlp + " --passes --json", "frit/explain-passes/1");
  check("explain " + mlp + " --groups --json", "frit/explain-groups/1");
  check("zoo list --json", "frit/zoo/1");
  check("devices --json", "frit/devices/1");

  const auto listed = check("cache ls --json", "frit/cache-ls/1");
  ASSERT_FALSE(listed["records"].empty());
  std::string decision;
  for (const auto& record : listed["records"]) {
    const auto shown =
        check("cache show " + record["key"].get<std::string>() + " --json", "frit/cache-show/1");
    EXPECT_EQ(shown["records"].size(), 1u);
    EXPECT_EQ(shown["records"][0]["key"], record["key"]);
    if (record["kind"] == "decision" && !shown["records"][0]["trials"].empty()) decision = record["key"];
  }
  EXPECT_FALSE(decision.empty()) << "no decision has trials";
  const auto counted = check("cache stats --json", "frit/cache-stats/1");
  EXPECT_GT(counted["trials"], 0);
  check("cache verify --json", "frit/cache-verify/1");
  EXPECT_EQ(check("cache why " + mlp + " --threads 1 --json", "frit/cache-why/1")["missing"], 0);
  const auto packed = check("cache export " + path("pack") + " --json", "frit/cache-export/1");
  EXPECT_EQ(packed["decisions"], counted["decisions"]);
  const auto moved = check("cache import " + path("pack") + " --json --cache " + path("other.sqlite"),
                           "frit/cache-import/1");
  EXPECT_EQ(moved["added"], packed["decisions"].get<int>() + packed["plans"].get<int>());
  EXPECT_EQ(moved["entries"].size(), moved["added"]);
  const auto pruned =
      check("cache prune --max-mb 1 --json --cache " + path("other.sqlite"), "frit/cache-prune/1");
  EXPECT_EQ(pruned["damaged"], 0);
}

TEST_F(CliJson, OfTuneBecomesAPicture) {
  const Ran tuned = run("tune " + path("mlp.onnx") + " --threads 1 --budget 1s --json");
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  write("tuned.json", tuned.out);
  const std::string command =
      "python3 " FRIT_TEST_DATA "/../tools/plot.py " + path("tuned.json") + " -o " + path("tuned.svg");
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const std::string svg = testing::content(path("tuned.svg"));
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("matmul 1x256x256"), std::string::npos) << svg;
}

TEST_F(CliJson, OfACacheThatIsNotThere) {
  const std::string nothing = " --json --cache " + path("nothing.sqlite");
  const auto counted = check("cache stats" + nothing, "frit/cache-stats/1");
  for (const char* key : {"decisions", "plans", "trials", "objects", "misses"})
    EXPECT_EQ(counted[key], 0) << key;
  EXPECT_EQ(counted["missing"], true);
  check("cache verify" + nothing, "frit/cache-verify/1");
  EXPECT_TRUE(check("cache ls" + nothing, "frit/cache-ls/1")["records"].empty());
  EXPECT_FALSE(fs::exists(path("nothing.sqlite")));
}

}  // namespace
}  // namespace frit
