// Addresses in shared memory as PTX takes them.
#pragma once

__device__ __forceinline__ void store_floats(unsigned address, float a, float b, float c, float d) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(a), "f"(b), "f"(c),
               "f"(d)
               : "memory");
}

__device__ __forceinline__ void load_floats(unsigned address, float (&values)[4]) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
               : "r"(address)
               : "memory");
}

// From the same address of block `rank` of the cluster.
__device__ __forceinline__ void load_floats_of(unsigned rank, unsigned address,
                                               float (&values)[4]) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %4, %5;\n"
      "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [remote];\n}"
      : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
      : "r"(address), "r"(rank)
      : "memory");
}

__device__ __forceinline__ void store_8_bytes(unsigned address, unsigned r0, unsigned r1) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(r0), "r"(r1) : "memory");
}

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
