#include "engine/util/gzip.hpp"

#include <doctest/doctest.h>

#include "engine/util/random.hpp"

namespace fa_tune::test {

namespace {

std::string noise(std::size_t size) {
  Random random(1);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

}  // namespace

TEST_CASE("gzip: what was packed comes back") {
  for (const std::string& text :
       {std::string(), std::string("a"), std::string(1'000'000, 'x'), noise(600'000)}) {
    CAPTURE(text.size());
    const PackedText back = gunzip(gzip(text), "test");
    CHECK_FALSE(back.cut);
    CHECK((back.text == text));
    CHECK(gzip(text) == gzip(text));
  }
}

TEST_CASE("gzip: files behind one another are one text") {
  const PackedText back = gunzip(gzip("one ") + gzip("two"), "test");
  CHECK_FALSE(back.cut);
  CHECK(back.text == "one two");
}

TEST_CASE("gzip: data cut anywhere give what came before, and say so") {
  const std::string text = noise(100'000);
  const std::string packed = gzip(text);
  for (std::size_t size = 10; size < packed.size(); size += 997) {
    CAPTURE(size);
    const PackedText back = gunzip(packed.substr(0, size), "test");
    CHECK(back.cut);
    CHECK((text.starts_with(back.text)));
  }
  std::string damaged = packed;
  damaged[damaged.size() / 2] ^= 0x55;
  CHECK(gunzip(damaged, "test").cut);
}

}  // namespace fa_tune::test
