// The one binary: finds the verb, runs it, turns every failure into a sentence and an exit code.
#include <cstdio>
#include <exception>

#include <CLI/CLI.hpp>

#include "common.h"
#include "frit/version.h"
#include "report.h"
#include "verbs.h"

namespace {

using namespace frit::tools;

// "did you mean" for a verb or a flag that is not there.
int explain_parse_error(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const CLI::App* verb = &app;
  std::string path = "frit";
  int next = 1;
  for (; next < argc && !verb->get_subcommands({}).empty(); ++next) {
    const std::string word = argv[next];
    if (!word.empty() && word[0] == '-') break;
    std::vector<std::string> names;
    const CLI::App* chosen = nullptr;
    for (const CLI::App* sub : verb->get_subcommands({})) {
      names.push_back(sub->get_name());
      if (sub->get_name() == word) chosen = sub;
    }
    if (!chosen) {
      const std::string near = did_you_mean(word, names);
      return wrong_use(
          "unknown verb '" + path.substr(std::min<size_t>(path.size(), 5)) + (path.size() > 4 ? " " : "") +
              word + "'",
          near.empty() ? path + " --help lists the verbs" : "did you mean " + path + " " + near + "?");
    }
    verb = chosen;
    path += " " + word;
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : verb->get_options({}))
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  for (int i = next; i < argc; ++i) {
    std::string word = argv[i];
    word = word.substr(0, word.find('='));
    if (word == "--") break;
    if (word.rfind("--", 0) != 0 || std::find(flags.begin(), flags.end(), word) != flags.end()) continue;
    const std::string near = did_you_mean(word, flags);
    return wrong_use("unknown option " + word,
                     near.empty() ? path + " --help lists the options" : "did you mean " + near + "?");
  }
  return wrong_use(error.what(), path + " --help shows how it is used");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("frit: neural networks, fused, compiled and tuned on the machine they run on", "frit");
  app.set_version_flag("--version", "frit " + std::to_string(FRIT_VERSION_MAJOR) + "." +
                                        std::to_string(FRIT_VERSION_MINOR) + "." +
                                        std::to_string(FRIT_VERSION_PATCH));
  app.require_subcommand(1);
  app.footer(
      "examples:\n  frit zoo make resnet50 -o resnet50.onnx\n  frit run resnet50.onnx\n\nfrit VERB --help "
      "shows a verb's options.");
  Invocation invocation;
  add_run(app, invocation);
  add_bench(app, invocation);
  add_tune(app, invocation);
  add_explain(app, invocation);
  add_devices(app, invocation);
  add_zoo(app, invocation);
  add_cache(app, invocation);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForAllHelp& e) {
    return app.exit(e);
  } catch (const CLI::CallForVersion& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    if (argc == 1) {
      std::fprintf(stderr, "%s", app.help().c_str());
      return kWrongUse;
    }
    return explain_parse_error(app, e, argc, argv);
  }
  try {
    return invocation.action ? invocation.action() : kWrongUse;
  } catch (const std::exception& e) {
    return fail(frit::make_error(frit::Code::kInternal, e.what()));
  }
}
