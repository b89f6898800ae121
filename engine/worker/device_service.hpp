#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <span>

#include "engine/device/device.hpp"
#include "engine/worker/messages.hpp"

namespace fa_tune::worker {

// A device and the requests that it is asked. One thread's.
class DeviceService {
 public:
  // Both must outlive it. `window`: where bytes to write come from and bytes read go to, at most
  // Window::kBytes.
  DeviceService(device::Device& device, std::span<std::byte> window)
      : device_(device), window_(window) {}

  // Nothing for what is not answered (message::is_answered). What goes wrong in one of those is the
  // answer to the next request that has one.
  std::optional<message::Answer> answer(const message::Request& request);

  // Unloads and releases all that was asked for here and not given back.
  void release_all();

 private:
  using Answer = message::Answer;

  Answer visit(const message::Request& request);
  Answer faulted(device::Fault fault) const;
  Answer done_or(std::expected<void, device::Fault> outcome) const;
  std::span<std::byte> piece(std::uint64_t at, std::uint64_t bytes) const;

  Answer on(const message::Load& load);
  Answer on(const message::Unload& unload);
  Answer on(const message::Allocate& allocate);
  Answer on(const message::Release& release);
  Answer on(const message::Write& write);
  Answer on(const message::Read& read);
  Answer on(const message::Step& step);
  Answer on(const message::Map& map);
  Answer on(const message::Run& run);
  Answer on(const message::Exchange& exchange);
  Answer on(const message::Time& time);
  Answer on(const message::Fill& fill);
  Answer on(const message::Energy&);
  Answer on(const message::Incumbent& incumbent);
  Answer on(const message::Compile&);
  Answer on(const message::Offload&);

  device::Device& device_;
  std::span<std::byte> window_;
  std::set<device::KernelHandle> kernels_;
  std::set<device::BufferHandle> buffers_;
  std::optional<Answer> unsaid_;
};

}  // namespace fa_tune::worker
