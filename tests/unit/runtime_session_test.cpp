#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

#include "device/mxcsr.h"
#include "device/target.h"
#include "support/session_testing.h"

namespace frit::testing {
namespace {

Model small_model(ModelOptions options = model_options(), uint64_t seed = 1) {
  return Model::from_graph(small_net(seed), options).value_or_throw();
}

std::string error_of(const Status& s) { return s.ok() ? std::string() : s.error().text(); }

TEST(SessionTest, RunsWithAnyBatch) {
  const GraphBuilder net = small_net();
  auto session = Session::create(small_model(), {.threads = 2});
  ASSERT_TRUE(session.ok());
  for (const int64_t batch : {1, 2, 7, 33, 1}) {
    const Tensor x = random_tensor({batch, 24}, static_cast<uint64_t>(batch));
    const auto out = session->run(std::array{x.view()});
    ASSERT_TRUE(out.ok()) << out.error().text();
    const auto want = reference(net, {&x});
    EXPECT_EQ((*out)[0].shape(), (std::vector<int64_t>{batch, 10}));
    expect_close((*out)[0].values<float>(), want[0]);
    expect_close((*out)[1].values<float>(), want[1]);
  }
  const SessionStats stats = session->stats();
  EXPECT_GT(stats.counters.groups, 0);
  EXPECT_GT(stats.counters.kernels, 0);
  EXPECT_EQ(stats.counters.host_kernels, 0);
  EXPECT_GT(stats.counters.compiles, 0);
  EXPECT_EQ(stats.counters.compiles, stats.counters.object_loads);
  EXPECT_EQ(stats.cache, "off");
  EXPECT_EQ(stats.threads, 2);
  EXPECT_GT(stats.memory.arena_bytes, 0);
}

TEST(SessionTest, AnEmptyBatchGivesEmptyOutputs) {
  auto session = Session::create(small_model(), {.threads = 1});
  const Tensor x = Tensor::allocate(DType::kF32, {0, 24}).value_or_throw();
  const auto out = session->run(std::array{x.view()});
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ((*out)[0].shape(), (std::vector<int64_t>{0, 10}));
}

TEST(SessionTest, PreparesAheadAndSaysSo) {
  auto session = Session::create(small_model(), {.threads = 1, .shape_sets = 2});
  EXPECT_FALSE(session->ready({{"x", {4, 24}}}));
  EXPECT_EQ(error_of(session->prepare()), "input \"x\" has shape [batch,24]: the size of batch is not given");
  ASSERT_EQ(error_of(session->prepare({{"x", {4, 24}}})), "");
  EXPECT_TRUE(session->ready({{"x", {4, 24}}}));
  EXPECT_TRUE(session->ready({{"batch", {4}}}));
  const int64_t compiles = session->stats().counters.compiles;
  ASSERT_EQ(error_of(session->prepare({{"batch", {4}}})), "");
  EXPECT_EQ(session->stats().counters.compiles, compiles);
  const NamedShape five[] = {{"batch", {5}}};
  const auto shapes = session->output_shapes(five);
  ASSERT_TRUE(shapes.ok());
  EXPECT_EQ(*shapes, (std::vector<std::vector<int64_t>>{{5, 10}, {5, 1}}));
  // Two sets stay: the third pushes out the one used longest ago.
  EXPECT_TRUE(session->ready({{"batch", {4}}}));
  ASSERT_EQ(error_of(session->prepare({{"batch", {6}}})), "");
  EXPECT_TRUE(session->ready({{"batch", {4}}}));
  EXPECT_FALSE(session->ready({{"batch", {5}}}));
  EXPECT_FALSE(session->ready({{"nonsense", {5}}}));
}

TEST(SessionTest, TakesMemoryOfAnyAlignmentAndStrides) {
  const GraphBuilder net = small_net();
  auto session = Session::create(small_model(), {.threads = 1});
  const Tensor x = random_tensor({6, 24}, 3);
  const auto want = reference(net, {&x});
  // Shifted by four bytes, and in and out with columns first, backwards even.
  std::vector<float> in(6 * 24 + 1), columns(6 * 24), out(60 + 1), out_columns(60), sums(6);
  std::copy_n(x.values<float>().data(), 144, in.data() + 1);
  for (int r = 0; r < 6; ++r) {
    for (int c = 0; c < 24; ++c)
      columns[static_cast<size_t>((23 - c) * 6 + r)] = x.values<float>()[static_cast<size_t>(r * 24 + c)];
  }
  const Status shifted =
      session->run(std::array{TensorView::of(in.data() + 1, {6, 24})},
                   std::array{TensorView::of(out.data() + 1, {6, 10}), TensorView::of(sums.data(), {6, 1})});
  ASSERT_TRUE(shifted.ok()) << shifted.error().text();
  expect_close(std::span<const float>(out).subspan(1), want[0]);
  expect_close(sums, want[1]);
  TensorView strided_in = TensorView::of(static_cast<const float*>(columns.data() + 23 * 6), {6, 24});
  strided_in.strides = {1, -6};
  TensorView strided_out = TensorView::of(out_columns.data(), {6, 10});
  strided_out.strides = {1, 6};
  for (int round = 0; round < 2; ++round) {
    const Status strided =
        session->run(std::array{strided_in}, std::array{strided_out, TensorView::of(sums.data(), {6, 1})});
    ASSERT_TRUE(strided.ok()) << strided.error().text();
    std::vector<float> rows(60);
    for (size_t r = 0; r < 6; ++r) {
      for (size_t c = 0; c < 10; ++c) rows[r * 10 + c] = out_columns[c * 6 + r];
    }
    expect_close(rows, want[0]);
  }
}

TEST(SessionTest, RunsByName) {
  const GraphBuilder net = small_net();
  auto session = Session::create(small_model(), {.threads = 1});
  const Tensor x = random_tensor({2, 24}, 3);
  const auto out = session->run({{"x", x.view()}});
  ASSERT_TRUE(out.ok()) << out.error().text();
  ASSERT_EQ(out->size(), 2u);
  EXPECT_EQ((*out)[0].name, "y");
  EXPECT_EQ((*out)[1].name, "s");
  expect_close((*out)[0].tensor.values<float>(), reference(net, {&x})[0]);
  EXPECT_EQ(session->run({{"q", x.view()}}).error().message, "there is no input \"q\"");
  EXPECT_EQ(session->run({{"x", x.view()}, {"x", x.view()}}).error().message, "two values for input \"x\"");
}

TEST(SessionTest, MistakesOfTheCallerNameTheTensor) {
  auto session = Session::create(small_model(), {.threads = 1});
  std::vector<float> memory(1000);
  const TensorView x = TensorView::of(static_cast<const float*>(memory.data()), {2, 24});
  const TensorView y = TensorView::of(memory.data() + 100, {2, 10}),
                   s = TensorView::of(memory.data() + 200, {2, 1});
  ASSERT_EQ(error_of(session->run(std::array{x}, std::array{y, s})), "");
  const auto with = [&](TensorView in, TensorView first, TensorView second) {
    const Status status = session->run(std::array{in}, std::array{first, second});
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.ok() ? Code::kInternal : status.error().code, Code::kInvalidArgument);
    return error_of(status);
  };
  EXPECT_EQ(error_of(session->run(std::span<const TensorView>(), std::array{y, s})),
            "run with 0 inputs, expected 1");
  EXPECT_EQ(error_of(session->run(std::array{x}, std::array{y})), "run with 1 outputs, expected 2");
  EXPECT_EQ(with(TensorView::of(memory.data(), {2, 25}), y, s),
            "input \"x\" has shape [2,25], expected [batch,24]");
  EXPECT_EQ(with(TensorView::of(memory.data(), {48}), y, s),
            "input \"x\" has shape [48], expected rank 2 as in [batch,24]");
  EXPECT_EQ(with(TensorView::of(reinterpret_cast<int32_t*>(memory.data()), {2, 24}), y, s),
            "input \"x\" is i32[2,24], expected element type f32");
  EXPECT_EQ(with(x, TensorView::of(memory.data() + 100, {2, 11}), s),
            "output \"y\" has shape [2,11], expected [2,10]");
  EXPECT_EQ(with(x, y, x), "output \"s\" is memory that must not be written");
  EXPECT_EQ(with({DType::kF32, {2, 24}, nullptr, {}, false}, y, s), "input \"x\" has no memory");
  EXPECT_EQ(with(x, TensorView::of(memory.data() + 40, {2, 10}), s),
            "the memory of output 0 overlaps that of input 0");
  EXPECT_EQ(with(x, y, TensorView::of(memory.data() + 110, {2, 1})),
            "the memory of output 1 overlaps that of output 0");
  ASSERT_EQ(error_of(session->run(std::array{x}, std::array{y, s})), "");  // and it still works
}

TEST(SessionTest, OptionsOutOfRangeAreNamed) {
  const Model model = small_model();
  const auto message = [&](const SessionOptions& o) {
    const auto s = Session::create(model, o);
    EXPECT_FALSE(s.ok());
    return s.ok() ? std::string() : s.error().text();
  };
  EXPECT_EQ(message({.threads = -1}), "threads is -1, expected 0 to 1024");
  EXPECT_EQ(message({.threads = 100000}), "threads is 100000, expected 0 to 1024");
  EXPECT_EQ(message({.budget_s = std::nan("")}), "budget_s is nan, expected seconds, 0 or more");
  EXPECT_EQ(message({.budget_s = -1}), "budget_s is -1, expected seconds, 0 or more");
  EXPECT_EQ(message({.contexts = -1}), "contexts is -1, expected 0 to 1024");
  EXPECT_EQ(message({.shape_sets = 5000}), "shape_sets is 5000, expected 0 to 4096");
  EXPECT_TRUE(Session::create(model, {.budget_s = std::numeric_limits<double>::infinity()}).ok());
  ModelOptions options = model_options();
  options.compile_threads = -1;
  EXPECT_EQ(Model::from_graph(small_net(), options).error().text(),
            "compile_threads is -1, expected 0 to 1024");
  options = model_options();
  options.target = "cpu:pentium";
  EXPECT_EQ(Model::from_graph(small_net(), options).error().code, Code::kInvalidArgument);
}

TEST(SessionTest, AModelForAnotherMachineCanBeLoadedButNotRun) {
  const bool here_is_x86 = device::host_target().arch == device::Arch::kX86_64;
  ModelOptions options = model_options();
  options.target = here_is_x86 ? "cpu:neoverse-v1" : "cpu:x86-64-v3";
  const auto session = Session::create(small_model(options), {});
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.error().code, Code::kDevice);
  EXPECT_NE(session.error().text().find("code for " + options.target + " cannot run here"), std::string::npos);
}

