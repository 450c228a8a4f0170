// A failure inside LLVM, in the application's process: the compile gives an error or the next choice is
// taken, the process lives on, later compiles work, and nothing is printed.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include "device/codegen_library.h"
#include "device/target.h"
#include "loop/text.h"
#include "support/exec_fakes.h"
#include "support/session_testing.h"

// What a fatal error leaves behind is leaked on purpose: its stack frames were left by longjmp.
extern "C" const char* __lsan_default_suppressions();  // the sanitizer's name
extern "C" const char* __lsan_default_suppressions() { return "leak:libfrit-codegen\n"; }

namespace frit::testing {
namespace {

class CodegenFailure : public ::testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(FRIT_TEST_PROVOKING, RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(library_) << dlerror();
    provoke_ = reinterpret_cast<void (*)(const char*, int)>(dlsym(library_, "provoke_fatal"));
    provoked_ = reinterpret_cast<int (*)()>(dlsym(library_, "provoked"));
    ASSERT_TRUE(provoke_ && provoked_);
    ::testing::internal::CaptureStderr();
  }
  void TearDown() override {
    provoke_("", 0);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  }

  ModelOptions options(std::shared_ptr<LogSink> log = {}) const {
    ModelOptions o = model_options("off", std::move(log));
    o.codegen_library = FRIT_TEST_PROVOKING;
    o.compile_threads = 1;
    return o;
  }

  // Runs the small network and compares with the evaluator.
  static void expect_right(Session& session, int64_t batch) {
    const GraphBuilder net = small_net();
    const Tensor x = random_tensor({batch, 24}, 7);
    const auto want = reference(net, {&x});
    auto got = session.run(std::array{x.view()});
    ASSERT_TRUE(got.ok()) << got.error().text();
    for (size_t k = 0; k < want.size(); ++k) expect_close((*got)[k].values<float>(), want[k]);
  }

  void* library_ = nullptr;
  void (*provoke_)(const char*, int) = nullptr;
  int (*provoked_)() = nullptr;
};

TEST_F(CodegenFailure, EveryChoiceFailingIsAClearError) {
  const Model model = Model::from_graph(small_net(), options()).value_or_throw();
  Session session = Session::create(model, {.threads = 1}).value_or_throw();
  provoke_("", 1 << 20);
  for (int again = 0; again < 3; ++again) {
    const Status s = session.prepare({{"batch", {3}}});
    ASSERT_FALSE(s.ok());
    EXPECT_EQ(s.error().code, Code::kUnsupported) << s.error().text();
    EXPECT_NE(s.error().text().find("LLVM: Cannot select"), std::string::npos) << s.error().text();
    EXPECT_NE(s.error().text().find("fc1"), std::string::npos)
        << "the node is not named: " << s.error().text();
  }
  EXPECT_GT(provoked_(), 3);
  provoke_("", 0);
  expect_right(session, 3);  // the same session, as if nothing had been
}

TEST_F(CodegenFailure, TheNextLegalChoiceIsTaken) {
  const auto sink = std::make_shared<RememberingSink>();
  const Model model = Model::from_graph(small_net(), options(sink)).value_or_throw();
  Session session = Session::create(model, {.threads = 1}).value_or_throw();
  // The product's kernel itself, not its packing.
  provoke_("fn matmul ", 2);
  expect_right(session, 5);
  EXPECT_EQ(provoked_(), 2);
  const auto warnings = sink->of(LogLevel::kWarn);
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings[0].find("Cannot select"), std::string::npos) << warnings[0];
  expect_right(session, 6);
}

TEST_F(CodegenFailure, OtherThreadsCompileOn) {
  provoke_("", 6);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Model model = Model::from_graph(small_net(), options()).value_or_throw();
      Session session = Session::create(model, {.threads = 1}).value_or_throw();
      // Whatever failed is tried again: at most six compiles fail in all.
      for (int again = 0; again < 8; ++again) {
        if (!session.prepare({{"batch", {4}}}).ok()) continue;
        ++right;
        return;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, 4);
  EXPECT_EQ(provoked_(), 6);
}

// Whatever LLVM has to say comes back as text: here it is made to say something for every target, and for
// none.
TEST_F(CodegenFailure, LlvmNeverPrints) {
  base::SystemEnvironment environment;
  auto library = device::CodegenLibrary::open(FRIT_TEST_CODEGEN, environment);
  ASSERT_TRUE(library.ok()) << library.error().text();
  const std::string text =
      loop::print(elementwise_fn("copy", 100, {loop::Access::kRead, loop::Access::kWrite}));
  int compiled = 0;
  for (const std::string& name : device::known_target_names()) {
    const auto target = device::parse_target("cpu:" + name);
    ASSERT_TRUE(target.ok());
    for (const char* flags : {"emit=object", "emit=asm", "emit=llvm"}) {
      const auto made = (*library)->compile(text, target->text(), flags);
      compiled += made.ok();
      const auto failed = (*library)->compile(text, target->text(), std::string(flags) + " provoke=fatal");
      if (std::string_view(flags) == "emit=llvm") continue;  // nothing is selected
      ASSERT_FALSE(failed.ok()) << name;
      if (!target->has_fma()) continue;
      EXPECT_NE(failed.error().text().find("Cannot select"), std::string::npos) << failed.error().text();
    }
  }
  EXPECT_GT(compiled, 6);
  EXPECT_FALSE((*library)->compile("nonsense", device::host_target().text(), "emit=object").ok());
  EXPECT_FALSE((*library)->compile(text, "cpu:nonsense", "emit=object").ok());
  EXPECT_FALSE((*library)->compile(text, device::host_target().text(), "emit=nonsense").ok());
}

}  // namespace
}  // namespace frit::testing
