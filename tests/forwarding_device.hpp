#pragma once

#include <memory>
#include <utility>

#include "engine/device/device.hpp"

namespace fa_tune::test {

// A device that is another one: a test overrides where its own is to differ. What Device does
// itself unless told otherwise, it does here too.
class ForwardingDevice : public device::Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<device::Device> inner) : inner_(std::move(inner)) {}

  const device::DeviceInfo& info() const override { return inner_->info(); }
  std::uint64_t life() const override { return inner_->life(); }
  bool offloads() const override { return inner_->offloads(); }
  std::expected<void, device::Fault> offload(const std::string& work,
                                             const TakeAnswer& take) override {
    return inner_->offload(work, take);
  }
  std::expected<device::KernelHandle, device::Fault> load(const KernelImage& image) override {
    return inner_->load(image);
  }
  void unload(device::KernelHandle kernel) override { inner_->unload(kernel); }
  device::BufferHandle allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(device::BufferHandle buffer) override { inner_->release(buffer); }
  std::expected<void, device::Fault> write(device::BufferHandle buffer, std::size_t offset,
                                           std::span<const std::byte> bytes) override {
    return inner_->write(buffer, offset, bytes);
  }
  std::expected<void, device::Fault> read(device::BufferHandle buffer, std::size_t offset,
                                          std::span<std::byte> bytes) override {
    return inner_->read(buffer, offset, bytes);
  }
  device::Argument address(device::BufferHandle buffer, std::size_t offset) override {
    return inner_->address(buffer, offset);
  }
  std::expected<device::Argument, device::Fault> tensor_map(const device::TensorMap& map) override {
    return inner_->tensor_map(map);
  }
  std::vector<std::string> take_notes() override { return inner_->take_notes(); }
  std::expected<void, device::Fault> launch(const device::Launch& launch) override {
    return inner_->launch(launch);
  }
  std::expected<device::Timing, device::Fault> time(const device::Launch& launch,
                                                    const device::TimingPlan& plan) override {
    return inner_->time(launch, plan);
  }

 protected:
  device::Device& inner() { return *inner_; }

 private:
  std::unique_ptr<device::Device> inner_;
};

}  // namespace fa_tune::test
