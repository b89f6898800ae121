#pragma once

#include <cstddef>
#include <memory>

#include "engine/device/device.hpp"

namespace fa_tune::gate {

// Memory of a device, released when its last owner is gone. The device must outlive it.
class DeviceBuffer {
 public:
  // Throws OutOfMemory.
  DeviceBuffer(device::Device& device, std::size_t bytes)
      : device_(device), handle_(device.allocate(bytes)) {}
  ~DeviceBuffer() { device_.release(handle_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  device::BufferHandle handle() const { return handle_; }

 private:
  device::Device& device_;
  device::BufferHandle handle_;
};

using SharedBuffer = std::shared_ptr<const DeviceBuffer>;

}  // namespace fa_tune::gate
