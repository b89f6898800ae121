#pragma once

#include "engine/device/emulator/memory/address_resolution.hpp"

namespace fa_tune::emulator {

// st.async (PTX ISA 9.0, "Data Movement and Conversion Instructions: st.async"): stores to the
// shared memory of a CTA of the cluster, which complete as bytes of an mbarrier there. Fields:
//   r[0] target address      r[3] mbarrier's address     m[1] bit i: r[i] has 64 bits
//   r[11..14] values         m[3] Type                   m[4] how many     m[5] bytes of a register
inline constexpr std::size_t async_store_value = 11;  // of Op::r, the first
void run_async_store(LaneFile& lanes, const Op& op, std::uint32_t mask);

}  // namespace fa_tune::emulator
