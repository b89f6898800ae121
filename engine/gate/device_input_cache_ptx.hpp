#pragma once

#include <string>

namespace fa_tune::gate::originals_ptx {

// The engine's own kernels for DeviceInputCache, in PTX for any GPU that tensor-core templates run
// on; the driver compiles it. A grid of any number of blocks of one dimension does the whole work.

// (u64 from, u64 to, u64 bytes, u64 unused): copies.
std::string copy();
// (u64 a, u64 b, u64 bytes, u64 found): finds where a and b differ first. It sets the u64 at
// `found` to the least offset of a word of 16 bytes, or of a byte after the last whole word, in
// which they differ, if that is less than the value there.
std::string differ();
// (u64 values, u64 range_of_row, u64 least, u64 most, u64 found, u64 elements, u64 length): for
// 16-bit numbers in rows of `length`, finds the first that is not between the limits of its row, as
// BoundRanks has them. The result is at `found` as above, in elements.
std::string limits();
// (u64 values, u64 rows, u64 to, u64 elements, u64 length): copies the listed rows, of `length`
// 16-bit numbers each, one after another; `elements` is how many numbers they have together.
std::string rows();

}  // namespace fa_tune::gate::originals_ptx
