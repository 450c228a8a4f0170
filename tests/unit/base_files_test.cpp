// SystemFileSystem and MappedFile on a real folder; the fakes, so that tests that rest on them can be
// believed.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/seams.h"
#include "support/fake_seams.h"

namespace frit::base {
namespace {

using frit::fakes::FaultyFiles;
using frit::fakes::FileOp;
using frit::fakes::MemoryFiles;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/frit_files_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> names() { return *files_.list(folder_); }

  std::string folder_;
  SystemFileSystem files_;
};

TEST_F(FilesTest, WritesAndReadsBack) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, size_t{100003}}) {
    std::string bytes(size, '\0');
    for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7);
    ASSERT_TRUE(files_.write_atomic(path("a"), bytes).ok());
    EXPECT_EQ(*files_.read(path("a")), bytes);
    Result<MappedFile> map = files_.map(path("a"));
    ASSERT_TRUE(map.ok());
    EXPECT_EQ(map->text(), bytes);
    EXPECT_EQ(map->bytes().size(), size);
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));  // no temporary file stays
}

TEST_F(FilesTest, WritesPiecesWithAMode) {
  const std::vector<std::string_view> pieces = {"ab", "", "cde"};
  ASSERT_TRUE(files_.write_pieces(path("a"), pieces, 0600).ok());
  EXPECT_EQ(*files_.read(path("a")), "abcde");
  const FileStat stat = *files_.stat(path("a"));
  EXPECT_EQ(stat.mode, 0600u);
  EXPECT_EQ(stat.size_bytes, 5u);
  EXPECT_TRUE(stat.is_file);
  EXPECT_FALSE(stat.is_folder);
  EXPECT_EQ(stat.owner, geteuid());
  ASSERT_TRUE(files_.write_pieces(path("a"), {}, 0644).ok());
  EXPECT_EQ(files_.stat(path("a"))->mode, 0644u);
  EXPECT_EQ(files_.stat(path("a"))->size_bytes, 0u);
}

TEST_F(FilesTest, AReaderKeepsTheOldFile) {
  ASSERT_TRUE(files_.write_atomic(path("a"), "old content").ok());
  const FileStat before = *files_.stat(path("a"));
  Result<MappedFile> map = files_.map(path("a"));
  ASSERT_TRUE(map.ok());
  ASSERT_TRUE(files_.write_atomic(path("a"), "new").ok());
  EXPECT_EQ(map->text(), "old content");
  EXPECT_NE(files_.stat(path("a"))->inode, before.inode);
  ASSERT_TRUE(files_.remove(path("a")).ok());
  EXPECT_EQ(map->text(), "old content");
}

TEST_F(FilesTest, FailedWriteLeavesTheOldFileAndNothingElse) {
  // The target is a folder, so the last step, the rename, is refused.
  ASSERT_TRUE(files_.make_folders(path("taken"), 0755).ok());
  ASSERT_TRUE(files_.write_atomic(path("taken/inside"), "x").ok());
  const Status status = files_.write_atomic(path("taken"), "bytes");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kIo);
  EXPECT_NE(status.error().message.find("taken"), std::string::npos);
  EXPECT_EQ(names(), (std::vector<std::string>{"taken"}));
  EXPECT_FALSE(files_.write_atomic(path("none/a"), "x").ok());
}

TEST_F(FilesTest, WriteThatFailsHalfWayKeepsTheOldFile) {
  ASSERT_TRUE(files_.write_atomic(path("a"), "old").ok());
  // The nearest thing to a full disk that needs no privileges.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  rlimit small = limit;
  small.rlim_cur = 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = files_.write_atomic(path("a"), std::string(100, 'x'));
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("file too large"), std::string::npos) << status.error().text();
  EXPECT_EQ(*files_.read(path("a")), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
}

