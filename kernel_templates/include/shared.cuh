// Addresses in shared memory as PTX takes them.
#pragma once

__device__ __forceinline__ void store_8_bytes(unsigned address, unsigned r0, unsigned r1) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(r0), "r"(r1) : "memory");
}

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
