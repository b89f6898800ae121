#include "engine/util/npy.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "engine/util/random.hpp"

namespace fa_tune::test {

TEST_CASE("npy: an array comes back as it was written") {
  const std::string data = "0123456789ab";
  const auto bytes = std::as_bytes(std::span(data));
  const std::string text = npy_text("<f4", {3, 1}, bytes);
  const NpyArray array = parse_npy(text, "x.npy");
  CHECK(array.type == "<f4");
  CHECK(array.dims == std::vector<std::uint64_t>{3, 1});
  CHECK(std::ranges::equal(array.bytes, bytes));
  CHECK(parse_npy(npy_text("<f4", {}, bytes.first(4)), "x.npy").dims.empty());
}

TEST_CASE("npy: whatever bytes there are, it is an array or an error, and nothing is allocated") {
  const std::string good =
      npy_text("<f4", {2, 3}, std::as_bytes(std::span("0123456789abcdef0123456", 24)));
  CHECK_THROWS_AS(parse_npy(good.substr(0, good.size() - 1), "x"), UserError);
  for (std::size_t length = 0; length < 130; ++length)
    CHECK_THROWS_AS(parse_npy(good.substr(0, length), "x"), UserError);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"<f4", ">f4"},
                                                        {"<f4", "|O8"},
                                                        {"False", "True "},
                                                        {"(2, 3", "(9, 9"},
                                                        {"(2, 3, )", "(-2, 3,)"},
                                                        {"'shape'", "'shapf'"}})
    CHECK_THROWS_AS(parse_npy(with(from, to), "x"), UserError);
  Random random(3);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      text[random.below(text.size())] = static_cast<char>(random.below(256));
    try {
      CHECK(parse_npy(text, "x").bytes.size() <= text.size());
    } catch (const UserError&) {
      ++refused;
    }
  }
  CHECK(refused > 0);
}

}  // namespace fa_tune::test
