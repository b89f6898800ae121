#include "engine/export/torch_formulas.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/export/text.hpp"
#include "engine/util/error.hpp"

namespace fa_tune::exports {
namespace {

using expression::Language;
using expression::Residue;
using Json = nlohmann::ordered_json;

std::string python_string(const std::string& text) {
  return literal(Json(comment_text(text)), Notation::json);
}

std::string python_formula(const Residue& residue) {
  return residue.text(Language::python,
                      [](const std::string& name) { return "s[" + python_string(name) + "]"; });
}

std::string list(const std::vector<Residue>& all) {
  std::vector<std::string> texts;
  for (const Residue& each : all) texts.push_back(python_formula(each));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

// Where PyTorch sees a size: a dimension of a tensor that is given.
std::string place_of(const std::string& size, const PackagedCall& call) {
  for (const problem::Tensor& tensor : call.tensors) {
    if (!problem::is_given(tensor.role)) continue;
    const std::vector<Residue>& dims = call.any_size->dims.at(tensor.name);
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (dims[i].text(Language::native) == size)
        return fmt::format("({}, {})", python_string(tensor.name), i);
  }
  throw UserError("the size " + size +
                  " is no dimension of a tensor that is given, so that a module cannot tell it: "
                  "export it --as header");
}

class TorchFormulas {
 public:
  explicit TorchFormulas(const PackagedCall& call) : call_(call), any_(*call.any_size) {}

  std::string text(std::size_t at) {
    for (const Residue& each : any_.required)
      require(python_formula(each), each.text(Language::native) + " must hold");
    for (const kernel::KernelFormulas& kernel : any_.kernels) add_kernel(kernel);
    std::string dims, scalars;
    for (const problem::Tensor& tensor : call_.tensors) {
      std::vector<Residue> sizes = any_.dims.at(tensor.name);
      for (const Residue& size : sizes) within(size, 1, INT64_MAX, "a size of " + tensor.name);
      if (tensor.complex) sizes.pop_back();
      dims += fmt::format("            {}: {},\n", python_string(tensor.name), list(sizes));
    }
    for (const auto& [name, residue] : any_.scalars) {
      const auto scalar = std::ranges::find(call_.scalars, name, &problem::Scalar::name);
      if (scalar != call_.scalars.end() && is_integer(scalar->type)) {
        const auto [least, most] = range_of(scalar->type);
        require(fmt::format("{} <= {} <= {}", integer_text(least), python_formula(residue),
                            integer_text(most)),
                fmt::format("{} is {}, which its type cannot hold", name,
                            residue.text(Language::native)));
      }
      scalars += fmt::format("            {}: {},\n", python_string(name), python_formula(residue));
    }
    std::vector<std::string> places;
    for (const std::string& size : any_.sizes)
      places.push_back(python_string(size) + ": " + place_of(size, call_));
    return fmt::format(
        "def _sized_{0}(s):\n    return {{\n        \"required\": [\n{1}        ],\n"
        "        \"kernels\": [\n{2}        ],\n"
        "        \"dims\": {{\n{3}        }},\n        \"scalars\": {{\n{4}        }},\n    "
        "}}\n\n\n"
        "_SIZED[{0}] = ({{{5}}}, _sized_{0})\n\n\n",
        at, required_, kernels_, dims, scalars, fmt::join(places, ", "));
  }

 private:
  void add_kernel(const kernel::KernelFormulas& kernel) {
    for (std::size_t i = 0; i < 3; ++i) {
      within(kernel.grid[i], 1, kMostGrid[i], fmt::format("grid.{}", kAxes[i]));
      within(kernel.block[i], 1, kMostBlock[i], fmt::format("block.{}", kAxes[i]));
      require(fmt::format("({}) % ({}) == 0", python_formula(kernel.grid[i]),
                          python_formula(kernel.cluster[i])),
              "the cluster must divide the grid");
    }
    within(kernel.block[0] * kernel.block[1] * kernel.block[2], 1, kMostThreads, "a block");
    kernels_ += fmt::format("            {{\"grid\": {}, \"block\": {}, \"shared\": {}}},\n",
                            list(kernel.grid), list(kernel.block), python_formula(kernel.shared));
  }

  void require(const std::string& condition, const std::string& otherwise) {
    required_ += fmt::format("            ({}, {}),\n", condition, python_string(otherwise));
  }

  void within(const Residue& residue, std::int64_t least, std::int64_t most,
              const std::string& what) {
    if (residue.value() == nullptr)
      require(fmt::format("{} <= {} <= {}", least, python_formula(residue), most),
              fmt::format("{} is {}, which must be {} to {}", what, residue.text(Language::native),
                          least, most));
  }

  const PackagedCall& call_;
  const AnySize& any_;
  std::string required_;
  std::string kernels_;
};

}  // namespace

std::string torch_formulas(const PackagedCall& call, std::size_t at) {
  return TorchFormulas(call).text(at);
}

}  // namespace fa_tune::exports
