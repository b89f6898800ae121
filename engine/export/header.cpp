#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"
#include "engine/problem/custom/spec.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::exports {
namespace {

// A type as CUDA's own headers have it, so that nothing need be included to name it.
struct CxxType {
  const char* name;
  const char* declaration;  // or nothing
  const char* map_type;
};

CxxType cxx_type(problem::DType type) {
  switch (type) {
    case problem::DType::f16:
      return {"__half", "struct __half;\n", "CU_TENSOR_MAP_DATA_TYPE_FLOAT16"};
    case problem::DType::bf16:
      return {"__nv_bfloat16", "struct __nv_bfloat16;\n", "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16"};
    case problem::DType::e4m3:
      return {"__nv_fp8_e4m3", "struct __nv_fp8_e4m3;\n", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case problem::DType::e5m2:
      return {"__nv_fp8_e5m2", "struct __nv_fp8_e5m2;\n", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case problem::DType::f64:
      return {"double", "", "CU_TENSOR_MAP_DATA_TYPE_FLOAT64"};
    case problem::DType::i8:
      return {"std::int8_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case problem::DType::u8:
      return {"std::uint8_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case problem::DType::boolean:
      return {"bool", "", "CU_TENSOR_MAP_DATA_TYPE_UINT8"};
    case problem::DType::i16:
      return {"std::int16_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT16"};
    case problem::DType::u16:
      return {"std::uint16_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT16"};
    case problem::DType::i32:
      return {"std::int32_t", "", "CU_TENSOR_MAP_DATA_TYPE_INT32"};
    case problem::DType::u32:
      return {"std::uint32_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT32"};
    case problem::DType::i64:
      return {"std::int64_t", "", "CU_TENSOR_MAP_DATA_TYPE_INT64"};
    case problem::DType::u64:
      return {"std::uint64_t", "", "CU_TENSOR_MAP_DATA_TYPE_UINT64"};
    case problem::DType::f32:
      break;
  }
  return {"float", "", "CU_TENSOR_MAP_DATA_TYPE_FLOAT32"};
}

CxxType cxx_type(const problem::Tensor& tensor) {
  const CxxType number = cxx_type(tensor.type);
  if (!tensor.complex) return number;
  if (tensor.type == problem::DType::f32) return {"float2", "struct float2;\n", number.map_type};
  return {"double2", "struct double2;\n", number.map_type};
}

bool is_option(const problem::Scalar& scalar) {
  return scalar.plain() &&
         (scalar.type == problem::DType::f32 || scalar.type == problem::DType::f64);
}

template <typename T>
std::size_t index_of(const std::vector<T>& all, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(all, name, &T::name) - all.begin());
}

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

class Header {
 public:
  explicit Header(const Package& package)
      : package_(package),
        tensors_(tensors_in_order(package.calls.front())),
        sizes_(names_of_sizes()) {
    for (const problem::Scalar& scalar : scalars_in_order(package.calls.front()))
      if (is_option(scalar)) options_.push_back(scalar);
    for (const PackagedCall& call : package.calls)
      for (const problem::Scalar& scalar : call.scalars)
        if (is_long(scalar)) long_values_.push_back(scalar.bytes);
  }

  std::string text() const;

 private:
  std::vector<std::string> names_of_sizes() const;
  std::string head() const;
  std::string code() const;
  std::string calls() const;
  std::string call_tables(std::size_t at) const;
  std::string step(const PackagedCall& call, const PlannedStep& step, const std::string& place,
                   std::string& tables) const;
  std::string argument(const PackagedCall& call, const PlannedKernel& kernel,
                       const std::string& name) const;
  std::string map(const PackagedCall& call, const MappedTensor& map) const;
  std::string size_value(const PackagedCall& call, const std::string& name) const;
  std::string long_value(const problem::Scalar& scalar) const;
  std::string same_sizes() const;
  std::string user_side() const;
  std::string launcher() const;
  std::string workspace_sizes() const;

  const Package& package_;
  std::vector<problem::Tensor> tensors_;
  std::vector<problem::Scalar> options_;
  std::vector<std::vector<std::byte>> long_values_;
  std::vector<std::string> sizes_;
};

// Numbers and flags of the shape. What else it has is the same for one header, whose function takes
// pointers of one type.
std::vector<std::string> Header::names_of_sizes() const {
  std::set<std::string> names;
  const PackagedCall& first = package_.calls.front();
  for (const PackagedCall& call : package_.calls) {
    for (const auto& [name, value] : call.given) {
      if (std::holds_alternative<std::int64_t>(value) || std::holds_alternative<bool>(value)) {
        names.insert(name);
      } else if (!first.given.contains(name) || first.given.at(name) != value) {
        throw UserError(fmt::format(
            "one header cannot hold kernels that differ in {}: export them into headers of their "
            "own",
            name));
      }
    }
  }
  return {names.begin(), names.end()};
}

std::string Header::size_value(const PackagedCall& call, const std::string& name) const {
  return to_text(call.shape.at(name));
}

// Where an argument's row points to for it, behind a comma.
std::string Header::long_value(const problem::Scalar& scalar) const {
  if (!is_long(scalar)) return "";
  const auto found = std::ranges::find(long_values_, scalar.bytes);
  return fmt::format(", value_{}", found - long_values_.begin());
}

std::string Header::head() const {
  std::string text = comment_lines(
      fmt::format(
          "Kernels for {}, exported by fa-tune {}: machine code, and what launches it. Needs "
          "C++17, cuda.h of CUDA 12 or newer, and the driver (link with -lcuda).",
          package_.problem, package_.version),
      "// ");
  text += "//\n";
  text += contents_lines(package_, "// ");
  text += "\n#pragma once\n\n#include <cuda.h>\n\n";
  for (const char* name : {"cstddef", "cstdint", "cstring", "map", "mutex", "optional", "utility"})
    text += fmt::format("#include <{}>\n", name);
  std::set<std::string> declared;
  for (const problem::Tensor& tensor : tensors_) declared.insert(cxx_type(tensor).declaration);
  return text + "\n" + fmt::format("{}", fmt::join(declared, ""));
}

std::string Header::code() const {
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

std::string Header::map(const PackagedCall& call, const MappedTensor& map) const {
  const auto json = map_axes(map, call.tensors);
  std::vector<std::string> dims, strides;
  for (const MapDimension& axis : json) {
    dims.push_back(std::to_string(axis.size));
    strides.push_back(std::to_string(axis.stride_bytes));
  }
  strides.erase(strides.begin());
  if (strides.empty()) strides.emplace_back("0");
  const problem::Tensor& tensor = tensors_.at(index_of(tensors_, map.tensor));
  return fmt::format("    {{{}, {}, {}, {{{}}}, {{{}}}, {{{}}}, CU_TENSOR_MAP_SWIZZLE_{}}},\n",
                     index_of(tensors_, map.tensor), cxx_type(tensor.type).map_type, dims.size(),
                     fmt::join(dims, ", "), fmt::join(strides, ", "), fmt::join(map.box, ", "),
                     map.swizzle_bytes == 0 ? "NONE" : fmt::format("{}B", map.swizzle_bytes));
}

bool is_map(const PlannedKernel& kernel, const std::string& name) {
  return std::ranges::find(kernel.maps, name, &MappedTensor::argument) != kernel.maps.end();
}

std::string Header::argument(const PackagedCall& call, const PlannedKernel& kernel,
                             const std::string& name) const {
  if (is_map(kernel, name)) {
    std::size_t place = 0;
    for (const std::string& before : kernel.arguments) {
      if (before == name) break;
      if (is_map(kernel, before)) ++place;
    }
    return fmt::format("    {{Argument::map, {}, 0}},\n", place);
  }
  if (const std::size_t tensor = index_of(tensors_, name); tensor < tensors_.size())
    return fmt::format("    {{Argument::tensor, {}, 0}},\n", tensor);
  const problem::Scalar& scalar = *std::ranges::find(call.scalars, name, &problem::Scalar::name);
  const std::size_t option = index_of(options_, name);
  const bool chosen = option < options_.size();
  return fmt::format("    {{Argument::{}, {}, {:#x}{}}},  // {} = {}\n",
                     chosen ? "option" : "scalar", chosen ? option : 0, bits_of(scalar),
                     long_value(scalar), name, scalar_json(scalar).dump());
}

std::string table(const char* type, const std::string& name, const std::string& rows) {
  return rows.empty() ? ""
                      : fmt::format("inline constexpr {} {}[] = {{\n{}}};\n", type, name, rows);
}

// A row of a call's steps; what the row points to is added to `tables`, under names with `place`.
std::string Header::step(const PackagedCall& call, const PlannedStep& step,
                         const std::string& place, std::string& tables) const {
  const auto bytes = [&](const std::string& name) {
    const problem::Tensor& tensor = call.tensors.at(index_of(call.tensors, name));
    return static_cast<std::size_t>(tensor.elements()) * size_of(tensor.type);
  };
  constexpr const char* kNoKernel = "0, {}, {}, {}, 0, false, nullptr, 0, nullptr, 0";
  if (const auto* fill = std::get_if<PlannedFill>(&step))
    return fmt::format("    {{Step::set, {}, 0, {}, {}, {}}},\n", index_of(tensors_, fill->tensor),
                       bytes(fill->tensor), fill->value, kNoKernel);
  if (const auto* copy = std::get_if<PlannedCopy>(&step))
    return fmt::format("    {{Step::copy, {}, {}, {}, 0, {}}},\n", index_of(tensors_, copy->to),
                       index_of(tensors_, copy->from), bytes(copy->from), kNoKernel);
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
  return fmt::format("    {{Step::kernel, 0, 0, 0, 0, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n",
                     kernel.entry, sizes_text(kernel.config.grid), sizes_text(kernel.config.block),
                     sizes_text(kernel.config.cluster), kernel.config.dynamic_shared_bytes,
                     kernel.config.cooperative, pointer("arguments_", arguments),
                     kernel.arguments.size(), pointer("maps_", maps), map_count);
}

std::string Header::call_tables(std::size_t at) const {
  const PackagedCall& call = package_.calls[at];
  std::string tables, steps, constants;
  for (const PlannedStep& each : steps_of(call)) {
    const auto number = std::ranges::count(steps, '\n');
    steps += step(call, each, fmt::format("{}_{}", at, number), tables);
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
         table("Constant", fmt::format("constants_{}", at), constants);
}

std::string Header::calls() const {
  std::string tables, rows;
  std::size_t most_maps = 1, most_arguments = 1, most_steps = 1;
  for (std::size_t at = 0; at < package_.calls.size(); ++at) {
    const PackagedCall& call = package_.calls[at];
    tables += call_tables(at);
    std::vector<std::string> sizes;
    for (const std::string& name : sizes_) sizes.push_back(size_value(call, name));
    const std::vector<PlannedStep> steps = steps_of(call);
    for (const PlannedStep& each : steps) {
      const auto* kernel = std::get_if<PlannedKernel>(&each);
      if (kernel == nullptr) continue;
      most_arguments = std::max(most_arguments, kernel->arguments.size());
      most_maps = std::max(most_maps, kernel->maps.size());
    }
    most_steps = std::max(most_steps, steps.size());
    const auto constants = std::ranges::count_if(tensors_, &problem::Tensor::constant);
    const Capability capability = capability_of(package_.kernels[call.kernel].image.arch);
    const auto place = [at](const char* name, bool there) {
      return there ? fmt::format("{}_{}", name, at) : std::string("nullptr");
    };
    rows += fmt::format("    {{{}, {}, {}, {},\n     {{{}}}, steps_{}, {}, {}, {}, bytes_{}}},\n",
                        call.kernel, capability.major, capability.minor, cxx_literal(call.device),
                        fmt::join(sizes, ", "), at, steps.size(), place("constants", constants > 0),
                        constants, at);
  }
  return fmt::format(
             "constexpr std::size_t most_maps = {}, most_arguments = {}, most_steps = {};\n",
             most_maps, most_arguments, most_steps) +
         std::string(cxx_launch_part()) + "\n" + code() + tables +
         "inline constexpr Call calls[] = {\n" + rows + "};\n";
}

std::string Header::same_sizes() const {
  std::vector<std::string> tests;
  for (const std::string& name : sizes_) tests.push_back(fmt::format("a.{0} == b.{0}", name));
  return fmt::format("inline bool same(const Sizes& a, const Sizes& b) {{\n  return {};\n}}\n\n",
                     fmt::join(tests, " && "));
}

std::string Header::user_side() const {
  const PackagedCall& first = package_.calls.front();
  std::string text = "// Which of the kernels: at first those of the first.\nstruct Sizes {\n";
  for (const std::string& name : sizes_)
    text +=
        fmt::format("  {} {} = {};\n",
                    std::holds_alternative<bool>(first.shape.at(name)) ? "bool" : "std::int64_t",
                    name, size_value(first, name));
  text +=
      "};\n\n// What is not set is as it was when the kernel was tuned; the gate knows no other "
      "values.\nstruct Options {\n";
  for (const problem::Scalar& scalar : options_)
    text += fmt::format("  std::optional<{}> {} = std::nullopt;\n", cxx_type(scalar.type).name,
                        scalar.name);
  return text + "};\n\n";
}

std::string Header::launcher() const {
  std::vector<std::string> parameters, addresses, options;
  std::string notes;
  for (const problem::Tensor& tensor : tensors_) {
    const bool read = tensor.role == problem::Role::input;
    parameters.push_back(
        fmt::format("{}{}* {}", read ? "const " : "", cxx_type(tensor).name, tensor.name));
    addresses.push_back(fmt::format("reinterpret_cast<CUdeviceptr>({})", tensor.name));
    const char* const use = read                                      ? ""
                            : tensor.role == problem::Role::workspace ? ", to work in"
                            : tensor.role == problem::Role::inout     ? ", written over"
                                                                      : ", written";
    notes += comment_lines(
        fmt::format("  {} [{}]{}", tensor.name, fmt::join(tensor.dims, ", "), use), "// ");
  }
  for (const problem::Scalar& scalar : options_)
    options.push_back(fmt::format("detail::bits_of(options.{})", scalar.name));
  if (options.empty()) options.emplace_back("std::nullopt");
  return "// Starts the kernel that was tuned for these sizes on a device like the current "
         "context's.\n"
         "// Tensors lie in its memory, row-major, at multiples of 16 bytes; of the first "
         "sizes:\n" +
         notes +
         "// CUDA_ERROR_NOT_FOUND: there is none for these sizes on this device, and nothing was "
         "done.\n" +
         fmt::format(
             "inline CUresult launch(const Sizes& sizes, {},\n"
             "                       CUstream stream = nullptr, const Options& options = {{}}) {{\n"
             "  const CUdeviceptr tensors[] = {{{}}};\n"
             "  const detail::Chosen chosen[] = {{{}}};\n"
             "  static_cast<void>(options);\n"
             "  return detail::launch(detail::kernels, detail::calls, {}, sizes, tensors, {}, "
             "chosen, stream);\n}}\n",
             fmt::join(parameters, ", "), fmt::join(addresses, ", "), fmt::join(options, ", "),
             package_.calls.size(), tensors_.size());
}

// What to work in may be larger for other sizes, and is another for other kernels.
std::string Header::workspace_sizes() const {
  std::string text;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    if (tensors_[i].role == problem::Role::workspace)
      text += fmt::format(
          "\n// The bytes that {0} must have for these sizes on the current context's device; 0 "
          "where no\n// kernel is for them.\n"
          "inline std::size_t bytes_of_{0}(const Sizes& sizes) {{\n"
          "  return detail::bytes_of(detail::calls, {1}, sizes, {2});\n}}\n",
          tensors_[i].name, package_.calls.size(), i);
  return text;
}

std::string Header::text() const {
  return head() + "\nnamespace " + package_.name + " {\n\n" + user_side() +
         "namespace detail {\n\n" + same_sizes() + calls() + "\n}  // namespace detail\n\n" +
         launcher() + workspace_sizes() + "\n}  // namespace " + package_.name + "\n";
}

}  // namespace

std::string cxx_header(const Package& package) {
  check_one_signature(package);
  return Header(package).text();
}

}  // namespace fa_tune::exports
