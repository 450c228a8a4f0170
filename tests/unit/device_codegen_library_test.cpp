#include "device/codegen_library.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/fake_seams.h"
#include "unit/device_objects.h"

namespace frit::device {
namespace {

namespace fs = std::filesystem;

std::string fake(const std::string& name) {
  return std::string(FRIT_TEST_FAKE_CODEGEN) + "/lib" + name + ".so";
}

class CodegenLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    // A folder per test: a path that was opened once stays what it was, for the life of the process.
    folder_ = testing::TempDir() + "frit_codegen_" + std::to_string(getpid()) + "_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fakes::FakeEnvironment environment_;
  std::string folder_;
};

TEST_F(CodegenLibraryTest, OptionThenEnvironment) {
  auto library = CodegenLibrary::open(fake("fake_codegen"), environment_);
  ASSERT_TRUE(library.ok()) << library.error().text();
  EXPECT_EQ((*library)->path(), fake("fake_codegen"));
  EXPECT_EQ((*library)->version(), "fake 1");

  environment_.values["FRIT_CODEGEN"] = fake("fake_codegen");
  library = CodegenLibrary::open("", environment_);
  ASSERT_TRUE(library.ok()) << library.error().text();

  // The user's word is final: a wrong option does not fall back on anything.
  library = CodegenLibrary::open(folder_ + "/none.so", environment_);
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, Code::kNotFound);
  EXPECT_NE(library.error().message.find(folder_ + "/none.so (cannot open shared object file"),
            std::string::npos)
      << library.error().message;
  EXPECT_FALSE(library.error().hint.empty());
}

TEST_F(CodegenLibraryTest, AFolderIsEnough) {
  fs::copy_file(fake("fake_codegen"), folder_ + "/libfrit-codegen.so");
  auto library = CodegenLibrary::open(folder_, environment_);
  ASSERT_TRUE(library.ok()) << library.error().text();
  EXPECT_EQ((*library)->path(), folder_ + "/libfrit-codegen.so");
  // The file with the major version is the better match.
  fs::copy_file(fake("fake_codegen"), folder_ + "/libfrit-codegen.so.0");
  library = CodegenLibrary::open(folder_, environment_);
  ASSERT_TRUE(library.ok());
  EXPECT_EQ((*library)->path(), folder_ + "/libfrit-codegen.so.0");
}

TEST_F(CodegenLibraryTest, SearchesBesideTheBinaryAndInLib) {
  const std::vector<std::string> paths = CodegenLibrary::candidates("", environment_);
  ASSERT_GE(paths.size(), 6u);  // and the distribution's own spellings of lib
  const std::string own = fs::read_symlink("/proc/self/exe").parent_path();
  EXPECT_EQ(paths[0], own + "/libfrit-codegen.so.0");
  EXPECT_EQ(paths[1], own + "/libfrit-codegen.so");
  EXPECT_EQ(paths[2], own + "/../lib/libfrit-codegen.so.0");
  EXPECT_EQ(paths[3], own + "/../lib/libfrit-codegen.so");
  for (size_t k = 4; k < paths.size(); ++k) EXPECT_EQ(paths[k].rfind(own + "/../lib", 0), 0u) << paths[k];
  environment_.values["FRIT_CODEGEN"] = "";
  EXPECT_EQ(CodegenLibrary::candidates("", environment_), paths) << "an empty variable is none";
}

