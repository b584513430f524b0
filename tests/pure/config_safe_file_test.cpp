#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/safe_file.hpp"
#include "config_test_support.hpp"

namespace braid::config {
namespace {

constexpr size_t kLimit = 100;

void expect_refused(const std::string& path, const std::string& reason) {
  const auto text = read_small_file(path, kLimit);
  ASSERT_FALSE(text) << path << " was read";
  EXPECT_EQ(text.error().where, path);
  EXPECT_NE(text.error().what.find(reason), std::string::npos) << text.error().what;
}

TEST(ConfigSafeFile, ReadsRegularFilesOfAnySizeUpToTheLimit) {
  const test::TemporaryFolder folder;
  for (const size_t size : {size_t{0}, size_t{1}, kLimit}) {
    const std::string content(size, 'c');
    const auto text = read_small_file(folder.write("file", content), kLimit);
    ASSERT_TRUE(text) << text.error().text();
    EXPECT_EQ(*text, content);
  }
  expect_refused(folder.write("file", std::string(kLimit + 1, 'c')), "larger than the 100 bytes");
}

TEST(ConfigSafeFile, ReadsThroughDotsSlashesAndRelativePaths) {
  const test::TemporaryFolder folder;
  folder.write("file", "content");
  std::filesystem::create_directory(folder.path_of("sub"));
  EXPECT_TRUE(read_small_file(folder.path_of("sub/.././/file"), kLimit));
  const auto relative = std::filesystem::relative(folder.path_of("file")).string();
  const auto text = read_small_file(relative, kLimit);
  ASSERT_TRUE(text) << text.error().text();
  EXPECT_EQ(*text, "content");
}

TEST(ConfigSafeFile, RefusesWhatIsNoRegularFile) {
  const test::TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path_of("pipe").c_str(), 0600), 0);
  expect_refused(folder.path(), "is a folder");
  expect_refused("/", "names no file");
  expect_refused("", "names no file");
  expect_refused("/dev/null", "device");
  expect_refused(folder.path_of("pipe"), "pipe");  // and does not wait for a writer
  expect_refused(folder.path_of("absent"), "No such file");
  expect_refused(folder.path_of("absent/file"), "No such file");
  expect_refused(folder.write("file", "x") + "/below", "Not a directory");
}

TEST(ConfigSafeFile, FollowsLinksExceptInFoldersAnybodyMayWriteTo) {
  const test::TemporaryFolder folder;
  folder.write("file", "content");
  for (const char* name : {"private", "shared"}) {
    std::filesystem::create_directory(folder.path_of(name));
    std::filesystem::create_symlink("../file", folder.path_of(name) + "/relative");
    std::filesystem::create_symlink(folder.path_of("file"), folder.path_of(name) + "/absolute");
    std::filesystem::create_directory_symlink("..", folder.path_of(name) + "/up");
    std::ofstream(folder.path_of(name) + "/plain") << "plain";
  }
  ASSERT_EQ(chmod(folder.path_of("shared").c_str(), 01777), 0);
  for (const char* name : {"/relative", "/absolute", "/up/file"}) {
    const auto text = read_small_file(folder.path_of("private") + name, kLimit);
    ASSERT_TRUE(text) << name << ": " << text.error().text();
    EXPECT_EQ(*text, "content");
    expect_refused(folder.path_of("shared") + name, "symbolic link");
  }
  EXPECT_TRUE(read_small_file(folder.path_of("shared/plain"), kLimit));
  // A private link that leads through a shared one.
  std::filesystem::create_symlink("../shared/relative", folder.path_of("private/detour"));
  expect_refused(folder.path_of("private/detour"), "symbolic link");
  std::filesystem::create_symlink("loop", folder.path_of("loop"));
  expect_refused(folder.path_of("loop"), "symbolic links");
  std::filesystem::create_symlink("/", folder.path_of("root"));
  expect_refused(folder.path_of("root"), "is a folder");
}

TEST(ConfigSafeFile, SaysWhenItMayNotRead) {
  if (geteuid() == 0) {
    GTEST_SKIP() << "root may read everything";
  }
  const test::TemporaryFolder folder;
  const std::string path = folder.write("file", "x");
  ASSERT_EQ(chmod(path.c_str(), 0), 0);
  expect_refused(path, "Permission denied");
}

TEST(ConfigSafeFile, ReplacesInOneStepOrNotAtAll) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path_of("file");
  ASSERT_TRUE(replace_file(path, "first"));
  ASSERT_TRUE(replace_file(path, std::string(50, '2')));
  EXPECT_EQ(read_small_file(path, kLimit).value_or(""), std::string(50, '2'));
  const Status absent = replace_file(folder.path_of("absent/file"), "x");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().where, folder.path_of("absent/file"));
  const Status over_folder = replace_file(folder.path(), "x");
  EXPECT_FALSE(over_folder);
  // Nothing is left beside the files.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_FALSE(std::filesystem::exists(folder.path() + ".new." + std::to_string(getpid())));
}

}  // namespace
}  // namespace braid::config
