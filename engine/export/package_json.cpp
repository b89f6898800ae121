#include "engine/export/package_json.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/problem/custom/spec.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::exports {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
const T* named(const std::vector<T>& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &T::name);
  return found == all.end() ? nullptr : &*found;
}

// As PyTorch has it: complex numbers are elements.
std::string type_of(const problem::Tensor& tensor) {
  if (tensor.complex) return tensor.type == DType::f32 ? "complex64" : "complex128";
  return type_name(tensor.type);
}

std::vector<std::int64_t> dims_of(const problem::Tensor& tensor) {
  std::vector<std::int64_t> dims = tensor.dims;
  if (tensor.complex) dims.pop_back();
  return dims;
}

std::string type_of(const problem::Scalar& scalar) {
  return scalar.plain() ? type_name(scalar.type) : fmt::format("{} bytes", scalar.bytes.size());
}

bool is_small_float(DType type) { return type == DType::e4m3 || type == DType::e5m2; }

Json triple(const Dim3& dims) { return {dims.x, dims.y, dims.z}; }

Json map_json(const MappedTensor& map, const std::vector<problem::Tensor>& tensors) {
  if (named(tensors, map.tensor)->complex)
    throw UserError(fmt::format(
        "map '{}': '{}' is of complex numbers, which are elements for PyTorch and not for a map",
        map.argument, map.tensor));
  Json axes = Json::array();
  for (const MapDimension& axis : map_axes(map, tensors))
    axes.push_back({axis.of_tensor, axis.modulo, axis.divisor});
  return {{"map", map.argument},
          {"tensor", map.tensor},
          {"type", type_name(named(tensors, map.tensor)->type)},
          {"box", map.box},
          {"swizzle", map.swizzle_bytes},
          {"axes", axes}};
}

Json argument_json(const PackagedCall& call, const PlannedKernel& kernel, const std::string& name) {
  const auto map = std::ranges::find(kernel.maps, name, &MappedTensor::argument);
  const problem::Tensor* const tensor =
      named(call.tensors, map == kernel.maps.end() ? name : map->tensor);
  if (map != kernel.maps.end() && tensor != nullptr) return map_json(*map, call.tensors);
  if (tensor != nullptr) return {{"tensor", name}};
  if (const problem::Scalar* scalar = named(call.scalars, name)) {
    Json json{{"scalar", name}, {"type", type_of(*scalar)}, {"value", scalar_json(*scalar)}};
    const bool computed = call.any_size && call.any_size->scalars.contains(name);
    if (scalar->own || computed) json["own"] = true;
    if (!scalar->plain() || is_small_float(scalar->type))
      for (const std::byte each : scalar->bytes)
        json["bytes"].push_back(std::to_integer<int>(each));
    return json;
  }
  throw UserError("argument '" + name + "' of the kernel is unknown to its problem");
}

// What a kernel is started with, added to `json`.
void add_start(Json& json, const PlannedKernel& kernel) {
  json["grid"] = triple(kernel.config.grid);
  json["block"] = triple(kernel.config.block);
  json["cluster"] = triple(kernel.config.cluster);
  json["shared"] = kernel.config.dynamic_shared_bytes;
  if (kernel.config.cooperative) json["cooperative"] = true;
  if (kernel.config.programmatic) json["programmatic"] = true;
}

Json arguments_json(const PackagedCall& call, const PlannedKernel& kernel) {
  Json list = Json::array();
  for (const std::string& name : kernel.arguments)
    list.push_back(argument_json(call, kernel, name));
  return list;
}

Json step_json(const PackagedCall& call, const KernelImage& image, const PlannedStep& step) {
  if (const auto* fill = std::get_if<PlannedFill>(&step))
    return {{"set", fill->tensor}, {"value", fill->value}};
  if (const auto* copy = std::get_if<PlannedCopy>(&step))
    return {{"copy", copy->from}, {"to", copy->to}};
  const auto& kernel = std::get<PlannedKernel>(step);
  Json json = {{"entry", image.entry(kernel.entry).kernel}};
  add_start(json, kernel);
  json["arguments"] = arguments_json(call, kernel);
  return json;
}

std::string role_name(problem::Role role) {
  switch (role) {
    case problem::Role::input:
      return "input";
    case problem::Role::output:
      return "output";
    case problem::Role::workspace:
      return "workspace";
    case problem::Role::inout:
      return "inout";
    case problem::Role::unchecked:
      return "unchecked";
  }
  return "input";
}

Json shape_json(const Constants& shape) {
  Json json = Json::object();
  for (const auto& [name, value] : shape)
    std::visit([&, &key = name](const auto& held) { json[key] = held; }, value);
  return json;
}

// What follows from the sizes is nobody's to give, so it is left out.
std::string signature(const Package& package, const PackagedCall& call) {
  const auto is_computed = [&](const std::string& scalar) {
    return std::ranges::any_of(package.calls, [&](const PackagedCall& each) {
      return each.any_size && each.any_size->scalars.contains(scalar);
    });
  };
  std::string text;
  for (const problem::Tensor& tensor : tensors_in_order(call))
    text += fmt::format("{} {} {} {}; ", type_of(tensor), tensor.name, role_name(tensor.role),
                        tensor.dims.size());
  for (const problem::Scalar& scalar : scalars_in_order(call))
    if (!is_computed(scalar.name)) text += fmt::format("{} {}; ", type_of(scalar), scalar.name);
  return text;
}

}  // namespace

