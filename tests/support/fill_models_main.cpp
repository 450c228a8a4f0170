// frit_fill_models MODELS_DIR OUT_DIR [NAME ...]: what fill.py does, without Python.
#include <cstdio>
#include <string>
#include <vector>

#include "support/fill_models.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: frit_fill_models MODELS_DIR OUT_DIR [NAME ...]\n");
    return 2;
  }
  frit::base::SystemFileSystem files;
  std::vector<std::string> names(argv + 3, argv + argc);
  if (names.empty()) {
    auto all = frit::test::list_models(files, argv[1]);
    if (!all.ok()) {
      std::fprintf(stderr, "frit_fill_models: %s\n", all.error().text().c_str());
      return 1;
    }
    names = *all;
  }
  for (const std::string& name : names) {
    const auto model = frit::test::load_test_model(files, argv[1], name);
    const frit::Status done =
        model.ok() ? frit::test::fill_model(files, *model, argv[2]) : frit::Status(model.error());
    if (!done.ok()) {
      std::fprintf(stderr, "frit_fill_models: %s\n", done.error().text().c_str());
      return 1;
    }
    std::printf("%s/%s.onnx\n", argv[2], name.c_str());
  }
  return 0;
}
