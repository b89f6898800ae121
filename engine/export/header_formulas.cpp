#include "engine/export/header_formulas.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/header_types.hpp"
#include "engine/export/package_json.hpp"
#include "engine/export/text.hpp"

namespace fa_tune::exports {
namespace {

using expression::Language;
using expression::Residue;

// Of cuTensorMapEncodeTiled: elements of a dimension, bytes between them.
constexpr std::int64_t kMostMapped = std::int64_t{1} << 32;
constexpr std::int64_t kMostStride = (std::int64_t{1} << 40) - 1;

std::string formula(const Residue& residue) {
  return residue.text(Language::cxx, [](const std::string& name) { return "of." + name; });
}

std::string literal_of(std::int64_t number) {
  return number == INT64_MIN ? "INT64_MIN" : std::to_string(number);
}

// What is wrong where it does not hold, as a literal.
std::string told(const std::string& what) { return cxx_literal(comment_text(what)); }

class Formulas {
 public:
  Formulas(const PackagedCall& call, const KernelImage& image, const HeaderNames& names)
      : call_(call), any_(*call.any_size), image_(image), names_(names) {}

  std::string text(std::size_t at) {
    for (const std::string& name : names_.sizes) add_size(name);
    for (const Residue& each : any_.required)
      require(formula(each), each.text(Language::native) + " must hold");
    for (std::size_t i = 0; i < names_.tensors.size(); ++i) add_tensor(i);
    std::size_t value = 0;
    for (const auto& [name, residue] : any_.scalars) add_scalar(name, residue, value++);
    std::size_t step = 0, kernel = 0;
    for (const PlannedStep& each : steps_of(call_)) {
      if (const auto* planned = std::get_if<PlannedKernel>(&each))
        add_kernel(*planned, any_.kernels.at(kernel++), step);
      else
        add_move(each, step);
      ++step;
    }
    std::vector<std::string> given;
    for (const std::string& name : names_.sizes) given.push_back("sizes." + name);
    return fmt::format(
        "inline const char* compute_{}(const Sizes& sizes, Sized& at) {{\n"
        "  const struct {{\n    Number {};\n  }} of = {{{}}};\n  Computed all;\n{}"
        "  return all.refusal;\n}}\n",
        at, fmt::join(names_.sizes, ", "), fmt::join(given, ", "), body_);
  }

 private:
  // Free, or as it follows from those, or as it was tuned.
  void add_size(const std::string& name) {
    const auto equals = [&](const std::string& formula, const std::string& native) {
      require(fmt::format("of.{} == {}", name, formula), name + " must be " + native);
    };
    if (std::ranges::find(any_.sizes, name) != any_.sizes.end())
      require(fmt::format("of.{} >= 1", name), name + " must be above 0");
    else if (const auto found = any_.follows.find(name); found != any_.follows.end())
      equals(formula(found->second), found->second.text(Language::native));
    else
      equals(to_text(call_.shape.at(name)), to_text(call_.shape.at(name)));
  }

  void require(const std::string& condition, const std::string& otherwise) {
    body_ += fmt::format("  all.require({},\n              {});\n", condition, told(otherwise));
  }

  void assign(const std::string& place, const std::string& cast, const Residue& residue,
              std::int64_t least, std::int64_t most, const std::string& what) {
    const std::string native = residue.text(Language::native);
    const std::string otherwise =
        most == INT64_MAX
            ? fmt::format("{} = {} is beyond 64 bits", what, native)
            : fmt::format("{} is {}, which must be {} to {}", what, native, least, most);
    body_ +=
        fmt::format("  at.{} = {}(\n      all.within({}, {}, {},\n                 {}));\n", place,
                    cast, formula(residue), literal_of(least), literal_of(most), told(otherwise));
  }

  Residue bytes_of(const std::string& tensor) const {
    const problem::Tensor& known = call_.tensors.at(index_of(call_.tensors, tensor));
    Residue product = Residue::of(static_cast<std::int64_t>(size_of(known.type)));
    for (const Residue& dim : any_.dims.at(tensor)) product = product * dim;
    return product;
  }

  void add_tensor(std::size_t i) {
    const std::string& name = names_.tensors[i].name;
    for (const Residue& dim : any_.dims.at(name))
      if (!dim.names().empty() && dim.text(Language::native) != *dim.names().begin())
        require(formula(dim) + " >= 1", fmt::format("a size of {} is {}, which must be above 0",
                                                    name, dim.text(Language::native)));
    const Residue bytes = bytes_of(name);
    if (bytes.names().empty()) return;
    assign(fmt::format("bytes[{}]", i), "static_cast<std::size_t>", bytes, 1, INT64_MAX,
           "the bytes of " + name);
  }

  void add_scalar(const std::string& name, const Residue& residue, std::size_t at) {
    const problem::Scalar& scalar = call_.scalars.at(index_of(call_.scalars, name));
    std::int64_t least = INT64_MIN, most = INT64_MAX;
    if (is_integer(scalar.type)) {
      const auto [lowest, highest] = range_of(scalar.type);
      least = static_cast<std::int64_t>(std::max<Wide>(lowest, INT64_MIN));
      most = static_cast<std::int64_t>(std::min<Wide>(highest, INT64_MAX));
    }
    assign(fmt::format("values[{}]", at), fmt::format("bits_of<{}>", cxx_type(scalar.type).name),
           residue, least, most, name);
  }