TEST(SessionTest, HeadersOfAnotherVersionAreAClearError) {
  ModelOptions options = model_options();
  options.header.value += 100;
  const auto model = Model::from_graph(small_net(), options);
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message,
            "the program was compiled with the headers of frit 0.2.0, the library is 0.1.0");
  SessionOptions session;
  session.header.value = 10203;
  EXPECT_EQ(Session::create(small_model(), session).error().message,
            "the program was compiled with the headers of frit 1.2.3, the library is 0.1.0");
  options = model_options();
  options.header.value += 7;  // the last part may differ
  EXPECT_TRUE(Model::from_graph(small_net(), options).ok());
}

TEST(SessionTest, LoadErrorsNameTheFile) {
  const TempFolder folder;
  const auto missing = Model::load(folder / "none.onnx", model_options());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, Code::kIo);
  EXPECT_NE(missing.error().text().find("none.onnx"), std::string::npos);
  const std::byte nonsense[] = {std::byte{0xff}, std::byte{0x01}};
  EXPECT_EQ(Model::from_bytes(nonsense, {}, {}, model_options()).error().code, Code::kBadModel);
  StopSource stop;
  stop.request_stop();
  ModelOptions options = model_options();
  options.stop = stop.token();
  EXPECT_EQ(Model::load(folder / "none.onnx", options).error().code, Code::kCancelled);
}

