#include "tuner/place.h"

#include <gtest/gtest.h>

#include "support/fake_seams.h"
#include "support/store_testing.h"

namespace frit::tuner {
namespace {

class StorePlace : public testing::Test {
 protected:
  Place resolve(const std::optional<std::string>& option = std::nullopt) {
    return resolve_place(option, environment_, files_, process_);
  }
  void expect_file(const Place& place, const std::string& path, const std::string& source) {
    EXPECT_EQ(place.kind, Place::Kind::kFile) << place.note;
    EXPECT_EQ(place.path, path);
    EXPECT_EQ(place.source, source);
    EXPECT_EQ(place.note, "");
  }

  TempFolder folder_;
  fakes::FakeEnvironment environment_;
  base::SystemFileSystem files_;
  base::SystemProcess process_;
};

TEST_F(StorePlace, TakesTheFirstThatIsSet) {
  auto& values = environment_.values;
  values["HOME"] = folder_.path();
  expect_file(resolve(), folder_ / ".cache/frit/cache.db", "HOME");
  values["XDG_CACHE_HOME"] = folder_ / "xdg";
  expect_file(resolve(), folder_ / "xdg/frit/cache.db", "XDG_CACHE_HOME");
  values["CACHE_DIRECTORY"] = "/var/cache/app:/var/cache/other";
  expect_file(resolve(), "/var/cache/app/cache.db", "CACHE_DIRECTORY");
  values["FRIT_CACHE"] = folder_ / "my.db";
  expect_file(resolve(), folder_ / "my.db", "FRIT_CACHE");
  expect_file(resolve(folder_ / "option.db"), folder_ / "option.db", "option");
}

TEST_F(StorePlace, FolderFileAndOff) {
  auto& values = environment_.values;
  values["FRIT_CACHE"] = folder_.path();
  expect_file(resolve(), folder_ / "cache.db", "FRIT_CACHE");
  values["FRIT_CACHE"] = folder_ / "new/";
  expect_file(resolve(), folder_ / "new/cache.db", "FRIT_CACHE");
  values["FRIT_CACHE"] = "off";
  EXPECT_EQ(resolve().kind, Place::Kind::kOff);
  EXPECT_EQ(resolve().note, "");
  expect_file(resolve("here.db"), "here.db", "option");
  values["FRIT_CACHE"] = folder_ / "my.db";
  EXPECT_EQ(resolve("off").kind, Place::Kind::kOff);
}

TEST_F(StorePlace, EmptyAndRelativeValuesDoNotCount) {
  auto& values = environment_.values;
  values["HOME"] = folder_.path();
  values["XDG_CACHE_HOME"] = "relative";
  values["CACHE_DIRECTORY"] = "";
  values["FRIT_CACHE"] = "";
  expect_file(resolve(""), folder_ / ".cache/frit/cache.db", "HOME");
}

TEST_F(StorePlace, MemoryWithOneLineWhereNothingIsSet) {
  const Place place = resolve();
  EXPECT_EQ(place.kind, Place::Kind::kMemory);
  EXPECT_NE(place.note.find("memory"), std::string::npos);
  EXPECT_EQ(place.note.find('\n'), std::string::npos);
}

TEST_F(StorePlace, NeverInAnotherUsersOrEverybodysFolder) {
  fakes::FakeProcess other;
  other.user_value = process_.user() + 1;
  environment_.values["HOME"] = folder_.path();
  const Place theirs = resolve_place(std::nullopt, environment_, files_, other);
  EXPECT_EQ(theirs.kind, Place::Kind::kMemory);
  EXPECT_NE(theirs.note.find("another user"), std::string::npos) << theirs.note;
  // Asked for by name, it is the caller's decision.
  EXPECT_EQ(resolve_place(folder_ / "x.db", environment_, files_, other).kind, Place::Kind::kFile);

  std::filesystem::permissions(folder_.path(), std::filesystem::perms::all);
  const Place everybodys = resolve();
  EXPECT_EQ(everybodys.kind, Place::Kind::kMemory);
  EXPECT_NE(everybodys.note.find("everybody"), std::string::npos) << everybodys.note;

  environment_.values["HOME"] = "/tmp";
  EXPECT_EQ(resolve().kind, Place::Kind::kMemory);
}

TEST_F(StorePlace, AFileInTheWayIsNoPlace) {
  put_file(folder_ / ".cache", "x");
  environment_.values["HOME"] = folder_.path();
  EXPECT_EQ(resolve().kind, Place::Kind::kMemory);
}

}  // namespace
}  // namespace frit::tuner
