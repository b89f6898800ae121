#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/gzip.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/json_limits.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

namespace {

std::string refusal(const std::filesystem::path& file, const FileKind& kind = kAnyFile) {
  return message_of<UserError>([&] { (void)read_file(file, kind); });
}

}  // namespace

TEST_CASE("files: only what is a regular file is read, and no more of it than its kind may have") {
  const ScratchFolder folder;
  write_file(folder / "a", "12345");
  std::filesystem::create_symlink("a", folder / "link");
  CHECK(read_file(folder / "link", {"a thing", 5}) == "12345");
  CHECK(sha256_of_file(folder / "link") == sha256("12345"));
  CHECK(has(refusal(folder / "link", {"a thing", 4}),
            "link: is larger than 4 bytes, the most that is read of a thing"));
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/zero", folder / "endless");
  for (const char* const name : {"pipe", "endless"}) {
    CHECK(has(refusal(folder / name), "is not a plain file"));
    CHECK_THROWS_AS((void)sha256_of_file(folder / name), UserError);
  }
  CHECK(has(refusal(folder.path()), "is a folder"));
  CHECK(has(refusal(folder / "nowhere"), "cannot be read"));
  const int file = open((folder / "huge").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  REQUIRE(ftruncate(file, off_t{1} << 40) == 0);
  close(file);
  for (const FileKind& kind :
       {kAnyFile, kYamlFile, kSourceFile, kExportedFile, kJsonFile, kArrayFile})
    CHECK(has(refusal(folder / "huge", kind), "is larger than " + bytes_in_words(kind.most)));
}

TEST_CASE("files: sizes in words") {
  CHECK(bytes_in_words(0) == "0 bytes");
  CHECK(bytes_in_words(1000) == "1000 bytes");
  CHECK(bytes_in_words(256 << 10) == "256 KiB");
  CHECK(bytes_in_words(64 * kMebibyte) == "64 MiB");
  CHECK(bytes_in_words(2048 * kMebibyte) == "2 GiB");
}

TEST_CASE("files: what unpacks to more than a table may have is refused") {
  const std::string member = gzip(std::string(16 * kMebibyte, ' '));
  std::string bomb;
  for (int i = 0; i <= 16; ++i) bomb += member;
  CHECK(has(message_of<UserError>([&] { (void)gunzip(bomb, "bomb"); }),
            "unpacks to more than 256 MiB"));
}

TEST_CASE("JSON: what is deep or has many members is refused before it is read") {
  const auto nested = [](std::size_t depth, const std::string& open, const std::string& close) {
    std::string text = "1";
    for (std::size_t i = 0; i < depth; ++i) text = open + text + close;
    return text;
  };
  for (const auto& [open, close] : {std::pair("[", "]"), std::pair("{\"a\": ", "}")}) {
    CHECK_FALSE(json_excess(nested(64, open, close)));
    CHECK(has(json_excess(nested(65, open, close)).value_or(""), "deeper than 64 levels"));
  }
  CHECK(json_excess(std::string(200'000, '[')));
  // What a string holds is no bracket, and neither is what a backslash leaves in one.
  CHECK_FALSE(json_excess("\"" + std::string(100, '[') + "\""));
  CHECK_FALSE(json_excess("\"\\\"" + std::string(100, '[') + "\\\\\""));
  CHECK(json_excess("\"\\\\\"" + std::string(100, '[')));
  std::string object = "{", list = "[";
  for (int i = 0; i <= 10'000; ++i) {
    object += "\"" + std::to_string(i) + "\": 1,";
    list += "1,";
  }
  CHECK(has(json_excess(object + "\"a\": 1}").value_or(""), "more than 10000 members"));
  CHECK_FALSE(json_excess(list + "1]"));
}

}  // namespace fa_tune::test