TEST_F(FilesTest, MissingAndWrongKindsAreErrors) {
  for (const Error& error :
       {files_.read(path("none")).error(), files_.map(path("none")).error(),
        files_.stat(path("none")).error(), files_.remove(path("none")).error(),
        files_.rename(path("none"), path("b")).error(), files_.list(path("none")).error(),
        files_.canonical(path("none")).error(), files_.is_local(path("none")).error()}) {
    EXPECT_EQ(error.code, Code::kIo);
    EXPECT_NE(error.text().find("none"), std::string::npos) << error.text();
    EXPECT_NE(error.text().find("no such file or directory"), std::string::npos) << error.text();
  }
  EXPECT_FALSE(files_.exists(path("none")));
  EXPECT_FALSE(files_.read(folder_).ok());
  const Result<MappedFile> of_folder = files_.map(folder_);
  ASSERT_FALSE(of_folder.ok());
  EXPECT_NE(of_folder.error().message.find("is a folder"), std::string::npos);
  // A fifo must not block.
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(files_.map(path("fifo")).ok());
  ASSERT_TRUE(files_.write_atomic(path("file"), "x").ok());
  EXPECT_FALSE(files_.list(path("file")).ok());
  EXPECT_FALSE(files_.make_folders(path("file"), 0755).ok());
  EXPECT_FALSE(files_.make_folders(path("file/below"), 0755).ok());
  EXPECT_FALSE(files_.make_folders("", 0755).ok());
  EXPECT_FALSE(files_.remove(folder_).ok());  // not empty
}

TEST_F(FilesTest, MakesFoldersWithAMode) {
  const mode_t before = umask(0022);
  EXPECT_TRUE(files_.make_folders(path("a/b//c/"), 0700).ok());
  EXPECT_EQ(files_.stat(path("a/b/c"))->mode, 0700u);
  EXPECT_EQ(files_.stat(path("a/b"))->mode, 0755u);
  EXPECT_TRUE(files_.make_folders(path("a/b/c"), 0700).ok());  // again
  EXPECT_TRUE(files_.make_folders("/", 0755).ok());
  umask(before);
}

TEST_F(FilesTest, ListsSortedRenamesRemoves) {
  for (const char* name : {"b", "a", ".hidden"}) ASSERT_TRUE(files_.write_atomic(path(name), name).ok());
  EXPECT_EQ(names(), (std::vector<std::string>{".hidden", "a", "b"}));
  ASSERT_TRUE(files_.rename(path("a"), path("b")).ok());
  EXPECT_EQ(*files_.read(path("b")), "a");
  ASSERT_TRUE(files_.remove(path("b")).ok());
  EXPECT_EQ(names(), (std::vector<std::string>{".hidden"}));
  EXPECT_TRUE(files_.make_folders(path("empty"), 0755).ok());
  EXPECT_TRUE(files_.remove(path("empty")).ok());
}

TEST_F(FilesTest, CreatesOnlyWhatWasNotThere) {
  EXPECT_EQ(*files_.create_new(path("a"), 0600), true);
  EXPECT_EQ(files_.stat(path("a"))->mode, 0600u);
  ASSERT_TRUE(files_.write_atomic(path("a"), "kept").ok());
  EXPECT_EQ(*files_.create_new(path("a"), 0600), false);
  EXPECT_EQ(*files_.read(path("a")), "kept");
  EXPECT_EQ(*files_.create_new(folder_, 0600), false);
  EXPECT_FALSE(files_.create_new(path("none/a"), 0600).ok());
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
  EXPECT_TRUE(files_.is_read_only_mount(path("a")).ok());
  EXPECT_FALSE(files_.is_read_only_mount(path("none")).ok());
}

TEST_F(FilesTest, CanonicalFollowsLinks) {
  ASSERT_TRUE(files_.write_atomic(path("real"), "x").ok());
  ASSERT_EQ(symlink("real", path("link").c_str()), 0);
  const std::string real = *files_.canonical(path("real"));
  EXPECT_EQ(*files_.canonical(path("./link")), real);
  EXPECT_TRUE(real.starts_with("/") && real.ends_with("/real")) << real;
  ASSERT_EQ(symlink("nowhere", path("dangling").c_str()), 0);
  EXPECT_FALSE(files_.canonical(path("dangling")).ok());
  EXPECT_FALSE(files_.exists(path("dangling")));
  EXPECT_TRUE(files_.is_local(path("real")).ok());
}

