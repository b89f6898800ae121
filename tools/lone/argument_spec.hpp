#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/tensor_map.hpp"
#include "tools/lone/element.hpp"

namespace fa_tune::lone {

// What a buffer holds before the launch.
struct Fill {
  enum class Kind : std::uint8_t {
    unwritten,  // nobody writes it before the kernel: what a kernel only writes
    zeros,
    ones,
    iota,      // 0, 1, 2, ...
    value,     // every element is low
    normal,    // standard normal
    uniform,   // over [low, high)
    integers,  // whole numbers from low to high, both included
    bits,      // random bits; of floating types without NaN
    file,      // a .npy file
  };
  Kind kind = Kind::unwritten;
  std::uint64_t seed = 0;
  double low = 0;
  double high = 1;
  std::string file;
};

// A byte in the buffer of LoneLaunch::arguments[argument], which stands before whoever refers to it.
struct BufferPlace {
  std::size_t argument = 0;
  std::uint64_t offset = 0;
};

// A buffer's element of 64 bits that is an address.
struct StoredAddress {
  std::uint64_t element = 0;
  BufferPlace place;
};

// One argument of a lone kernel, as the command line and the manifests of the conformance kernels
// write it:
//
//   f32[1024]=normal:7              a buffer the kernel reads; 7 is the seed
//   u32[16x256]=zeros               dimensions, the outermost first
//   u8[64]=integers:3:0:9           seed, least, most
//   f32[8]=uniform:3:-1:1           seed, low, high (0 to 1 where they are not given)
//   u16[8]=bits:5  u32[8]=iota  f16[8]=ones  i32[8]=value:-3  f16[128]=file:x.npy
//   out:f32[64x64]                  a buffer the kernel writes; nobody has written it before
//   inout:u32[1]=zeros              both
//   freed:f32[64]=zeros             a buffer released before the launch, for tests of checks
//   i32=5   f32=0.125   u64=0xff    scalars
//   struct:i32[8]=iota              a structure or an array passed by value
//   tmap:f16[64x128]=normal:1,box=16x64,swizzle=128,nan
//                                   a tensor map over a buffer of its own, a copy taking `box`;
//                                   tmap:out: for one that is written
struct ArgumentSpec {
  enum class Role : std::uint8_t { in, out, inout, freed, scalar, by_value };
  Role role = Role::in;
  Element element = Element::f32;
  std::vector<std::uint64_t> dims;
  Fill fill;
  std::uint64_t scalar_bits = 0;
  bool is_tensor_map = false;
  std::vector<std::uint32_t> box;
  device::TensorMap::Swizzle swizzle = device::TensorMap::Swizzle::none;
  bool nan_fill = false;
  std::string text;  // as it was written

  // What launch files have beside that (launch_file.hpp): a buffer that is no argument itself, one
  // that holds addresses in others, and an argument that is an address in another's buffer, or a
  // tensor map over it.
  bool is_passed = true;
  std::optional<BufferPlace> place;
  std::vector<StoredAddress> addresses;

  std::uint64_t elements() const;
  std::uint64_t bytes() const;
  bool is_output() const { return role == Role::out || role == Role::inout; }
};

// Throws UserError: one line that names the spec and what was expected.
ArgumentSpec parse_argument(const std::string& text);

// The bytes a buffer starts with; empty for unwritten. Throws UserError where a file does not fit.
std::vector<std::byte> content_of(const ArgumentSpec& spec);

}  // namespace fa_tune::lone
