#include "engine/community/t1/t1_space.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/community/t1/t1_file.hpp"
#include "engine/community/t1/t1_launch.hpp"
#include "engine/expression/python_expression.hpp"
#include "engine/source/declarations.hpp"
#include "engine/source/identifier_substitution.hpp"
#include "engine/source/include_flattening.hpp"
#include "engine/space/space_files.hpp"
#include "engine/util/error.hpp"
#include "engine/util/log.hpp"
#include "engine/util/random.hpp"
#include "engine/yaml/yaml.hpp"

namespace fa_tune::community {
namespace {

constexpr const char* kReferenceFile = "reference.cu";
constexpr const char* kSelf = "self";

class T1Space {
 public:
  T1Space(const std::string& text, const std::filesystem::path& path, T1Use use)
      : root_(YamlNode::parse(text, path)),
        kernel_(root_.at("KernelSpecification")),
        file_(parse_t1(text, path)),
        use_(std::move(use)),
        launch_(kernel_, file_) {}

  std::string text() {
    if (const YamlNode* language = t1_given(kernel_, "Language"))
      if (language->text("Language") != "CUDA")
        language->expected("Language", "CUDA: other languages are not compiled here");
    launch_.read_sizes();
    kernel_source_ = kernel_text();
    if (use_.reference == kSelf)
      default_ = default_config();
    else
      reference_source_ = reference_file();
    std::string name = file_.benchmark.empty() ? file_.path.stem().string() : file_.benchmark;
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '_');
    std::string made = fmt::format("space: {}\ntarget: {}\n", name, use_.target);
    made += problem() + templates() + parameters() + constraints() + presets();
    // The reference is named on the command line, so it may lie anywhere.
    return made + fmt::format("files:\n{}{}", space::carried(kReferenceFile, reference_text()),
                              space::carried(file_.kernel_file, kernel_source_.text));
  }

  // Where the lines of the two come from.
  source::SourceMaps lines() const {
    const std::string before = reference_defines();
    return {{file_.kernel_file, kernel_source_.lines},
            {kReferenceFile,
             (default_ ? kernel_source_ : reference_source_)
                 .lines.with_inserted(1, static_cast<int>(std::ranges::count(before, '\n')),
                                      "the #define lines")}};
  }

 private:
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
    const YamlNode* access = t1_given(node, "AccessType");
    const std::string how = access == nullptr ? "ReadWrite" : access->text("AccessType");
    const std::string role = how == "ReadOnly" ? "input" : how == "WriteOnly" ? "output" : "inout";
    if (role == "inout" && how != "ReadWrite")
      access->expected("AccessType", "ReadOnly, WriteOnly or ReadWrite");
    return fmt::format("    - {{name: {}, type: {}, shape: [{}], role: {}{}{}}}\n", name, type,
                       to_json(Value(launch_.expression(node.at("Size"), "Size", "", false))), role,
                       role == "output" ? "" : ", fill: " + t1_fill(node, type),
                       is_constant(node) ? ", constant: true" : "");
  }

  std::string problem() const {
    std::string made = "problem:\n  kind: custom\n  sizes: {";
    for (std::size_t i = 0; i < launch_.sizes().size(); ++i)
      made +=
          fmt::format("{}problem_size_{}: {}", i == 0 ? "" : ", ", kAxes[i], launch_.sizes()[i]);
    if (launch_.sizes().empty()) made += "problem_size_x: 1";
    made += "}\n  arguments:\n";
    for (const YamlNode& node : kernel_.at("Arguments").items("Arguments")) made += argument(node);
    const std::string name = reference_kernel();
    return made + tolerance() +
           fmt::format("  reference:\n    source: {}\n    kernel: {}\n    launch: {}\n",
                       kReferenceFile, to_json(Value(name)), reference_launch()) +
           all_arguments(default_ ? kernel_source_.text : reference_source_.text, name);
  }

  // Nothing is more precise than f64 to measure the noise by, and a T1 file has no place for a
  // tolerance.
  std::string tolerance() const {
    bool some_double = false, some_real_output = false;
    for (const YamlNode& node : kernel_.at("Arguments").items("Arguments")) {
      const std::string type = t1_type(node.at("Type"));
      const YamlNode* access = t1_given(node, "AccessType");
      some_double = some_double || type.starts_with("f64") || type == "complex128";
      some_real_output =
          some_real_output ||
          (node.at("MemoryType").text("MemoryType") == "Vector" && !t1_is_whole(type) &&
           (access == nullptr || access->text("AccessType") != "ReadOnly"));
    }
    if (!some_double || !some_real_output) return "";
    log_info(
        "some arguments are f64: results may differ by 1e-9 of their value; --set "
        "tolerance.relative=... says how much else");
    return "  tolerance: {relative: 1e-9}\n";
  }