  void add_axes(const std::vector<Residue>& axes, const std::int64_t (&limits)[3],
                const std::string& field, const std::string& kernel, std::size_t step) {
    for (std::size_t i = 0; i < 3; ++i)
      if (axes[i].value() == nullptr)
        assign(fmt::format("steps[{}].{}[{}]", step, field, i), "static_cast<unsigned>", axes[i], 1,
               limits[i], fmt::format("{}.{} of {}", field, kAxes[i], kernel));
  }

  void add_kernel(const PlannedKernel& planned, const kernel::KernelFormulas& kernel,
                  std::size_t step) {
    const KernelEntry entry = image_.entry(planned.entry);
    const std::string of = " of " + plain_name(entry.kernel);
    add_axes(kernel.grid, kMostGrid, "grid", plain_name(entry.kernel), step);
    add_axes(kernel.block, kMostBlock, "block", plain_name(entry.kernel), step);
    const auto rests = [](const Residue& each) { return each.value() == nullptr; };
    if (std::ranges::any_of(kernel.block, rests))
      require(formula(kernel.block[0] * kernel.block[1] * kernel.block[2]) +
                  fmt::format(" <= {}", kMostThreads),
              fmt::format("a block{} has at most {} threads", of, kMostThreads));
    for (std::size_t i = 0; i < 3; ++i)
      if (rests(kernel.grid[i]) && kernel.cluster[i].value() != nullptr &&
          *kernel.cluster[i].value() != Value(std::int64_t{1}))
        require(fmt::format("({}) % {} == 0", formula(kernel.grid[i]), formula(kernel.cluster[i])),
                "the cluster must divide the grid" + of);
    for (std::size_t i = 0; i < planned.maps.size(); ++i) add_map(planned, i, step);
    if (rests(kernel.shared))
      assign(fmt::format("steps[{}].shared", step), "static_cast<unsigned>", kernel.shared, 0,
             most_shared(call_, entry), "dynamic shared memory" + of);
  }

  // Maps stand in the order in which the kernel takes them.
  void add_map(const PlannedKernel& planned, std::size_t number, std::size_t step) {
    const MappedTensor& map = planned.maps[number];
    std::size_t place = 0;
    for (const std::string& name : planned.arguments) {
      if (name == map.argument) break;
      if (std::ranges::find(planned.maps, name, &MappedTensor::argument) != planned.maps.end())
        ++place;
    }
    const problem::Tensor& tensor = call_.tensors.at(index_of(call_.tensors, map.tensor));
    const std::vector<Residue>& dims = any_.dims.at(map.tensor);
    const std::vector<MapDimension> axes = map_axes(map, call_.tensors);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const MapDimension& axis = axes[i];
      const std::string at = fmt::format("maps[{}][{}].", step, place);
      const Residue& whole = dims[axis.of_tensor];
      if (axis.modulo == 0 && whole.value() == nullptr)
        assign(fmt::format("{}dims[{}]", at, i), "static_cast<cuuint64_t>", whole / axis.divisor, 1,
               kMostMapped, fmt::format("a size of the map of {}", map.tensor));
      Residue stride = Residue::of(axis.divisor * static_cast<std::int64_t>(size_of(tensor.type)));
      for (std::size_t inner = axis.of_tensor + 1; inner < dims.size(); ++inner)
        stride = stride * dims[inner];
      if (i > 0 && !stride.names().empty())
        assign(fmt::format("{}strides[{}]", at, i - 1), "static_cast<cuuint64_t>", stride, 1,
               kMostStride, fmt::format("a stride of the map of {}", map.tensor));
    }
  }

  void add_move(const PlannedStep& each, std::size_t step) {
    const auto* fill = std::get_if<PlannedFill>(&each);
    const auto* copy = std::get_if<PlannedCopy>(&each);
    const std::string& from = fill != nullptr ? fill->tensor : copy->from;
    if (!bytes_of(from).names().empty())
      body_ += fmt::format("  at.steps[{}].bytes = at.bytes[{}];\n", step,
                           index_of(names_.tensors, from));
    if (copy != nullptr &&
        bytes_of(from).text(Language::native) != bytes_of(copy->to).text(Language::native))
      require(formula(Residue::equal(bytes_of(from), bytes_of(copy->to))),
              fmt::format("{} and {} must have as many bytes", from, copy->to));
  }

  const PackagedCall& call_;
  const AnySize& any_;
  const KernelImage& image_;
  const HeaderNames& names_;
  std::string body_;
};

}  // namespace

std::string header_formulas(const PackagedCall& call, const KernelImage& image, std::size_t at,
                            const HeaderNames& names) {
  return Formulas(call, image, names).text(at);
}

}  // namespace fa_tune::exports
