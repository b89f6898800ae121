#include "engine/community/t1/t1_space.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/community/t1/t1_file.hpp"
#include "engine/expression/python_expression.hpp"
#include "engine/source/identifier_substitution.hpp"
#include "engine/source/include_flattening.hpp"
#include "engine/space/space_files.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::community {
namespace {

constexpr std::array kAxes = {"x", "y", "z"};
constexpr std::array kUpper = {"X", "Y", "Z"};
constexpr const char* kReferenceFile = "reference.cu";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

class T1Space {
 public:
  T1Space(const std::string& text, const std::filesystem::path& path, T1Use use)
      : root_(YamlNode::parse(text, path)),
        kernel_(root_.at("KernelSpecification")),
        file_(parse_t1(text, path)),
        use_(std::move(use)) {}

  std::string text() {
    if (const YamlNode* language = t1_given(kernel_, "Language"))
      if (language->text("Language") != "CUDA")
        language->expected("Language", "CUDA: other languages are not compiled here");
    read_sizes();
    std::string name = file_.benchmark.empty() ? file_.path.stem().string() : file_.benchmark;
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
    std::string made = fmt::format("space: {}\ntarget: {}\n", name, use_.target);
    made += problem() + templates() + parameters() + constraints() + presets();
    // The reference is named on the command line, so it may lie anywhere.
    return made + fmt::format("files:\n{}{}", space::carried(kReferenceFile, reference_text()),
                              space::carried(file_.kernel_file, kernel_text()));
  }

 private:
  const space::Parameter* parameter(const std::string& name) const {
    const auto found = std::ranges::find(file_.parts.parameters, name, &space::Parameter::name);
    return found == file_.parts.parameters.end() ? nullptr : &*found;
  }

  void read_sizes() {
    const YamlNode* node = t1_given(kernel_, "ProblemSize");
    if (node == nullptr) return;
    const auto add = [this](const YamlNode& size) {
      const auto values =
          expression::parse_python_values(size.text("ProblemSize"), size.text_mark());
      const auto* whole = values.size() == 1 ? std::get_if<std::int64_t>(&values[0]) : nullptr;
      if (whole == nullptr || *whole < 1) size.expected("ProblemSize", "a number above 0");
      sizes_.push_back(*whole);
    };
    if (!node->is_list()) return add(*node);
    for (const YamlNode& size : node->items("ProblemSize")) add(size);
    if (sizes_.empty() || sizes_.size() > 3) node->expected("ProblemSize", "one to three numbers");
  }

  // An expression of the file as one of ours, of sizes and, where there may be any, parameters.
  std::string expression(const YamlNode& node, std::string_view what, const std::string& scope,
                         bool of_parameters) const {
    std::string text = node.text(what);
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      text = replaced(std::move(text), fmt::format("ProblemSize[{}]", i),
                      scope + "problem_size_" + kAxes[i]);
    for (auto found = source::next_extreme(text, 0); found;
         found = source::next_extreme(text, found->begin)) {
      const space::Parameter* of = parameter(found->name);
      if (of == nullptr) node.fail(fmt::format("{}: '{}' is no parameter", what, found->name));
      std::vector<std::int64_t> values;
      for (const Value& value : of->values)
        if (const auto* whole = std::get_if<std::int64_t>(&value)) values.push_back(*whole);
      if (values.empty()) node.fail(fmt::format("{}: '{}' has no integers", what, of->name));
      const auto [least, most] = std::ranges::minmax(values);
      text.replace(found->begin, found->end - found->begin,
                   std::to_string(found->most ? most : least));
    }
    if (!of_parameters)
      source::with_words(text, [&](const std::string& word) {
        if (parameter(word) != nullptr)
          node.fail(
              fmt::format("{}: '{}' is a parameter, and what a kernel is given must not "
                          "depend on its config",
                          what, word));
        return word;
      });
    return text;
  }

  std::string argument(const YamlNode& node) const {
    const std::string name = node.at("Name").name("Name");
    const std::string type = t1_type(node.at("Type"));
    const YamlNode* value = t1_given(node, "FillValue");
    const std::string memory = node.at("MemoryType").text("MemoryType");
    if (memory == "Scalar") {
      if (value == nullptr) node.fail("'" + name + "' is a Scalar: it needs a FillValue");
      return fmt::format("    - {{name: {}, type: {}, value: {}}}\n", name, type,
                         t1_number(*value, type));
    }
    if (memory != "Vector") node.at("MemoryType").expected("MemoryType", "Vector or Scalar");
    const YamlNode* kind = t1_given(node, "MemType");
    const bool constant = kind != nullptr && kind->text("MemType") == "Constant";
    const YamlNode* access = t1_given(node, "AccessType");
    const std::string how = access == nullptr ? "ReadWrite" : access->text("AccessType");
    const std::string role = how == "ReadOnly" ? "input" : how == "WriteOnly" ? "output" : "inout";
    if (role == "inout" && how != "ReadWrite")
      access->expected("AccessType", "ReadOnly, WriteOnly or ReadWrite");
    return fmt::format("    - {{name: {}, type: {}, shape: [{}], role: {}{}{}}}\n", name, type,
                       to_json(Value(expression(node.at("Size"), "Size", "", false))), role,
                       role == "output" ? "" : ", fill: " + t1_fill(node, type),
                       constant ? ", constant: true" : "");
  }

