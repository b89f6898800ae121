#pragma once

#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/device/device.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::test {

// A device whose kernels are C++ functions on host memory. An address argument is 8 bytes that
// index this device's one flat memory, as on a GPU: a kernel may go wherever it likes in it.
class FakeDevice final : public device::Device {
 public:
  struct Call {
    std::vector<std::byte*> pointers;  // of the buffer arguments, in order
    std::vector<std::vector<std::byte>> scalars;
    int number = 0;  // launches of this device so far
    device::Checks checks = {};
    std::uint64_t schedule = 0;
  };
  using Kernel = std::function<std::optional<device::Fault>(const Call&)>;

  device::KernelHandle add(Kernel kernel) {
    kernels_.push_back(std::move(kernel));
    return static_cast<device::KernelHandle>(kernels_.size() - 1);
  }

  // It takes checks and schedules.
  void can_check() { info_.checks = true; }
  std::size_t buffers_held() const { return buffers_.size(); }
  std::size_t bytes_held() const {
    std::size_t bytes = 0;
    for (const auto& [handle, memory] : buffers_) bytes += memory.size();
    return bytes;
  }
  std::size_t bus_bytes = 0;  // written and read so far
  // Bytes that it has.
  std::size_t room = std::numeric_limits<std::size_t>::max();

  const device::DeviceInfo& info() const override { return info_; }
  // Images are known by their kernels' names.
  void knows(const std::string& name, Kernel kernel) { named_[name] = add(std::move(kernel)); }
  std::expected<device::KernelHandle, device::Fault> load(const KernelImage& image) override {
    if (const auto found = named_.find(image.kernel); found != named_.end()) return found->second;
    return std::unexpected(
        device::Fault{.kind = device::FaultKind::load_failed, .message = "no images here"});
  }
  void unload(device::KernelHandle) override {}

  device::BufferHandle allocate(std::size_t bytes) override {
    if (bytes > room - bytes_held()) throw OutOfMemory("no room");
    const auto handle = static_cast<device::BufferHandle>(++last_buffer_);
    buffers_[handle].resize(bytes);
    return handle;
  }
  void release(device::BufferHandle buffer) override {
    if (buffers_.erase(buffer) != 1) throw std::logic_error("released twice");
  }
  std::expected<void, device::Fault> write(device::BufferHandle buffer, std::size_t offset,
                                           std::span<const std::byte> bytes) override {
    if (lost_) return std::unexpected(*lost_);
    bus_bytes += bytes.size();
    std::memcpy(at(buffer, offset, bytes.size()), bytes.data(), bytes.size());
    return {};
  }
  std::expected<void, device::Fault> read(device::BufferHandle buffer, std::size_t offset,
                                          std::span<std::byte> bytes) override {
    if (lost_) return std::unexpected(*lost_);
    bus_bytes += bytes.size();
    std::memcpy(bytes.data(), at(buffer, offset, bytes.size()), bytes.size());
    return {};
  }
  device::Argument address(device::BufferHandle buffer, std::size_t offset) override {
    const std::byte* place = at(buffer, offset, 0);
    std::vector<std::byte> bytes(sizeof place + 1);  // 9 bytes: no scalar of a test has that size
    std::memcpy(bytes.data(), &place, sizeof place);
    return bytes;
  }
  std::expected<void, device::Fault> launch(const device::Launch& launch) override {
    if (lost_) return std::unexpected(*lost_);
    Call call{.pointers = {},
              .scalars = {},
              .number = ++launches_,
              .checks = launch.checks,
              .schedule = launch.schedule};
    for (const device::Argument& argument : launch.arguments) {
      const auto& bytes = std::get<std::vector<std::byte>>(argument);
      if (bytes.size() == sizeof(std::byte*) + 1) {
        std::byte* place = nullptr;
        std::memcpy(&place, bytes.data(), sizeof place);
        call.pointers.push_back(place);
      } else {
        call.scalars.push_back(bytes);
      }
    }
    const auto fault = kernels_.at(static_cast<std::size_t>(launch.kernel))(call);
    if (!fault) return {};
    if (fault->kind == device::FaultKind::device_lost) lost_ = fault;
    return std::unexpected(*fault);
  }
  std::expected<device::Timing, device::Fault> time(const device::Launch&,
                                                    const device::TimingPlan&) override {
    return std::unexpected(
        device::Fault{.kind = device::FaultKind::trap, .message = "no clock here"});
  }

 private:
  std::byte* at(device::BufferHandle buffer, std::size_t offset, std::size_t bytes) {
    auto& memory = buffers_.at(buffer);
    if (offset + bytes > memory.size()) throw std::logic_error("copy past the end of a buffer");
    return memory.data() + offset;
  }

  device::DeviceInfo info_{.id = "fake:0", .name = "fake", .arch = "sm_89", .driver = {}};
  std::vector<Kernel> kernels_;
  std::map<std::string, device::KernelHandle> named_;
  std::map<device::BufferHandle, std::vector<std::byte>> buffers_;
  std::uint64_t last_buffer_ = 0;
  int launches_ = 0;
  std::optional<device::Fault> lost_;
};

}  // namespace fa_tune::test