Json scalar_json(const problem::Scalar& scalar) {
  const auto number = [&](const problem::ScalarPart& part) -> Json {
    const std::byte* const at = scalar.bytes.data() + part.offset;
    if (part.type == DType::u64) return static_cast<std::uint64_t>(get_integer(part.type, at));
    if (is_integer(part.type)) return static_cast<std::int64_t>(get_integer(part.type, at));
    return get_number(part.type, at);
  };
  if (scalar.plain()) return number(parts_of(scalar)[0]);
  Json json = Json::array();
  for (const problem::ScalarPart& part : scalar.parts) json.push_back(number(part));
  return json;
}

Json call_json(const Package& package, const PackagedCall& call) {
  const Capability capability = capability_of(package.kernels.at(call.kernel).image.arch);
  Json json{{"kernel", call.kernel},
            {"device", call.device},
            {"capability", {capability.major, capability.minor}},
            {"shape", shape_json(call.shape)}};
  if (call.choice) json["choice"] = *call.choice;
  if (call.any_size) json["any_size"] = any_size_json(*call.any_size);
  const std::vector<PlannedStep> steps = steps_of(call);
  if (call.steps.empty()) add_start(json, std::get<PlannedKernel>(steps.front()));
  json["tensors"] = Json::array();
  json["arguments"] = Json::array();
  json["constants"] = Json::array();
  for (const problem::Tensor& tensor : tensors_in_order(call)) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"role", role_name(tensor.role)},
                               {"type", type_of(tensor)},
                               {"dims", dims_of(tensor)}});
    if (tensor.constant) json["constants"].push_back(tensor.name);
  }
  if (call.steps.empty()) {
    json["arguments"] = arguments_json(call, std::get<PlannedKernel>(steps.front()));
    return json;
  }
  json.erase("arguments");
  const KernelImage& image = package.kernels.at(call.kernel).image;
  for (const PlannedStep& step : steps) json["steps"].push_back(step_json(call, image, step));
  return json;
}

std::vector<MapDimension> map_axes(const MappedTensor& map,
                                   const std::vector<problem::Tensor>& tensors) {
  const problem::Tensor* const tensor = named(tensors, map.tensor);
  if (tensor == nullptr) throw UserError("map '" + map.argument + "' shows no tensor");
  std::vector<MapDimension> result;
  if (map.axes.empty())
    for (std::size_t at = tensor->dims.size(); at-- > 0;) result.push_back({.of_tensor = at});
  for (const MapAxis& axis : map.axes) {
    const std::size_t at = tensor->axes.find(axis.letter);
    if (at == std::string::npos)
      throw UserError(fmt::format("map '{}': {} has no axis {}", map.argument, tensor->name,
                                  std::string(1, axis.letter)));
    result.push_back({.of_tensor = at, .modulo = axis.modulo, .divisor = axis.divisor});
  }
  for (MapDimension& axis : result) {
    const std::int64_t whole = tensor->dims[axis.of_tensor];
    axis.size = axis.modulo > 0 ? axis.modulo : whole / axis.divisor;
    axis.stride_bytes = axis.divisor * static_cast<std::int64_t>(size_of(tensor->type));
    for (std::size_t inner = axis.of_tensor + 1; inner < tensor->dims.size(); ++inner)
      axis.stride_bytes *= tensor->dims[inner];
  }
  return result;
}

std::vector<problem::Tensor> tensors_in_order(const PackagedCall& call) {
  std::vector<problem::Tensor> ordered;
  const auto take = [&](const std::string& name) {
    const problem::Tensor* tensor = named(call.tensors, name);
    if (tensor != nullptr && named(ordered, name) == nullptr) ordered.push_back(*tensor);
  };
  for (const PlannedStep& step : steps_of(call)) {
    if (const auto* fill = std::get_if<PlannedFill>(&step)) take(fill->tensor);
    if (const auto* copy = std::get_if<PlannedCopy>(&step)) {
      take(copy->from);
      take(copy->to);
    }
    const auto* kernel = std::get_if<PlannedKernel>(&step);
    if (kernel == nullptr) continue;
    for (const std::string& name : kernel->arguments) {
      const auto map = std::ranges::find(kernel->maps, name, &MappedTensor::argument);
      take(map == kernel->maps.end() ? name : map->tensor);
    }
  }
  for (const problem::Tensor& tensor : call.tensors)
    if (tensor.constant) take(tensor.name);
  return ordered;
}

std::vector<problem::Scalar> scalars_in_order(const PackagedCall& call) {
  std::vector<problem::Scalar> ordered;
  for (const PlannedStep& step : steps_of(call)) {
    const auto* kernel = std::get_if<PlannedKernel>(&step);
    if (kernel == nullptr) continue;
    for (const std::string& name : kernel->arguments) {
      const problem::Scalar* scalar = named(call.scalars, name);
      if (scalar != nullptr && !scalar->own && named(ordered, name) == nullptr)
        ordered.push_back(*scalar);
    }
  }
  return ordered;
}

void check_one_signature(const Package& package) {
  const std::string first = signature(package, package.calls.front());
  for (const PackagedCall& call : package.calls)
    if (signature(package, call) != first)
      throw UserError(fmt::format(
          "one function cannot launch all of these kernels: one takes {}another {}export them into "
          "files of their own",
          first, signature(package, call)));
}

}  // namespace fa_tune::exports
