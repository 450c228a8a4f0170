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
  std::vector<std::string> verbs, flags;
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  const CLI::App* chosen = nullptr;
  for (const CLI::App* verb : app.get_subcommands({}))
    if (argc > 1 && verb->get_name() == argv[1]) chosen = verb;
  std::string hint = "frit --help lists the verbs";
  if (!chosen && argc > 1) {
    if (const std::string near = did_you_mean(argv[1], verbs); !near.empty()) hint = "did you mean frit " + near + "?";
    return wrong_use(std::string("unknown verb '") + argv[1] + "'", hint);
  }
  if (chosen) {
    hint = "frit " + chosen->get_name() + " --help lists its options";
    for (const CLI::Option* option : chosen->get_options({}))
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (int i = 2; i < argc; ++i) {
      std::string word = argv[i];
      word = word.substr(0, word.find('='));
      if (word.rfind("--", 0) != 0 || std::find(flags.begin(), flags.end(), word) != flags.end()) continue;
      if (const std::string near = did_you_mean(word, flags); !near.empty()) hint = "did you mean " + near + "?";
      return wrong_use("unknown option " + word, hint);
    }
  }
  return wrong_use(error.what(), hint);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("frit: neural networks, fused, compiled and tuned on the machine they run on", "frit");
  app.set_version_flag("--version", "frit " + std::to_string(FRIT_VERSION_MAJOR) + "." + std::to_string(FRIT_VERSION_MINOR) + "." + std::to_string(FRIT_VERSION_PATCH));
  app.require_subcommand(1);
  app.footer("examples:\n  frit run resnet50.onnx\n  frit explain resnet50.onnx --groups");
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
