#include "tuner/worker/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/try.h"
#include "tuner/worker/frames.h"

namespace frit::tuner::worker {

namespace {

constexpr size_t kErrorTail = 4096;  // bytes of the worker's stderr that are kept
constexpr int64_t kPollNs = 50'000'000;

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

struct Fds {
  int ours = -1, theirs = -1;
  ~Fds() {
    close_fd(ours);
    close_fd(theirs);
  }
};

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const size_t begin = text.rfind('\n');
  return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1));
}

std::string signal_text(int signal) {
  const char* name = sigabbrev_np(signal);
  return base::text_of("killed by signal ", signal, name ? base::text_of(" (SIG", name, ")") : std::string());
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
  posix_spawn_file_actions_t actions;
};
class Attributes {
 public:
  Attributes() { posix_spawnattr_init(&attributes); }
  ~Attributes() { posix_spawnattr_destroy(&attributes); }
  posix_spawnattr_t attributes;
};

// Default signals, none blocked, a process group of its own: Ctrl-C in the terminal is for the tuner, which
// finishes the trial first.
int spawn_child(pid_t* pid, const std::string& program, const std::vector<std::string>& arguments, int socket,
                int errors, int life) {
  FileActions files;
  posix_spawn_file_actions_addopen(&files.actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files.actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&files.actions, errors, 2);
  posix_spawn_file_actions_adddup2(&files.actions, socket, kSocketFd);
  posix_spawn_file_actions_adddup2(&files.actions, life, kLifeFd);
  Attributes attributes;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes.attributes, &none);
  posix_spawnattr_setsigdefault(&attributes.attributes, &all);
  posix_spawnattr_setpgroup(&attributes.attributes, 0);
  posix_spawnattr_setflags(&attributes.attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  return posix_spawn(pid, program.c_str(), &files.actions, &attributes.attributes, argv.data(), environ);
}

// Above the numbers that the worker's ends get, so that dup2 in the child overwrites none of them.
bool raise_fd(int& fd) {
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, 16);
  if (high < 0) return false;
  close(fd);
  fd = high;
  return true;
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::spawn(const std::string& program,
                                                            const std::vector<std::string>& arguments,
                                                            const Limits& limits, base::Clock& clock) {
  auto out = std::unique_ptr<WorkerProcess>(new WorkerProcess(limits, clock));
  FRIT_TRY(out->start(program, arguments));
  return out;
}

Status WorkerProcess::start(const std::string& program, const std::vector<std::string>& arguments) {
  const auto failed = [&](const char* what, int error) {
    return make_error(Code::kIo, base::text_of("cannot start the worker ", program, ": ", what, ": ",
                                               strerrordesc_np(error)));
  };
  Fds socket, errors, life;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return failed("socketpair", errno);
  socket.ours = pair[0], socket.theirs = pair[1];
  if (pipe2(pair, O_CLOEXEC) != 0) return failed("pipe", errno);
  errors.ours = pair[0], errors.theirs = pair[1];
  if (pipe2(pair, O_CLOEXEC) != 0) return failed("pipe", errno);
  life.theirs = pair[0], life.ours = pair[1];
  for (int* fd : {&socket.theirs, &errors.theirs, &life.theirs})
    if (!raise_fd(*fd)) return failed("fcntl", errno);
  for (const int fd : {socket.ours, errors.ours}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);

  std::vector<std::string> all = arguments;
  all.push_back(base::text_of("--parent=", getpid()));
  all.push_back(base::text_of("--memory=", limits_.memory_bytes));
  int error = -1;
  bool spawned = false;
  keeper_ = std::thread([&] {
    // Signals of the process are for the threads that the host has for them.
    sigset_t everything;
    sigfillset(&everything);
    pthread_sigmask(SIG_BLOCK, &everything, nullptr);
    const int result = spawn_child(&pid_, program, all, socket.theirs, errors.theirs, life.theirs);
    std::unique_lock lock(mutex_);
    error = result;
    spawned = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return release_; });
  });
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return spawned; });
  }
  if (error != 0) {
    pid_ = -1;
    return failed("posix_spawn", error);
  }
  alive_ = true;
  socket_ = std::exchange(socket.ours, -1);
  errors_ = std::exchange(errors.ours, -1);
  life_ = std::exchange(life.ours, -1);
  return {};
}

WorkerProcess::~WorkerProcess() {
  kill_and_reap();
  close_fd(socket_);
  close_fd(errors_);
  close_fd(life_);
  if (!keeper_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    release_ = true;
  }
  changed_.notify_all();
  keeper_.join();
}