  std::string problem() const {
    std::string made = "problem:\n  kind: custom\n  sizes: {";
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      made += fmt::format("{}problem_size_{}: {}", i == 0 ? "" : ", ", kAxes[i], sizes_[i]);
    if (sizes_.empty()) made += "problem_size_x: 1";
    made += "}\n  arguments:\n";
    for (const YamlNode& node : kernel_.at("Arguments").items("Arguments")) made += argument(node);
    std::vector<std::string> grid, block;
    for (std::size_t i = 0; i < dimensions(); ++i) {
      block.push_back(std::to_string(reference_block(i)));
      grid.push_back(
          fmt::format("\"ceil_div(problem.problem_size_{}, {})\"", kAxes[i], block.back()));
    }
    return made + fmt::format(
                      "  reference:\n    source: {}\n    kernel: {}\n"
                      "    launch: {{grid: [{}], block: [{}]}}\n",
                      kReferenceFile, reference_kernel(), fmt::join(grid, ", "),
                      fmt::join(block, ", "));
  }

  std::size_t dimensions() const { return std::max<std::size_t>(sizes_.size(), 1); }

  int reference_block(std::size_t axis) const {
    constexpr int kBlocks[3][3] = {{256, 1, 1}, {32, 8, 1}, {32, 4, 2}};
    return kBlocks[dimensions() - 1][axis];
  }

  std::string block_size(std::size_t axis) const {
    if (const YamlNode* local = t1_given(kernel_, "LocalSize"))
      if (const YamlNode* size = t1_given(*local, kUpper[axis]))
        return expression(*size, "LocalSize", "problem.", true);
    const std::string name = fmt::format("block_size_{}", kAxes[axis]);
    return parameter(name) != nullptr ? name : axis == 0 ? "256" : "1";
  }

  std::string grid_size(std::size_t axis) const {
    if (axis < sizes_.size()) {
      const std::string size = fmt::format("problem.problem_size_{}", kAxes[axis]);
      const YamlNode* divisors = t1_given(kernel_, fmt::format("GridDiv{}", kUpper[axis]));
      if (divisors == nullptr) return fmt::format("ceil_div({}, {})", size, block_size(axis));
      std::string product = "1";
      for (const YamlNode& each : divisors->items("GridDiv"))
        product += " * (" + expression(each, "GridDiv", "problem.", true) + ")";
      return fmt::format("ceil_div({}, {})", size, product);
    }
    const YamlNode* global = sizes_.empty() ? t1_given(kernel_, "GlobalSize") : nullptr;
    const YamlNode* size = global == nullptr ? nullptr : t1_given(*global, kUpper[axis]);
    if (size == nullptr) {
      if (sizes_.empty() && axis == 0) kernel_.fail("expected a ProblemSize, or a GlobalSize");
      return "1";
    }
    const YamlNode* kind = t1_given(kernel_, "GlobalSizeType");
    const std::string all = expression(*size, "GlobalSize", "problem.", true);
    return kind != nullptr && kind->text("GlobalSizeType") == "OpenCL"
               ? fmt::format("ceil_div({}, {})", all, block_size(axis))
               : all;
  }

  std::string templates() const {
    if (file_.kernel_file.empty()) kernel_.fail("expected a KernelFile");
    std::vector<std::string> grid, block;
    for (std::size_t i = 0; i < 3; ++i) {
      grid.push_back(to_json(Value(grid_size(i))));
      block.push_back(to_json(Value(block_size(i))));
    }
    std::string made = fmt::format(
        "templates:\n  kernel:\n    source: {}\n    kernel: {}\n"
        "    launch: {{grid: [{}], block: [{}]",
        to_json(Value(file_.kernel_file)), to_json(Value(file_.kernel_name)), fmt::join(grid, ", "),
        fmt::join(block, ", "));
    if (const YamlNode* shared = t1_given(kernel_, "SharedMemory"))
      made += ", shared: " + to_json(Value(expression(*shared, "SharedMemory", "problem.", true)));
    return made + "}\n" + options() + conventional_defines();
  }

