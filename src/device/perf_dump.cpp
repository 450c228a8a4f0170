#include "device/perf_dump.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"

namespace frit::device {

namespace {

struct FileHeader {
  uint32_t magic = 0x4a695444;  // "JiTD"
  uint32_t version = 1;
  uint32_t size_bytes = sizeof(FileHeader);
  uint32_t machine = 0;
  uint32_t pad = 0;
  uint32_t pid = 0;
  uint64_t time_ns = 0;
  uint64_t flags = 0;
};
static_assert(sizeof(FileHeader) == 40);

struct LoadRecord {
  uint32_t kind = 0;  // JIT_CODE_LOAD
  uint32_t size_bytes = 0;
  uint64_t time_ns = 0;
  uint32_t pid = 0;
  uint32_t thread = 0;
  uint64_t address = 0;
  uint64_t code_address = 0;
  uint64_t code_bytes = 0;
  uint64_t index = 0;
};
static_assert(sizeof(LoadRecord) == 56);

// The clock of `perf record -k 1`.
uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

Result<std::unique_ptr<PerfDump>> PerfDump::open(const std::string& folder) {
  std::unique_ptr<PerfDump> dump(new PerfDump);
  dump->path_ = base::text_of(folder, "/jit-", getpid(), ".dump");
  const auto failed = [&](const char* what) {
    return make_error(Code::kIo, base::text_of(dump->path_, ": ", what, ": ", base::errno_text(errno)));
  };
  dump->file_ = ::open(dump->path_.c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (dump->file_ < 0) return failed("cannot create");
  FileHeader header;
#if defined(__x86_64__)
  header.machine = EM_X86_64;
#else
  header.machine = EM_AARCH64;
#endif
  header.pid = static_cast<uint32_t>(getpid());
  header.time_ns = now_ns();
  if (::write(dump->file_, &header, sizeof header) != sizeof header) return failed("cannot write");
  // perf records only executable mappings; it finds the file by this one.
  dump->marker_bytes_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* marker = mmap(nullptr, dump->marker_bytes_, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump->file_, 0);
  if (marker == MAP_FAILED) return failed("cannot map");
  dump->marker_ = marker;
  return dump;
}

PerfDump::~PerfDump() {
  if (marker_) munmap(marker_, marker_bytes_);
  if (file_ >= 0) close(file_);
}

void PerfDump::add(std::string_view name, std::span<const std::byte> code) {
  LoadRecord record;
  record.size_bytes = static_cast<uint32_t>(sizeof record + name.size() + 1 + code.size());
  record.pid = static_cast<uint32_t>(getpid());
  record.thread = static_cast<uint32_t>(syscall(SYS_gettid));
  record.address = record.code_address = reinterpret_cast<uint64_t>(code.data());
  record.code_bytes = code.size();
  const std::string name_text(name);
  const std::lock_guard lock(mutex_);
  record.time_ns = now_ns();
  record.index = count_++;
  const iovec pieces[] = {{&record, sizeof record},
                          {const_cast<char*>(name_text.c_str()), name_text.size() + 1},
                          {const_cast<std::byte*>(code.data()), code.size()}};
  [[maybe_unused]] const ssize_t written = writev(file_, pieces, 3);
}

}  // namespace frit::device
