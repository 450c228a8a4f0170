// A worker process may crash, hang, stop, eat memory or talk for ever: each is named, nothing is left of it,
// and this process goes on. It never outlives its parent.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "tuner/worker/frames.h"
#include "tuner/worker/process.h"

namespace frit::tuner::worker {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSoon = 400 * kMs, kLong = 60'000 * kMs;

base::SystemClock clock_of_tests;

std::unique_ptr<WorkerProcess> start(Limits limits = {}) {
  return WorkerProcess::spawn(FRIT_TEST_WORKER, {}, limits, clock_of_tests).value_or_throw();
}

// Gone, or a zombie that nobody has waited for.
bool is_gone(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return true;
  const size_t end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && (text[end + 2] == 'Z' || text[end + 2] == 'X');
}

TEST(Worker, AnswersWhatItIsAsked) {
  auto worker = start();
  for (int i = 0; i < 200; ++i) {
    const std::string what = "message " + std::to_string(i);
    const Reply reply = worker->ask("echo " + what, kLong);
    ASSERT_TRUE(reply.ok()) << reply.reason;
    EXPECT_EQ(reply.bytes, what);
  }
  // Larger than what a socket holds at once, both ways.
  const std::string large(5 << 20, 'z');
  EXPECT_EQ(worker->ask("echo " + large, kLong).bytes, large);
  EXPECT_EQ(worker->ask("echo ", kLong).bytes, "");
  EXPECT_EQ(worker->ask("group", kLong).bytes, "1");
  EXPECT_TRUE(worker->is_alive());
  const pid_t pid = worker->pid();
  worker.reset();
  EXPECT_EQ(kill(pid, 0), -1);  // killed and waited for
}

TEST(Worker, InheritsNothingButItsConnections) {
  const int leak = dup(0);  // without close-on-exec, as a host's files may be
  auto worker = start();
  EXPECT_EQ(worker->ask("files", kLong).bytes, "0 1 2 3 4 ");
  close(leak);
}

struct Fault {
  const char* request;
  Ending ending;
  const char* reason;
};
class WorkerFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(WorkerFaults, AreNamedAndLeaveNothingBehind) {
  const Fault& fault = GetParam();
  Limits limits;
  limits.memory_bytes = 256 << 20;
  limits.reply_bytes = 1 << 20;
  auto worker = start(limits);
  const pid_t pid = worker->pid();
  const Reply reply = worker->ask(fault.request, fault.ending == Ending::kTimeout ? kSoon : kLong);
  EXPECT_EQ(reply.ending, fault.ending) << reply.reason;
  EXPECT_NE(reply.reason.find(fault.reason), std::string::npos) << reply.reason;
  EXPECT_FALSE(worker->is_alive());
  EXPECT_EQ(kill(pid, 0), -1);
  // Asked again, it says the same at once.
  EXPECT_EQ(worker->ask("echo x", kLong).reason, reply.reason);
  // Another one goes on.
  EXPECT_EQ(start(limits)->ask("echo on", kLong).bytes, "on");
}

INSTANTIATE_TEST_SUITE_P(All, WorkerFaults,
                         ::testing::Values(Fault{"segv", Ending::kCrash, "SIGSEGV"},
                                           Fault{"ill", Ending::kCrash, "killed by signal"},
                                           Fault{"abort", Ending::kCrash,
                                                 "SIGABRT): LLVM ERROR: Cannot select: something"},
                                           Fault{"exit", Ending::kCrash, "exit code 3"},
                                           Fault{"loop", Ending::kTimeout, "no answer within 400 ms"},
                                           Fault{"stop", Ending::kTimeout, "no answer within 400 ms"},
                                           Fault{"close", Ending::kCrash, "closed its socket"},
#if !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // whose allocators end the process themselves
                                           Fault{"bomb", Ending::kMemory, "268435456 bytes of memory"},
#endif
                                           Fault{"flood", Ending::kReplyTooLarge, "8388608 bytes"}),
                         [](const auto& fault) { return std::string(fault.param.request); });

TEST(Worker, WhatItWritesToStderrDoesNotReachOurs) {
  testing::internal::CaptureStderr();
  auto worker = start();
  const Reply reply = worker->ask("noise", kLong);  // far more than a pipe holds
  EXPECT_EQ(reply.bytes, "done") << reply.reason;
  worker->ask("abort", kLong);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Worker, OutlivesTheThreadThatStartedIt) {
  std::unique_ptr<WorkerProcess> worker;
  std::thread([&] { worker = start(); }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(worker->ask("echo alive", kLong).bytes, "alive");
}

TEST(Worker, AMissingProgramIsAnErrorThatNamesIt) {
  const auto worker = WorkerProcess::spawn("/no/such/frit-worker", {}, {}, clock_of_tests);
  ASSERT_FALSE(worker.ok());
  EXPECT_EQ(worker.error().code, Code::kIo);
  EXPECT_NE(worker.error().text().find("/no/such/frit-worker"), std::string::npos);
}

// Idle, in an endless loop, stopped: when the parent is killed, all of them are gone within a second.
TEST(Worker, NeverOutlivesItsParent) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    for (const char* request : {"", "loop", "stop"}) {
      auto* worker = start().release();
      const pid_t pid = worker->pid();
      if (write(pipe_ends[1], &pid, sizeof pid) != sizeof pid) _exit(1);
      if (*request) std::thread([worker, request] { worker->ask(request, kLong); }).detach();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFSIGNALED(status));
  pid_t pids[3];
  ASSERT_EQ(read(pipe_ends[0], pids, sizeof pids), static_cast<ssize_t>(sizeof pids));
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  for (int tenths = 0; tenths < 10; ++tenths) {
    if (is_gone(pids[0]) && is_gone(pids[1]) && is_gone(pids[2])) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  for (const pid_t pid : pids) EXPECT_TRUE(is_gone(pid)) << pid;
}

TEST(WorkerFrames, AreLengthAndBytes) {
  EXPECT_EQ(frame_of("ab"), std::string("\x02\0\0\0\0\0\0\0", 8) + "ab");
  EXPECT_EQ(frame_of("").size(), 8u);
}

}  // namespace
}  // namespace frit::tuner::worker
