#include "support/fault_vfs.h"

namespace frit::tuner {

struct FaultVfs::File {
  sqlite3_file base;
  FaultVfs* owner;
  sqlite3_file* real;  // in the bytes behind this struct

  static File& of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* inner(sqlite3_file* file) { return of(file).real; }
  static int change(sqlite3_file* file) { return of(file).owner->change(); }

  static const sqlite3_io_methods* methods() {
    static const sqlite3_io_methods kMethods = {
        3,
        [](sqlite3_file* f) { return inner(f)->pMethods->xClose(inner(f)); },
        [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
          return inner(f)->pMethods->xRead(inner(f), to, n, at);
        },
        [](sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
          // What overwrites needs no space.
          sqlite3_int64 size = 0;
          inner(f)->pMethods->xFileSize(inner(f), &size);
          const int rc = at + n > size || !of(f).owner->is_full() ? change(f) : SQLITE_OK;
          return rc != SQLITE_OK ? rc : inner(f)->pMethods->xWrite(inner(f), from, n, at);
        },
        [](sqlite3_file* f, sqlite3_int64 size) {
          const int rc = of(f).owner->is_full() ? SQLITE_OK : change(f);
          return rc != SQLITE_OK ? SQLITE_IOERR_TRUNCATE : inner(f)->pMethods->xTruncate(inner(f), size);
        },
        [](sqlite3_file* f, int flags) {
          const int rc = of(f).owner->is_full() ? SQLITE_OK : change(f);
          return rc != SQLITE_OK ? SQLITE_IOERR_FSYNC : inner(f)->pMethods->xSync(inner(f), flags);
        },
        [](sqlite3_file* f, sqlite3_int64* size) { return inner(f)->pMethods->xFileSize(inner(f), size); },
        [](sqlite3_file* f, int level) { return inner(f)->pMethods->xLock(inner(f), level); },
        [](sqlite3_file* f, int level) { return inner(f)->pMethods->xUnlock(inner(f), level); },
        [](sqlite3_file* f, int* out) { return inner(f)->pMethods->xCheckReservedLock(inner(f), out); },
        [](sqlite3_file* f, int op, void* arg) {
          return inner(f)->pMethods->xFileControl(inner(f), op, arg);
        },
        [](sqlite3_file* f) { return inner(f)->pMethods->xSectorSize(inner(f)); },
        [](sqlite3_file* f) { return inner(f)->pMethods->xDeviceCharacteristics(inner(f)); },
        [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
          const int rc = extend != 0 ? change(f) : SQLITE_OK;
          return rc != SQLITE_OK ? SQLITE_IOERR_SHMSIZE
                                 : inner(f)->pMethods->xShmMap(inner(f), page, size, extend, out);
        },
        [](sqlite3_file* f, int offset, int n, int flags) {
          return inner(f)->pMethods->xShmLock(inner(f), offset, n, flags);
        },
        [](sqlite3_file* f) { inner(f)->pMethods->xShmBarrier(inner(f)); },
        [](sqlite3_file* f, int remove) { return inner(f)->pMethods->xShmUnmap(inner(f), remove); },
        [](sqlite3_file* f, sqlite3_int64 at, int n, void** out) {
          return inner(f)->pMethods->xFetch(inner(f), at, n, out);
        },
        [](sqlite3_file* f, sqlite3_int64 at, void* page) {
          return inner(f)->pMethods->xUnfetch(inner(f), at, page);
        },
    };
    return &kMethods;
  }
};

FaultVfs::FaultVfs(const char* name) : real_(sqlite3_vfs_find(nullptr)) {
  vfs_ = *real_;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
  vfs_.pNext = nullptr;
  vfs_.zName = name;
  vfs_.xOpen = &FaultVfs::open;
  // The other entries are the system's; they do not look at which VFS they are called with, except through
  // these.
  vfs_.pAppData = real_->pAppData;
  sqlite3_vfs_register(&vfs_, 0);
}

FaultVfs::~FaultVfs() { sqlite3_vfs_unregister(&vfs_); }

int FaultVfs::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  static_assert(offsetof(FaultVfs, vfs_) == 0);
  auto* self = reinterpret_cast<FaultVfs*>(vfs);
  File& wrapped = File::of(file);
  wrapped.owner = self;
  wrapped.real = reinterpret_cast<sqlite3_file*>(&wrapped + 1);
  wrapped.base.pMethods = nullptr;
  const int rc = self->real_->xOpen(self->real_, name, wrapped.real, flags, out_flags);
  if (wrapped.real->pMethods != nullptr) wrapped.base.pMethods = File::methods();
  return rc;
}

}  // namespace frit::tuner
