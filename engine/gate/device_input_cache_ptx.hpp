#pragma once

#include <string>

namespace fa_tune::originals_ptx {

// Kernels of the engine's own for what DeviceInputCache does on a device, in PTX for any GPU that
// tensor-core templates run on; the driver makes machine code of it. Any grid of blocks of one
// dimension does the whole work.

// (u64 from, u64 to, u64 bytes, u64 unused): copies.
std::string copy();
// (u64 a, u64 b, u64 bytes, u64 found): makes the u64 at `found` the least offset of a word of 16
// bytes, or of a byte after the last whole word, in which a and b differ, if that is less than what
// is there.
std::string differ();
// (u64 values, u64 range_of_row, u64 least, u64 most, u64 found, u64 elements, u64 length): of
// numbers of 16 bits in rows of `length`, the first that is not between the limits of its row, as
// BoundRanks has them; at `found` as above, in elements.
std::string limits();
// (u64 values, u64 rows, u64 to, u64 elements, u64 length): the rows that are listed, of `length`
// numbers of 16 bits each, one after another; `elements` are theirs.
std::string rows();

}  // namespace fa_tune::originals_ptx