TEST_F(CodegenLibraryTest, WrongLibrariesAreRefusedWithAReason) {
  struct Case {
    const char* library;
    const char* fragment;
  };
  for (const Case& c : {Case{"fake_codegen_abi", "it writes kernels of ABI 999, expected 1"},
                        Case{"fake_codegen_old", "it does not serve version 1 of the interface"},
                        Case{"fake_codegen_none", "it has no function frit_codegen_api"}}) {
    const auto library = CodegenLibrary::open(fake(c.library), environment_);
    ASSERT_FALSE(library.ok()) << c.library;
    EXPECT_NE(library.error().message.find(c.fragment), std::string::npos) << library.error().message;
  }
  std::ofstream(folder_ + "/text.so") << std::string(100, 'x');
  const auto library = CodegenLibrary::open(folder_ + "/text.so", environment_);
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.error().message.find("invalid ELF header"), std::string::npos) << library.error().message;

  // In a folder every file is tried, and the error lists all.
  fs::copy_file(fake("fake_codegen_old"), folder_ + "/libfrit-codegen.so.0");
  const auto both = CodegenLibrary::open(folder_, environment_);
  ASSERT_FALSE(both.ok());
  EXPECT_NE(both.error().message.find("libfrit-codegen.so.0 (it does not serve"), std::string::npos);
  EXPECT_NE(both.error().message.find("libfrit-codegen.so (cannot open"), std::string::npos)
      << both.error().message;
}

TEST_F(CodegenLibraryTest, TextsGoThroughAndErrorsComeBack) {
  const auto library = CodegenLibrary::open(fake("fake_codegen"), environment_);
  ASSERT_TRUE(library.ok());
  const auto answer = (*library)->compile("program", "cpu:x86-64-v3", "emit=asm");
  ASSERT_TRUE(answer.ok()) << answer.error().text();
  EXPECT_EQ(*answer, std::string("program\0|cpu:x86-64-v3|emit=asm", 31));
  ASSERT_TRUE((*library)->compile("", "", "").ok());

  const Code codes[] = {Code::kInvalidArgument, Code::kUnsupported, Code::kInternal, Code::kOutOfMemory,
                        Code::kInternal};
  for (int status = 1; status <= 5; ++status) {
    const auto failed = (*library)->compile("fail " + std::to_string(status), "", "");
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().code, codes[status - 1]) << status;
    EXPECT_EQ(failed.error().message, "it was told to");
  }
  const auto silent = (*library)->compile("silent 3", "", "");
  ASSERT_FALSE(silent.ok());
  EXPECT_EQ(silent.error().message, "the compiler failed with status 3");
}

TEST_F(CodegenLibraryTest, ObjectsAreCheckedWhenTheyAreMade) {
  const auto library = CodegenLibrary::open(fake("fake_codegen"), environment_);
  ASSERT_TRUE(library.ok());
  const auto object = (*library)->compile_object("no object", "cpu");
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.error().code, Code::kInternal);
  EXPECT_NE(object.error().message.find("cannot be loaded: object: "), std::string::npos)
      << object.error().message;

  // A table that answers with the file whose name is the program.
  static const FritCodegenApi table = {
      sizeof(FritCodegenApi), kCodegenApiVersion, kKernelAbiVersion, [] { return "objects"; },
      [](const FritCodegenRequest* request, FritCodegenSink output, void* context, FritCodegenSink,
         void*) -> int32_t {
        const auto bytes = read_object("host", std::string(request->program, request->program_size));
        output(context, reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return kFritCodegenOk;
      }};
  const auto objects = CodegenLibrary::from_table(&table, "test");
  ASSERT_TRUE(objects.ok());
  EXPECT_TRUE((*objects)->compile_object("kernel", "cpu").ok());
  const auto external = (*objects)->compile_object("external", "cpu");
  ASSERT_FALSE(external.ok());
  EXPECT_NE(external.error().message.find("undefined symbol \"expf\""), std::string::npos);
}

TEST_F(CodegenLibraryTest, SmallerTablesAreRefused) {
  FritCodegenApi table = {sizeof(FritCodegenApi) - 1, kCodegenApiVersion, kKernelAbiVersion,
                          [] { return ""; }, nullptr};
  EXPECT_FALSE(CodegenLibrary::from_table(&table, "test").ok());
  table.struct_size = sizeof table;
  EXPECT_FALSE(CodegenLibrary::from_table(&table, "test").ok()) << "no compile";
}

}  // namespace
}  // namespace frit::device
