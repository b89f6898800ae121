#include "engine/gate/arguments.hpp"

#include <algorithm>
#include <optional>

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
device::TensorMap::Element element_of(DType type) {
  using Element = device::TensorMap::Element;
  switch (type) {
    case DType::e4m3:
    case DType::e5m2:
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return Element::u8;
    case DType::i16:
    case DType::u16:
      return Element::u16;
    case DType::i32:
      return Element::s32;
    case DType::u32:
      return Element::u32;
    case DType::i64:
      return Element::s64;
    case DType::u64:
      return Element::u64;
    case DType::f16:
      return Element::f16;
    case DType::bf16:
      return Element::bf16;
    case DType::f32:
      return Element::f32;
    case DType::f64:
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

// What a launch is made from: names, and where what they name lies.
class Names {
 public:
  Names(device::Device& device, const BoundKernel& kernel, const problem::Instance& instance,
        const std::function<Place(std::size_t)>& place)
      : device_(device),
        instance_(instance),
        place_(place),
        scalars_(kernel.scalars),
        workspaces_(workspaces_of(kernel)) {}

  std::expected<std::vector<device::Argument>, device::Fault> arguments(
      const std::vector<std::string>& names, const std::vector<MappedTensor>& maps) const {
    std::vector<device::Argument> arguments;
    for (const std::string& name : names) {
      const auto mapped = std::ranges::find(maps, name, &MappedTensor::argument);
      if (mapped != maps.end()) {
        const auto [tensor, at] = require(mapped->tensor);
        auto map = device_.tensor_map(whole(tensor, at, *mapped));
        if (!map) return std::unexpected(map.error());
        arguments.push_back(std::move(*map));
      } else if (const auto found = find(name)) {
        arguments.push_back(device_.address(found->at.buffer, found->at.offset));
      } else if (const problem::Scalar* scalar = named(instance_.scalars, name)) {
        arguments.emplace_back(scalar->bytes);
      } else if (const PlannedScalar* own = named(scalars_, name)) {
        arguments.emplace_back(own->bytes);
      } else {
        fail(name, instance_);
      }
    }
    return arguments;
  }

  std::expected<device::LaunchStep, device::Fault> step(const PlannedKernel& kernel) const {
    auto made = arguments(kernel.arguments, kernel.maps);
    if (!made) return std::unexpected(made.error());
    return device::KernelStep{kernel.entry, kernel.config, std::move(*made)};
  }
  std::expected<device::LaunchStep, device::Fault> step(const PlannedFill& fill) const {
    const auto [tensor, at] = require(fill.tensor);
    require_writable(tensor);
    return device::BufferFill{at.buffer, at.offset, bytes_of(tensor), fill.value};
  }
  std::expected<device::LaunchStep, device::Fault> step(const PlannedCopy& copy) const {
    const auto [from, from_at] = require(copy.from);
    const auto [to, to_at] = require(copy.to);
    require_writable(to);
    if (bytes_of(from) != bytes_of(to))
      return std::unexpected(
          device::Fault{device::FaultKind::resources,
                        fmt::format("{} of {} bytes is to be copied to {} of {}", copy.from,
                                    bytes_of(from), copy.to, bytes_of(to))});
    return device::BufferCopy{from_at.buffer, to_at.buffer, bytes_of(from), from_at.offset,
                              to_at.offset};
  }

 private:
  struct Found {
    const problem::Tensor& tensor;
    Place at;
  };

  std::optional<Found> find(const std::string& name) const {
    const std::vector<problem::Tensor>& given = instance_.tensors;
    if (const problem::Tensor* tensor = named(given, name))
      return Found{*tensor, place_(static_cast<std::size_t>(tensor - given.data()))};
    if (const problem::Tensor* tensor = named(workspaces_, name))
      return Found{*tensor,
                   place_(given.size() + static_cast<std::size_t>(tensor - workspaces_.data()))};
    return std::nullopt;
  }
  Found require(const std::string& name) const {
    const auto found = find(name);
    if (!found) fail(name, instance_);
    return *found;
  }
  static void require_writable(const problem::Tensor& tensor) {
    if (tensor.role == problem::Role::input)
      throw UserError("a step of the template writes to " + tensor.name + ", which is an input");
  }
  static std::size_t bytes_of(const problem::Tensor& tensor) {
    return static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type);
  }

  device::Device& device_;
  const problem::Instance& instance_;
  const std::function<Place(std::size_t)>& place_;
  const std::vector<PlannedScalar>& scalars_;
  std::vector<problem::Tensor> workspaces_;
};

template <typename T>
void require_own_names(const std::vector<T>& all, const char* what,
                       const problem::Instance& instance) {
  for (const T& own : all)
    if (named(instance.tensors, own.name) != nullptr ||
        named(instance.scalars, own.name) != nullptr)
      throw UserError(
          fmt::format("the template's {} '{}' has the name of an argument of the "
                      "problem; give it another",
                      what, own.name));
}

}  // namespace

std::vector<problem::Tensor> workspaces_of(const BoundKernel& kernel) {
  std::vector<problem::Tensor> tensors;
  for (const PlannedWorkspace& workspace : kernel.workspaces)
    tensors.push_back({.name = workspace.name,
                       .type = workspace.type,
                       .role = problem::Role::workspace,
                       .dims = workspace.dims,
                       .bytes = {}});
  return tensors;
}

std::expected<device::Launch, device::Fault> make_launch(
    device::Device& device, const BoundKernel& kernel, const problem::Instance& instance,
    const std::function<Place(std::size_t)>& place) {
  require_own_names(kernel.workspaces, "workspace", instance);
  require_own_names(kernel.scalars, "scalar", instance);
  const Names names(device, kernel, instance, place);
  device::Launch launch{.kernel = kernel.kernel, .config = kernel.launch, .arguments = {}};
  if (kernel.steps.empty()) {
    auto arguments = names.arguments(kernel.argument_names, kernel.maps);
    if (!arguments) return std::unexpected(arguments.error());
    launch.arguments = std::move(*arguments);
  }
  for (const PlannedStep& planned : kernel.steps) {
    auto step = std::visit([&](const auto& one) { return names.step(one); }, planned);
    if (!step) return std::unexpected(step.error());
    launch.steps.push_back(std::move(*step));
  }
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
