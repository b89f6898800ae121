#include "engine/base/error.hpp"
#include "engine/gate/arguments.hpp"
#include "engine/gate/gate.hpp"

namespace fa_tune {
namespace {

void release_all(Device& device, std::vector<BufferHandle>& buffers) {
  for (const BufferHandle buffer : buffers) device.release(buffer);
  buffers.clear();
}

void upload(Device& device, std::vector<BufferHandle>& buffers, const Tensor& tensor) {
  const std::size_t bytes = static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type);
  buffers.push_back(device.allocate(bytes));
  const auto done = tensor.role == Role::input
                        ? device.write(buffers.back(), 0, tensor.bytes)
                        : device.write(buffers.back(), 0, std::vector<std::byte>(bytes));
  if (!done)
    throw MachineError("writing " + tensor.name + " to the device: " + done.error().message);
}

}  // namespace

TimedLaunch::TimedLaunch(Device& device, const BoundKernel& kernel, const Instance& instance)
    : device_(device) {
  try {
    for (const Tensor& tensor : instance.tensors) upload(device, buffers_, tensor);
    auto arguments = make_arguments(device, kernel, instance, [&](std::size_t i) {
      return Place{buffers_[i], 0};
    });
    if (!arguments) throw MachineError("arguments of the kernel: " + arguments.error().message);
    launch_ = {
        .kernel = kernel.kernel, .config = kernel.launch, .arguments = std::move(*arguments)};
  } catch (...) {
    release_all(device, buffers_);
    throw;
  }
}

TimedLaunch::~TimedLaunch() { release_all(device_, buffers_); }

}  // namespace fa_tune
