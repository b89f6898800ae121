#include "engine/gate/arguments.hpp"

#include <algorithm>
#include <tuple>

#include "engine/base/error.hpp"

namespace fa_tune {
namespace {

std::string known_names(const Instance& instance) {
  std::string known;
  for (const Tensor& tensor : instance.tensors) known += (known.empty() ? "" : ", ") + tensor.name;
  for (const Scalar& scalar : instance.scalars) known += (known.empty() ? "" : ", ") + scalar.name;
  return known;
}

}  // namespace

std::vector<Argument> make_arguments(const std::vector<std::string>& names,
                                     const Instance& instance,
                                     const std::function<Argument(std::size_t)>& buffer) {
  std::vector<Argument> arguments;
  for (const std::string& name : names) {
    const auto is_named = [&](const auto& each) { return each.name == name; };
    const auto& [tensors, scalars] = std::tie(instance.tensors, instance.scalars);
    const auto tensor = std::find_if(tensors.begin(), tensors.end(), is_named);
    const auto scalar = std::find_if(scalars.begin(), scalars.end(), is_named);
    if (tensor != tensors.end())
      arguments.push_back(buffer(static_cast<std::size_t>(tensor - tensors.begin())));
    else if (scalar != scalars.end())
      arguments.emplace_back(scalar->bytes);
    else
      throw UserError("argument '" + name +
                      "' of the kernel is unknown to its problem: the manifest " + "may name " +
                      known_names(instance));
  }
  return arguments;
}

}  // namespace fa_tune
