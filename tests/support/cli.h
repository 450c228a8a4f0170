// The binary as a user meets it: runs `frit` with arguments in a folder of the test's own, and gives what it
// said.
//
// A test that includes this defines FRIT_TOOL as the path of the binary. Every run gets FRIT_CACHE in the
// folder unless it says otherwise.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "support/temp_folder.h"

namespace frit::testing {

struct Ran {
  int code = -1;  // 128 + signal where one ended it
  std::string out, err;
  bool says(const std::string& text) const { return err.find(text) != std::string::npos; }
};

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

class Cli : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TempFolder;
    const Ran made = run("zoo make mlp -o " + path("mlp.onnx"));
    ASSERT_EQ(made.code, 0) << made.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static std::string path(const std::string& name) { return *folder_ / name; }
  static void write(const std::string& name, const std::string& bytes) {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }

  // `arguments` and `environment` (A=1 B=2) are words for the shell; `before` is shell to run first in the
  // same process.
  static Ran run(const std::string& arguments, const std::string& environment = {},
                 const std::string& before = {}) {
    Child child(command(arguments, environment, before), path("stderr.txt"));
    return child.wait();
  }

  static std::string command(const std::string& arguments, const std::string& environment,
                             const std::string& before) {
    return before + (before.empty() ? "" : "; ") + "exec env FRIT_CACHE=" + path("cache") + " " +
           environment + " " FRIT_TOOL " " + arguments;
  }

  // A run that goes on while the test watches what it writes to stderr and sends signals.
  class Child {
   public:
    Child(const std::string& command, std::string errors) : errors_(std::move(errors)) {
      int ends[2];
      if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
      pid_ = fork();
      if (pid_ == 0) {
        dup2(ends[1], STDOUT_FILENO);
        dup2(open(errors_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600), STDERR_FILENO);
        dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        _exit(127);
      }
      close(ends[1]);
      out_ = ends[0];
    }
    ~Child() {
      if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
      }
      if (out_ >= 0) close(out_);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    void signal(int number) const { kill(pid_, number); }
    // False when the text did not come within the time, or the process ended before.
    bool waits_for(const std::string& text, double seconds) const {
      for (int k = 0; k < seconds * 100; ++k) {
        if (content(errors_).find(text) != std::string::npos) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      return false;
    }
    Ran wait() {
      Ran ran;
      std::array<char, 4096> buffer;
      for (ssize_t n; (n = read(out_, buffer.data(), buffer.size())) > 0;)
        ran.out.append(buffer.data(), static_cast<size_t>(n));
      int status = 0;
      waitpid(pid_, &status, 0);
      pid_ = -1;
      ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      ran.err = content(errors_);
      return ran;
    }

   private:
    std::string errors_;
    pid_t pid_ = -1;
    int out_ = -1;
  };

  static inline TempFolder* folder_ = nullptr;
};

}  // namespace frit::testing