  std::string reference_launch() const {
    if (default_) return with_defaults(launch_.text());
    std::vector<std::string> grid, block;
    for (std::size_t i = 0; i < launch_.dimensions(); ++i) {
      block.push_back(std::to_string(reference_block(i)));
      grid.push_back(
          fmt::format("\"ceil_div(problem.problem_size_{}, {})\"", kAxes[i], block.back()));
    }
    return fmt::format("{{grid: [{}], block: [{}]}}", fmt::join(grid, ", "),
                       fmt::join(block, ", "));
  }

  // Kernel Tuner gives a kernel all arguments, those for `__constant__` variables too, and a launch
  // by it may have more than the kernel takes. Ours has as many.
  std::string all_arguments(const std::string& text, const std::string& kernel) const {
    std::vector<std::string> names;
    bool some_constant = false;
    for (const YamlNode& node : kernel_.at("Arguments").items("Arguments")) {
      names.push_back(node.at("Name").name("Name"));
      some_constant = some_constant || is_constant(node);
    }
    const std::string function = kernel.substr(0, kernel.find('<'));
    const auto takes_all = [&](const source::KernelDeclaration& each) {
      return each.name == function && each.count == names.size();
    };
    if (!some_constant || !std::ranges::any_of(source::declarations(text).kernels, takes_all))
      return "";
    return fmt::format("    arguments: [{}]\n", fmt::join(names, ", "));
  }

  static bool is_constant(const YamlNode& argument) {
    const YamlNode* kind = t1_given(argument, "MemType");
    return kind != nullptr && kind->text("MemType") == "Constant";
  }

  int reference_block(std::size_t axis) const {
    constexpr int kBlocks[3][3] = {{256, 1, 1}, {32, 8, 1}, {32, 4, 2}};
    return kBlocks[launch_.dimensions() - 1][axis];
  }

  std::string templates() const {
    if (file_.kernel_file.empty()) kernel_.fail("expected a KernelFile");
    return fmt::format("templates:\n  kernel:\n    source: {}\n    kernel: {}\n    launch: {}\n",
                       to_json(Value(file_.kernel_file)), to_json(Value(file_.kernel_name)),
                       launch_.text()) +
           all_arguments(kernel_source_.text, file_.kernel_name) + options() +
           conventional_defines();
  }

  // What Kernel Tuner and BAT define beside the parameters, those that the source names:
  // kernel_tuner as 1, block_size_x, ... and grid_size_x, ... (BAT: in capitals), these for the
  // file's own ProblemSize, and the whole numbers of BenchmarkConfig.
  std::vector<std::pair<std::string, std::string>> conventional_names() const {
    std::vector<std::pair<std::string, std::string>> names;
    const auto define = [&](const std::string& name, const std::string& as) {
      if (launch_.parameter(name) == nullptr && names_word(kernel_source_.text, name))
        names.emplace_back(name, as);
    };
    const auto define_sizes = [&](const std::string& prefix, const auto& size_of) {
      for (std::size_t i = 0; i < 3; ++i) {
        std::string name = prefix + kAxes[i];
        const std::string size = launch_.with_own_sizes(size_of(i));
        define(name, size);
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
        define(name, size);
      }
    };
    define("kernel_tuner", "1");
    define_sizes("block_size_", [&](std::size_t axis) { return launch_.block_size(axis); });
    define_sizes("grid_size_", [&](std::size_t axis) { return launch_.grid_size(axis); });
    for (const auto& [name, number] : file_.config_numbers) define(name, std::to_string(number));
    return names;
  }

  std::string conventional_defines() const {
    std::vector<std::string> names, lines;
    for (const auto& [name, as] : conventional_names()) {
      names.push_back(name);
      lines.push_back(fmt::format("      {}: {}\n", name, to_json(Value(as))));
    }
    if (names.empty()) return "";
    return fmt::format("    derived:\n{}    defines: [{}]\n", fmt::join(lines, ""),
                       fmt::join(names, ", "));
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
    std::vector<space::Preset> all = file_.parts.presets;
    // Where few configs compute the same, a search needs one that does to begin with.
    if (all.empty() && default_) all.push_back({"reference", *default_, root_.mark()});
    for (const space::Preset& preset : all) {
      made += fmt::format("  {}: {{template: kernel", preset.name);
      for (const auto& [name, value] : preset.config.settings())
        made += fmt::format(", {}: {}", name, to_text(value));
      made += "}\n";
    }
    return made.empty() ? "" : "presets:\n" + made;
  }

