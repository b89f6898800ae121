// The fake driver's memory: of the device, of the host, and copies between them.

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fake_libcuda_state.hpp"

using namespace fa_tune::cuda;
using namespace fa_tune::cuda::fake;

extern "C" {

Result cuMemAlloc_v2(DevicePointer* pointer, std::size_t bytes) {
  if (const Result failed = enter("cuMemAlloc_v2")) return failed;
  State& s = state();
  if (bytes == 0) return kErrorInvalidValue;
  if (s.used + bytes > s.memory) return kErrorOutOfMemory;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *pointer = reinterpret_cast<DevicePointer>(memory);
  s.blocks[*pointer] = bytes;
  s.used += bytes;
  ++s.live["memory"];
  return kSuccess;
}
Result cuMemFree_v2(DevicePointer pointer) {
  State& s = state();
  if (const auto block = s.blocks.find(pointer); block != s.blocks.end()) {
    s.used -= block->second;
    --s.live["memory"];
    std::free(reinterpret_cast<void*>(pointer));
    s.blocks.erase(block);
  }
  return enter("cuMemFree_v2");
}
Result cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  if (const Result failed = enter("cuMemHostAlloc")) return failed;
  *memory = std::malloc(bytes);
  ++state().live["host memory"];
  return kSuccess;
}
Result cuMemFreeHost(void* memory) {
  std::free(memory);
  --state().live["host memory"];
  return enter("cuMemFreeHost");
}
Result cuMemHostRegister_v2(void*, std::size_t, unsigned) {
  if (const Result failed = enter("cuMemHostRegister_v2")) return failed;
  ++state().live["locked memory"];
  return kSuccess;
}
Result cuMemHostUnregister(void*) {
  --state().live["locked memory"];
  return enter("cuMemHostUnregister");
}
Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = state().memory - state().used;
  *total = state().memory;
  return enter("cuMemGetInfo_v2");
}
Result cuMemsetD8Async(DevicePointer to, unsigned char value, std::size_t count, Stream stream) {
  if (const Result failed = enter("cuMemsetD8Async")) return failed;
  if (!inside(to, count)) return kErrorInvalidValue;
  return run_or_capture(stream, [=] {
    std::memset(reinterpret_cast<void*>(to), value, count);
    state().clock_us += state().memset_us;
  });
}
Result cuMemsetD32Async(DevicePointer to, std::uint32_t value, std::size_t count, Stream stream) {
  if (const Result failed = enter("cuMemsetD32Async")) return failed;
  if (!inside(to, count * sizeof value) || to % sizeof value != 0) return kErrorInvalidValue;
  return run_or_capture(stream, [=] {
    std::fill_n(reinterpret_cast<std::uint32_t*>(to), count, value);
    state().clock_us += state().memset_us;
  });
}
Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, std::size_t bytes, Stream) {
  if (const Result failed = enter("cuMemcpyHtoDAsync_v2")) return failed;
  if (!inside(to, bytes)) return kErrorInvalidValue;
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return kSuccess;
}
Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, std::size_t bytes,
                            Stream stream) {
  if (const Result failed = enter("cuMemcpyDtoDAsync_v2")) return failed;
  if (!inside(from, bytes) || !inside(to, bytes)) return kErrorInvalidValue;
  return run_or_capture(stream, [=] {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  });
}
Result cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, std::size_t bytes, Stream) {
  if (const Result failed = enter("cuMemcpyDtoHAsync_v2")) return failed;
  if (!inside(from, bytes)) return kErrorInvalidValue;
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return kSuccess;
}

}  // extern "C"
