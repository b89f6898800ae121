#include "engine/gate/tensor_source.hpp"

#include "engine/gate/guarded_buffer.hpp"
#include "engine/util/bytes.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::gate {
namespace {

void require(const std::expected<void, device::Fault>& done, const problem::Tensor& tensor) {
  if (!done)
    throw MachineError("writing " + tensor.name + " to the device: " + done.error().message);
}

}  // namespace

std::size_t bytes_of(const problem::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type);
}

bool TensorSource::has_original(std::size_t i) const {
  const problem::Tensor& tensor = instance_.tensors[i];
  return problem::is_given(tensor.role) && input_cache_ != nullptr &&
         input_cache_->worth(bytes_of(tensor));
}

void TensorSource::write(std::size_t i, const Place& to) const {
  const problem::Tensor& tensor = instance_.tensors[i];
  const std::size_t bytes = bytes_of(tensor);
  if (has_original(i))
    require(input_cache_->copy({given(i)->handle(), 0}, to, bytes), tensor);
  else if (problem::is_given(tensor.role))
    require(device_.write(to.buffer, to.offset, tensor.bytes), tensor);
  else
    require(device_.fill({{to.buffer, to.offset, bytes, fill_byte(tensor, true)}}), tensor);
}

void TensorSource::write_guarded(std::size_t i, device::BufferHandle to,
                                 std::span<const std::byte> guard) const {
  const problem::Tensor& tensor = instance_.tensors[i];
  const std::size_t bytes = bytes_of(tensor);
  if (has_original(i) || bytes >= DeviceInputCache::kLeast) {
    write(i, {to, guard.size()});
    for (const std::size_t at : {std::size_t{0}, guard.size() + bytes})
      if (!guard.empty()) require(device_.write(to, at, guard), tensor);
    return;
  }
  // In one piece: a piece costs a device more than a few bytes do.
  std::vector<std::byte> all(bytes + 2 * guard.size(), std::byte{fill_byte(tensor, true)});
  const std::span<std::byte> whole = all;
  copy_bytes(guard, whole);
  if (problem::is_given(tensor.role)) copy_bytes(tensor.bytes, whole.subspan(guard.size()));
  copy_bytes(guard, whole.subspan(guard.size() + bytes));
  require(device_.write(to, 0, all), tensor);
}

SharedBuffer TensorSource::given(std::size_t i) const {
  const problem::Tensor& tensor = instance_.tensors[i];
  if (has_original(i)) {
    auto buffer = input_cache_->of(known_, i);
    if (!buffer) require(std::unexpected(buffer.error()), tensor);
    return std::move(*buffer);
  }
  auto buffer = std::make_shared<const DeviceBuffer>(device_, bytes_of(tensor));
  require(device_.write(buffer->handle(), 0, tensor.bytes), tensor);
  return buffer;
}

}  // namespace fa_tune::gate
