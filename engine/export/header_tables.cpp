#include "engine/export/header_tables.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/header_formulas.hpp"
#include "engine/export/header_types.hpp"
#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"

namespace fa_tune::exports {
namespace {

std::uint64_t bits_of(const problem::Scalar& scalar) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, scalar.bytes.data(), std::min(sizeof bits, scalar.bytes.size()));
  return bits;
}

// More than an argument has room for by itself.
bool is_long(const problem::Scalar& scalar) { return scalar.bytes.size() > sizeof(std::uint64_t); }

std::string sizes_text(const Dim3& dims) {
  return fmt::format("{{{}, {}, {}}}", dims.x, dims.y, dims.z);
}

bool is_map(const PlannedKernel& kernel, const std::string& name) {
  return std::ranges::find(kernel.maps, name, &MappedTensor::argument) != kernel.maps.end();
}

std::string table(const char* type, const std::string& name, const std::string& rows) {
  return rows.empty() ? ""
                      : fmt::format("inline constexpr {} {}[] = {{\n{}}};\n", type, name, rows);
}

}  // namespace

HeaderTables::HeaderTables(const Package& package, const HeaderNames& names)
    : package_(package), names_(names) {
  for (const PackagedCall& call : package.calls)
    for (const problem::Scalar& scalar : call.scalars)
      if (is_long(scalar)) long_values_.push_back(scalar.bytes);
}

std::string HeaderTables::size_value(const PackagedCall& call, const std::string& name) const {
  return to_text(call.shape.at(name));
}

// Where an argument's row points to for it, behind a comma.
std::string HeaderTables::long_value(const problem::Scalar& scalar) const {
  if (!is_long(scalar)) return "";
  const auto found = std::ranges::find(long_values_, scalar.bytes);
  return fmt::format(", value_{}", found - long_values_.begin());
}

std::string HeaderTables::code() const {
  std::string text;
  for (std::size_t i = 0; i < long_values_.size(); ++i) {
    std::vector<int> bytes;
    for (const std::byte each : long_values_[i]) bytes.push_back(std::to_integer<int>(each));
    text += fmt::format("alignas(16) inline constexpr unsigned char value_{}[] = {{{}}};\n", i,
                        fmt::join(bytes, ", "));
  }
  for (std::size_t i = 0; i < package_.kernels.size(); ++i) {
    text += fmt::format("alignas(16) inline constexpr unsigned char code_{}[] = {{", i);
    std::string line;
    for (const char byte : package_.kernels[i].image.bytes) {
      const std::string number = std::to_string(static_cast<unsigned char>(byte)) + ",";
      if (line.empty() || line.size() + number.size() > 98) {
        text += line + "\n";
        line = "  ";
      }
      line += number;
    }
    text += line + "};\n";
  }
  for (std::size_t i = 0; i < package_.kernels.size(); ++i) {
    const KernelImage& image = package_.kernels[i].image;
    std::vector<std::string> names;
    for (std::size_t entry = 0; entry < image.entries(); ++entry)
      names.push_back(cxx_literal(image.entry(entry).kernel));
    text += fmt::format("inline constexpr const char* entries_{}[] = {{{}}};\n", i,
                        fmt::join(names, ", "));
  }
  text += "inline constexpr Kernel kernels[] = {\n";
  for (std::size_t i = 0; i < package_.kernels.size(); ++i)
    text += fmt::format("    {{entries_{0}, code_{0}}},\n", i);
  return text + "};\n";
}

