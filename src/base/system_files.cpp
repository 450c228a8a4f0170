// SystemFileSystem: the file seam on POSIX.
#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

#include "base/seams.h"
#include "base/text.h"
#include "base/try.h"

namespace frit::base {
namespace {

Error failed(const char* what, const std::string& path, int error) {
  return make_error(Code::kIo, text_of("cannot ", what, " ", quoted(path), ": ", errno_text(error)));
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  // Some file systems report a failed write only here.
  int close() {
    const int rc = ::close(fd_);
    fd_ = -1;
    return rc;
  }

 private:
  int fd_;
};

template <class Call>
auto retry_interrupted(Call call) {
  decltype(call()) rc;
  do rc = call();
  while (rc < 0 && errno == EINTR);
  return rc;
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = retry_interrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (n < 0) return failed("write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

// The content is on disk when this returns without an error, under the temporary name.
Status write_synced(int raw_fd, std::span<const std::string_view> pieces, uint32_t mode,
                    const std::string& path) {
  Descriptor fd(raw_fd);
  if (fchmod(fd.get(), mode) != 0) return failed("set the mode of", path, errno);
  for (const std::string_view piece : pieces) FRIT_TRY(write_all(fd.get(), piece, path));
  // EINVAL: a file system without sync, as some of those in memory.
  if (retry_interrupted([&] { return fsync(fd.get()); }) != 0 && errno != EINVAL)
    return failed("sync", path, errno);
  if (fd.close() != 0 && errno != EINTR) return failed("close", path, errno);
  return {};
}

}  // namespace

Result<std::string> SystemFileSystem::read(const std::string& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.ok()) return failed("open", path, errno);
  struct ::stat info;
  if (fstat(fd.get(), &info) != 0) return failed("stat", path, errno);
  std::string out;
  // One byte more than the size shows the end without a second read; 4 KiB for files of /proc, whose size is
  // 0.
  size_t filled = 0;
  out.resize(info.st_size > 0 ? static_cast<size_t>(info.st_size) + 1 : 4096);
  for (;;) {
    const ssize_t n =
        retry_interrupted([&] { return ::read(fd.get(), out.data() + filled, out.size() - filled); });
    if (n < 0) return failed("read", path, errno);
    if (n == 0) break;
    filled += static_cast<size_t>(n);
    if (filled == out.size()) out.resize(2 * out.size());
  }
  out.resize(filled);
  return out;
}

Result<MappedFile> SystemFileSystem::map(const std::string& path) { return MappedFile::open(path); }

Status SystemFileSystem::write_pieces(const std::string& path, std::span<const std::string_view> pieces,
                                      uint32_t mode) {
  std::string temporary = path + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return failed("create", path, errno);
  Status written = write_synced(fd, pieces, mode, path);
  if (written.ok() && ::rename(temporary.c_str(), path.c_str()) != 0)
    written = failed("replace", path, errno);
  if (!written.ok()) {
    unlink(temporary.c_str());
    return written;
  }
  // The rename itself survives a crash only when the folder is synced too; where that is refused the content
  // is still whole, so it is no error.
  Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.ok()) fsync(folder.get());
  return {};
}

Result<bool> SystemFileSystem::create_new(const std::string& path, uint32_t mode) {
  // Made under another name and linked: whoever sees the file sees its final mode, and no descriptor of ours
  // is open on it (closing one would drop the locks that another part of this process holds on the file).
  std::string temporary = path + ".XXXXXX";
  const int raw_fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (raw_fd < 0) return failed("create", path, errno);
  Descriptor fd(raw_fd);
  int error = fchmod(fd.get(), mode) != 0 ? errno : 0;
  fd.close();
  if (error == 0 && link(temporary.c_str(), path.c_str()) != 0) error = errno;
  unlink(temporary.c_str());
  if (error == EPERM || error == EOPNOTSUPP || error == ENOSYS) {  // a file system without links
    Descriptor direct(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
    error = direct.ok() ? 0 : errno;
  }
  if (error == EEXIST) return false;
  if (error != 0) return failed("create", path, error);
  return true;
}

bool SystemFileSystem::exists(const std::string& path) {
  struct ::stat info;
  return ::stat(path.c_str(), &info) == 0;
}

Result<FileStat> SystemFileSystem::stat(const std::string& path) {
  struct ::stat info;
  if (::stat(path.c_str(), &info) != 0) return failed("stat", path, errno);
  FileStat out;
  out.size_bytes = static_cast<uint64_t>(info.st_size);
  out.mtime_ns = info.st_mtim.tv_sec * int64_t{1000000000} + info.st_mtim.tv_nsec;
  out.inode = info.st_ino;
  out.device = info.st_dev;
  out.mode = info.st_mode & 07777;
  out.owner = info.st_uid;
  out.is_file = S_ISREG(info.st_mode);
  out.is_folder = S_ISDIR(info.st_mode);
  return out;
}

Status SystemFileSystem::make_folders(const std::string& path, uint32_t mode) {
  if (path.empty()) return make_error(Code::kIo, "cannot make a folder: its path is empty");
  for (size_t at = 0; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const bool last = path.find_first_not_of('/', at) == std::string::npos || at == std::string::npos;
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), last ? mode : 0777) != 0) {
      const int error = errno;
      struct ::stat info;
      // EEXIST, but also EROFS or EACCES for a parent that is simply there.
      if (::stat(part.c_str(), &info) != 0) return failed("make folder", path, error);
      if (!S_ISDIR(info.st_mode)) return failed("make folder", path, ENOTDIR);
    }
    if (last) break;
  }
  return {};
}

Status SystemFileSystem::remove(const std::string& path) {
  if (::remove(path.c_str()) != 0) return failed("remove", path, errno);
  return {};
}

Status SystemFileSystem::rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return failed("rename", from, errno).with(text_of("to ", quoted(to)));
  }
  return {};
}

Result<std::vector<std::string>> SystemFileSystem::list(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (!dir) return failed("list", folder, errno);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(dir.get());
    if (!entry) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return failed("list", folder, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> SystemFileSystem::canonical(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(path.c_str(), nullptr), std::free);
  if (!real) return failed("resolve", path, errno);
  return std::string(real.get());
}

Result<bool> SystemFileSystem::is_local(const std::string& path) {
  struct statfs info;
  if (retry_interrupted([&] { return statfs(path.c_str(), &info); }) != 0) return failed("stat", path, errno);
  // Magic numbers of statfs(2); those missing in <linux/magic.h> are spelled out.
  constexpr uint32_t kCifs = 0xff534d42, kSmb2 = 0xfe534d42, kFuse = 0x65735546, kLustre = 0x0bd00bd0;
  constexpr uint32_t kGpfs = 0x47504653, kCeph = 0x00c36400, kBeeGfs = 0x19830326;
  switch (static_cast<uint32_t>(info.f_type)) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case V9FS_MAGIC:
    case AFS_SUPER_MAGIC:
    case AFS_FS_MAGIC:
    case CODA_SUPER_MAGIC:
    case kCifs:
    case kSmb2:
    case kFuse:
    case kLustre:
    case kGpfs:
    case kCeph:
    case kBeeGfs:
      return false;
    default:
      return true;
  }
}

Result<bool> SystemFileSystem::is_read_only_mount(const std::string& path) {
  struct statvfs info;
  if (retry_interrupted([&] { return statvfs(path.c_str(), &info); }) != 0)
    return failed("stat", path, errno);
  return (info.f_flag & ST_RDONLY) != 0;
}

}  // namespace frit::base