  // What Kernel Tuner defines beside the parameters, those that the source names: kernel_tuner as
  // 1, block_size_x, ... and grid_size_x, ..., these for the file's own ProblemSize.
  std::string conventional_defines() const {
    std::vector<std::string> names, lines;
    const std::string source = kernel_text();
    const auto define = [&](const std::string& name, const std::string& as) {
      if (parameter(name) != nullptr || !names_word(source, name)) return;
      names.push_back(name);
      lines.push_back(fmt::format("      {}: {}\n", name, to_json(Value(as))));
    };
    define("kernel_tuner", "1");
    for (std::size_t i = 0; i < 3; ++i)
      define(fmt::format("block_size_{}", kAxes[i]), with_own_sizes(block_size(i)));
    for (std::size_t i = 0; i < 3; ++i)
      define(fmt::format("grid_size_{}", kAxes[i]), with_own_sizes(grid_size(i)));
    if (names.empty()) return "";
    return fmt::format("    derived:\n{}    defines: [{}]\n", fmt::join(lines, ""),
                       fmt::join(names, ", "));
  }

  std::string with_own_sizes(std::string text) const {
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      text = replaced(std::move(text), fmt::format("problem.problem_size_{}", kAxes[i]),
                      std::to_string(sizes_[i]));
    return text;
  }

  static bool names_word(const std::string& source, const std::string& name) {
    for (auto word = source::next_word(source, 0); word;
         word = source::next_word(source, word->end()))
      if (word->text == name) return true;
    return false;
  }

  std::string options() const {
    std::vector<std::string> kept;
    if (const YamlNode* all = t1_given(kernel_, "CompilerOptions"))
      for (const std::string& option : all->texts("CompilerOptions")) {
        if (option == "-use_fast_math" || option == "--use_fast_math")
          kept.emplace_back("--use_fast_math");
        else if (option.starts_with("--maxrregcount=") || option.starts_with("--fmad="))
          kept.push_back(option);
        else if (!option.starts_with("-std=") && !option.starts_with("--std=") &&
                 !option.starts_with("-O"))
          log_warning("the T1 file's compiler option {} is left out", quote_text(option));
      }
    return kept.empty() ? "" : fmt::format("    options: [{}]\n", fmt::join(kept, ", "));
  }

  std::string parameters() const {
    std::string made = "parameters:\n";
    for (const space::Parameter& each : file_.parts.parameters) {
      std::vector<std::string> values;
      values.reserve(each.values.size());
      for (const Value& value : each.values) values.push_back(to_text(value));
      made += fmt::format("  {}: [{}]\n", each.name, fmt::join(values, ", "));
    }
    return made;
  }

  std::string constraints() const {
    std::string made;
    for (const space::Constraint& each : file_.parts.constraints) {
      const std::string text =
          source::with_words(each.expression.text(), [this](const std::string& word) {
            const auto constant = file_.parts.constants.find(word);
            return constant == file_.parts.constants.end() ? word : to_text(constant->second);
          });
      made += fmt::format("  - {{python: {}}}\n", to_json(Value(text)));
    }
    return made.empty() ? "" : "constraints:\n" + made;
  }

  std::string presets() const {
    std::string made;
    for (const space::Preset& preset : file_.parts.presets) {
      made += fmt::format("  {}: {{template: kernel", preset.name);
      for (const auto& [name, value] : preset.config.settings())
        made += fmt::format(", {}: {}", name, to_text(value));
      made += "}\n";
    }
    return made.empty() ? "" : "presets:\n" + made;
  }

  std::string reference_source() const {
    const auto folder = std::filesystem::absolute(use_.reference).parent_path();
    return source::flatten_includes(std::filesystem::absolute(use_.reference), folder);
  }

  std::string reference_kernel() const {
    const std::vector<std::string> names = source::global_functions(reference_source());
    if (names.size() == 1) return names[0];
    if (std::ranges::find(names, file_.kernel_name) != names.end()) return file_.kernel_name;
    throw UserError(fmt::format(
        "{}: expected one __global__ function, or one called {} as the T1 file's, found {}",
        use_.reference.string(), file_.kernel_name,
        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }

  std::string reference_text() const {
    std::string lines = "#define kernel_tuner 1\n";
    for (std::size_t i = 0; i < dimensions(); ++i)
      lines += fmt::format("#define block_size_{} {}\n", kAxes[i], reference_block(i));
    for (const space::Parameter& each : file_.parts.parameters)
      if (each.values.size() == 1 && !each.name.starts_with("block_size_"))
        lines += fmt::format("#define {} {}\n", each.name, to_text(each.values[0]));
    return lines + reference_source();
  }

  std::string kernel_text() const {
    const YamlNode& name = kernel_.at("KernelFile");
    const auto folder = std::filesystem::absolute(file_.path).parent_path();
    std::error_code error;
    if (!std::filesystem::is_regular_file(folder / file_.kernel_file, error))
      name.fail("there is no file " + quote_text((folder / file_.kernel_file).string()));
    return source::flatten_includes(folder / file_.kernel_file, folder);
  }

  YamlNode root_;
  const YamlNode& kernel_;
  T1File file_;
  T1Use use_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

std::string t1_as_space(const std::string& text, const std::filesystem::path& path,
                        const T1Use& use) {
  return T1Space(text, path, use).text();
}

}  // namespace fa_tune::community