std::string HeaderTables::map(const PackagedCall& call, const MappedTensor& map) const {
  const auto json = map_axes(map, call.tensors);
  std::vector<std::string> dims, strides;
  for (const MapDimension& axis : json) {
    dims.push_back(std::to_string(axis.size));
    strides.push_back(std::to_string(axis.stride_bytes));
  }
  strides.erase(strides.begin());
  if (strides.empty()) strides.emplace_back("0");
  const problem::Tensor& tensor = names_.tensors.at(index_of(names_.tensors, map.tensor));
  return fmt::format("    {{{}, {}, {}, {{{}}}, {{{}}}, {{{}}}, CU_TENSOR_MAP_SWIZZLE_{}}},\n",
                     index_of(names_.tensors, map.tensor), cxx_type(tensor.type).map_type,
                     dims.size(), fmt::join(dims, ", "), fmt::join(strides, ", "),
                     fmt::join(map.box, ", "),
                     map.swizzle_bytes == 0 ? "NONE" : fmt::format("{}B", map.swizzle_bytes));
}

std::string HeaderTables::argument(const PackagedCall& call, const PlannedKernel& kernel,
                                   const std::string& name) const {
  if (is_map(kernel, name)) {
    std::size_t place = 0;
    for (const std::string& before : kernel.arguments) {
      if (before == name) break;
      if (is_map(kernel, before)) ++place;
    }
    return fmt::format("    {{Argument::map, {}, 0}},\n", place);
  }
  if (const std::size_t tensor = index_of(names_.tensors, name); tensor < names_.tensors.size())
    return fmt::format("    {{Argument::tensor, {}, 0}},\n", tensor);
  if (call.any_size) {
    const auto& computed = call.any_size->scalars;
    if (const auto found = computed.find(name); found != computed.end())
      return fmt::format("    {{Argument::computed, {}, 0}},  // {}\n",
                         std::distance(computed.begin(), found), comment_text(name));
  }
  const problem::Scalar& scalar = *std::ranges::find(call.scalars, name, &problem::Scalar::name);
  const std::size_t option = index_of(names_.options, name);
  const bool chosen = option < names_.options.size();
  return fmt::format("    {{Argument::{}, {}, {:#x}{}}},  // {} = {}\n",
                     chosen ? "option" : "scalar", chosen ? option : 0, bits_of(scalar),
                     long_value(scalar), name, scalar_json(scalar).dump());
}

// A row of a call's steps; what the row points to is added to `tables`, under names with `place`.
std::string HeaderTables::step(const PackagedCall& call, const PlannedStep& step,
                               std::size_t kernel_number, const std::string& place,
                               std::string& tables) const {
  const auto bytes = [&](const std::string& name) {
    const problem::Tensor& tensor = call.tensors.at(index_of(call.tensors, name));
    return static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type);
  };
  constexpr const char* kNoKernel = "0, {}, {}, {}, 0, false, false, nullptr, 0, nullptr, 0";
  if (const auto* fill = std::get_if<PlannedFill>(&step))
    return fmt::format("    {{Step::set, {}, 0, {}, {}, {}}},\n",
                       index_of(names_.tensors, fill->tensor), bytes(fill->tensor), fill->value,
                       kNoKernel);
  if (const auto* copy = std::get_if<PlannedCopy>(&step))
    return fmt::format("    {{Step::copy, {}, {}, {}, 0, {}}},\n",
                       index_of(names_.tensors, copy->to), index_of(names_.tensors, copy->from),
                       bytes(copy->from), kNoKernel);
  const auto& kernel = std::get<PlannedKernel>(step);
  std::string arguments, maps;
  std::size_t map_count = 0;
  for (const std::string& name : kernel.arguments) {
    arguments += argument(call, kernel, name);
    if (!is_map(kernel, name)) continue;
    maps += map(call, *std::ranges::find(kernel.maps, name, &MappedTensor::argument));
    ++map_count;
  }
  tables +=
      table("Argument", "arguments_" + place, arguments) + table("Map", "maps_" + place, maps);
  const auto pointer = [&](const char* name, const std::string& rows) {
    return rows.empty() ? "nullptr" : name + place;
  };
  // The module is told of the most that a launch may ask for.
  std::int64_t shared = kernel.config.dynamic_shared_bytes;
  if (call.any_size && call.any_size->kernels.at(kernel_number).shared.value() == nullptr)
    shared = most_shared(call, package_.kernels[call.kernel].image.entry(kernel.entry));
  return fmt::format(
      "    {{Step::kernel, 0, 0, 0, 0, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n",
      kernel.entry, sizes_text(kernel.config.grid), sizes_text(kernel.config.block),
      sizes_text(kernel.config.cluster), shared, kernel.config.cooperative,
      kernel.config.programmatic, pointer("arguments_", arguments), kernel.arguments.size(),
      pointer("maps_", maps), map_count);
}

