#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "engine/kernel/template/template.hpp"
#include "engine/kernel/template/template_form.hpp"
#include "engine/model/kernel_image.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::kernel {

std::vector<Template::Argument> Template::read_arguments(const YamlNode& node) {
  std::vector<Argument> result;
  for (const YamlNode& item : node.items("arguments")) {
    Argument argument;
    argument.mark = item.mark();
    if (item.is_map()) {
      item.check_keys("an argument", form::kConditional);
      argument.name = item.at("name").name("name");
      const YamlNode& when = item.at("when");
      argument.when = expression::Expression::parse(when.text("when"), when.text_mark());
    } else {
      argument.name = item.name("arguments");
    }
    if (std::ranges::find(result, argument.name, &Argument::name) != result.end())
      item.fail(fmt::format("arguments: '{}' is there twice", argument.name));
    result.push_back(std::move(argument));
  }
  return result;
}

// "H", "H % problem.group" or "H / problem.group".
Template::Axis Template::read_axis(const YamlNode& node) {
  const std::string& text = node.text("axes");
  const std::size_t part = text.find_first_not_of(' ', 1);
  if (text.empty() || std::isupper(static_cast<unsigned char>(text[0])) == 0 ||
      (part != std::string::npos && text[part] != '%' && text[part] != '/'))
    node.expected("axes", "a letter of the tensor's axes, alone or with % or / and a number");
  Axis axis{text[0], 0, {}};
  if (part == std::string::npos) return axis;
  axis.part = text[part];
  axis.by.push_back(expression::Expression::parse(text.substr(part + 1), node.text_mark()));
  return axis;
}

std::vector<Template::Map> Template::read_maps(const YamlNode& node,
                                               const std::vector<Argument>& arguments) {
  constexpr std::array<std::int64_t, 4> kSwizzles = {0, 32, 64, 128};
  std::vector<Map> result;
  for (const YamlEntry& entry : node.entries("maps")) {
    if (std::ranges::find(arguments, entry.key, &Argument::name) == arguments.end())
      entry.value.fail(fmt::format("maps: '{}' is none of the kernel's arguments", entry.key));
    entry.value.check_keys("a map", form::kMap);
    Map map{entry.key, entry.value.at("tensor").name("tensor"), {}, {},
            0,         entry.value.at("tensor").mark()};
    for (const YamlNode& size : entry.value.at("box").items("box"))
      map.box.push_back(expression::Expression::parse(size.text("box"), size.text_mark()));
    if (const YamlNode* axes = entry.value.find("axes"))
      for (const YamlNode& axis : axes->items("axes")) map.axes.push_back(read_axis(axis));
    if (!map.axes.empty() && map.axes.size() != map.box.size())
      entry.value.fail(fmt::format("maps: '{}' has {} axes and a box of {} sizes", entry.key,
                                   map.axes.size(), map.box.size()));
    if (const YamlNode* swizzle = entry.value.find("swizzle")) {
      map.swizzle_bytes = swizzle->integer("swizzle");
      if (std::ranges::find(kSwizzles, map.swizzle_bytes) == kSwizzles.end())
        swizzle->expected("swizzle", "0, 32, 64 or 128 bytes");
    }
    result.push_back(std::move(map));
  }
  return result;
}

std::optional<std::string> Template::arch_on(const std::string& device_arch) const {
  if (arch_.empty()) return device_arch;
  // "sm_90a" is for compute capability 9.0 alone, a plain "sm_80" for it and what follows.
  const bool bound = std::isdigit(static_cast<unsigned char>(arch_.back())) == 0;
  if (bound) {
    if (arch_.substr(0, arch_.size() - 1) == device_arch) return arch_;
  } else if (arch_number(device_arch) >= arch_number(arch_)) {
    return device_arch;
  }
  return std::nullopt;
}

}  // namespace fa_tune::kernel
