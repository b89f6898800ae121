#include "engine/util/memory.hpp"

#include <algorithm>

#include <doctest/doctest.h>

namespace fa_tune::test {

TEST_CASE("memory: a large vector holds zeros, as many as asked for") {
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, (std::size_t{9} << 20) + 5}) {
    const auto made = large_zeros<double>(count / sizeof(double));
    CHECK(made.size() == count / sizeof(double));
    CHECK(std::ranges::all_of(made, [](double value) { return value == 0; }));
  }
}

TEST_CASE("memory: what it holds stays, wherever in a page it begins and ends") {
  std::vector<std::byte> bytes((std::size_t{9} << 20) + 77, std::byte{0x5a});
  for (const std::size_t skipped : {0, 1, 4095})
    populate(std::span(bytes).subspan(skipped, bytes.size() - 2 * skipped));
  CHECK(std::ranges::all_of(bytes, [](std::byte each) { return each == std::byte{0x5a}; }));
}

TEST_CASE("memory: there is some, and no more than a machine can have") {
  CHECK(usable_memory() > std::uint64_t{64} << 20);
  CHECK(usable_memory() < std::uint64_t{1} << 50);
}

}  // namespace fa_tune::test