  // Its own preset, else the first value of each parameter, else the first config that is valid.
  Config default_config() const {
    if (!file_.parts.presets.empty()) return file_.parts.presets[0].config;
    const space::Space space = space::Space::build(file_.parts);
    Config first;
    for (const space::Parameter& each : file_.parts.parameters)
      first.set(each.name, each.values[0]);
    Random random(1);
    return space.nearest(first, random);
  }

  // A text of expressions with the default config's values in the places of its parameters.
  std::string with_defaults(const std::string& text) const {
    return source::with_words(text, [this](const std::string& word) {
      const Value* value = default_->find(word);
      return value == nullptr ? word : to_text(*value);
    });
  }

  source::FlatText reference_file() const {
    const auto folder = std::filesystem::absolute(use_.reference).parent_path();
    return source::flatten(std::filesystem::absolute(use_.reference), folder);
  }

  std::string reference_kernel() const {
    if (default_) return with_defaults(file_.kernel_name);
    std::vector<std::string> names;
    for (const auto& kernel : source::declarations(reference_source_.text).kernels)
      names.push_back(kernel.name);
    if (names.size() == 1) return names[0];
    if (std::ranges::find(names, file_.kernel_name) != names.end()) return file_.kernel_name;
    throw UserError(fmt::format(
        "{}: expected one __global__ function, or one called {} as the T1 file's, found {}",
        use_.reference.string(), file_.kernel_name,
        names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }

  std::string reference_text() const {
    return reference_defines() + (default_ ? kernel_source_ : reference_source_).text;
  }

  // What the kernel itself is told, with the values of its default config.
  std::string default_defines() const {
    std::string lines;
    for (const auto& [name, value] : default_->settings())
      lines += fmt::format("#define {} {}\n", name,
                           value == Value(true)    ? "1"
                           : value == Value(false) ? "0"
                                                   : to_text(value));
    for (const auto& [name, as] : conventional_names()) {
      const auto value = expression::Expression::parse(with_defaults(as));
      lines += fmt::format("#define {} {}\n", name, value.evaluate_integer([](const std::string&) {
        return static_cast<const Value*>(nullptr);
      }));
    }
    return lines;
  }

  std::string reference_defines() const {
    if (default_) return default_defines();
    std::string lines = "#define kernel_tuner 1\n";
    for (std::size_t i = 0; i < launch_.dimensions(); ++i)
      lines += fmt::format("#define block_size_{} {}\n", kAxes[i], reference_block(i));
    for (const space::Parameter& each : file_.parts.parameters)
      if (each.values.size() == 1 && !each.name.starts_with("block_size_"))
        lines += fmt::format("#define {} {}\n", each.name, to_text(each.values[0]));
    for (const auto& [name, number] : file_.config_numbers)
      if (launch_.parameter(name) == nullptr && names_word(reference_source_.text, name))
        lines += fmt::format("#define {} {}\n", name, number);
    return lines;
  }

  source::FlatText kernel_text() const {
    const YamlNode& name = kernel_.at("KernelFile");
    const auto folder = std::filesystem::absolute(file_.path).parent_path();
    std::error_code error;
    if (!std::filesystem::is_regular_file(folder / file_.kernel_file, error))
      name.fail("there is no file " + quote_text((folder / file_.kernel_file).string()));
    return source::flatten(folder / file_.kernel_file, folder);
  }

  YamlNode root_;
  const YamlNode& kernel_;
  T1File file_;
  T1Use use_;
  T1Launch launch_;
  source::FlatText kernel_source_, reference_source_;
  std::optional<Config> default_;  // where the kernel is its own reference
};

}  // namespace

std::string t1_as_space(const std::string& text, const std::filesystem::path& path,
                        const T1Use& use, source::SourceMaps* lines) {
  T1Space space(text, path, use);
  std::string made = space.text();
  if (lines != nullptr) *lines = space.lines();
  return made;
}

}  // namespace fa_tune::community
