#include "engine/worker/worker_handles.hpp"

#include <variant>
#include <vector>

namespace fa_tune::worker {
namespace {

using Done = std::expected<void, device::Fault>;

Done exchange(device::BufferHandle& buffer, const BufferOf& of) {
  const auto there = of(buffer);
  if (!there) return std::unexpected(there.error());
  buffer = *there;
  return {};
}

Done exchange(device::Argument& argument, const BufferOf& of) {
  auto* const buffer = std::get_if<device::BufferHandle>(&argument);
  return buffer == nullptr ? Done() : exchange(*buffer, of);
}

Done exchange(device::BufferFill& fill, const BufferOf& of) { return exchange(fill.buffer, of); }

Done exchange(device::BufferCopy& copy, const BufferOf& of) {
  if (auto done = exchange(copy.from, of); !done) return done;
  return exchange(copy.to, of);
}

Done exchange(device::ConstantData& data, const BufferOf& of) { return exchange(data.from, of); }

template <typename Each>
Done exchange(std::vector<Each>& all, const BufferOf& of) {
  for (Each& each : all)
    if (auto done = exchange(each, of); !done) return done;
  return {};
}

Done exchange(device::KernelStep& step, const BufferOf& of) { return exchange(step.arguments, of); }

}  // namespace

Done exchange_buffers(device::Launch& launch, const BufferOf& of) {
  if (auto done = exchange(launch.arguments, of); !done) return done;
  for (device::LaunchStep& step : launch.steps)
    if (auto done = std::visit([&](auto& one) { return exchange(one, of); }, step); !done)
      return done;
  if (auto done = exchange(launch.constants, of); !done) return done;
  return exchange(launch.read_only, of);
}

Done exchange_buffers(device::BufferChanges& changes, const BufferOf& of) {
  if (auto done = exchange(changes.fills, of); !done) return done;
  return exchange(changes.copies, of);
}

}  // namespace fa_tune::worker
