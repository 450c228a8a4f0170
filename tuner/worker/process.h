// WorkerProcess: a child process that may crash, hang or eat memory without harm to this one.
//
// The tuner's side of frit-worker: it starts the program with posix_spawn (never fork: the host may have
// threads), asks one question at a time over a socket, and kills the child when an answer takes too long or
// is too large. What the child writes to stderr never reaches the host's; its last line explains a death. The
// worker's side is guard.h. It must not know what is asked.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/seams.h"
#include "frit/result.h"

namespace frit::tuner::worker {

// Exit codes by which a worker explains its own end.
inline constexpr int kExitOutOfMemory = 77;
inline constexpr int kExitOrphaned = 78;

// Where a worker finds its ends of the connections.
inline constexpr int kSocketFd = 3;
inline constexpr int kLifeFd = 4;

struct Limits {
  int64_t memory_bytes = int64_t{4} << 30;  // of address space beyond what the program itself maps
  int64_t reply_bytes = int64_t{64} << 20;
};

enum class Ending { kReply, kCrash, kTimeout, kMemory, kReplyTooLarge };

struct Reply {
  Ending ending = Ending::kReply;
  std::string bytes;   // of a kReply
  std::string reason;  // of everything else: "killed by signal 11 (SIGSEGV)"
  bool ok() const { return ending == Ending::kReply; }
};

class WorkerProcess {
 public:
  // Errors name the program. The worker dies with this process, whichever thread called.
  static Result<std::unique_ptr<WorkerProcess>> spawn(const std::string& program,
                                                      const std::vector<std::string>& arguments,
                                                      const Limits& limits, base::Clock& clock);
  // Kills and reaps.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Anything but a reply is the worker's end: it is dead and reaped when this returns, and further questions
  // are answered by the same.
  Reply ask(std::string_view request, int64_t timeout_ns);

  pid_t pid() const { return pid_; }
  bool is_alive() const { return alive_; }

 private:
  WorkerProcess(const Limits& limits, base::Clock& clock) : limits_(limits), clock_(clock) {}
  Status start(const std::string& program, const std::vector<std::string>& arguments);
  Reply end(Ending ending, std::string reason);
  std::string how_it_ended(Ending* ending);
  void drain_errors();
  void kill_and_reap();

  const Limits limits_;
  base::Clock& clock_;
  pid_t pid_ = -1;
  int status_ = 0;
  int socket_ = -1, errors_ = -1, life_ = -1;
  bool alive_ = false;
  Reply last_;
  std::string error_tail_;

  // The thread that spawned: PR_SET_PDEATHSIG is sent when it ends, not when the process does.
  std::thread keeper_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool release_ = false;
};

}  // namespace frit::tuner::worker