void WorkerProcess::kill_and_reap() {
  if (!alive_) return;
  // The whole group, should the worker have started something; SIGKILL also ends what is stopped.
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  while (waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  alive_ = false;
}

void WorkerProcess::drain_errors() {
  char buffer[1024];
  for (int reads = 0; reads < 1024; ++reads) {  // one that never stops writing must not keep us here
    const ssize_t got = read(errors_, buffer, sizeof buffer);
    if (got <= 0) return;
    error_tail_.append(buffer, static_cast<size_t>(got));
    if (error_tail_.size() > 2 * kErrorTail) error_tail_.erase(0, error_tail_.size() - kErrorTail);
  }
}

// Of a worker that is reaped and has ended by itself.
std::string WorkerProcess::how_it_ended(Ending* ending) {
  *ending = Ending::kCrash;
  if (WIFSIGNALED(status_)) return signal_text(WTERMSIG(status_));
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == kExitOutOfMemory) {
    *ending = Ending::kMemory;
    return base::text_of("needs more than ", limits_.memory_bytes, " bytes of memory");
  }
  return base::text_of("ended with exit code ", WIFEXITED(status_) ? WEXITSTATUS(status_) : -1);
}

Reply WorkerProcess::end(Ending ending, std::string reason) {
  if (ending == Ending::kCrash) {
    // It has closed its socket, so it is ending; one that goes on without it is ended.
    const int64_t until = clock_.now_ns() + 1'000'000'000;
    pid_t reaped = 0;
    while ((reaped = waitpid(pid_, &status_, WNOHANG)) == 0 && clock_.now_ns() < until)
      clock_.sleep_ns(1'000'000);
    if (reaped == pid_) {
      alive_ = false;
      reason = how_it_ended(&ending);
    }
  }
  kill_and_reap();
  drain_errors();
  if (const std::string line = last_line(error_tail_); !line.empty()) base::append(reason, ": ", line);
  last_ = {ending, {}, std::move(reason)};
  return last_;
}

Reply WorkerProcess::ask(std::string_view request, int64_t timeout_ns) {
  if (!alive_) return last_;
  error_tail_.clear();
  const std::string frame = frame_of(request);
  size_t sent = 0;
  std::string got;
  uint64_t expected = 8;
  bool has_size = false;
  const int64_t until = clock_.now_ns() + timeout_ns;
  for (;;) {
    const int64_t left = until - clock_.now_ns();
    if (left <= 0)
      return end(Ending::kTimeout, base::text_of("no answer within ", timeout_ns / 1'000'000, " ms"));
    pollfd fds[2] = {{socket_, static_cast<short>(sent < frame.size() ? POLLIN | POLLOUT : POLLIN), 0},
                     {errors_, POLLIN, 0}};
    const int ready = poll(fds, 2, static_cast<int>(std::min(left, kPollNs) / 1'000'000 + 1));
    if (ready < 0 && errno != EINTR) return end(Ending::kCrash, "cannot wait for the worker");
    drain_errors();
    if (ready <= 0) continue;
    if ((fds[0].revents & POLLOUT) != 0) {
      const ssize_t n = send(socket_, frame.data() + sent, frame.size() - sent, MSG_NOSIGNAL);
      if (n > 0) sent += static_cast<size_t>(n);
      if (n < 0 && errno != EAGAIN && errno != EINTR)
        return end(Ending::kCrash, "the worker closed its socket");
    }
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    char buffer[65536];
    const ssize_t n =
        recv(socket_, buffer, std::min(sizeof buffer, static_cast<size_t>(expected - got.size())), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return end(Ending::kCrash, "the worker closed its socket");
    got.append(buffer, static_cast<size_t>(n));
    if (!has_size && got.size() == 8) {
      uint64_t size = 0;
      for (int k = 8; k-- > 0;) size = size << 8 | static_cast<unsigned char>(got[static_cast<size_t>(k)]);
      if (size > static_cast<uint64_t>(limits_.reply_bytes))
        return end(Ending::kReplyTooLarge, base::text_of("an answer of ", size, " bytes, at most ",
                                                         limits_.reply_bytes, " are taken"));
      has_size = true;
      expected = 8 + size;
    }
    if (has_size && got.size() == expected) return {Ending::kReply, got.substr(8), {}};
  }
}

}  // namespace frit::tuner::worker
