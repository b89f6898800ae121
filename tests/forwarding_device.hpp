#pragma once

#include <memory>
#include <utility>

#include "engine/device/device.hpp"

namespace fa_tune::test {

// A device that is another one: a test overrides where its own is to differ. What Device does
// itself unless told otherwise, it does here too.
class ForwardingDevice : public Device {
 public:
  explicit ForwardingDevice(std::unique_ptr<Device> inner) : inner_(std::move(inner)) {}

  const DeviceInfo& info() const override { return inner_->info(); }
  std::uint64_t life() const override { return inner_->life(); }
  std::expected<KernelHandle, Fault> load(const KernelImage& image) override {
    return inner_->load(image);
  }
  void unload(KernelHandle kernel) override { inner_->unload(kernel); }
  BufferHandle allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(BufferHandle buffer) override { inner_->release(buffer); }
  std::expected<void, Fault> write(BufferHandle buffer, std::size_t offset,
                                   std::span<const std::byte> bytes) override {
    return inner_->write(buffer, offset, bytes);
  }
  std::expected<void, Fault> read(BufferHandle buffer, std::size_t offset,
                                  std::span<std::byte> bytes) override {
    return inner_->read(buffer, offset, bytes);
  }
  Argument address(BufferHandle buffer, std::size_t offset) override {
    return inner_->address(buffer, offset);
  }
  std::expected<Argument, Fault> tensor_map(const TensorMap& map) override {
    return inner_->tensor_map(map);
  }
  std::expected<void, Fault> launch(const Launch& launch) override {
    return inner_->launch(launch);
  }
  std::expected<Timing, Fault> time(const Launch& launch, const TimingPlan& plan) override {
    return inner_->time(launch, plan);
  }

 protected:
  Device& inner() { return *inner_; }

 private:
  std::unique_ptr<Device> inner_;
};

}  // namespace fa_tune::test
