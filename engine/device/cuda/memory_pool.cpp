#include "engine/device/cuda/memory_pool.hpp"

#include <algorithm>

namespace fa_tune::cuda {
namespace {

constexpr std::size_t kUnit = 256;  // bytes: what the driver aligns to
constexpr std::uint32_t kWiped = 0xffffffffU;

}  // namespace

std::expected<MemoryPool::Block, Fault> MemoryPool::take(CudaContext& context, std::size_t bytes) {
  // The driver refuses to allocate nothing, while a problem may well have an empty tensor.
  const std::size_t asked = (std::max<std::size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
  if (const auto found = kept_.find(asked); found != kept_.end()) {
    Block block{std::move(found->second), asked};
    kept_.erase(found);
    kept_bytes_ -= asked;
    return block;
  }
  DevicePointer pointer = 0;
  auto done = context.check(context->cuMemAlloc_v2(&pointer, asked), "allocation");
  if (!done && !context.lost() && !kept_.empty()) {
    kept_.clear();
    kept_bytes_ = 0;
    done = context.check(context->cuMemAlloc_v2(&pointer, asked), "allocation");
  }
  if (!done) return std::unexpected(done.error());
  return Block{OwnedMemory(context, pointer), asked};
}

void MemoryPool::give_back(CudaContext& context, Block block) {
  if (block.memory.get() == 0 || context.lost() || kept_bytes_ + block.bytes > kMostKept) return;
  const auto wiped =
      context.check(context->cuMemsetD32Async(block.memory.get(), kWiped,
                                              block.bytes / sizeof kWiped, context.stream()),
                    "wiping memory");
  if (!wiped) return;
  kept_bytes_ += block.bytes;
  kept_.emplace(block.bytes, std::move(block.memory));
}

}  // namespace fa_tune::cuda
