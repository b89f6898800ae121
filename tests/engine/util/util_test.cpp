#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/file.hpp"
#include "engine/util/hash.hpp"
#include "engine/util/random.hpp"
#include "engine/yaml/value.hpp"
#include "tests/helpers.hpp"

namespace fa_tune::test {

TEST_CASE("sha256 gives the digest FIPS 180-4 gives for 'abc'") {
  CHECK(sha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("random: the stream of a seed is fixed, bounded and uniform") {
  Random a(7), b(7), c(8);
  CHECK(a.next() == b.next());
  CHECK(a.next() != c.next());
  int counts[5] = {};
  for (int i = 0; i < 50'000; ++i) ++counts[a.below(5)];
  for (const int count : counts) CHECK(std::abs(count - 10'000) < 400);
  double sum = 0, squares = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double x = a.normal();
    sum += x;
    squares += x * x;
  }
  CHECK(std::abs(sum / 1e5) < 0.02);
  CHECK(std::abs(squares / 1e5 - 1) < 0.03);
  CHECK(derive_seed(1, "gate") != derive_seed(1, "search"));
  CHECK(derive_seed(1, "gate", 0) != derive_seed(1, "gate", 1));
}

TEST_CASE("value: a real number reads back as the same and is never taken for an integer") {
  for (const double number : {0.5, 2.0, -3.0, 0.1, 1e-5, 1e16, 1e300, 5e-324, 1.0 / 3}) {
    CAPTURE(number);
    const Config config({{"a", number}});
    CHECK(Config::from_json(config.to_json()) == config);
  }
  CHECK(fa_tune::to_text(Value(2.0)) == "2.0");
  CHECK(fa_tune::to_text(Value(1e-5)) == "1e-05");
  CHECK(Config::from_json(R"({"a":2})") != Config::from_json(R"({"a":2.0})"));
}

TEST_CASE("config: JSON is canonical and comes back") {
  Config config;
  config.set("template", std::string("mma"));
  config.set("BLOCK_M", std::int64_t{64});
  config.set("Q_IN_REGISTERS", true);
  const std::string json = config.to_json();
  CHECK(json == R"({"template":"mma","BLOCK_M":64,"Q_IN_REGISTERS":true})");
  CHECK(Config::from_json(json) == config);
  CHECK_THROWS_AS(Config::from_json("[1]"), UserError);
  CHECK_THROWS_AS(Config::from_json(R"({"a":null})"), UserError);
}

TEST_CASE("write_file follows a link, and keeps a file's permissions") {
  const test::ScratchFolder folder;
  std::filesystem::create_directory(folder / "real");
  write_file(folder / "real/a.txt", "one");
  using std::filesystem::perms;
  CHECK(std::filesystem::status(folder / "real/a.txt").permissions() ==
        (perms::owner_read | perms::owner_write | perms::group_read | perms::others_read));
  std::filesystem::permissions(folder / "real/a.txt", perms::owner_read | perms::owner_write);
  std::filesystem::create_symlink("real/a.txt", folder / "link");
  write_file(folder / "link", "two");
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(read_file(folder / "real/a.txt") == "two");
  CHECK(std::filesystem::status(folder / "real/a.txt").permissions() ==
        (perms::owner_read | perms::owner_write));
}

TEST_CASE("write_file replaces whole files and names the folder that is missing") {
  const test::ScratchFolder folder;
  write_file(folder / "a.txt", "one");
  write_file(folder / "a.txt", "two");
  CHECK(read_file(folder / "a.txt") == "two");
  CHECK_THROWS_AS(write_file(folder / "no/a.txt", "x"), UserError);
  CHECK_THROWS_AS(read_file(folder / "absent"), UserError);
}

}  // namespace fa_tune::test
