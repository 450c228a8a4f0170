// From a path to an open database: makes the file, classifies what is there, sets bad files aside, picks
// journal and access by what the file system and the file's owner allow. The ladder is described in
// schemas/cache.md.
//
// Used by the store only. It never fails: at the end of every branch there is a database or the reason why
// not.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tuner/store.h"
#include "tuner/store_schema.h"
#include "tuner/store_sqlite.h"

namespace frit::tuner {

struct OpenedFile {
  std::unique_ptr<sql::Database> db;  // null: memory
  bool writable = false;
  bool transient = false;    // not (fully) usable now, but worth trying again later: a lock, a full disk
  bool native_code = false;  // the user owns it and nobody else can write it
  bool missing = false;      // not there and not to be made
  std::string journal = "none";
  int schema_version = 0;
  uint64_t device = 0, inode = 0;
  std::string warning;
  std::string set_aside;
  std::string bad_file;
};

struct OpenRequest {
  std::string path;
  bool create = true;
  bool leave_bad_file = false;
  int busy_ms = 5000;
  std::string vfs;
  // A file that turned out to be damaged while it was used, although it opens: set aside when it is still
  // there.
  uint64_t damaged_device = 0, damaged_inode = 0;
};

OpenedFile open_cache_file(const OpenRequest& request, const StoreSeams& seams, const Schema& schema);

}  // namespace frit::tuner
