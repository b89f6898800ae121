#include "engine/gate/arguments.hpp"

#include <algorithm>

#include "engine/base/error.hpp"

namespace fa_tune {
namespace {

std::string known_names(const Instance& instance) {
  std::string known;
  for (const Tensor& tensor : instance.tensors) known += (known.empty() ? "" : ", ") + tensor.name;
  for (const Scalar& scalar : instance.scalars) known += (known.empty() ? "" : ", ") + scalar.name;
  return known;
}

template <typename T>
const T* named(const std::vector<T>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &T::name);
  return found == all.end() ? nullptr : &*found;
}

[[noreturn]] void fail(const std::string& name, const Instance& instance) {
  throw UserError("argument '" + name + "' of the kernel is unknown to its problem: the manifest " +
                  "may name " + known_names(instance));
}

TensorMap::Element element_of(DType type) {
  switch (type) {
    case DType::f16:
      return TensorMap::Element::f16;
    case DType::bf16:
      return TensorMap::Element::bf16;
    case DType::f32:
      return TensorMap::Element::f32;
    case DType::f64:
      return TensorMap::Element::f64;
    case DType::i32:
      return TensorMap::Element::s32;
  }
  return TensorMap::Element::u8;
}

TensorMap::Swizzle swizzle_of(std::int64_t bytes) {
  if (bytes == 128) return TensorMap::Swizzle::bytes128;
  if (bytes == 64) return TensorMap::Swizzle::bytes64;
  return bytes == 32 ? TensorMap::Swizzle::bytes32 : TensorMap::Swizzle::none;
}

// All of a tensor whose rows lie one after the other.
TensorMap whole(const Tensor& tensor, const Place& place, const MappedTensor& mapped) {
  TensorMap map;
  map.element = element_of(tensor.type);
  map.buffer = place.buffer;
  map.offset = place.offset;
  map.box = mapped.box;
  map.swizzle = swizzle_of(mapped.swizzle_bytes);
  std::uint64_t bytes = size_of(tensor.type);
  for (std::size_t i = tensor.dims.size(); i-- > 0;) {
    const auto size = static_cast<std::uint64_t>(tensor.dims[i]);
    map.dims.push_back(size);
    bytes *= size;
    if (i > 0) map.strides.push_back(bytes);
  }
  return map;
}

}  // namespace

std::expected<std::vector<Argument>, Fault> make_arguments(
    Device& device, const BoundKernel& kernel, const Instance& instance,
    const std::function<Place(std::size_t)>& place) {
  std::vector<Argument> arguments;
  const auto place_of = [&](const Tensor* tensor) {
    return place(static_cast<std::size_t>(tensor - instance.tensors.data()));
  };
  for (const std::string& name : kernel.argument_names) {
    const auto mapped = std::ranges::find(kernel.maps, name, &MappedTensor::argument);
    if (mapped != kernel.maps.end()) {
      const Tensor* tensor = named(instance.tensors, mapped->tensor);
      if (tensor == nullptr) fail(mapped->tensor, instance);
      auto map = device.tensor_map(whole(*tensor, place_of(tensor), *mapped));
      if (!map) return std::unexpected(map.error());
      arguments.push_back(std::move(*map));
    } else if (const Tensor* tensor = named(instance.tensors, name)) {
      const Place at = place_of(tensor);
      arguments.push_back(device.address(at.buffer, at.offset));
    } else if (const Scalar* scalar = named(instance.scalars, name)) {
      arguments.emplace_back(scalar->bytes);
    } else {
      fail(name, instance);
    }
  }
  return arguments;
}

}  // namespace fa_tune
