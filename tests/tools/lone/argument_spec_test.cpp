#include "tools/lone/argument_spec.hpp"

#include <cmath>
#include <cstring>

#include <doctest/doctest.h>

#include "engine/util/error.hpp"

namespace fa_tune::test {

using namespace fa_tune::device;
using namespace fa_tune::lone;

namespace {

std::vector<std::uint32_t> words(const std::string& spec) {
  const auto bytes = content_of(parse_argument(spec));
  std::vector<std::uint32_t> result(bytes.size() / 4);
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

std::string refusal(const std::string& spec) {
  try {
    parse_argument(spec);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

bool refused(const std::string& spec, const std::string& because) {
  return refusal(spec).find(because) != std::string::npos;
}

}  // namespace

TEST_CASE("buffers: type, sizes, role and content") {
  const ArgumentSpec in = parse_argument("f16[4x3]=ones");
  CHECK(in.role == ArgumentSpec::Role::in);
  CHECK(in.elements() == 12);
  CHECK(in.bytes() == 24);
  CHECK_FALSE(in.is_output());
  CHECK(parse_argument("out:u32[5]").is_output());
  CHECK(content_of(parse_argument("out:u32[5]")).empty());
  CHECK(parse_argument("inout:u32[5]=zeros").is_output());
  CHECK(parse_argument("freed:u32[5]=zeros").role == ArgumentSpec::Role::freed);
  CHECK(words("u32[4]=iota") == std::vector<std::uint32_t>{0, 1, 2, 3});
  CHECK(words("i32[2]=value:-3") == std::vector<std::uint32_t>{0xfffffffd, 0xfffffffd});
  CHECK(words("f32[2]=ones") == std::vector<std::uint32_t>{0x3f800000, 0x3f800000});
  CHECK(words("u32[2]=zeros") == std::vector<std::uint32_t>{0, 0});
}

TEST_CASE("random contents are those of their seed and keep their bounds") {
  CHECK(words("u32[64]=bits:1") == words("u32[64]=bits:1"));
  CHECK(words("u32[64]=bits:1") != words("u32[64]=bits:2"));
  for (const std::uint32_t x : words("u32[500]=integers:3:5:9")) CHECK((x >= 5 && x <= 9));
  const auto bytes = content_of(parse_argument("f32[500]=uniform:4:-2:3"));
  std::vector<float> values(500);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  for (const float x : values) CHECK((x >= -2 && x <= 3));
  for (const std::byte x : content_of(parse_argument("e4m3[2000]=bits:5")))
    CHECK(std::to_integer<int>(x & std::byte{0x7f}) != 0x7f);
}

TEST_CASE("scalars are given bit for bit") {
  CHECK(parse_argument("i32=-1").scalar_bits == 0xffffffff);
  CHECK(parse_argument("i8=-128").scalar_bits == 0x80);
  CHECK(parse_argument("u64=0xffffffffffffffff").scalar_bits == ~std::uint64_t{0});
  CHECK(parse_argument("i64=-9223372036854775808").scalar_bits == std::uint64_t{1} << 63);
  CHECK(parse_argument("f32=0.125").scalar_bits == 0x3e000000);
  CHECK(parse_argument("f16=-2").scalar_bits == 0xc000);
}

TEST_CASE("tensor maps") {
  const ArgumentSpec map = parse_argument("tmap:inout:bf16[8x64]=zeros,box=4x32,swizzle=64,nan");
  CHECK(map.is_tensor_map);
  CHECK(map.is_output());
  CHECK(map.box == std::vector<std::uint32_t>{4, 32});
  CHECK(map.swizzle == TensorMap::Swizzle::bytes64);
  CHECK(map.nan_fill);
}

TEST_CASE("what is wrong is said") {
  CHECK(refused("", "is no type"));
  CHECK(refused("f31[2]=zeros", "'f31' is no type; expected one of i8"));
  CHECK(refused("f32[2", "expected ']'"));
  CHECK(refused("f32[]=zeros", "is no whole number"));
  CHECK(refused("f32[0]=zeros", "1 or more"));
  CHECK(refused("f32[4294967296x4294967296]=zeros", "more than 4 GiB"));
  CHECK(refused("f32[2]", "needs a content"));
  CHECK(refused("f32[2]=nothing", "'nothing' is no content"));
  CHECK(refused("f32[2]=ones:1", "takes nothing after it"));
  CHECK(refused("f32[2]=uniform:1:3", "both bounds or none"));
  CHECK(refused("f32[2]=uniform:1:3:2", "above the upper"));
  CHECK(refused("f32[2]=normal:x", "'x' is no whole number"));
  CHECK(refused("i32", "needs a value"));
  CHECK(refused("out:i32=3", "a scalar can only be read"));
  CHECK(refused("u8=256", "does not fit u8"));
  CHECK(refused("i8=-129", "does not fit i8"));
  CHECK(refused("u8=-1", "does not fit u8"));
  CHECK(refused("f32=1.5x", "is no number"));
  CHECK(refused("tmap:f16[8x8]=zeros", "needs 'box='"));
  CHECK(refused("tmap:f16[8x8]=zeros,box=8", "as many sizes"));
  CHECK(refused("tmap:f16[8x8]=zeros,box=8x8,swizzle=256", "is no option of a tensor map"));
}

}  // namespace fa_tune::test