std::string HeaderTables::call_tables(std::size_t at) const {
  const PackagedCall& call = package_.calls[at];
  std::string tables, steps, constants;
  std::size_t kernel_number = 0;
  for (const PlannedStep& each : steps_of(call)) {
    const auto number = std::ranges::count(steps, '\n');
    steps += step(call, each, kernel_number, fmt::format("{}_{}", at, number), tables);
    kernel_number += std::holds_alternative<PlannedKernel>(each) ? 1 : 0;
  }
  const std::vector<problem::Tensor> tensors = tensors_in_order(call);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const problem::Tensor& tensor = tensors[i];
    if (tensor.constant)
      constants += fmt::format("    {{{}, {}, {}}},\n", cxx_literal(tensor.name), i,
                               static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type));
  }
  std::vector<std::size_t> bytes;
  for (const problem::Tensor& tensor : tensors)
    bytes.push_back(static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type));
  tables += fmt::format("inline constexpr std::size_t bytes_{}[] = {{{}}};\n", at,
                        fmt::join(bytes, ", "));
  return tables + table("Step", fmt::format("steps_{}", at), steps) +
         table("Constant", fmt::format("constants_{}", at), constants) +
         (call.any_size ? header_formulas(call, package_.kernels[call.kernel].image, at, names_)
                        : "");
}

std::string HeaderTables::calls() const {
  std::string tables, rows;
  std::size_t most_maps = 1, most_arguments = 1, most_steps = 1, most_values = 1;
  for (std::size_t at = 0; at < package_.calls.size(); ++at) {
    const PackagedCall& call = package_.calls[at];
    tables += call_tables(at);
    std::vector<std::string> sizes;
    for (const std::string& name : names_.sizes) sizes.push_back(size_value(call, name));
    const std::vector<PlannedStep> steps = steps_of(call);
    for (const PlannedStep& each : steps) {
      const auto* kernel = std::get_if<PlannedKernel>(&each);
      if (kernel == nullptr) continue;
      most_arguments = std::max(most_arguments, kernel->arguments.size());
      most_maps = std::max(most_maps, kernel->maps.size());
    }
    most_steps = std::max(most_steps, steps.size());
    if (call.any_size) most_values = std::max(most_values, call.any_size->scalars.size());
    const auto constants = std::ranges::count_if(names_.tensors, &problem::Tensor::constant);
    const Capability capability = capability_of(package_.kernels[call.kernel].image.arch);
    const auto place = [at](const char* name, bool there) {
      return there ? fmt::format("{}_{}", name, at) : std::string("nullptr");
    };
    rows += fmt::format(
        "    {{{}, {}, {}, {}, {},\n     {{{}}}, steps_{}, {}, {}, {}, bytes_{}, {}}},\n",
        call.kernel, call.choice ? std::to_string(*call.choice) : "-1", capability.major,
        capability.minor, cxx_literal(call.device), fmt::join(sizes, ", "), at, steps.size(),
        place("constants", constants > 0), constants, at,
        place("compute", call.any_size.has_value()));
  }
  return fmt::format(
             "constexpr std::size_t most_maps = {}, most_arguments = {}, most_steps = {};\n"
             "constexpr std::size_t most_tensors = {}, most_values = {};\n",
             most_maps, most_arguments, most_steps, names_.tensors.size(), most_values) +
         std::string(cxx_launch_part()) + "\n" + code() + tables +
         "inline constexpr Call calls[] = {\n" + rows + "};\n";
}

}  // namespace fa_tune::exports
