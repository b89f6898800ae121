#include "engine/export/any_size.hpp"

#include "engine/util/error.hpp"

namespace fa_tune::exports {
namespace {

using Json = nlohmann::ordered_json;
using expression::Residue;

Json texts(const std::vector<Residue>& all) {
  auto list = Json::array();
  for (const Residue& each : all) list.push_back(each.text(expression::Language::native));
  return list;
}

expression::Expression::Scope scope_of(const Constants& sizes) {
  return [&sizes](const std::string& name) {
    const auto found = sizes.find(name);
    return found == sizes.end() ? nullptr : &found->second;
  };
}

}  // namespace

nlohmann::ordered_json any_size_json(const AnySize& any) {
  Json json{{"sizes", any.sizes},
            {"kernels", Json::array()},
            {"dims", Json::object()},
            {"scalars", Json::object()}};
  for (const kernel::KernelFormulas& kernel : any.kernels)
    json["kernels"].push_back({{"grid", texts(kernel.grid)},
                               {"block", texts(kernel.block)},
                               {"cluster", texts(kernel.cluster)},
                               {"shared", kernel.shared.text(expression::Language::native)}});
  for (const auto& [name, dims] : any.dims) json["dims"][name] = texts(dims);
  for (const auto& [name, value] : any.scalars)
    json["scalars"][name] = value.text(expression::Language::native);
  json["required"] = texts(any.required);
  json["gated"] = any.gated;
  return json;
}

Constants with_sizes(const AnySize& any, Constants shape, const Constants& sizes) {
  for (const auto& [name, value] : sizes) shape.insert_or_assign(name, value);
  for (const auto& [name, residue] : any.follows)
    if (const auto found = shape.find(name); found != shape.end())
      found->second = expression::Expression::parse(residue.text(expression::Language::native))
                          .evaluate(scope_of(sizes));
  return shape;
}

std::string refusal_at(const AnySize& any, const Constants& sizes) {
  for (const Residue& each : any.required) {
    std::string text = each.text(expression::Language::native);
    try {
      if (!expression::Expression::parse(text).evaluate_bool(scope_of(sizes))) return text;
    } catch (const UserError& error) {
      return text + ": " + error.what();
    }
  }
  return "";
}

}  // namespace fa_tune::exports