TEST(SessionTest, StopsWhenAsked) {
  StopSource stop;
  auto session = Session::create(small_model(), {.threads = 1, .stop = stop.token()});
  stop.request_stop();
  const Tensor x = random_tensor({2, 24}, 3);
  EXPECT_EQ(session->prepare({{"batch", {2}}}).error().code, Code::kCancelled);
  EXPECT_FALSE(session->ready({{"batch", {2}}}));
  EXPECT_EQ(session->run(std::array{x.view()}).error().code, Code::kCancelled);
  auto other = Session::create(session->model(), {.threads = 1});
  ASSERT_TRUE(other->prepare({{"batch", {2}}}).ok());
  StopSource now;
  now.request_stop();
  EXPECT_EQ(other->run(std::array{x.view()}, {.stop = now.token()}).error().code, Code::kCancelled);
  EXPECT_TRUE(other->run(std::array{x.view()}).ok());
}

TEST(SessionTest, ManyThreadsRunOneSession) {
  const GraphBuilder net = small_net();
  auto session = Session::create(small_model(), {.threads = 2, .contexts = 2, .shape_sets = 2});
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        const int64_t batch = 1 + (t + round) % 3;  // one more than stays prepared
        const Tensor x = random_tensor({batch, 24}, static_cast<uint64_t>(100 * t + round));
        const auto out = session->run(std::array{x.view()});
        if (!out.ok()) {
          ++failures;
          continue;
        }
        const auto want = reference(net, {&x});
        for (int64_t i = 0; i < want[0].elements(); ++i) {
          if (!(std::abs((*out)[0].values<float>()[static_cast<size_t>(i)] - want[0].as_double(i)) < 1e-4))
            ++failures;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(failures, 0);
}

TEST(SessionTest, ThreadsNeverChangeBits) {
  const Model model = small_model();
  const Tensor x = random_tensor({67, 24}, 5);
  for (const Numerics numerics : {Numerics::kDefault, Numerics::kStrict}) {
    auto two = Session::create(model, {.threads = 2, .numerics = numerics});
    const auto first = two->run(std::array{x.view()});
    ASSERT_TRUE(first.ok()) << first.error().text();
    // Other runs take the workers, so that some runs get none.
    for (int round = 0; round < 10; ++round) {
      std::vector<std::thread> others;
      for (int k = 0; k < 2; ++k) others.emplace_back([&] { (void)two->run(std::array{x.view()}); });
      const auto again = two->run(std::array{x.view()});
      for (std::thread& t : others) t.join();
      ASSERT_TRUE(again.ok());
      EXPECT_EQ(std::memcmp((*first)[0].bytes(), (*again)[0].bytes(), (*first)[0].size_bytes()), 0);
    }
  }
}

TEST(SessionTest, TrimGivesMemoryBack) {
  auto session = Session::create(small_model(), {.threads = 1});
  const Tensor x = random_tensor({2, 24}, 3);
  ASSERT_TRUE(session->run(std::array{x.view()}).ok());
  EXPECT_GT(session->stats().memory.arena_bytes, 0);
  session->trim();
  EXPECT_EQ(session->stats().memory.arena_bytes, 0);
  const auto out = session->run(std::array{x.view()});
  ASSERT_TRUE(out.ok());
  expect_close((*out)[0].values<float>(), reference(small_net(), {&x})[0]);
}

TEST(SessionTest, TheCallersDenormalModeComesBack) {
  auto session = Session::create(small_model(), {.threads = 2});
  const Tensor x = random_tensor({2, 24}, 3);
  volatile float tiny = std::numeric_limits<float>::min();
  for (const bool flushed : {false, true}) {
    const device::FlushDenormals mode(flushed);
    ASSERT_TRUE(session->run(std::array{x.view()}).ok());
    EXPECT_EQ(tiny / 2 == 0.0f, flushed);
  }
}

TEST(SessionTest, BadDataNamesTheNode) {
  GraphBuilder g;
  const Value ids = g.input("ids", DType::kI64, {"n"});
  g.output(g.gather(g.constant(random_tensor({10, 4}, 1), "table"), ids, 0, "embedding"), "rows");
  auto model = Model::from_graph(std::move(g), model_options());
  auto session = Session::create(*model, {.threads = 1});
  const Tensor good = Tensor::of(std::vector<int64_t>{0, -10, 9}, {3}).value_or_throw();
  const auto out = session->run(std::array{good.view()});
  ASSERT_TRUE(out.ok()) << out.error().text();
  const Tensor bad = Tensor::of(std::vector<int64_t>{0, 10, 9}, {3}).value_or_throw();
  const auto refused = session->run(std::array{bad.view()});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_NE(refused.error().text().find("\"embedding\""), std::string::npos) << refused.error().text();
  EXPECT_TRUE(session->run(std::array{good.view()}).ok());
}

TEST(SessionTest, AForkedChildGetsAnErrorAndEndsInPeace) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the thread sanitizer cannot start threads in a forked child";
#endif
  const TempFolder folder;
  auto session = std::make_unique<Session>(
      Session::create(small_model(model_options(folder / "cache.db")), {.threads = 2}).value_or_throw());
  const Tensor x = random_tensor({2, 24}, 3);
  ASSERT_TRUE(session->run(std::array{x.view()}).ok());
  const pid_t child = fork();
  if (child == 0) {
    int wrong = 0;
    const auto run = session->run(std::array{x.view()});
    if (run.ok() || run.error().code != Code::kInvalidArgument) wrong |= 1;
    if (run.error().message != "this session was made before fork() and cannot run in the child process")
      wrong |= 2;
    if (session->ready({{"batch", {2}}})) wrong |= 4;
    session->trim();
    if (session->stats().threads != 2) wrong |= 8;
    session.reset();
    // A model of its own works in the child.
    auto own = Session::create(small_model(), {.threads = 2});
    if (!own.ok() || !own->run(std::array{x.view()}).ok()) wrong |= 16;
    _exit(wrong);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(session->run(std::array{x.view()}).ok());
}

TEST(SessionTest, WithoutACompilerTheErrorListsWhereItWasSought) {
  ModelOptions options = model_options();
  options.codegen_library = "/nowhere/libfrit-codegen.so";
  auto session = Session::create(Model::from_graph(small_net(), options).value_or_throw(), {.threads = 1});
  const Status s = session->prepare({{"batch", {2}}});
  ASSERT_FALSE(s.ok());
  EXPECT_EQ(s.error().code, Code::kNotFound);
  EXPECT_NE(s.error().text().find("/nowhere/libfrit-codegen.so"), std::string::npos) << s.error().text();
}

}  // namespace
}  // namespace frit::testing
