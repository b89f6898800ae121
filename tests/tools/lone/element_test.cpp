#include "tools/lone/element.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"
#include "tools/lone/outputs.hpp"

namespace fa_tune::test {

using namespace fa_tune::lone;

TEST_CASE("8-bit floats are those of OFP8") {
  CHECK(value_of(Element::e4m3, 0x7e) == 448);
  CHECK(std::isnan(value_of(Element::e4m3, 0x7f)));
  CHECK(value_of(Element::e4m3, 0x01) == std::ldexp(1, -9));
  CHECK(value_of(Element::e4m3, 0xb8) == -1);
  CHECK(value_of(Element::e5m2, 0x7b) == 57344);
  CHECK(std::isinf(value_of(Element::e5m2, 0x7c)));
  for (const Element element : {Element::e4m3, Element::e5m2}) {
    for (std::uint64_t bits = 0; bits < 256; ++bits) {
      const double value = value_of(element, bits);
      if (std::isfinite(value)) CHECK(bits_of(element, value) == bits);
    }
  }
  CHECK(value_of(Element::e4m3, bits_of(Element::e4m3, 1.0625)) == 1);  // a tie, to even
  CHECK(value_of(Element::e4m3, bits_of(Element::e4m3, 1e9)) == 448);
}

TEST_CASE("integers wrap, floats round") {
  CHECK(bits_of(Element::i8, -1) == 0xff);
  CHECK(value_of(Element::i16, 0x8000) == -32768);
  CHECK(value_of(Element::u16, 0x8000) == 32768);
  CHECK(bits_of(Element::bf16, 1) == 0x3f80);
}

TEST_CASE("distance in representable numbers") {
  CHECK(ulps_between(Element::f32, 0x3f800000, 0x3f800001) == 1);
  CHECK(ulps_between(Element::f32, 0x00000001, 0x80000001) == 2);
  CHECK(ulps_between(Element::f32, 0x00000000, 0x80000000) == 0);
  CHECK(ulps_between(Element::f32, 0x7fc00000, 0x7fffffff) == 0);
  CHECK(ulps_between(Element::f32, 0x7fc00000, 0x3f800000) == ~std::uint64_t{0});
}

namespace {

Difference difference(const std::string& spec, const Agreement& agreement,
                      std::vector<std::uint32_t> a, std::vector<std::uint32_t> b) {
  return compare(parse_argument(spec), agreement, std::as_bytes(std::span(a)),
                 std::as_bytes(std::span(b)));
}

}  // namespace

TEST_CASE("two contents are held against each other as they must agree") {
  const Agreement exact;
  const Agreement ulp{Agreement::Kind::ulp, 1};
  const Agreement absolute{Agreement::Kind::absolute, 0.25};
  CHECK(difference("out:u32[2]", exact, {1, 2}, {1, 2}).agrees);
  const Difference integers = difference("out:u32[3]", ulp, {1, 2, 3}, {1, 3, 4});
  CHECK_FALSE(integers.agrees);
  CHECK(integers.identical == 1);
  CHECK(integers.first == 1);
  CHECK(difference("out:f32[1]", exact, {0x7fc00000}, {0x7fffffff}).identical == 1);
  CHECK_FALSE(difference("out:f32[1]", exact, {0}, {0x80000000}).agrees);
  CHECK_FALSE(difference("out:f32[1]", exact, {0x3f800000}, {0x3f800001}).agrees);
  CHECK(difference("out:f32[1]", ulp, {0x3f800000}, {0x3f800001}).agrees);
  CHECK_FALSE(difference("out:f32[1]", ulp, {0x3f800000}, {0x3f800002}).agrees);
  CHECK(difference("out:f32[1]", absolute, {0x3f800000}, {0x3fa00000}).agrees);
  CHECK_FALSE(difference("out:f32[1]", absolute, {0x3f800000}, {0x3fa00001}).agrees);
  CHECK_FALSE(difference("out:f32[1]", absolute, {0x3f800000}, {0x7fc00000}).agrees);
  // The first that is named is the first beyond the bound.
  CHECK(difference("out:f32[3]", ulp, {1, 5, 9}, {2, 5, 90}).first == 2);
}

TEST_CASE(".npy files are read as they were written, and nothing else is") {
  const std::vector<std::byte> bytes(24, std::byte{7});
  const std::string text = write_npy(Element::f32, {2, 3}, bytes);
  CHECK(text.size() % 8 == 0);
  CHECK(text.find("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, ), }") == 10);
  CHECK((text.size() - 24) % 64 == 0);
  CHECK(read_npy(text, "x", Element::f32, 6) == bytes);
  CHECK_THROWS_AS(read_npy(text, "x", Element::f32, 5), UserError);
  CHECK_THROWS_AS(read_npy(text, "x", Element::i32, 6), UserError);
  CHECK_THROWS_AS(read_npy("hello", "x", Element::f32, 6), UserError);
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK_THROWS_AS(read_npy(text.substr(0, length), "x", Element::f32, 6), UserError);
}

}  // namespace fa_tune::test
