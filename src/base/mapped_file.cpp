#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/text.h"

namespace frit::base {

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  size_bytes_ = std::exchange(other.size_bytes_, 0);
  mapped_ = std::exchange(other.mapped_, false);
  owned_ = std::move(other.owned_);
  return *this;
}

void MappedFile::release() {
  if (mapped_) munmap(const_cast<std::byte*>(data_), size_bytes_);
  data_ = nullptr;
  size_bytes_ = 0;
  mapped_ = false;
  owned_.reset();
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const auto failed = [&](const char* what) {
    return make_error(Code::kIo, text_of("cannot ", what, " ", quoted(path), ": ", errno_text(errno)));
  };
  // Without O_NONBLOCK a fifo in place of a model would block for ever.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return failed("open");
  struct ::stat info;
  if (fstat(fd, &info) != 0) {
    Error error = failed("stat");
    close(fd);
    return error;
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return make_error(Code::kIo,
                      text_of(quoted(path), " is ", S_ISDIR(info.st_mode) ? "a folder" : "not a file",
                              ", expected a regular file"));
  }
  MappedFile file;
  file.size_bytes_ = static_cast<size_t>(info.st_size);
  if (file.size_bytes_ != 0) {  // mmap refuses a length of zero
    void* map = mmap(nullptr, file.size_bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED) {
      Error error = failed("map");
      close(fd);
      file.size_bytes_ = 0;
      return error;
    }
    file.data_ = static_cast<const std::byte*>(map);
    file.mapped_ = true;
  }
  close(fd);
  return file;
}

MappedFile MappedFile::from_bytes(std::string bytes) {
  MappedFile file;
  file.owned_ = std::make_unique<std::string>(std::move(bytes));
  file.data_ = reinterpret_cast<const std::byte*>(file.owned_->data());
  file.size_bytes_ = file.owned_->size();
  return file;
}

void MappedFile::drop_pages(size_t offset_bytes, size_t count_bytes) const {
  if (!mapped_ || offset_bytes >= size_bytes_) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t end = offset_bytes + std::min(count_bytes, size_bytes_ - offset_bytes);
  // Only pages that lie inside as a whole; the file's last page counts as whole.
  const size_t first = (offset_bytes + page - 1) / page * page;
  const size_t last = end == size_bytes_ ? end : end / page * page;
  if (first < last) madvise(const_cast<std::byte*>(data_) + first, last - first, MADV_DONTNEED);
}

}  // namespace frit::base
