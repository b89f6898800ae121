#include "engine/gate/arguments.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "engine/util/error.hpp"

namespace fa_tune::gate {
namespace {

std::string known_names(const problem::Instance& instance) {
  std::string known;
  for (const problem::Tensor& tensor : instance.tensors)
    known += (known.empty() ? "" : ", ") + tensor.name;
  for (const problem::Scalar& scalar : instance.scalars)
    known += (known.empty() ? "" : ", ") + scalar.name;
  return known;
}

template <typename T>
const T* named(const std::vector<T>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &T::name);
  return found == all.end() ? nullptr : &*found;
}

[[noreturn]] void fail(const std::string& name, const problem::Instance& instance) {
  throw UserError("argument '" + name + "' of the kernel is unknown to its problem: the manifest " +
                  "may name " + known_names(instance));
}

// Copies look at no number, so what maps have no type for is the integer of its bits there.
device::TensorMap::Element element_of(problem::DType type) {
  using Element = device::TensorMap::Element;
  switch (type) {
    case problem::DType::e4m3:
    case problem::DType::e5m2:
    case problem::DType::i8:
    case problem::DType::u8:
    case problem::DType::boolean:
      return Element::u8;
    case problem::DType::i16:
    case problem::DType::u16:
      return Element::u16;
    case problem::DType::i32:
      return Element::s32;
    case problem::DType::u32:
      return Element::u32;
    case problem::DType::i64:
      return Element::s64;
    case problem::DType::u64:
      return Element::u64;
    case problem::DType::f16:
      return Element::f16;
    case problem::DType::bf16:
      return Element::bf16;
    case problem::DType::f32:
      return Element::f32;
    case problem::DType::f64:
      return Element::f64;
  }
  return Element::u8;
}

device::TensorMap::Swizzle swizzle_of(std::int64_t bytes) {
  if (bytes == 128) return device::TensorMap::Swizzle::bytes128;
  if (bytes == 64) return device::TensorMap::Swizzle::bytes64;
  return bytes == 32 ? device::TensorMap::Swizzle::bytes32 : device::TensorMap::Swizzle::none;
}

// Which dimension of the tensor each dimension of the map is, or is a part of.
std::vector<std::size_t> dimensions_of(const MappedTensor& mapped, const problem::Tensor& tensor) {
  std::vector<std::size_t> result;
  if (mapped.axes.empty())
    for (std::size_t i = tensor.dims.size(); i-- > 0;) result.push_back(i);
  for (const MapAxis& axis : mapped.axes) {
    result.push_back(tensor.axes.find(axis.letter));
    if (result.back() == std::string::npos)
      throw UserError(fmt::format("map '{}': {} has no axis {}, it has {}", mapped.argument,
                                  tensor.name, axis.letter, tensor.axes));
  }
  return result;
}

// All of a tensor, its dimensions in the order that the map asks for.
device::TensorMap whole(const problem::Tensor& tensor, const Place& place,
                        const MappedTensor& mapped) {
  device::TensorMap map;
  map.element = element_of(tensor.type);
  map.buffer = place.buffer;
  map.offset = place.offset;
  map.box = mapped.box;
  map.swizzle = swizzle_of(mapped.swizzle_bytes);
  const std::vector<std::size_t> dimensions = dimensions_of(mapped, tensor);
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    const std::size_t at = dimensions[i];
    const MapAxis axis = mapped.axes.empty() ? MapAxis{} : mapped.axes[i];
    std::uint64_t bytes = size_of(tensor.type) * static_cast<std::uint64_t>(axis.divisor);
    for (std::size_t inner = at + 1; inner < tensor.dims.size(); ++inner)
      bytes *= static_cast<std::uint64_t>(tensor.dims[inner]);
    // The first dimension lies closely packed: a map has no stride for it.
    if (i > 0) map.strides.push_back(bytes);
    map.dims.push_back(
        static_cast<std::uint64_t>(axis.modulo > 0 ? axis.modulo : tensor.dims[at] / axis.divisor));
  }
  return map;
}

}  // namespace

std::expected<std::vector<device::Argument>, device::Fault> make_arguments(
    device::Device& device, const BoundKernel& kernel, const problem::Instance& instance,
    const std::function<Place(std::size_t)>& place) {
  std::vector<device::Argument> arguments;
  const auto place_of = [&](const problem::Tensor* tensor) {
    return place(static_cast<std::size_t>(tensor - instance.tensors.data()));
  };
  for (const std::string& name : kernel.argument_names) {
    const auto mapped = std::ranges::find(kernel.maps, name, &MappedTensor::argument);
    if (mapped != kernel.maps.end()) {
      const problem::Tensor* tensor = named(instance.tensors, mapped->tensor);
      if (tensor == nullptr) fail(mapped->tensor, instance);
      auto map = device.tensor_map(whole(*tensor, place_of(tensor), *mapped));
      if (!map) return std::unexpected(map.error());
      arguments.push_back(std::move(*map));
    } else if (const problem::Tensor* tensor = named(instance.tensors, name)) {
      const Place at = place_of(tensor);
      arguments.push_back(device.address(at.buffer, at.offset));
    } else if (const problem::Scalar* scalar = named(instance.scalars, name)) {
      arguments.emplace_back(scalar->bytes);
    } else {
      fail(name, instance);
    }
  }
  return arguments;
}

std::expected<device::Launch, device::Fault> make_launch(
    device::Device& device, const BoundKernel& kernel, const problem::Instance& instance,
    const std::function<Place(std::size_t)>& place) {
  auto arguments = make_arguments(device, kernel, instance, place);
  if (!arguments) return std::unexpected(arguments.error());
  device::Launch launch{
      .kernel = kernel.kernel, .config = kernel.launch, .arguments = std::move(*arguments)};
  for (std::size_t i = 0; i < instance.tensors.size(); ++i) {
    const problem::Tensor& tensor = instance.tensors[i];
    const Place at = place(i);
    if (tensor.role == problem::Role::input) launch.read_only.push_back(at.buffer);
    if (!tensor.constant) continue;
    launch.constants.push_back(
        {tensor.name, at.buffer, at.offset,
         static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type)});
  }
  return launch;
}

}  // namespace fa_tune::gate
