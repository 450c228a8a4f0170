#include "codegen/cpu/compile.h"

#include <csetjmp>
#include <memory>
#include <mutex>

#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/CompileUtils.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "base/hash.h"
#include "base/try.h"
#include "codegen/cpu/emit.h"

namespace frit::codegen {
namespace {

// ---- what LLVM does on a fatal error ------------------------------------------------------------------------------------
// A "Cannot select" calls the handler below, which leaves the compile by longjmp; its context and target machine are
// leaked. Without a compile in progress on the thread LLVM's own behaviour stays.

struct Escape {
  std::jmp_buf target;
  std::string reason;
};
thread_local Escape* current_escape = nullptr;

void on_fatal_error(void*, const char* reason, bool) {
  if (!current_escape) return;
  current_escape->reason = reason ? reason : "";
  std::longjmp(current_escape->target, 1);
}

void initialize_llvm() {
  static std::once_flag once;  // trivially destructible
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    llvm::install_fatal_error_handler(on_fatal_error);
  });
}

// Loop strength reduction makes a pointer per stream and spills them: up to 40 % of a large tile's speed.
class NoLoopStrengthReduction : public llvm::OptPassGate {
 public:
  bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef) override { return pass != "Loop Strength Reduction"; }
  bool isEnabled() const override { return true; }
};

class Diagnostics : public llvm::DiagnosticHandler {
 public:
  explicit Diagnostics(std::string& out) : out_(out) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(out_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

 private:
  std::string& out_;
};

// Everything that LLVM may hold pointers into; leaked as a whole after a fatal error.
struct Session {
  NoLoopStrengthReduction gate;
  std::string diagnostics;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  std::string output;
  Status status;
};

// A baseline gives LLVM its scheduling model; what may be used is what the features say.
std::string baseline_cpu(const device::Target& target) {
  if (target.arch == device::Arch::kAarch64) return "generic";
  return target.has_avx512() ? "x86-64-v4" : "x86-64-v3";
}

// An instruction of x86 that the function's target does not have.
void provoke_fatal(llvm::Module& module, bool x86) {
  llvm::IRBuilder<> b(module.getContext());
  auto* f = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), false), llvm::Function::ExternalLinkage, "provoked", module);
  if (x86) f->addFnAttr("target-features", "-amx-tile");  // elsewhere LLVM would print that it does not know the name
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", f));
  b.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
  b.CreateRetVoid();
}

Status generate(Session& s, const loop::LoopFn& fn, const std::string& symbol, const device::Target& target, const CompileOptions& options) {
  const bool arm = target.arch == device::Arch::kAarch64;
  const std::string triple = arm ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu";
  std::string error;
  const llvm::Target* llvm_target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!llvm_target) return make_error(Code::kInternal, "LLVM has no target " + triple + ": " + error);
  CpuTraits traits{baseline_cpu(target), target.llvm_features()};
  llvm::TargetOptions target_options;
  s.machine.reset(llvm_target->createTargetMachine(triple, traits.cpu, traits.features, target_options, llvm::Reloc::PIC_,
                                                   llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less));
  if (!s.machine) return make_error(Code::kInternal, "LLVM makes no target machine for " + triple);
  s.context.setOptPassGate(s.gate);
  s.context.setDiagnosticHandler(std::make_unique<Diagnostics>(s.diagnostics));
  s.module = std::make_unique<llvm::Module>(symbol, s.context);
  s.module->setTargetTriple(triple);
  s.module->setDataLayout(s.machine->createDataLayout());
  s.module->setPICLevel(llvm::PICLevel::BigPIC);
  FRIT_TRY(emit_kernel(fn, symbol, traits, *s.module));
  if (options.provoke_fatal) provoke_fatal(*s.module, !arm);
  llvm::raw_string_ostream broken(error);
  if (llvm::verifyModule(*s.module, &broken)) return make_error(Code::kInternal, "emitted IR is malformed: " + error);

  if (options.kind == EmitKind::kLlvm) {
    llvm::raw_string_ostream out(s.output);
    s.module->print(out, nullptr);
    return {};
  }
  if (options.kind == EmitKind::kAsm) {
    llvm::SmallVector<char, 0> text;
    llvm::raw_svector_ostream out(text);
    llvm::legacy::PassManager passes;
    if (s.machine->addPassesToEmitFile(passes, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
      return make_error(Code::kInternal, "LLVM cannot emit assembly for " + triple);
    passes.run(*s.module);
    s.output.assign(text.begin(), text.end());
  } else {
    llvm::orc::SimpleCompiler compiler(*s.machine);
    auto object = compiler(*s.module);
    if (!object) return make_error(Code::kUnsupported, "LLVM: " + llvm::toString(object.takeError()));
    s.output = (*object)->getBuffer().str();
  }
  if (!s.diagnostics.empty()) return make_error(Code::kUnsupported, "LLVM: " + s.diagnostics);
  return {};
}

}  // namespace

std::string compiler_version() { return "LLVM " LLVM_VERSION_STRING; }

Result<std::string> compile_kernel(const loop::LoopFn& fn, const std::string& symbol, const device::Target& target,
                                   const CompileOptions& options) {
  initialize_llvm();
  auto* session = new Session;  // owned by hand: a fatal error must not run its destructor
  auto* escape = new Escape;
  Escape* const outer = current_escape;
  current_escape = escape;
  if (setjmp(escape->target) != 0) {
    current_escape = outer;
    Error error = make_error(Code::kUnsupported, "LLVM: " + escape->reason);
    delete escape;
    return error;
  }
  session->status = generate(*session, fn, symbol, target, options);
  current_escape = outer;
  delete escape;
  std::unique_ptr<Session> owned(session);
  FRIT_TRY(std::move(owned->status));
  return std::move(owned->output);
}

}  // namespace frit::codegen