TEST_F(FilesTest, ReadsFilesOfUnknownSize) {
  const std::string maps = *files_.read("/proc/self/maps");
  EXPECT_GT(maps.size(), 1000u);
  EXPECT_EQ(maps.back(), '\n');
}

TEST(MappedFileTest, MovesAndOwnedBytes) {
  MappedFile none;
  EXPECT_EQ(none.size_bytes(), 0u);
  MappedFile a = MappedFile::from_bytes("abc");  // short enough to live inside a string object
  MappedFile b = std::move(a);
  EXPECT_EQ(b.text(), "abc");
  EXPECT_EQ(a.size_bytes(), 0u);  // NOLINT: moved from on purpose
  b = MappedFile::from_bytes("");
  EXPECT_EQ(b.text(), "");
  b.drop_pages(0, 10);
}

TEST_F(FilesTest, DroppedPagesReadTheSame) {
  const std::string bytes(3 * 4096 + 5, 'q');
  ASSERT_TRUE(files_.write_atomic(path("a"), bytes).ok());
  Result<MappedFile> map = files_.map(path("a"));
  ASSERT_TRUE(map.ok());
  for (const auto& [offset, count] : std::vector<std::pair<size_t, size_t>>{{0, 0},
                                                                            {0, bytes.size()},
                                                                            {1, 5000},
                                                                            {bytes.size(), 1},
                                                                            {bytes.size() - 1, SIZE_MAX},
                                                                            {SIZE_MAX, 1}}) {
    map->drop_pages(offset, count);
    EXPECT_EQ(map->text(), bytes);
  }
}

TEST(MemoryFilesTest, BehavesLikeFiles) {
  MemoryFiles files;
  files.put("/sys/x", "1");
  EXPECT_EQ(*files.read("/sys/x"), "1");
  EXPECT_TRUE(files.exists("/sys"));
  EXPECT_FALSE(files.write_atomic("/none/a", "b").ok());
  ASSERT_TRUE(files.make_folders("/none", 0755).ok());
  ASSERT_TRUE(files.write_atomic("/none/a", "b", 0600).ok());
  EXPECT_EQ(files.stat("/none/a")->mode, 0600u);
  EXPECT_EQ(files.map("/none/a")->text(), "b");
  EXPECT_EQ(*files.create_new("/none/a", 0600), false);
  EXPECT_EQ(*files.create_new("/none/new", 0600), true);
  ASSERT_TRUE(files.remove("/none/new").ok());
  EXPECT_EQ(*files.list("/"), (std::vector<std::string>{"none", "sys"}));
  EXPECT_FALSE(files.remove("/none").ok());
  ASSERT_TRUE(files.rename("/none/a", "/none/b").ok());
  EXPECT_FALSE(files.exists("/none/a"));
  ASSERT_TRUE(files.remove("/none/b").ok());
  ASSERT_TRUE(files.remove("/none").ok());
  EXPECT_FALSE(files.exists("/none"));
  EXPECT_FALSE(files.make_folders("/sys/x/y", 0755).ok());
}

TEST(FaultyFilesTest, FailsWhereItIsTold) {
  MemoryFiles inner;
  inner.put("/a", "old");
  FaultyFiles files(inner);
  files.fail_nth(2);
  EXPECT_TRUE(files.read("/a").ok());
  EXPECT_FALSE(files.read("/a").ok());
  EXPECT_TRUE(files.read("/a").ok());
  EXPECT_EQ(files.operations(), 3);
  files.fail_all(FileOp::kWrite);
  EXPECT_FALSE(files.write_atomic("/a", "new").ok());
  files.heal();
  files.set_disk_bytes(4);
  EXPECT_TRUE(files.write_atomic("/a", "new").ok());
  const Status full = files.write_atomic("/a", "xx");
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.error().message.find("no space left"), std::string::npos);
  EXPECT_EQ(*inner.read("/a"), "new");
  files.heal();
  files.fail_path("secret");
  EXPECT_FALSE(files.exists("/secret/a"));
  EXPECT_TRUE(files.exists("/a"));
}

}  // namespace
}  // namespace frit::base
