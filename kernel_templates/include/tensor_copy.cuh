// Copies of boxes of a tensor by the copy engine of sm_90. A map tells it the tensor's address, its
// sizes and strides; what lies outside reads as zero and is not written.
// PTX ISA: cp.async.bulk.tensor, "Tensor Map".
#pragma once

// What cuTensorMapEncodeTiled fills; a kernel takes it as a `const __grid_constant__` parameter.
struct alignas(64) TensorMap {
  unsigned char bytes[128];
};

// One lane of a whole warp, always the same one. PTX ISA: elect.sync.
__device__ __forceinline__ bool is_elected() {
  unsigned elected;
  asm volatile(
      "{\n"
      ".reg .pred elected;\n"
      "elect.sync _|elected, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, elected;\n"
      "}"
      : "=r"(elected));
  return elected != 0;
}

// The box at (column, row, head, batch) to shared memory; `barrier` counts its bytes.
__device__ __forceinline__ void load_box(unsigned to, const TensorMap& map, unsigned barrier,
                                         int column, int row, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

// The same of two dimensions.
__device__ __forceinline__ void load_box(unsigned to, const TensorMap& map, unsigned barrier,
                                         int column, int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(column), "r"(row)
      : "memory");
}

// The same of five dimensions: a part of the heads lies between columns and rows.
__device__ __forceinline__ void load_box(unsigned to, const TensorMap& map, unsigned barrier,
                                         int column, int part, int row, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(column), "r"(part), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

// As the first to every block of the cluster whose bit is set in `blocks`, at the same place and
// counted by the barrier at the same place.
__device__ __forceinline__ void load_box_for(unsigned short blocks, unsigned to,
                                             const TensorMap& map, unsigned barrier, int column,
                                             int row, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(head), "r"(batch), "h"(blocks)
      : "memory");
}

__device__ __forceinline__ void load_box_for(unsigned short blocks, unsigned to,
                                             const TensorMap& map, unsigned barrier, int column,
                                             int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(column), "r"(row), "h"(blocks)
      : "memory");
}

__device__ __forceinline__ void store_box(const TensorMap& map, unsigned from, int column,
                                          int row) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
          &map),
      "r"(from), "r"(column), "r"(row)
      : "memory");
}

__device__ __forceinline__ void store_box(const TensorMap& map, unsigned from, int column, int row,
                                          int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::
          "l"(&map),
      "r"(from), "r"(column), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

__device__ __forceinline__ void store_box(const TensorMap& map, unsigned from, int column, int part,
                                          int row, int head, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], "
      "[%1];" ::"l"(&map),
      "r"(from), "r"(column), "r"(part), "r"(row), "r"(head), "r"(batch)
      : "memory");
}

__device__ __forceinline__ void commit_stores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until the copy engine has read what this thread's stores take from shared memory.
__device__ __forceinline__ void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

__device__ __forceinline__ void wait_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Between ordinary accesses to shared memory and those of the copy engine or of wgmma.
__device__ __forceinline__ void fence_async_proxy() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
