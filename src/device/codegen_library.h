// CodegenLibrary: finds, opens and calls libfrit-codegen, the half of frit that holds the compiler.
//
// Opened only when something must be compiled: a warm process never pays for it, and a target can do without
// it. The first place that is set decides: the option, then the environment's FRIT_CODEGEN; else beside the
// binary that contains this code, then in ../lib as seen from there. Once opened it stays mapped
// (RTLD_NODELETE) and is private (RTLD_LOCAL), so that it clashes with no other LLVM. It must not know what
// LLVM is.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/seams.h"
#include "device/codegen_api.h"
#include "frit/result.h"

namespace frit::device {

// Const methods are safe to call concurrently.
class CodegenLibrary {
 public:
  // `option` is a file, or a folder that holds the library; empty: not given. Errors: `not_found`, with every
  // path that was tried and why it was not taken.
  static Result<std::shared_ptr<const CodegenLibrary>> open(const std::string& option,
                                                            base::Environment& environment);

  // A table that is not from a library, for tests.
  static Result<std::shared_ptr<const CodegenLibrary>> from_table(const FritCodegenApi* api,
                                                                  std::string path);

  // One request of codegen_api.h; what it emits, as bytes. Errors: `unsupported`, `internal` (the compiler
  // gave up, or broke its contract), `out_of_memory`, `invalid_argument`.
  Result<std::string> compile(std::string_view program, std::string_view target,
                              std::string_view flags) const;

  // An object that is checked to need nothing from outside (check_object).
  Result<std::string> compile_object(std::string_view program, std::string_view target) const;

  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }

  // The paths that open tries, in order, for the given option and environment.
  static std::vector<std::string> candidates(const std::string& option, base::Environment& environment);

 private:
  CodegenLibrary() = default;

  const FritCodegenApi* api_ = nullptr;
  std::string path_;
  std::string version_;
};

}  // namespace frit::device
